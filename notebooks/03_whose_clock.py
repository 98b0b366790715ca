# %% [markdown]
# # 03 Whose clock?
#
# At the end you can say what two clocks that disagree do to a delayed queue and to a lease, make one clock decide, and choose a unit of time that a sorted set really holds.
#
# About 25 minutes, estimated from the number of words. All cells together run in some 10 seconds, measured.

# %% [markdown] points=["A5"]
# ## Two watches
#
# Ada's watch is a minute and a half fast, Bob's half a minute slow. Neither knows. Eve says to Ada: "wake me in five minutes". Ada looks at her watch, adds five, and writes the time on the list. Bob looks at *his* watch, and at the list.

# %% tags=["varies"] varies="the first line names the Redis that was found"
import math
import random
import time

import jobkit as jk
from jobkit import plot
from jobkit.explore import explore

redis = jk.connect()

# %% [markdown]
# **Predict.** How long does Eve sleep? ◯ 3 minutes ◯ 5 minutes ◯ 7 minutes
#
# Machines are no better than that. A clock that nobody corrects drifts by a second or more in a day; one that is corrected may be *set*, in a step; a virtual machine that was paused wakes up late.

# %% tags=["varies"] varies="names the version of the fake"
hall = jk.connect("fake", clock=jk.VirtualClock())

# %% [markdown]
# (A fake Redis whose time moves only when we say so.) A watch is the right time, and an error. The writer puts down a moment by one watch, the reader looks by another:


# %%
def rings_after(writer, reader, wait=300):
    """Seconds until it rings; the errors of the two watches are seconds, too."""
    begin = hall.clock.now()
    hall.zadd("delayed", {"room 412": begin + (writer + wait) * 1000})
    while True:
        now = hall.clock.now() + reader * 1000
        if hall.zrange("delayed", "-inf", now, byscore=True):
            hall.delete("delayed")
            return (hall.clock.now() - begin) // 1000
        hall.clock.advance(5)


# %% [markdown]
# Ada's watch and Bob's, to be set as you like:

# %% tags=["widget"]
from ipywidgets import IntSlider, interact


@interact(ada=IntSlider(90, min=-300, max=300), bob=IntSlider(-30, min=-300, max=300))
def sleeps(ada, bob):
    print(f"Eve sleeps {rings_after(ada, bob)} s")


# %% [markdown]
# Without sliders: three watches write, three read. Eve asked for 300 seconds:

# %%
errors = {"30 s slow": -30, "right": 0, "90 s fast": 90}
rows = [
    (writer, *(rings_after(errors[writer], errors[reader]) for reader in errors))
    for writer in errors
]
head = ("written by a watch", *(f"read by one {name}" for name in errors))
plot.table([head, *rows], caption="Seconds until the phone rings.", bold=[3])

# %% [markdown]
# Ada and Bob: **420 s**, so seven minutes. On the diagonal all is well, even if the watch is wrong. What counts is the *difference*: the writer's error less the reader's.
#
# So one wrong machine is no problem. Two machines are.

# %% [markdown] points=["A5"]
# ## The smallest counterexample
#
# For the explorer (notebook 00): A takes the order, B is the porter. Each asks the clock of its own machine, as all three of our documents do when they put a job on the list.


# %%
def takes_the_order(r):
    r.zadd("delayed", {"room 412": (time.time() + 5) * 1000})


def porter(r, w):
    for room in r.zrange("delayed", "-inf", time.time() * 1000, byscore=True):
        if r.zrem("delayed", room):
            w.effect(f"ring {room.decode()}")


# %% [markdown]
# In the explorer time stands still unless somebody sleeps, and nobody does. So within these five seconds nobody may ring:


# %%
def not_yet(world):
    assert not world.effects, "rung at once, five seconds early"


explore(takes_the_order, porter, finally_=not_yet)

# %% [markdown]
# Clean, with watches that agree. `offsets` says how far each worker's clock is ahead of the server's, in seconds:

# %%
explore(takes_the_order, porter, finally_=not_yet, offsets=[0, 6])

# %% [markdown]
# Two steps, no bad luck at all: a porter who is six seconds ahead never waits. How large must the error be?

# %%
rows = [("the porter is ahead by", "who is rung at once")]
for seconds in (0, 2, 4, 5, 6):
    report = explore(takes_the_order, porter, finally_=not_yet, offsets=[0, seconds])
    rows.append((f"{seconds} s", "nobody" if report else "room 412"))

plot.table(rows, caption="A wait of five seconds.")

# %% [markdown]
# An error as long as the wait removes it; a smaller one shortens it. And waits of five seconds are what the first retry has. Document A's waits, written by a worker whose clock is wrong, and read by one that is right:

# %%
rows = [("the worker's clock", "5 s become", "30 s become", "5 min become")]
for error in (-120, -10, 0, 10, 120):
    waits = (f"{rings_after(error, 0, wait)} s" for wait in (5, 30, 300))
    rows.append((f"{error:+} s", *waits))

plot.table(rows, caption="Retries of one failed job.", bold=[1])

# %% [markdown]
# > **Document says / measured.** Document A warns of worker clocks, and asks Redis for the time in its claim script. Its own `on_failure` then takes `time.time()` (so do B and C). Measured: on a host that is two minutes behind, the first two retries are not waited for at all.
#
# All the waits of notebook 08 are worth nothing on that host. Nothing fails, and no log says a word.

# %% [markdown]
# Three hosts submit a job each, at one instant, for "in a minute". By the server's clock that is:

# %% tags=["varies"] varies="a live server's own milliseconds"
LIST = redis.prefix + "{clocks}:delayed"
redis.delete(LIST)
for host, error in {"host A": 90, "host B": -30, "host C": -75}.items():
    redis.zadd(LIST, {host: redis.clock.now() + (error + 60) * 1000})

plot.delayed(redis, LIST, caption="One minute, says each of the three.")

# %% [markdown]
# C's job is overdue at birth, and A's comes two and a half minutes later.

# %% [markdown] points=["A5"]
# ## A lease by the wrong watch
#
# It gets worse where a clock guards something. A key to the safe, lent for 30 seconds: whoever asks may have it, if the last loan is over. In one script, so nothing comes in between (notebook 02). But *now* comes in as an argument.

# %%
LEND = """-- lend
local over = tonumber(redis.call('GET', KEYS[1]) or 0)
if over > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1] + 30000)
return 1
"""


def asks(r, w):
    if r.eval(LEND, 1, "safe", int(time.time() * 1000)):
        w.effect("takes the key")


# %% [markdown]
# At one instant, only one may have it:


# %%
def one_holder(world):
    holders = [done.worker for done in world.effects]
    assert len(holders) < 2, f"{' and '.join(holders)} have the key"


explore(asks, asks, finally_=one_holder)

# %% [markdown]
# With watches that agree it holds. Bob's is now 31 seconds ahead of Ada's:

# %%
explore(asks, asks, finally_=one_holder, offsets=[0, 31])

# %% [markdown]
# **Two holders at one instant**, though the script is atomic. Atomic is about order, and here nobody broke the order: B believed that half a minute was over. Locks, leases, "last run" stamps: what one machine writes and another compares, needs one clock.

# %% [markdown] points=["A5"]
# ## The cure, in three steps
#
# There is one machine that all talk to, and it has a clock. First step: ask it. TIME answers seconds and microseconds.


# %%
def server_now(r):
    seconds, micros = r.time()
    return seconds * 1000 + micros // 1000


assert server_now(hall) == hall.clock.now()

# %% [markdown]
# How far is *this* machine from it? Ask before and after: the truth lies between the two, give or take half of the journey.

# %% tags=["varies"] varies="durations, and a clock that is asked"
before = time.time()
there = server_now(redis) / 1000
after = time.time()
rows = [
    ("the journey took", f"{(after - before) * 1000:.2f} ms"),
    ("the server is ahead by", f"{(there - (before + after) / 2) * 1000:+.2f} ms"),
]
plot.table([("", ""), *rows], caption="Your Redis, and this notebook.")

# %% [markdown]
# (It runs on this very machine, so there is little to see.) That is one journey more, and an answer that is old on arrival. So second step: ask *inside* the script. And what the caller hands over is no moment any more, but a **delay**.

# %%
SUBMIT = """-- submit
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
return redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[2])
"""

hall.eval(SUBMIT, 1, "delayed", 5000, "room 412")
assert hall.zscore("delayed", "room 412") == hall.clock.now() + 5000

# %% [markdown]
# A delay is the same on every watch. Third step: the porter's question gets no moment either.

# %%
DUE = """-- due
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
return redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
"""

# %% [markdown]
# Not before its time, and then:

# %%
hall.eval(SUBMIT, 1, "delayed", 5000, "room 412")
assert hall.eval(DUE, 1, "delayed", 10) == []
hall.clock.advance(5)
assert hall.eval(DUE, 1, "delayed", 10) == [b"room 412"]

# %% [markdown]
# Both again, on watches that are hours apart:


# %%
def submits(r):
    r.eval(SUBMIT, 1, "delayed", 5000, "room 412")


def careful(r, w):
    for room in r.eval(DUE, 1, "delayed", 10):
        if r.zrem("delayed", room):
            w.effect(f"ring {room.decode()}")


explore(submits, careful, finally_=not_yet, offsets=[-3600, 7200])

# %% [markdown]
# Clean: whatever their watches show, nobody asks them. (`careful` has other faults, which are notebook 02's.) The key to the safe gets its own clock, too:

# %%
LEND = """-- lend
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if tonumber(redis.call('GET', KEYS[1]) or 0) > now then return 0 end
redis.call('SET', KEYS[1], now + 30000)
return 1
"""


def asks(r, w):
    if r.eval(LEND, 1, "safe"):
        w.effect("takes the key")


# %% [markdown]
# One clock, three who ask, and watches from last week:

# %%
explore(asks, asks, asks, finally_=one_holder, offsets=[0, 31, -600_000])

# %% [markdown]
# (`SET safe Ada NX PX 30000` does the same in one command: an expiry is also by the server's clock.)

# %% [markdown] points=["A5"]
# ## One clock is not a right clock
#
# **Predict.** With TIME in the script, what can still go wrong? The server's own clock may jump: it is set by hand, or the machine was paused. `clock_jump=31` lets it jump ahead once, at any moment:

# %%
explore(asks, asks, finally_=one_holder, clock_jump=31)

# %% [markdown]
# Two holders again. A has the key, and half a minute is over; whether it was a jump or A that was asleep, looks the same from here. No clock can help A: it has to learn that it is late. That is the *fencing token* of notebook 07, a number that needs no clock.
#
# | a clock can say | and not |
# |---|---|
# | not before this moment | exactly at this moment |
# | this lease is over | its holder has stopped |
# | that came earlier, on one server | that came earlier, on two machines |

# %% [markdown] points=["B1"]
# ## Finer than it can be
#
# Which unit should the score have? Document B takes nanoseconds, for "deterministic ordering for closely timed jobs". Three calls, a nanosecond apart, at the first moment of 2026:

# %%
NANO = redis.prefix + "{clocks}:ns"
begin = 1_767_225_600_000_000_000
redis.delete(NANO)
for ns, room in ((1, "room 9"), (2, "room 7"), (100, "room 412")):
    redis.zadd(NANO, {room: begin + ns})

# %% [markdown]
# **Predict.** In which order do they come back? ◯ 9, 7, 412 ◯ 412, 7, 9 ◯ it depends

# %%
rows = [("room", "score, less the beginning")]
for room, score in redis.zrange(NANO, 0, -1, withscores=True):
    rows.append((room, int(score) - begin))

plot.table(rows, caption="Submitted as 9, 7, 412.")

# %% [markdown]
# All three have the score **0**: the nanoseconds are gone. A score is a *double*, a floating-point number with 53 bits. How many do today's nanoseconds need, and what is the finest step that is left?

# %%
begin.bit_length(), math.ulp(float(begin))

# %% [markdown]
# 61 bits, and a step of **256 ns**. And with equal scores Redis sorts by the bytes of the member: "4" before "7" before "9". Deterministic it is, but it is the order of the names. For each unit:

# %%
rows = [("unit", "today in it", "finest step", "exact until the year")]
for unit, per_second in (("s", 1), ("ms", 10**3), ("µs", 10**6), ("ns", 10**9)):
    today = begin // 10**9 * per_second
    year = round(1970 + 2**53 / per_second / 86_400 / 365.2425)
    step = "1" if math.ulp(float(today)) <= 1 else f"{math.ulp(float(today)):g}"
    rows.append((unit, f"{today:,}", step, f"{year:,}" if year > 9999 else year))

plot.table(rows, caption="Whole numbers that a double holds.", bold=[2])

# %% [markdown]
# Nanoseconds since 1970 were exact until April 1970. Milliseconds have room for 287,000 years.
#
# > **Document says / measured.** Document B: nanoseconds bring extremely fine resolution and no rounding errors. Measured: steps of 256 ns, and three jobs with one score. Its scheduler then looks every two seconds.

# %% [markdown]
# Microseconds would fit. There is a second trap on the way, in Lua, whose numbers are doubles as well. It writes them with 14 digits:

# %%
rows = [("unit", "handed to Lua", "written by Lua")]
for unit, digits in (("ms", 13), ("µs", 16), ("ns", 19)):
    moment = "1767225600123456789"[:digits]
    rows.append((unit, moment, redis.eval("return tostring(ARGV[1] + 0)", 0, moment)))

plot.table(rows, caption="What becomes of a moment that a script turns into text.")

# %% [markdown]
# A moment in ms has 13 digits, and comes out whole. In µs it loses its last ones as soon as a script glues it into a text, such as a line of a history. So: **integer milliseconds**, everywhere, as the kit does. No poll, no network and no handler is finer.

# %% [markdown] points=["B1"]
# ## If order matters
#
# In milliseconds ties are not rarer, they are the rule. Ten calls in one ms, in the order 1 to 10:

# %%
TIES = redis.prefix + "{clocks}:ties"
redis.delete(TIES)
redis.zadd(TIES, {f"room {n}": 1_767_225_600_000 for n in range(1, 11)})
[room.decode().removeprefix("room ") for room in redis.zrange(TIES, 0, -1)]

# %% [markdown]
# As text, "10" comes before "2". Whoever needs the order of submission has to write it down: a number from a counter, in front, and with leading zeros, so that its bytes sort as the number does.


# %%
def in_line(r, room):
    number = r.incr(TIES + ":count")
    r.zadd(TIES, {f"{number:012}:{room}": 1_767_225_600_000})


redis.delete(TIES, TIES + ":count")
for n in range(1, 11):
    in_line(redis, f"room {n}")

order = [member.decode().split(":room ")[1] for member in redis.zrange(TIES, 0, -1)]
assert order == [str(n) for n in range(1, 11)]

# %% [markdown]
# The counter is one clock more, and a good one: it never jumps, has no unit, and two calls never get the same number. (Order *among workers* is another matter: two of them can run 1 and 2 at once. Notebook 12.)

# %% [markdown] points=["A5"]
# ## The same with the kit
#
# The kit asks nobody's watch. A submits a job for in ten seconds, an hour behind; B promotes and claims, two hours ahead, at once and again ten seconds later:


# %%
def orders(r):
    jk.Queue(r, "q").submit("ring", id="room 412", delay=10)


def claims(queue):
    queue.promote()
    return [claim.id for claim in queue.claim("Bob")]


def works(r):
    queue = jk.Queue(r, "q")
    early = claims(queue)
    time.sleep(10)
    return early, claims(queue)


# %% [markdown]
# Nothing at once, and the call at its time:


# %%
def on_time(world):
    early, then = world.answers["B"]
    assert early == [], f"early: {early}"
    assert then == ["room 412"], f"after ten seconds: {then}"


explore(orders, works, finally_=on_time, offsets=[-3600, 7200])

# %% [markdown]
# A job may also be meant for a moment of the calendar, New Year in Berlin, say. Then the caller's `at` says *which* moment, with its time zone; a moment without one is refused, since it would be another on each machine:

# %%
from datetime import datetime

queue = jk.Queue(redis, "clocks")
try:
    queue.submit("ring", at=datetime(2030, 1, 1))  # noqa: DTZ001 - that is the point
except jk.DelayError as error:
    print(error)

# %% [markdown]
# Where do the scripts take their time from? From `now()`, which reads TIME once, so that a script has *one* now. (promote.lua, which stands by itself, has the same two lines.)

# %%
from jobkit.scripts import load

print(load("opening").text.split("-- Two stores")[0])

# %% [markdown] points=["A5", "B1"]
# ## Proved, and not proved
#
# A hundred delays, from hosts whose clocks are off by up to an hour. Each by the document's way, and by the script. How far from the wish is the moment that stands on the list?


# %%
def prove(redis, rng, rounds=100):
    key = redis.prefix + "{clocks}:proof"
    worst = {"the host's clock": 0, "the server's clock": 0}
    for _ in range(rounds):
        error, delay = rng.randint(-3600, 3600) * 1000, rng.randint(0, 10**6)
        began = server_now(redis)
        redis.zadd(key, {"theirs": redis.clock.now() + error + delay})
        redis.eval(SUBMIT, 1, key, delay, "ours")
        for name, member in zip(worst, ("theirs", "ours"), strict=True):
            off = abs(redis.zscore(key, member) - began - delay)
            worst[name] = max(worst[name], round(off / 1000))
    redis.delete(key)
    return worst


worst = prove(redis, random.Random(1))
rows = [(name, f"{seconds:,} s") for name, seconds in worst.items()]
plot.table([("run-at by", "off by up to"), *rows], caption="A hundred hosts.")

# %% [markdown]
# Nearly an hour, against nothing that shows in seconds. That holds for any watch, since no watch is asked.
#
# **Not** proved: that the server's clock is right, or that it never jumps. Two servers are two clocks: after a failover the new one may be behind, and all that was due waits for it. Let NTP correct them slowly, in small steps, and alert on the offset.

# %% [markdown] points=["A5"]
# ## The same on the other Redis
#
# Every cell runs unchanged on a real server and on the fake. The proof on both:

# %% tags=["varies"] varies="names the Redis that was found"
for name in ("fake", "private"):
    try:
        print(prove(jk.connect(name), random.Random(2)))
    except jk.ServerUnavailable as error:
        print(f"no real server here: {error}")

# %% [markdown] points=["A5", "B1"]
# ## Your turn: in line, and on time
#
# Write `call_in(redis, room, seconds)`. It puts a line on LINES, a sorted set, whose member ends with `:` and the room. Its score is the moment when the room is to be rung, `seconds` (1.5, say) from now, in whole milliseconds, by the server's clock. And calls for the same millisecond come back in the order in which they were made. COUNT is a key of your own.
#
# Others call meanwhile; their watches, and yours, may show anything.

# %%
LINES, COUNT = (redis.prefix + "{clocks}:" + key for key in ("lines", "count"))


def call_in(redis, room, seconds):
    """Put a call on LINES, `seconds` from now, in line with the others."""
    # your lines


# %% [markdown]
# The check works in the explorer, where time stands still, so that ties are certain. Yours is a watch that is ten minutes fast. (Folded away; you need not read it.)


# %% tags=["check"] jupyter={"source_hidden": true}
def lines_of(r):
    found = r.zrange(LINES, 0, -1, withscores=True)
    return [(line.decode().rpartition(":")[2], score) for line, score in found]


def trial(acts, offset=600):
    """Let one worker act; return the lines, as (room, ms from now)."""
    seen = []

    def note(world):
        now = world.redis.clock.now()
        seen.extend((room, score - now) for room, score in lines_of(world.redis))

    report = explore(acts, finally_=note, offsets=[offset])
    return seen if report else report


def many(call_in, r):
    for n in range(1, 121):
        call_in(r, f"room {n}", 60)


def some_leave(call_in, r):
    for room in ("room 9", "room 8", "room 7"):
        call_in(r, room, 60)
    r.zremrangebyrank(LINES, 0, 1)
    for room in ("room 6", "room 5"):
        call_in(r, room, 60)


# %% [markdown]
# And two who call at once:


# %% tags=["check"] jupyter={"source_hidden": true}
def both_call(call_in):
    def ada(r):
        for room in ("room 9", "room 8", "room 7"):
            call_in(r, room, 60)

    def bob(r):
        call_in(r, "room 1", 60)

    def all_four_are_there(world):
        rooms = {room for room, _ in lines_of(world.redis)}
        assert len(rooms) == 4, f"four calls, and {len(rooms)} lines"

    def adas_calls_are_in_her_order(world):
        hers = [room for room, _ in lines_of(world.redis) if room != "room 1"]
        assert hers == ["room 9", "room 8", "room 7"], f"they come back as {hers}"

    promises = [all_four_are_there, adas_calls_are_in_her_order]
    return explore(ada, bob, finally_=promises, offsets=[600, -600], bound=2)


# %% [markdown]
# Run this after each change. It stops at the first promise that is broken:


# %% tags=["check"]
def check(call_in):
    redis.delete(LINES, COUNT)
    call_in(redis, "room 412", 0.0015)
    if any(score != int(score) for _, score in lines_of(redis)):
        return f"Not yet. In 1.5 ms: whole milliseconds, please; {lines_of(redis)}."
    for seconds, offset in ((60, 600), (1.5, -600)):
        seen = trial(lambda r, s=seconds: call_in(r, "room 412", s), offset)
        if not isinstance(seen, list):
            return seen
        if [room for room, _ in seen] != ["room 412"]:
            return f"Not yet. One call for room 412: the lines are of {seen}."
        ms = seen[0][1]
        if abs(ms - seconds * 1000 - offset * 1000) < 500:
            return f"Not yet. {offset:+} s off: that is your watch, not the server's."
        if ms != seconds * 1000:
            want = f"{seconds * 1000:.0f} ms from now"
            return f"Not yet. In {seconds} s: wanted {want}, got {ms:,.0f}. Which unit?"
    seen = trial(lambda r: many(call_in, r))
    if not isinstance(seen, list):
        return seen
    wanted = [f"room {n}" for n in range(1, 121)]
    got = [room for room, _ in seen]
    if got != wanted:
        at = next(n for n, room in enumerate(wanted) if [room] != got[n : n + 1])
        there = f"place {at + 1} is {got[at : at + 1]}, not {wanted[at]}"
        return f"Not yet. 120 calls: {there}."
    seen = trial(lambda r: some_leave(call_in, r))
    got = [room for room, _ in seen] if isinstance(seen, list) else seen
    if got != ["room 7", "room 6", "room 5"]:
        return f"Not yet. Two of three were rung, then two called: {got}."
    report = both_call(call_in)
    return "Passed: on time by any watch, and in line." if report else report


check(call_in)

# %% [markdown]
# <details><summary>First hint: where to look</summary>
#
# SUBMIT has the time, `in_line` has the order.
#
# </details>
# <details><summary>Second hint: what is needed</summary>
#
# INCR never gives a number twice. In Lua, `string.format('%012d', n)` writes it with leading zeros.
#
# </details>
# <details><summary>Third hint: the shape of the code</summary>
#
# A script with two keys, LINES and COUNT: TIME, INCR, then ZADD of now plus the delay, and of number, `:` and room. The delay comes in as whole milliseconds.
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def call_in(redis, room, seconds):
#     script = """
#     local t = redis.call('TIME')
#     local now = t[1] * 1000 + math.floor(t[2] / 1000)
#     local number = string.format('%012d', redis.call('INCR', KEYS[2]))
#     redis.call('ZADD', KEYS[1], now + ARGV[1], number .. ':' .. ARGV[2])
#     """
#     redis.eval(script, 2, LINES, COUNT, round(seconds * 1000), room)
# ```
#
# INCR, then TIME, then ZADD from Python passes, too: a caller who falls in between leaves out a number, and that does no harm. Its time is one journey old.
#
# </details>

# %% [markdown] points=["A5", "B1"]
# ## What you trade
#
# | you choose | and get | and pay with |
# |---|---|---|
# | each host's clock | no question to Redis | waits that are off by the difference of two clocks |
# | TIME, asked by the client | one clock | a journey, and an answer that is old |
# | TIME in the script | one clock, one now per step | a script; moments only from the server |
# | ns as a score | nothing | ties and rounding that nobody expects |
# | ms as a score | exact for 287,000 years | ties: order needs a number of its own |

# %% [markdown] points=["A19"]
# **Say it without notes.** A job must be retried in 30 seconds, and your hosts' clocks differ by up to a minute. What do you send, who decides when it is due, and what remains? *(Four sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# The worker sends a delay, never a moment; the script reads Redis TIME and writes now plus the delay, in whole milliseconds. Whoever promotes asks the same clock inside its own script, so only one clock takes part, and the hosts' differences cancel out of everything: waits, leases, last-run stamps. Milliseconds, because a double holds them exactly, while nanoseconds of today come in steps of 256; equal scores sort by the member's bytes, so order needs a counter. What remains is that the one clock may jump, at a step of NTP, a pause or a failover: leases then end early, and a fencing token has to catch the late one.
#
# </details>
#
# Yours had: a delay ◯ TIME in the script ◯ milliseconds ◯ ties ◯ the jump ◯

# %% [markdown] points=["A5"]
# ## Three questions an interviewer asks next
#
# **"All our hosts run NTP. Isn't that enough?"**
# <details><summary>A short answer</summary>
#
# It keeps most of them within milliseconds, most of the time. A host whose daemon has died drifts for weeks, a resumed virtual machine is minutes behind until it is corrected, and the correction itself is a jump. One clock in the script costs nothing, and none of that matters to it.
#
# </details>
#
# **"You write in a script after reading TIME. Is that allowed, with replicas?"**
# <details><summary>A short answer</summary>
#
# Yes, since scripts are replicated by their effects: the replica gets the ZADD with its number, and does not run the script again. That is the default since Redis 5. Before, a write after TIME was refused unless the script asked for effects.
#
# </details>
#
# **"Redis Cluster: how many clocks are there?"**
# <details><summary>A short answer</summary>
#
# One per master. A queue lives in one hash slot, so it has one at a time, and its moments are only compared with that one. A failover hands it to the replica's clock: keep their offsets small, and expect a lease to be that much too short or too long.
#
# </details>

# %% [markdown]
# Next: 04, scheduler and workers apart. The [start page](00_start.ipynb) says what is here.
