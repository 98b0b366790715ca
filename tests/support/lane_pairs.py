"""Where operations meet in a lane, and the faults in `lanes.lua` that an exploration must find there."""

from support.faults import LOST, TWICE, Fault

ONE, ORDER = "one of an entity at a time", "a lane keeps its order"

MEETINGS = [
    ("claim two, ack", "claim two, ack", "a lane of three"),
    ("claim, fail", "claim two, ack", "a lane of three"),
    ("claim, release", "claim two, ack", "a lane of three"),
    ("claim, ack", "cancel", "a lane of three"),
    ("claim two, ack", "cancel the second", "a lane of three"),
    ("claim two, ack", "submit a fourth", "a lane of three"),
    ("claim, ack", "submit of another", "a lane of three"),
    ("submit a fourth", "submit a fourth", "a lane of three"),
    ("ack", "submit a fourth", "a lane, its head running"),
    ("ack, claim, ack", "claim two, ack", "a lane, its head running"),
    ("fail for good", "cancel the second", "a lane, its head running"),
    ("fail", "claim, ack", "a lane, its head running"),
    ("extend", "cancel", "a lane, its head running"),
    ("ack, claim, ack", "recover", "a lane, its head late"),
    ("fail for good", "recover", "a lane, its head late, last run"),
    ("cancel", "recover", "a lane, its head late"),
    ("requeue", "claim two, ack", "a lane, its first one dead"),
    ("requeue", "requeue", "a lane, its first one dead"),
    ("requeue", "submit a fourth", "a lane, its first one dead"),
]
"""Two of them, and the set-up."""

REPAIRS = [
    ("repair", "claim two, ack", "a lane in no structure"),
    ("repair", "submit a fourth", "a lane, its head in no structure"),
]
"""Of many commands: left to the slow tests."""

FILE = "lua/lanes.lua"
THREE, RUNNING, LAST = "a lane of three", "a lane, its head running", "a lane, its head late, last run"
FIRST = "WAITING, '[' .. before, '(' .. #f.entity .. ':' .. f.entity .. ';', 'BYLEX',"
NEWEST = "WAITING, '(' .. #f.entity .. ':' .. f.entity .. ';', '[' .. before, 'BYLEX', 'REV',"
OUT = "redis.call('ZREM', WAITING, lane(f.entity) .. f.place .. ':' .. id)"
PLACE = "math.max(now() * 1000, (last or 0) + 1)"
MINE = "redis.call('HSETNX', LANES, f.entity, id) == 1"

LANE_FAULTS = {
    "whoever comes is the head": Fault(FILE, f"not last and {MINE}", "true", "ack", "submit a fourth", RUNNING, ONE),
    "nobody behind the first one is noted": Fault(
        FILE, "  stand(id, f)\n", "\n", "ack", "submit a fourth", RUNNING, LOST
    ),
    "the newest goes on first": Fault(FILE, FIRST, NEWEST, "ack, claim, ack", "claim two, ack", RUNNING, ORDER),
    "places repeat within a millisecond": Fault(
        FILE, PLACE, "now() * 1000", "submit a fourth", "claim two, ack", THREE, ORDER
    ),
    "the next one is not set going": Fault(
        FILE, "set_going(next_one, run_at)", "", "ack", "submit a fourth", RUNNING, ONE
    ),
    "the head is not told to the lane": Fault(
        FILE, "redis.call('HSET', LANES, f.entity, next_one)", "", "ack, claim, ack", "claim two, ack", RUNNING, ONE
    ),
    "the lane keeps who went on": Fault(
        FILE, "redis.call('ZREM', WAITING, member)", "", "ack", "submit a fourth", RUNNING, TWICE
    ),
    "the lane keeps who was cancelled": Fault(FILE, OUT, "", "claim two, ack", "cancel the second", THREE, TWICE),
    "an ack frees nobody": Fault("lua/ack.lua", "leave(f.id, f)", "", "ack", "submit a fourth", RUNNING, ONE),
    "a burial frees nobody": Fault(
        "lua/shared.lua",
        "'dead', 'ended', at)\n  leave(id, f)",
        "'dead', 'ended', at)",
        "fail for good",
        "cancel the second",
        RUNNING,
        ONE,
    ),
    "what recover buries frees nobody": Fault(
        "lua/recover.lua", ",\n    'entity')", ")", "fail for good", "recover", LAST, ONE
    ),
    "a cancel frees nobody": Fault(
        "lua/shared.lua", "retention_ms)\n  leave(id, f)", "retention_ms)", "claim, ack", "cancel", THREE, ONE
    ),
    "a dead letter does not join its lane": Fault(
        "lua/requeue.lua",
        "if enter(id, f) then schedule",
        "do schedule",
        "requeue",
        "claim two, ack",
        "a lane, its first one dead",
        ONE,
    ),
    "repair finds a lane, and sets it not going": Fault(
        "lua/resume.lua",
        "heads[#heads + 1] = leave(head, {entity = ARGV[i]})",
        "",
        "repair",
        "claim two, ack",
        "a lane, its head in no structure",
        ONE,
    ),
}
