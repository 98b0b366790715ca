# %% [markdown]
# # 12 The hot minute
#
# At the end you can spread a minute that is too full over several shards, say of any id which shard it is in, find what comes late, and keep the order of what belongs together, even if two work at once and one of them dies.
#
# About 25 minutes, estimated from the number of words. All cells together run in some 10 seconds, measured.

# %% [markdown] points=["C9"]
# ## Six o'clock
#
# A congress is in the house. Six hundred and forty guests want to be called at six, and nobody at three. The clerk has one tray, and puts four slips into it each time he looks up.
#
# "Take more trays", says the night manager. Which slip goes into which? And what of the guest who has ordered two things, one after the other?

# %% tags=["varies"] varies="the first line names the Redis that was found"
import random
import subprocess
import sys

import jobkit as jk
from jobkit import plot
from jobkit.explore import explore
from jobkit.keys import shard
from jobkit.ready.asfound import java_shard, this_minute
from jobkit.ready.buckets import Buckets

redis = jk.connect()


def afresh(name):
    """Delete all keys that begin with a name: a second run begins anew."""
    for key in redis.scan_iter(redis.prefix + "{" + name + "*"):
        redis.delete(key)


# %% [markdown]
# **Predict.** Document C: take the hash of the job's id modulo N, and let N workers drain one shard each. For order within an entity, route by the entity instead. Two workers now take from the entity's shard. Is the order kept?
#
# ◯ yes ◯ yes, unless one dies ◯ no

# %% [markdown] points=["C9"]
# ## Several trays
#
# Document C has a key per minute and tray: `jobs:2026-10-24T06:00:shard-3`. The kit's `Buckets` does the same. All calls, for one minute, with ids drawn by chance:

# %%
dice = random.Random(6)
calls = [f"{dice.getrandbits(64):016x}" for _ in range(640)]


def now():
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


def full_minute(trays):
    afresh("calls")
    buckets = Buckets(redis, "calls", shards=trays)
    six = now() - 1000
    for call in calls:
        bucket = buckets.add(call, six)
    return buckets, bucket


# %% [markdown]
# A clerk who looks up takes four slips at most. With several trays each has a clerk of its own, and all look up at once. How often, until all are out?


# %%
def looks(buckets):
    looks, moved = 0, True
    while moved:
        moved = sum(len(buckets.drain(k, 4)) for k in range(len(buckets.shards)))
        looks += bool(moved)
    return looks


# %% [markdown]
# From one tray to thirty-two:

# %%
found = {trays: looks(full_minute(trays)[0]) for trays in (1, 2, 4, 8, 16, 32)}
plot.lines(
    {
        "measured": list(found.items()),
        "if all trays were equally full": [(n, 160 / n) for n in found],
    },
    x="trays",
    y="looks until all is out",
    caption="640 calls of one minute, four at a look.",
    twin="Twice the trays, nearly half the looks: the fullest tray decides.",
)

# %% [markdown]
# Nearly half each time. Not quite, since the fullest tray decides, and no hash fills all alike: the fewer slips to a tray, the more it shows.
#
# Do you need it? Half a million jobs a day are six a second, and one queue of the kit does thousands ([the figures](../docs/performance.md)). Shards are for what one Redis can't do: then they are spread over the nodes of a cluster, each with a hash tag of its own.

# %% [markdown] points=["C9"]
# ## Which tray?
#
# A slip must go into the same tray, whoever asks, today and tomorrow. Otherwise a cancel looks into the wrong one, and the same id is taken twice. So first what Python offers, in two processes:

# %%
ASK = "print([hash(f'room {n}') % 8 for n in range(5)])"


def asked(seed):
    env = {"PYTHONHASHSEED": seed}
    told = subprocess.run(
        [sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=True
    )
    return told.stdout.strip()


rows = [("process", "trays of rooms 0 to 4"), ("one", asked("1")), ("two", asked("2"))]
plot.table(rows, caption="hash(id) % 8, of the same ids.")

# %% [markdown]
# Python salts its hash anew in each process. (The seeds stand here so that the page is the same each time; without them chance draws them.) Java's `hashCode` is the same everywhere, and document C takes `Math.abs(id.hashCode()) % N`. Three words:

# %%
words = ["hello", "polygenelubricants", "GydZG_"]
rows = [("id", "abs(hashCode()) % 3")] + [(w, java_shard(w, 3)) for w in words]
plot.table(rows, caption="As Java computes it.", bold=[2, 3])

# %% [markdown]
# > **Document says / measured.** Document C: a job always lands in the same shard. Measured: some land in shard −2, which nobody drains. The least integer, −2,147,483,648, has no absolute value in 32 bits, so `abs` leaves it as it is.

# %% [markdown]
# What is wanted: the same in all processes and all languages, never negative, evenly spread. CRC-32 is in every language's library, for zip and PNG. Its check value is in every catalogue:

# %%
assert shard("123456789", 2**32) == 0xCBF43926
counts = [0] * 8
for call in calls:
    counts[shard(call, 8)] += 1
plot.table([("tray", *range(8)), ("slips", *counts)], caption="640 calls in 8 trays.")

# %% [markdown]
# Eighty each would be even. (Ids that are numbered one by one come out more even than chance: CRC-32 is linear.) And the words that broke Java's:

# %%
assert all(0 <= shard(word, 3) < 3 for word in words)

# %% [markdown] points=["C9"]
# ## Who comes late
#
# Document C's clerk opens the bucket of the present minute. What if he was away for one? Here is a call of the minute before last, since nobody looked; and one that is due now.

# %%
afresh("calls")
late = Buckets(redis, "calls", shards=1)
for room, due in (("room 412", now() - 120_000), ("room 7", now())):
    late.add(room, due)

# %% [markdown]
# He looks three times, the way of the document:

# %%
for _ in range(3):
    this_minute(late, 0)
seen = [room.decode() for room in redis.lrange(late.shards[0].ready, 0, -1)]
assert "room 412" not in seen

# %% [markdown]
# Room 412 sleeps for ever: its bucket's minute won't come again. A restart is enough, or a retry that is computed into a minute that has passed, or a clock that is a second ahead.
#
# What is missing is a list of the buckets that are there. `Buckets` keeps one, and drains from the oldest on:

# %%
found = [room.decode() for room in late.drain(0)]
rows = [("the scheduler looks into", "and finds")]
rows.append(("this minute's bucket", ", ".join(seen)))
rows.append(("all buckets that are due", ", ".join(found)))
plot.table(rows, caption="A call whose minute has passed.")

# %% [markdown]
# The second row has room 412 alone, since room 7 was moved by the looks before.
#
# The kit's own queue keeps all in one sorted set, whose range begins at minus infinity: it has no edges between minutes for a job to fall through. Buckets buy nothing that shards don't.

# %% [markdown] points=["C10"]
# ## First this, then that
#
# Mrs Ode in room 9 has three wishes: *move me to room 412*, *bring breakfast*, *fetch the tray*. Each is a slip; their order matters. Document C: route them to one shard, by the guest.


# %%
def wishes(r):
    r.rpush("tray", "move", "breakfast", "fetch")


# %% [markdown]
# One shard, then, and a list keeps its order. Two porters take from it:


# %%
def porter(r, w):
    if wish := r.lpop("tray"):
        r.hset("diary", wish, "begun")
        w.effect(wish.decode())


# %% [markdown]
# The promise: what happens to Mrs Ode happens in the order of her wishes.

# %%
ORDER = ["move", "breakfast", "fetch"]


def in_order(world):
    done = [effect.text for effect in world.effects]
    assert done == sorted(done, key=ORDER.index), f"it came {', '.join(done)}"


explore(porter, porter, given=wishes, finally_=in_order)

# %% [markdown]
# The breakfast is served in an empty room. Ada took the first wish and Bob the second, both from the right tray, in the right order, and Bob was quicker. **A list keeps the order of the taking. Nobody keeps the order of the doing.**
#
# So one porter per tray? Then let the first wish fail once, and be put back:


# %%
def alone(r, w):
    failed = False
    while wish := r.lpop("tray"):
        if wish == b"move" and not failed:
            failed = True
            r.rpush("tray", wish)
        else:
            w.effect(wish.decode())


explore(alone, given=wishes, finally_=in_order)

# %% [markdown]
# Nobody else is there, and the order is gone: a retry goes to the end. Put back in front, it would hold up the whole tray, with all other guests. And one porter per tray is one who must never be two, which is a lock, with all that notebook 06 says of locks.

# %% [markdown] points=["C10"]
# ## A lane
#
# What belongs together gets a line of its own, and only the first of the line is in the tray. First step: a wish comes. If the line was empty, it goes to the tray at once.

# %%
COMES = """-- comes
if redis.call('RPUSH', KEYS[1], ARGV[1]) == 1 then
  redis.call('RPUSH', KEYS[2], ARGV[1])
end
"""

# %% [markdown]
# Three wishes, one of them in the tray:

# %%
TRAY, LINE = (redis.prefix + "{hotel}:" + part for part in ("tray", "line"))
redis.delete(TRAY, LINE)
for wish in ORDER:
    redis.eval(COMES, 2, LINE, TRAY, wish)

assert redis.lrange(TRAY, 0, -1) == [b"move"]
assert redis.llen(LINE) == 3

# %% [markdown]
# Second step: a wish is done. It leaves the line, and the next one goes to the tray, in one step.

# %%
DONE = """-- done
redis.call('LPOP', KEYS[1])
local next = redis.call('LINDEX', KEYS[1], 0)
if next then redis.call('RPUSH', KEYS[2], next) end
"""

# %% [markdown]
# After "move" is done, "breakfast" is in the tray, and "fetch" still waits:

# %%
assert redis.lpop(TRAY) == b"move"
redis.eval(DONE, 2, LINE, TRAY)
assert redis.lrange(TRAY, 0, -1) == [b"breakfast"]

# %% [markdown]
# And the two porters again, each for two wishes:


# %%
def wishes_in_line(r):
    for wish in ORDER:
        r.eval(COMES, 2, "line", "tray", wish)


def careful(r, w):
    for _ in range(2):
        if wish := r.lpop("tray"):
            w.effect(wish.decode())
            r.eval(DONE, 2, "line", "tray")


explore(careful, careful, given=wishes_in_line, finally_=in_order)

# %% [markdown]
# In every order of the two. A retry keeps its place, too: the wish that failed goes back to the tray, and is still the first of its line. Mrs Ode's other wishes wait; the other guests' don't. Still open: a porter who dies with a wish in hand (the line stands still until a lease ends: the kit's, below), a COMES whose answer is lost, and a DONE whose answer is lost. The last is your exercise.

# %% [markdown] points=["C10"]
# ## The same with the kit
#
# `submit(entity=)` is all: jobs of one entity stand in a lane. A new state says so, `waiting`:

# %%
afresh("wishes")
queue = jk.Queue(redis, "wishes", rng=random.Random(12))
for wish in ORDER:
    queue.submit(wish, id=wish, entity="Mrs Ode")
queue.submit("call", id="call", entity="Mr Pi").state

# %% [markdown]
# The call is ready at once, since it is Mr Pi's. And where are the others? A line of a table, for whenever we look:


# %%
def sight():
    return [queue.get(id).state for id in (*ORDER, "call")]


# %% [markdown]
# A table that grows with each thing that happens:

# %%
rows = [("what happens", *ORDER, "call (Mr Pi)"), ("all are submitted", *sight())]
first, call = queue.claim("Ada", limit=10)
rows.append(("Ada claims up to ten", *sight()))
queue.fail(first, "the lift is stuck", delay=60)
rows.append(("the first one fails", *sight()))
assert queue.claim("Bob", limit=10) == []

# %% [markdown]
# Ten were asked for, two were given: one of each guest. After the failure Bob gets nothing, for the first wish waits for its retry, and its lane behind it. On:

# %%
redis.clock.advance(60)
queue.promote()
queue.cancel("fetch")
rows.append(("a minute later, the third is cancelled", *sight()))

# %% [markdown]
# The retry was due, so the first wish is ready again, still at the head. The third one left its lane without a word to the others. Bob may go now:

# %%
queue.ack(*queue.claim("Bob"))
rows.append(("Bob claims and acks", *sight()))
plot.table(rows, caption="One lane, and one beside it.")

# %% [markdown]
# Done, dead or cancelled: whatever ends the first, the same script sets the next one going. So there is nothing between the two for a crash to fall into. The explorer, with the kit's own scripts: two workers, three jobs, a death and a lost answer.


# %%
def a_lane(r):
    for wish in ORDER:
        jk.Queue(r, "q").submit(wish, id=wish, entity="Mrs Ode")


def worker(r, w):
    queue = jk.Queue(r, "q")
    for _ in range(2):
        for claim in queue.claim(w.name):
            w.effect(claim.task)
            queue.ack(claim)


# %% [markdown]
# Two promises. In order; and after a while, when leases are over, a third porter finds all that is left:


# %%
def none_is_stuck(world):
    queue = jk.Queue(world.redis, "q")
    world.redis.clock.advance(31)
    queue.recover()
    while claims := queue.claim("C"):
        queue.ack(*claims)
    counts = queue.counts()
    assert counts.totals["done"] == 3, f"a lane stands still: {counts}"


accidents = {"crashes": 1, "lost_replies": 1}
explore(worker, worker, given=a_lane, finally_=[in_order, none_is_stuck], **accidents)

# %% [markdown]
# (`in_order` takes a repeated run for no change of order. A wish may be *done* twice, as ever, and the next one is not begun before.)

# %% [markdown] points=["C9", "C10"]
# ## Shards with lanes
#
# `ShardedQueue` has the verbs of a queue. Without an entity a job's shard follows from its id. With one it is the entity's, so that there is one lane:

# %%
afresh("house")
house = jk.ShardedQueue(redis, "house", shards=3, rng=random.Random(3))
[part.name for part in house.shards]

# %% [markdown]
# Each of the three is an ordinary queue, with the braces of its own in every key. Four guests, five wishes each, and a look into every shard for their records:


# %%
def holds(part, id):
    try:
        return bool(part.get(id))
    except jk.UnknownJob:
        return False


rows = [("entity", "its jobs are in")]
for guest in ("Ode", "Rho", "Phi", "Tau"):
    ids = [house.submit("wish", entity=guest).id for _ in range(5)]
    found = [part.name for id in ids for part in house.shards if holds(part, id)]
    assert len(found) == len(ids)
    rows.append((guest, ", ".join(sorted(set(found)))))

plot.table(rows, caption="Twenty jobs of four guests.")

# %% [markdown]
# A trap: an id of your own, submitted with *another* entity, would be routed elsewhere, and be there a second time. So the id must say where it is. As in a cluster, what stands in braces counts:

# %%
house.submit("wish", id="{Ode}order 7", entity="Ode")
for entity, id in (("Pi", "{Ode}order 7"), ("Ode", "order 7")):
    try:
        house.submit("wish", id=id, entity=entity)
    except jk.JobError as refused:
        print(f"{id} for {entity}:", str(refused).partition(",")[0])

# %% [markdown]
# Refused, before anything is written. A worker of all shards has a claim, a heartbeat and a scheduler in each, so that a full shard, or one that is away, keeps no other waiting:

# %%
staff = jk.Worker(house, rng=random.Random(4))
served = []


@staff.task
def wish(job):
    served.append((job.entity, house.of(job.id).name))


# %% [markdown]
# One `drain` goes through all three, from due time to due time, until nothing is left in any of them. (A `run` gives each shard threads of its own.)

# %%
staff.drain()
done = house.counts().totals["done"]
assert done == len(served) == 21

# %% [markdown]
# And if the house gets more trays? With another N most ids are elsewhere:

# %%
ids = [f"room {n}" for n in range(10_000)]


def moved(old, new):
    return sum(shard(id, old) != shard(id, new) for id in ids) / len(ids)


# %% [markdown]
# From n shards to n + 1 all but one in n + 1 move: two thirds of them at 2, nearly nine tenths at 8. Twice as many moves half, which is the best that a modulo can do:

# %%
pairs = ((2, 3), (3, 4), (8, 9), (8, 16))
rows = [("from", "to", "ids that change their shard")]
rows += [(old, new, f"{moved(old, new):.0%}") for old, new in pairs]
plot.table(rows, caption="Another number of shards.")

# %% [markdown]
# So two processes that disagree about N would look for one job in two places. The server remembers N, and the script of one who names another is refused:

# %%
try:
    jk.ShardedQueue(redis, "house", shards=4).submit("wish")
except jk.ConfigError as refused:
    print(refused)

# %% [markdown]
# `resize` changes it, when nothing is left that could be in the wrong place. It closes each shard in the step that looks whether it is empty:

# %%
house.submit("wish", entity="Ode")
try:
    house.resize(4)
except jk.WrongState as refused:
    print(refused)

# %% [markdown]
# One job was left, so all is open again, as it was. Once it is done, nothing stands in the way:

# %%
staff.drain()
house = house.resize(4, forget=True)
assert house.submit("wish", id="one more").created

# %% [markdown]
# (`forget=True`: the records of finished jobs are the marks of their ids; without it one waits until they are gone.)

# %% [markdown] points=["C9", "C10"]
# ## Proved, and not proved
#
# Chance: four guests, three shards; wishes are claimed, acked, failed, lost with their porter, or buried. Two promises at each claim: nobody else holds a valid claim of that guest, and no older wish of hers is still open.


# %%
def settle(queue, claim, rng, open_wishes):
    how = rng.choice(["ack", "ack", "fail", "bury", "lost"])
    if how == "ack":
        queue.ack(claim)
    elif how != "lost":
        queue.fail(claim, "engaged", delay=20, permanent=how == "bury")
    if how in ("ack", "bury"):
        open_wishes[claim.entity].remove(claim.id)
    return how != "lost"


# %% [markdown]
# A claim that is lost is valid until its lease is over. All has attempts enough, so that none is buried by the way:


# %%
def prove(redis, rng, rounds=150):
    for key in redis.scan_iter(redis.prefix + "{proof*"):
        redis.delete(key)
    queue = jk.ShardedQueue(redis, "proof", shards=3, lease=25, rng=rng)
    open_wishes, held, runs = {guest: [] for guest in "OPRS"}, {}, 0
    for _ in range(rounds):
        guest = rng.choice("OPRS")
        how = {"delay": rng.choice([0, 9]), "max_attempts": 99}
        told = queue.submit("wish", entity=guest, **how)
        open_wishes[guest].append(told.id)
        queue.promote()
        for claim in queue.claim("Ada", limit=3):
            assert claim.entity not in held, "two wishes of one guest at once"
            assert open_wishes[claim.entity][0] == claim.id, "an older wish is open"
            runs += 1
            if not settle(queue, claim, rng, open_wishes):
                held[claim.entity] = claim
        if rng.random() < 0.3:
            redis.clock.advance(26)
            queue.recover()
            held.clear()
    assert runs > rounds
    return f"{rounds} wishes, 3 shards: none overlaps, none overtakes"


prove(redis, random.Random(1))

# %% [markdown]
# **Not** proved: that a porter who was paused past his lease isn't still at work when the next one begins. His claim is not valid any more, and his ack is refused; his hands are not. Against that a resource can compare tokens (notebook 06).

# %% [markdown] points=["C9", "C10"]
# ## The same on the other Redis
#
# Every cell runs unchanged on a real server and on the fake. The proof on both:

# %% tags=["varies"] varies="names the Redis that was found"
for name in ("fake", "private"):
    try:
        print(prove(jk.connect(name), random.Random(2)))
    except jk.ServerUnavailable as error:
        print(f"no real server here: {error}")

# %% [markdown] points=["C10"]
# ## Your turn: done, once
#
# Write `done(redis, guest, wish)`. A guest's line is the list `LINE + guest`, whose first wish is at work; the tray is the list TRAY. The wish is done, so
#
# - it leaves the line, and the next one goes to the end of the tray. Return its name, or `None` if there is none;
# - if `wish` is not the first of the line, change nothing and return `None`: your answer was lost, and you were asked again.
#
# Meanwhile new wishes come (by COMES, above), and you may fall after any command.

# %%
DESK = redis.prefix + "{desk}:"
LINE, TRAY = DESK + "line:", DESK + "tray"


def done(redis, guest, wish):
    """Take a wish off its line, and put the next one into the tray; return that."""
    # your lines


# %% [markdown]
# The stage, and the accidents. (Folded away; you need not read it.)


# %% tags=["check"] jupyter={"source_hidden": true}
COME = """-- comes
if redis.call('RPUSH', KEYS[1], ARGV[1]) == 1 then
  redis.call('RPUSH', KEYS[2], ARGV[1])
end
"""


def stage(r, *wishes):
    r.delete(LINE + "Ode", LINE + "Pi", TRAY)
    r.rpush(LINE + "Pi", "call", "taxi")
    r.rpush(TRAY, "call")
    if wishes:
        r.rpush(LINE + "Ode", *wishes)


def lies(r):
    """The line, and what is in the tray."""
    line, tray = (r.lrange(key, 0, -1) for key in (LINE + "Ode", TRAY))
    return [w.decode() for w in line], [w.decode() for w in tray]


def said_by(done, r, wish, guest="Ode"):
    said = done(r, guest, wish)
    return said.decode() if isinstance(said, bytes) else said


# %% [markdown]
# A wish that comes at the same time, a second call, and a fall:


# %% tags=["check"] jupyter={"source_hidden": true}
def accidents_of(done):
    def finishes(r):
        return said_by(done, r, "move")

    def comes(r):
        r.eval(COME, 2, LINE + "Ode", TRAY, "fetch")

    def the_first_is_in_the_tray_once(world):
        line, tray = lies(world.redis)
        own = [wish for wish in tray if wish != "call"]
        assert own == line[:1], f"the line: {line}, in the tray: {own}"

    def whole_or_not_at_all(world):
        line, tray = lies(world.redis)
        whole = (["breakfast"], ["call", "breakfast"])
        none = (["move", "breakfast"], ["call"])
        assert (line, tray) in (whole, none), f"the line: {line}, the tray: {tray}"

    def asked_twice_goes_on_once(world):
        line, tray = lies(world.redis)
        both = (["breakfast", "fetch"], ["call", "breakfast"])
        assert (line, tray) == both, f"the line: {line}, the tray: {tray}"

    for wishes in (["move"], ["move", "breakfast"]):
        yield explore(
            finishes,
            comes,
            given=lambda r, wishes=wishes: stage(r, *wishes),
            finally_=the_first_is_in_the_tray_once,
        )
    two = {"given": lambda r: stage(r, "move", "breakfast")}
    yield explore(finishes, finally_=whole_or_not_at_all, crashes=1, **two)
    three = {"given": lambda r: stage(r, "move", "breakfast", "fetch")}
    yield explore(finishes, finishes, finally_=asked_twice_goes_on_once, **three)


# %% [markdown]
# Run this after each change. It stops at the first promise that is broken:


# %% tags=["check"]
WANTED = [
    (["move", "breakfast", "fetch"], "breakfast", ["breakfast", "fetch"]),
    (["move"], None, []),
    (["breakfast", "move"], None, ["breakfast", "move"]),
    ([], None, []),
]


def check(done):
    for line, answer, left in WANTED:
        stage(redis, *line)
        said, (now_line, tray) = said_by(done, redis, "move"), lies(redis)
        if (said, now_line) != (answer, left):
            return f"Not yet. {line}: wanted {answer}, {left}; got {said}, {now_line}."
        if tray != ["call", *([answer] if answer else [])]:
            return f"Not yet. {line}: then the tray holds {tray}."
        if redis.llen(LINE + "Pi") != 2:
            return f"Not yet. {line}: another guest's line is not as it was."
    stage(redis, "move", "breakfast")
    said, (line, tray) = said_by(done, redis, "call", "Pi"), lies(redis)
    if (said, line, tray) != ("taxi", ["move", "breakfast"], ["call", "taxi"]):
        return f"Not yet. Mr Pi's call: got {said}; Mrs Ode's {line}, the tray {tray}."
    if redis.lrange(LINE + "Pi", 0, -1) != [b"taxi"]:
        return "Not yet. Mr Pi's call is done, and his line is not the taxi alone."
    for report in accidents_of(done):
        if not report:
            return report
    return "Passed: whoever comes, and wherever you fall, her wishes go on in order."


check(done)

# %% [markdown]
# <details><summary>First hint: where to look</summary>
#
# DONE, above, has all but one comparison.
#
# </details>
# <details><summary>Second hint: what is needed</summary>
#
# Look at the first of the line, compare, take it off, look at the next, put it into the tray: if anybody comes in between, he sees a line that is empty, or a wish twice. So one script, or WATCH.
#
# </details>
# <details><summary>Third hint: the shape of the code</summary>
#
# A script with two keys, the line and the tray. `LINDEX line 0` is compared with the wish; if it is another, return nothing. Then LPOP, LINDEX again, RPUSH if there is one, and return it.
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def done(redis, guest, wish):
#     script = """
#     if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return false end
#     redis.call('LPOP', KEYS[1])
#     local next = redis.call('LINDEX', KEYS[1], 0)
#     if next then redis.call('RPUSH', KEYS[2], next) end
#     return next
#     """
#     return redis.eval(script, 2, LINE + guest, TRAY, wish)
# ```
#
# A name that comes twice in a line would be taken for the first: the kit compares the id of a job, which is there once. And it compares the token of the claim, so that only who holds it can end it.
#
# </details>

# %% [markdown] points=["C9", "C10"]
# ## What you trade
#
# | you choose | and get | and pay with |
# |---|---|---|
# | one queue | nothing to think about | one node's speed |
# | shards by id | as many nodes as you like | a number that is hard to change |
# | shards by entity | a lane for each | a busy entity makes a hot shard |
# | one worker per shard | order, while it lives and nothing fails | a lock, and a queue that one failure holds up |
# | lanes | order, and any number of workers | an entity that is as slow as its slowest job |
# | buckets by the minute | small sets | an index, or lost calls |

# %% [markdown] points=["A19"]
# **Say it without notes.** A million reminders are due at midnight, and those of one account must keep their order. What do you do? *(Four sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# I split the queue into N shards by a stable hash, CRC-32 of the id modulo N, each with its own key tag, so that a cluster spreads them and a scheduler and workers drain each in parallel; N is remembered on the server. Accounts that need order are routed by the account, so that all their jobs are in one shard. Routing alone does not keep the order, since two workers may take two of them, and a retry goes behind; so only the first open job of an account is ready, and the script that ends it sets the next one going. What is late must be found, so the scheduler takes all that is due, not only the present minute's.
#
# </details>
#
# Yours had: a stable hash ◯ one place for an id ◯ why routing isn't order ◯ one at a time per account ◯ late ones ◯

# %% [markdown] points=["C9", "C10"]
# ## Three questions an interviewer asks next
#
# **"One customer has half of all jobs. Now her shard is hot."**
# <details><summary>A short answer</summary>
#
# Order and spreading are opposites: what must be in order can't be done at once. First ask whether all of it must be in order, or each of her orders for itself: then the order's number is the entity. What is left is a lane whose throughput is one job after the other; make the jobs shorter, or several of them one job.
#
# </details>
#
# **"You go from 8 shards to 16 without stopping. How?"**
# <details><summary>A short answer</summary>
#
# Write to the new layout and let workers drain both until the old one is empty, if you need neither order nor dedup across the two. If you do, per entity: keep those in the old layout that have open jobs there. Or start with many more logical shards than nodes, 1,024 say, and move whole shards between nodes: that is what a cluster's slots are, and then N never changes.
#
# </details>
#
# **"Is this exactly in order?"**
# <details><summary>A short answer</summary>
#
# In the order of the submits, as the server saw them, and one valid claim at a time. Two clients that submit at once are in the order in which their scripts ran. A worker that was paused may still write late, so the resource compares the fencing token. And a job that is requeued from the dead letters comes behind those that went on.
#
# </details>

# %% [markdown]
# The [start page](00_start.ipynb) says what is here.
