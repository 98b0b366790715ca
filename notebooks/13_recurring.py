# %% [markdown]
# # 13 Recurring schedules on many instances
#
# At the end you can run one schedule on any number of machines and have each occurrence once, say what a leader's lease promises and what it doesn't, make up for the hours in which nobody was there, and tell what a job at half past two does on the night when there are two.
#
# About 25 minutes, estimated from the number of words. All cells together run in some 10 seconds, measured.

# %% [markdown] points=["A12", "A13"]
# ## Who winds the clock?
#
# The clock in the hall is wound each hour. There are three clerks at the desk, so that one may be ill. If all three wind it, the spring breaks. If each takes it that another one did, it stops.
#
# Two arrangements come to mind. *Who winds it chalks the hour on the board*: the others see it. Or *one has the key*, until he lays it down.

# %% tags=["varies"] varies="the first line names the Redis that was found"
import random
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import jobkit as jk
from jobkit import plot
from jobkit.explore import explore

redis = jk.connect()


def afresh(name):
    """Delete all keys of a queue: a second run begins anew."""
    for key in redis.scan_iter(redis.prefix + "{" + name + "}*"):
        redis.delete(key)


# %% [markdown]
# **Predict.** Document A offers both: `SET run:{job}:{occurrence} NX EX`, after which only the winner enqueues; or a leader, `SET leader:scheduler <id> NX PX 10000`. Three schedulers, nothing but pauses and crashes. Which can lose an hour, and which can have one twice?
#
# ◯ the mark can do both, the leader doubles ◯ the mark doubles, the leader loses ◯ neither

# %% [markdown] points=["A13"]
# ## The chalk
#
# A scheduler that finds it is three o'clock puts down a mark of that hour. SET with NX says to one of all that he was first, and he puts the slip into the tray:


# %%
def chalks(r):
    if r.set("run:wind:03:00", 1, nx=True, ex=3600):
        r.rpush("tray", "wind, 03:00")


# %% [markdown]
# The promise, for two of them in every order:


# %%
def one_slip(world):
    slips = world.redis.llen("tray")
    assert slips == 1, f"{slips} slips for three o'clock"


explore(chalks, chalks, finally_=one_slip)

# %% [markdown]
# Clean. And if one of them dies?

# %%
explore(chalks, chalks, finally_=one_slip, crashes=1)

# %% [markdown]
# The hour is on the board, and nobody winds. No one will ever see it: the mark says that it is done.
#
# There is a second thing. The mark has an end, EX, or the board would fill. One who comes after that (his machine stood still, or he makes up for the past) finds no mark:

# %%
twice = explore(chalks, chalks, finally_=one_slip, clock_jump=3601)
twice

# %% [markdown]
# > **Document says / measured.** Document A: only the winner enqueues. So he does, unless he dies in between: then nobody does. And it is only once for as long as the mark lives.
#
# Both have one answer, the answer of this whole course: **what belongs together is one step.** The mark and the slip become one script. And in place of a mark per hour, one *last hour*, which needs no end:

# %%
OCCUR = """-- occur
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if last >= tonumber(ARGV[1]) then return 'before' end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('RPUSH', KEYS[2], ARGV[1])
return 'made'
"""

# %% [markdown]
# Twice the same hour, then an older one, then the next:

# %%
LAST, TRAY = (redis.prefix + "{hall}:" + part for part in ("last", "tray"))
redis.delete(LAST, TRAY)
said = [redis.eval(OCCUR, 2, LAST, TRAY, hour) for hour in (3, 3, 2, 4)]
assert said == [b"made", b"before", b"before", b"made"]
assert redis.lrange(TRAY, 0, -1) == [b"3", b"4"]

# %% [markdown]
# Hour 2 was never made, and never will be: with a last hour they must come in order. Who was away has to make up for the gap first (below).
#
# With a crash, a lost answer and an hour that passes, all at once. Who dies before his step leaves nothing behind, so somebody comes later and does it:


# %%
def winds(r):
    r.eval(OCCUR, 2, "last", "tray", 3)


def one_slip_in_the_end(world):
    winds(world.redis)
    one_slip(world)


# %% [markdown]
# Two of them, and all accidents:

# %%
accidents = {"crashes": 1, "lost_replies": 1, "clock_jump": 3601}
explore(winds, winds, finally_=one_slip_in_the_end, **accidents)

# %% [markdown] points=["A12"]
# ## The key
#
# With that, any number may try, and each hour comes once. But all of them look all the time, and all but one in vain. So the second arrangement: one has the key, for ten seconds, and takes it anew every few.


# %%
def has_the_key(r, w):
    leads = r.set("leader", w.name, nx=True, px=10_000)
    if leads and r.get("last") != b"3":
        r.rpush("tray", 3)
        r.set("last", 3)


# %% [markdown]
# Two of them, in every order:

# %%
explore(has_the_key, has_the_key, finally_=lambda world: world.redis.llen("tray") == 1)

# %% [markdown]
# And the same, but time passes: eleven seconds, once, anywhere. A machine swaps, a garbage collector collects, somebody closes his laptop.


# %%
def not_twice(world):
    slips = world.redis.llen("tray")
    assert slips < 2, f"{slips} slips for three o'clock"


explore(has_the_key, has_the_key, finally_=not_twice, clock_jump=11)

# %% [markdown]
# The first holds the key, stands still past his ten seconds, and goes on as if nothing had been. He can't know: there is no clock that he could look at *after* his last look and *before* his write. **A lease makes it rare that two act. It cannot make it impossible.** So: the mark can lose and double, the leader alone doubles.

# %% [markdown] points=["A12"]
# ## Whose key?
#
# Worse is a leader who renews without asking whose key it is. Ada has it, and stands still; her ten seconds pass, and Bob takes it:

# %%
KEY = redis.prefix + "{hall}:leader"
redis.set(KEY, "Ada", px=10_000)
redis.clock.advance(11)
assert redis.set(KEY, "Bob", nx=True, px=10_000)

# %% [markdown]
# Then Ada wakes up, and does what she does every few seconds: she renews. Later her program ends, and she lays the key down:

# %%
rows = [("Ada, back again", "Redis says", "and the key is")]
rows.append(("PEXPIRE leader 10000", redis.pexpire(KEY, 10_000), redis.get(KEY)))
rows.append(("DEL leader", redis.delete(KEY), redis.get(KEY) or "nobody's"))
plot.table(rows, caption="Without a look at the owner.", bold=[1, 2])

# %% [markdown]
# PEXPIRE says yes: she takes it that she leads, and so does he. DEL says 1: she has laid down *his* key. So both must look and act in one step, and while we are at it, each new leader gets a number:

# %%
ELECT = """-- elect
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', 10000)
return holder and redis.call('GET', KEYS[2]) or redis.call('INCR', KEYS[2])
"""

# %% [markdown]
# Holding it, she gets her own number once more; taking it, he gets the next one; in vain, none:

# %%
TERMS = redis.prefix + "{hall}:terms"
redis.delete(KEY, TERMS)


def elect(name):
    return int(redis.eval(ELECT, 2, KEY, TERMS, name))


# %% [markdown]
# Ada, Ada again, Bob in vain. Then her lease is over: Bob leads, and Ada, back again, learns it:

# %%
assert [elect("Ada"), elect("Ada"), elect("Bob")] == [1, 1, 0]
redis.clock.advance(11)
assert [elect("Bob"), elect("Ada")] == [2, 0]

# %% [markdown]
# The numbers have a key of their own, without an end. It outlives every lease, so no number comes twice.
#
# And now the thing itself. The number travels with the write, and the script that writes refuses all but the newest. It is notebook 06's **fencing token**, here one per leader; the kit says *fencing number*:

# %%
OCCUR_FENCED = OCCUR.replace(
    "-- occur\n",
    """-- occur
if redis.call('GET', KEYS[3]) ~= ARGV[2] then return 'fenced' end
""",
)

# %% [markdown]
# Ada's write comes with number 1, and 2 leads:

# %%
hall = (LAST, TRAY, TERMS)
assert redis.eval(OCCUR_FENCED, 3, *hall, 5, 1) == b"fenced"
assert redis.eval(OCCUR_FENCED, 3, *hall, 5, 2) == b"made"

# %% [markdown]
# *fenced*, and nothing was changed. For the explorer, a clerk who asks for the key and then winds:


# %%
def leads(r, w):
    number = int(r.eval(ELECT, 2, "leader", "terms", w.name))
    if number:
        said = r.eval(OCCUR_FENCED, 3, "last", "tray", "terms", 3, number)
        w.effect(said.decode())


# %% [markdown]
# With a pause of eleven seconds anywhere, a crash and a lost answer:

# %%
accidents["clock_jump"] = 11
explore(leads, leads, finally_=not_twice, **accidents)

# %% [markdown]
# Clean. But wait, it was clean before, by the last hour alone. Who needs the number? Whoever writes things that are not "the same hour again": a new timetable, a decision, a file. For occurrences it is the second belt. **The record makes each occurrence once; the leader saves work; the number makes the leader honest.**

# %% [markdown] points=["A12"]
# ## The same with the kit
#
# [`leader.py`](../jobkit/leader.py) is one of the four files to read first. Three clerks who would lead, renewing every three seconds. Ada is stopped after ten seconds and goes on after thirty; Bob is stopped in the same way at twenty-five:

# %%
afresh("clock")
queue = jk.Queue(redis, "clock", rng=random.Random(13))
clerks = {name: jk.Leader(queue, name) for name in ("Ada", "Bob", "Cleo")}
asleep = {"Ada": (10, 30), "Bob": (25, 50)}

# %% [markdown]
# What each of them believes, second by second. One who is stopped goes on believing:


# %%
def watch(seconds):
    """Per clerk, the spans in which he believes that he leads: from, until, number."""
    terms = {name: [] for name in clerks}
    for now in range(seconds):
        for name, leader in clerks.items():
            start, end = asleep.get(name, (99, 99))
            if now % 3 == 0 and not start <= now < end:
                leader.elect()
            if leader.number:
                if not terms[name] or terms[name][-1][2] != leader.number:
                    terms[name].append((now, now, leader.number))
                terms[name][-1] = (terms[name][-1][0], now + 1, leader.number)
        redis.clock.advance(1)
    return terms


terms = watch(60)

# %% [markdown]
# Drawn. The bar is the belief, the grey line below it is the time in which he stood still:

# %%
plot.leaders(
    terms,
    asleep={name: [span] for name, span in asleep.items()},
    caption="Who believes that he leads, and with which number.",
)

# %% [markdown]
# Where it is hatched, two believe it at once: Ada has number 1 while Bob has 2; later Bob has 2 while Ada has 3. There is nothing to be done about a belief. But the number is old, and whomever he writes to can see that.
#
# Eleven seconds each time without a working leader: what is left of the lease, and until somebody asks (here each three seconds; the kit's standby asks when the lease ends).

# %% [markdown] points=["A13", "C2"]
# ## Schedules, kept in Redis
#
# In the kit, a schedule is a record that any process may add. An occurrence is a *slot*, the moment at which it should be, and becomes one job, whose id is the name and the slot. Three instances of a program, each with a scheduler:

# %%
schedules = jk.Schedules(queue, rng=random.Random(1))
schedules.add("wind", "wind", {"clock": "hall"}, every=3600)
instances = {
    name: jk.Scheduler(queue, recurring=schedules, leader=leader)
    for name, leader in clerks.items()
}

# %% [markdown]
# Six hours, each with a tick of everybody, in any order. Who leads, fires:

# %%
rng, rows = random.Random(8), [("hour", *clerks, "jobs in all")]
for hour in range(1, 7):
    redis.clock.advance(3601)
    made = {}
    for name in rng.sample(sorted(instances), 3):
        made[name] = instances[name].tick().occurred
    rows.append((hour, *(made[name] for name in clerks), queue.counts().ready))

plot.table(rows, caption="Who made the job of each hour.")

# %% [markdown]
# In each hour one, whoever it was. And now one hour three times: with an old number, with the newest, and without any.

# %%
redis.clock.advance(3601)
newest = clerks["Ada"].elect() or clerks["Bob"].elect() or clerks["Cleo"].elect()

# %% [markdown]
# Three of them fire, one after the other:

# %%
rows = [("who fires", "jobs", "refused by the fence")]
for who, number in (("number 1", 1), ("the leader", newest), ("without one", None)):
    fired = schedules.fire(number)
    rows.append((who, sum(len(one.slots) for one in fired.occurred), fired.fenced))

plot.table(rows, caption="The same hour, three times.")

# %% [markdown]
# `occur.lua` compares the number, compares the record, makes the job, writes down the last slot and the next: one step. Without a leader the record alone decides, and it's still one job.
#
# What is a leader *not* for? Promoting and recovering: each of those scripts moves a job once, whoever calls it. Document C still has only one scheduler active, and the others on standby. `standby=True` does that. Who owns what, in the words of document C:

# %%
rows = [
    ("who", "decides", "how many", "if one dies"),
    (
        "scheduler",
        "when: promote, recover, fire",
        "one active",
        "standby, in some 10 s",
    ),
    ("queue", "nothing: it holds", "one, in Redis", "replicas"),
    ("workers", "how: claim, run, settle", "as many as needed", "the lease ends"),
]
plot.table(rows, caption="Who owns what, as in document C.")

# %% [markdown] points=["A14"]
# ## Nobody was there
#
# From 22:00 to 03:30 all machines were down. The clock should have been wound at 23, 0, 1, 2 and 3. **Predict**: it is 03:30, and the first scheduler is back. What should it do?
#
# ◯ wind it five times ◯ wind it once ◯ wait for 4 o'clock

# %% [markdown]
# All three are right, for some job. Five invoices are five. Five "refresh the cache" are one. And "good night, sleep well" at half past three is none. So a schedule says it, and has its *last slot* in its record, or nobody could know what is missing:


# %%
def away(catch_up, hours, grace=60):
    afresh("night")
    queue = jk.Queue(redis, "night", rng=random.Random(2))
    night = jk.Schedules(queue, rng=random.Random(3))
    night.add("wind", "wind", every=3600, catch_up=catch_up, grace=grace)
    redis.clock.advance(hours * 3600)
    night.fire()
    return night.get("wind")


# %% [markdown]
# Five and a half hours away, with each policy:

# %%
rows = [("catch_up", "jobs", "dropped", "good for")]
good_for = {
    "skip": "a greeting",
    "latest": "a cache",
    "all:3": "a report",
    "all:100": "bills",
}
for policy, what in good_for.items():
    found = away(policy, 5.5)
    rows.append((policy, found.made, found.dropped, what))

plot.table(rows, caption="Five hours were missed.")

# %% [markdown]
# *Dropped* is counted, in the record and in the totals (`missed`), and logged. A silent skip is the kind of thing that is found at the end of a quarter.
#
# And what is *missed*? A leader who dies costs some ten seconds; nobody would want an hour skipped for that. So up to `grace`, a minute, an occurrence is late but on time:

# %%
rows = [("late by", "skip", "latest")]
for seconds in (12, 50, 70):
    late = {word: away(word, 1 + seconds / 3600).made for word in ("skip", "latest")}
    rows.append((f"{seconds} s", late["skip"], late["latest"]))

plot.table(rows, caption="One hour, fired late: jobs made.")

# %% [markdown]
# Drag the hours of absence:

# %% tags=["widget"]
from ipywidgets import IntSlider, interact


@interact(hours=IntSlider(5, min=1, max=48, continuous_update=False))
def absent(hours):
    for policy in good_for:
        found = away(policy, hours + 0.5)
        print(f"{policy:8} {found.made} jobs, {found.dropped} dropped")


# %% [markdown]
# Without a slider, for two days:

# %%
rows = [("catch_up", "jobs", "dropped")]
for policy in good_for:
    found = away(policy, 48.5)
    rows.append((policy, found.made, found.dropped))

plot.table(rows, caption="Two days were missed.")

# %% [markdown] points=["A14"]
# ## The hour that crept
#
# The next slot follows from the *last slot*, not from the moment at which somebody looked. A scheduler that is up to five seconds late, and both ways to compute the next, for a week:

# %%
rng, drift, grid = random.Random(7), [0.0], [0.0]
for _ in range(24 * 7):
    late = rng.uniform(0, 5)
    drift.append(drift[-1] + late)  # next = now + interval: each delay stays
    grid.append(late)  # next = slot + interval: it is forgotten

# %% [markdown]
# How late the job of each hour comes:

# %%
plot.lines(
    {
        "next = now + 1 h": [(n, round(s / 60, 2)) for n, s in enumerate(drift)][::12],
        "next = slot + 1 h": [(n, round(s / 60, 2)) for n, s in enumerate(grid)][::12],
    },
    x="hours",
    y="minutes late",
    log=False,
    caption="A week of an hourly job whose scheduler is up to 5 s late.",
    twin="From now on, the delays add up; from the slot on, none outlives its hour.",
)

# %% [markdown] points=["A14"]
# ## The night with two half past twos
#
# In Berlin, on 29 March 2026, the clocks go from 02:00 to 03:00: there is no 02:30. On 25 October they go from 03:00 back to 02:00: there are two. **Predict** how often `30 2 * * *` runs on each of these days.
#
# ◯ 0 and 2 ◯ 1 and 1 ◯ 1 and 2

# %%
berlin = ZoneInfo("Europe/Berlin")


def runs(cron, day):
    """The local times of a cron expression on a day in Berlin."""
    start = datetime.fromisoformat(day).replace(tzinfo=berlin)
    end = start + timedelta(days=1)
    slots = jk.Cron(cron, "Europe/Berlin").after(int(start.timestamp() * 1000) - 1)
    moments = (
        datetime.fromtimestamp(slot / 1000, berlin) for slot in islice(slots, 30)
    )
    return [moment for moment in moments if moment < end.astimezone(UTC)]


# %% [markdown]
# The two nights, and the days around them:

# %%
days = ["2026-03-28", "2026-03-29", "2026-03-30", "2026-10-24", "2026-10-25"]
rows = [("day in Berlin", "30 2 * * *", "how often", "0 * * * *, how often")]
for day in days:
    daily = runs("30 2 * * *", day)
    times = ", ".join(moment.strftime("%H:%M, UTC%z") for moment in daily)
    rows.append((day, times, len(daily), len(runs("0 * * * *", day))))

plot.table(rows, caption="A daily job, and an hourly one.", bold=[2, 5])

# %% [markdown]
# That is the policy of the kit (and of Debian's cron, and of the parser, cronsim): **a fixed time of day is once per local day**, at the end of the gap if it has none, at the first if it has two. What has a `*` in the minute or the hour **follows real time**: 23 hours in a short day, 25 in a long one.
#
# The wrong way is to take a day for 24 hours. The report of seven o'clock, computed by `+ 24 h` from 27 March on:

# %%
first = datetime(2026, 3, 27, 7, tzinfo=berlin).astimezone(UTC)
naive = [(first + timedelta(hours=24 * n)).astimezone(berlin) for n in range(230)]
start = int(first.timestamp() * 1000) - 1
cron = [
    datetime.fromtimestamp(slot / 1000, berlin)
    for slot in islice(jk.Cron("0 7 * * *", "Europe/Berlin").after(start), 230)
]

# %% [markdown]
# The local hour at which it comes, for 230 days; of each level its first and its last day:


# %%
def levels(moments):
    """The first and the last day of each hour on the wall."""
    hours = [moment.hour for moment in moments]
    padded = [None, *hours, None]
    return [(n, h) for n, h in enumerate(hours) if {padded[n], padded[n + 2]} != {h}]


plot.lines(
    {"+ 24 h": levels(naive), "0 7 * * *, Berlin": levels(cron)},
    x="days since 27 March",
    y="hour on the wall",
    log=False,
    caption="The report of seven o'clock.",
    twin="24 hours are not a day: all summer it comes at eight.",
)

# %% [markdown] points=["A12", "A13"]
# ## Proved, and not proved
#
# First the explorer, on the kit itself: two schedulers, one occurrence, a crash, a lost answer, a lease that passes; at most two forced events to an order, where a switch at a bad moment counts as one.


# %%
def due(r):
    jk.Schedules(jk.Queue(r, "q"), rng=random.Random(0)).add("wind", "wind", every=60)
    r.clock.advance(60)


# %% [markdown]
# Each instance asks whether it leads, and fires with its number:


# %%
def instance(r, me):
    queue = jk.Queue(r, "q")
    number = jk.Leader(queue, me.name).elect()
    if number:
        jk.Schedules(queue, rng=random.Random(me.name)).fire(number)


# %% [markdown]
# In the end somebody comes by, and there is one job, whatever happened:


# %%
def one_job(world):
    queue = jk.Queue(world.redis, "q")
    jk.Schedules(queue).fire()
    assert queue.counts().ready == 1, f"{queue.counts().ready} jobs of one occurrence"


explore(instance, instance, given=due, finally_=one_job, bound=2, **accidents)

# %% [markdown]
# Then chance: hours of a minutely schedule under three instances. Now and then one asks whether it leads, and is stopped before it fires; it goes on later, and fires with the number that it had, again and again, until it is refused.


# %%
def prove(redis, rng, minutes=120):
    for key in redis.scan_iter(redis.prefix + "{proof}*"):
        redis.delete(key)
    queue, names = jk.Queue(redis, "proof", rng=rng), iter(range(10_000))
    schedules = jk.Schedules(queue, rng=rng)
    first = schedules.add("wind", "wind", every=60, catch_up="all:1000").next
    crew, late, old = [jk.Leader(queue, f"s{next(names)}") for _ in range(3)], [], 0
    for _ in range(minutes * 10):
        redis.clock.advance(6)
        if late and schedules.fire(late[0]).fenced:
            old += bool(late.pop(0))
        n, fate = rng.randrange(3), rng.random()
        number = crew[n].elect()
        if fate < 0.1 and number:
            late.append(number)  # stopped before it fires
        elif fate < 0.2:
            crew[n] = jk.Leader(queue, f"s{next(names)}")  # killed; another one starts
        elif number:
            schedules.fire(number)
    redis.clock.advance(60)
    schedules.fire()
    found, ready = schedules.get("wind"), queue.counts().ready
    assert ready == found.made == (found.last - first) // 60_000 + 1 >= minutes
    assert old > minutes / 20
    return "each minute once, with and without old leaders"


prove(redis, random.Random(1))

# %% [markdown]
# **Not** proved: that a job *runs* once. An occurrence is one job; a job is delivered at least once, as ever, and notebook 07 is about what its handler does then. Nor that it runs *on time*: that needs a scheduler and a free worker. And if Redis fails over to a replica that lacks the last second, the record of that second is gone with its jobs.

# %% [markdown] points=["A12"]
# ## The same on the other Redis
#
# Every cell runs unchanged on a real server and on the fake. The proof on both:

# %% tags=["varies"] varies="names the Redis that was found"
for name in ("fake", "private"):
    try:
        print(prove(jk.connect(name), random.Random(2), minutes=30))
    except jk.ServerUnavailable as error:
        print(f"no real server here: {error}")

# %% [markdown]
# And the order in which a lease alone makes two, on a real server if there is one, command by command:

# %% tags=["varies"] varies="names the server, or says that there is none"
paused = explore(has_the_key, has_the_key, finally_=not_twice, clock_jump=11)
try:
    again = paused.replay(jk.connect("private"))
except jk.ServerUnavailable as error:
    again = f"no real server here: {error}"

again

# %% [markdown] points=["A12", "A13", "A14"]
# ## Your turn: strike the hours
#
# Write `strike(redis, hour, number)`. STRUCK holds the last hour that was struck, LEADERS the number of the newest leader, BELL is a list of slips.
#
# - If `number` is not the newest, return `"fenced"`.
# - Else put a slip onto BELL, the hour as a number, for each hour after the last one up to `hour`, but for the **newest three** at most; write down `hour` as the last; return how many you dropped.
# - If there is nothing to strike, return 0 and change nothing.
#
# A new leader may come at any moment, two may come with the same number, and you may fall after any command.

# %%
TOWER = redis.prefix + "{tower}:"
STRUCK, LEADERS, BELL = TOWER + "struck", TOWER + "leaders", TOWER + "bell"


def strike(redis, hour, number):
    """Put down a slip for each hour that is missing, the newest three at most."""
    # your lines


# %% [markdown]
# The stage, and the accidents: you with number 1; you twice; and another clerk who becomes the leader and strikes with number 2. (Folded away; you need not read it.)


# %% tags=["check"] jupyter={"source_hidden": true}
def tower(r, struck, leaders=1):
    r.delete(STRUCK, LEADERS, BELL)
    r.set(STRUCK, struck)
    r.set(LEADERS, leaders)


def heard(r):
    return [int(slip) for slip in r.lrange(BELL, 0, -1)], int(r.get(STRUCK) or 0)


def answer_of(strike, r, hour, number):
    said = strike(r, hour, number)
    said = said.decode() if isinstance(said, bytes) else said
    return said if said in {None, "fenced"} else int(said)


def accidents_of(strike):
    def you(r):
        return answer_of(strike, r, 3, 1)

    def another(r):
        number = r.incr(LEADERS)
        return answer_of(strike, r, 3, number)

    def no_hour_twice(world):
        slips, _ = heard(world.redis)
        assert len(slips) < 2, f"three o'clock struck {len(slips)} times"

    def no_hour_lost(world):
        slips, struck = heard(world.redis)
        assert bool(slips) == (struck == 3), (
            f"slips {slips}, and the last hour is {struck}"
        )
        answer_of(strike, world.redis, 3, int(world.redis.get(LEADERS)))
        assert heard(world.redis) == ([3], 3), "the next one does not set it right"

    rules = {"given": lambda r: tower(r, 2), "finally_": [no_hour_twice, no_hour_lost]}
    yield explore(you, another, **rules)
    yield explore(you, you, **rules)
    yield explore(you, **rules, crashes=1)
    yield explore(another, you, **rules, crashes=1)


# %% [markdown]
# Run this after each change. It stops at the first promise that is broken:


# %% tags=["check"]
# The last hour, the newest leader; hour, number; answer, slips, the last hour.
CASES = [
    ((2, 1), (3, 1), (0, [3], 3)),
    ((2, 1), (4, 1), (0, [3, 4], 4)),
    ((2, 7), (9, 7), (4, [7, 8, 9], 9)),
    ((9, 1), (10, 1), (0, [10], 10)),
    ((3, 1), (3, 1), (0, [], 3)),
    ((3, 1), (2, 1), (0, [], 3)),
    ((2, 10), (3, 9), ("fenced", [], 2)),
    ((2, 9), (3, 10), ("fenced", [], 2)),
]


def check(strike):
    for given, asked, wanted in CASES:
        tower(redis, *given)
        got = (answer_of(strike, redis, *asked), *heard(redis))
        if got != wanted:
            struck, newest = given
            return (
                f"Not yet. Last {struck}, leader {newest}, strike{asked}: "
                f"wanted (answer, slips, last) {wanted}, got {got}."
            )
    for report in accidents_of(strike):
        if not report:
            return report
    return "Passed: each hour once, whoever leads, and wherever you fall."


check(strike)

# %% [markdown]
# <details><summary>First hint: where to look</summary>
#
# OCCUR_FENCED, above, has all but the loop.
#
# </details>
# <details><summary>Second hint: what is needed</summary>
#
# The number, the last hour, the slips and the new last hour belong into one step. In Lua, `'10' > '9'` compares text: `tonumber` first.
#
# </details>
# <details><summary>Third hint: the shape of the code</summary>
#
# A script with three keys. One line that returns 'fenced'; `first = math.max(last + 1, hour - 2)`; a loop of RPUSH from first to hour; SET; and what is returned is `first - last - 1`.
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def strike(redis, hour, number):
#     script = """
#     if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 'fenced' end
#     local last, hour = tonumber(redis.call('GET', KEYS[1])), tonumber(ARGV[1])
#     if hour <= last then return 0 end
#     local first = math.max(last + 1, hour - 2)
#     for slot = first, hour do redis.call('RPUSH', KEYS[3], slot) end
#     redis.call('SET', KEYS[1], hour)
#     return first - last - 1
#     """
#     said = redis.eval(script, 3, STRUCK, LEADERS, BELL, hour, number)
#     return said.decode() if isinstance(said, bytes) else said
# ```
#
# A WATCH on STRUCK and LEADERS, then MULTI, passes too. The kit computes the slots in Python, since Lua knows no time zones, and sends what it has seen along: the script compares.
#
# </details>

# %% [markdown] points=["A12", "A13", "A14", "C2"]
# ## What you trade
#
# | you choose | and get | and pay with |
# |---|---|---|
# | a mark per occurrence, SET NX EX | one command | an occurrence lost with its winner, twice after EX |
# | mark and job in one script | each occurrence once, no leader | everybody computes, one counts |
# | a leader by a lease | one computes | up to a lease without one; two, if one is paused |
# | a fencing number | an old leader is harmless | every write must carry it, and be checked |
# | a short lease | a quick takeover | more renewals, more who are deposed by a pause |
# | `all:N` | the newest N are made up for | a crowd of jobs after an outage; what is older is dropped |
# | cron in a local zone | the hour on the wall | two days a year that need a policy |

# %% [markdown] points=["A19"]
# **Say it without notes.** Ten instances run the same cron. How does each occurrence become one job? *(Five sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# Each occurrence has a name, the schedule and its slot, and the schedule's record in Redis says which slot was the last. One script compares, creates the job with that name, and moves the record on; so however many try, one succeeds, and a crash leaves all or nothing. A leader, elected by a lease that only its owner extends and deletes, keeps nine of ten from trying; since a paused leader may wake up late, it has a fencing number, which the script checks. After an outage the record says what is missing, and the schedule's policy what to do: skip, the latest, or all up to a limit. Daily jobs run once per local day, also when clocks are moved, hourly ones follow real time.
#
# </details>
#
# Yours had: a name per slot ◯ one step ◯ why a lease is not enough ◯ fencing ◯ the last run, and a policy ◯

# %% [markdown] points=["A12"]
# ## Three questions an interviewer asks next
#
# **"Why not simply a database lock, or ZooKeeper, for the leader?"**
# <details><summary>A short answer</summary>
#
# One may; etcd and ZooKeeper even bring the fencing number with them (a revision, a zxid). It changes nothing about the paused leader: whoever elects, the write must be checked where it happens. And then the check alone is enough for occurrences, so for this use the leader is a matter of cost.
#
# </details>
#
# **"Ten thousand schedules are due at midnight."**
# <details><summary>A short answer</summary>
#
# They are made a hundred schedules to a look, each in a script of its own with five hundred jobs at most, so Redis is never held up for long; a few seconds late is on time. The jobs are what hurts: spread them, by a minute of their own derived from the customer's id, or by a delay with jitter in the handler. Notebook 09 has the picture of what happens otherwise.
#
# </details>
#
# **"A run takes longer than its interval. And now?"**
# <details><summary>A short answer</summary>
#
# The schedule doesn't know; it makes the next job. If two must not overlap, give the jobs one *entity*: the kit then runs them one at a time, in order. If the second is of no use, let the handler look whether a newer slot is there, and skip. What I'd watch then is how many are *waiting*: they stand behind the run that goes on, and the age of what is ready doesn't see them.
#
# </details>

# %% [markdown]
# The [start page](00_start.ipynb) says what is here.
