# %% [markdown]
# # 14 Running it
#
# At the end you can say which four figures to watch, what each of them means when it grows, what a restart and a full memory cost, and why a key that expires is no timer.
#
# About 24 minutes, estimated from the number of words. All cells together run in some 25 seconds, measured.

# %% [markdown] points=["C11"]
# ## The night manager's round
#
# The night manager looks at the wake-up desk once an hour. She has no time to read the slips. She may ask four questions, and has to know from the answers whether to wake somebody.
#
# Which four?

# %% tags=["varies"] varies="the first line names the Redis that was found"
import random

import jobkit as jk
from jobkit import plot
from jobkit.explore import explore

redis = jk.connect()


def desk(name):
    """A queue, emptied: a second run begins anew."""
    for key in redis.scan_iter(redis.prefix + "{" + name + "}*"):
        redis.delete(key)
    return jk.Queue(redis, name, rng=random.Random(14))


# %% [markdown]
# **Predict.** Two desks have 500 slips in the tray each. Which one is in trouble?
#
# ◯ both ◯ neither ◯ that can't be told

# %% [markdown] points=["C11"]
# ## Depth is not trouble
#
# One tray has been filling for an hour, and nobody takes from it. The other got its 500 slips a moment ago, from the night bus:

# %%
stuck = desk("stuck")
stuck.submit_many([jk.New("ring")] * 500)
redis.clock.advance(3600)

bus = desk("bus")
len(bus.submit_many([jk.New("ring")] * 500))

# %% [markdown]
# `stats()` counts the slips and says how long the next one has been due, all at one instant:


# %%
def minutes(seconds):
    return "-" if seconds is None else f"{seconds // 60:.0f} min"


# %% [markdown]
# The two desks, one beside the other, as the manager hears of them (predict the last column before you look):


# %%
rows = [("desk", "ready", "the next has been due for")]
for queue in (stuck, bus):
    stats = queue.stats()
    rows.append((queue.name, stats.ready, minutes(stats.oldest_ready)))

plot.table(rows, caption="The same depth, and one of them in trouble.", bold=[1])

# %% [markdown]
# It can be told, by the **age of the oldest**. Depth says how much there is to do. Age says how late the guests are, and that is what they feel. 10,000 slips that are gone in a minute are no reason to wake anybody.

# %% [markdown] points=["C11"]
# ## Each trouble has its figure
#
# Four nights on which something is wrong. First: the scheduler is gone, so nobody looks at the list.


# %%
def no_scheduler(queue):
    queue.submit("ring", delay=60)
    redis.clock.advance(660)


# %% [markdown]
# Second: the porters are gone, and a slip lies in the tray.


# %%
def no_porters(queue):
    queue.submit("ring")
    redis.clock.advance(600)


# %% [markdown]
# Third: rooms that don't answer, tried over and over.


# %%
def engaged(queue):
    for _ in range(3):
        queue.submit("ring")
        queue.fail(*queue.claim("Ada"), "engaged", delay=300)


# %% [markdown]
# Fourth: slips that nobody can serve, which are given up.


# %%
def given_up(queue):
    for _ in range(3):
        queue.submit("ring", max_attempts=1)
        queue.fail(*queue.claim("Ada"), "no such room")


# %% [markdown]
# What the manager hears of such a night:


# %%
def hears(happens):
    queue = desk("night")
    happens(queue)
    stats = queue.stats()
    ages = minutes(stats.overdue), minutes(stats.oldest_ready)
    return *ages, stats.totals.get("retried", 0), stats.dead


# %% [markdown]
# Night by night, each on an empty desk. Before you look: which column will move in which night?

# %%
rows = [("", "overdue", "next in the tray", "retried", "dead letters")]
for happens in (no_scheduler, no_porters, engaged, given_up):
    rows.append((happens.__name__.replace("_", " "), *hears(happens)))

plot.table(rows, caption="Four troubles, four figures.")

# %% [markdown]
# Four columns, three kinds of trouble: how **old** (in two places), how often **retried**, how many **dead**. With **depth**, which says how much there is to do, these are the four figures. Age comes in two kinds, and they point at different people: *overdue* on the list means that no scheduler ticks, old in the tray means too few workers.

# %% [markdown] points=["C11"]
# ## Where the figures come from
#
# Depth is quickly had: add one for each slip that comes, take one off for each that goes. The first idea has a counter beside the tray:


# %%
def guest(r):
    r.rpush("tray", "room 412")
    r.incr("depth")


# %% [markdown]
# And the porter, the other way round:


# %%
def porter(r):
    if r.lpop("tray"):
        r.decr("depth")


# %% [markdown]
# When both have gone home, the counter should say what lies in the tray, even if one of them fell on the way:


# %%
def the_counter_is_right(world):
    says, lie = int(world.redis.get("depth") or 0), world.redis.llen("tray")
    assert says == lie, f"the counter says {says}, and {lie} lie in the tray"


explore(guest, porter, finally_=the_counter_is_right, crashes=1)

# %% [markdown]
# Nothing will ever put it right: a guest's death leaves it one too low, a porter's one too high. Who goes by it stops while a slip lies there (as here), or waits for a 0 that never comes. So a **level is counted where the slips are**, by LLEN, ZCARD, and for a stream XLEN less what is pending (if what is acked is deleted, as the kit does). It can't drift, since it is no copy.
#
# What happened so far is in no structure. Such **totals** only grow, and are written in the same script as the change:

# %%
COMES = """-- comes
redis.call('RPUSH', KEYS[1], ARGV[1])
return redis.call('HINCRBY', KEYS[2], 'submitted', 1)
"""

# %% [markdown]
# And when a porter takes one. If there is none, nothing is written, neither in the tray nor in the books:

# %%
GOES = """-- goes
if not redis.call('LPOP', KEYS[1]) then return 0 end
return redis.call('HINCRBY', KEYS[2], 'taken', 1)
"""

# %% [markdown]
# The promise, with totals: what came and did not go must lie there.


# %%
def the_books_balance(world):
    books = {k: int(n) for k, n in world.redis.hgetall("totals").items()}
    open_slips = books.get(b"submitted", 0) - books.get(b"taken", 0)
    assert open_slips == world.redis.llen("tray")


# %% [markdown]
# The two of them, and a death at any command:


# %%
def comes(r):
    r.eval(COMES, 2, "tray", "totals", "room 412")


def goes(r):
    r.eval(GOES, 2, "tray", "totals")


explore(comes, goes, finally_=the_books_balance, crashes=1)

# %% [markdown]
# Two ways to count the same are also a check: where they disagree, a key of the queue was lost. The kit calls the difference `counts().lost`; below we shall see what it does not notice.

# %% [markdown] points=["C11"]
# ## Rates, and how late
#
# A total alone says little: 1,204,331 done, since when? Two looks make a rate. A `Meter` remembers the last look. The hall has a clock of its own, so that a minute takes no time:

# %%
from jobkit.stats import Meter

hall = jk.connect("fake", clock=jk.VirtualClock())
queue = jk.Queue(hall, "calls", rng=random.Random(14))
meter = Meter([queue])
meter.look()[0].rates

# %% [markdown]
# Ada rings two a second. Three a second are ordered for fifty seconds, then one. We look every ten:


# %%
def ten_seconds(ordered, rung=20):
    queue.submit_many([jk.New("ring")] * ordered)
    hall.clock.advance(10)
    for claim in queue.claim("Ada", limit=rung):
        queue.ack(claim)
    return meter.look()[0]


# %% [markdown]
# A line for the manager, from one look: what came and went per second, what lies there, and how late it is:


# %%
def line(stats, rates):
    came, done = (rates.per_second[what] for what in ("submitted", "done"))
    waits, late = stats.oldest_ready or 0, rates.lateness.within(0.99)
    return f"{came:.0f}", f"{done:.0f}", stats.ready, f"{waits:.0f} s", f"{late:.0f} s"


# %% [markdown]
# The hundred seconds, ten at a time. Watch which of the columns moves first, and which one last:

# %%
rows = [("", "ordered per s", "done per s", "depth", "next due for", "99 % start by")]
for n, ordered in enumerate([30] * 5 + [10] * 5, 1):
    rows.append((f"{10 * n} s", *line(*ten_seconds(ordered))))

plot.table(rows, caption="Fifty seconds too much, fifty to recover.", bold=[5])

# %% [markdown]
# Ordered against done tells of the trouble first, before the age has grown. And the age goes on growing for a while after the orders have dropped: what is served now was ordered when there was too much.
#
# The last column is the **lateness** of what started in those ten seconds. The claim's script writes it down: a sum, and a count per bound. So it is a bound and no exact figure, and costs the same for a million jobs.

# %%
lateness = queue.stats().lateness
rows = [("late by up to", "starts")]
rows += [(f"{bound:g} s", n) for bound, n in lateness.buckets.items() if n]
plot.table(rows, caption=f"{lateness.count} starts, {lateness.mean:.0f} s in the mean.")

# %% [markdown]
# Prometheus reads the same figures from a page, whenever it likes. `jobkit metrics calls` serves it:

# %%
from prometheus_client import CollectorRegistry, generate_latest

from jobkit.metrics import Collector

registry = CollectorRegistry()
registry.register(Collector({"calls": queue.stats}))

# %% [markdown]
# Its lines are names, labels in braces, and figures. Levels are gauges, and what ends in `_total` only grows:

# %%
page = generate_latest(registry).decode().splitlines()
rows = [row.split() for row in page if row.startswith(("jobkit_jobs", "jobkit_done"))]
plot.table([("sample", "value"), *rows], caption="Some lines of the page.")

# %% [markdown]
# On a terminal it is `jobkit stats calls --watch`. What to be woken for:
#
# | figure | wake somebody when | because |
# |---|---|---|
# | overdue | over a minute | no scheduler ticks |
# | age in the tray | over what a guest bears | too few workers, or a slow service behind them |
# | share of starts within a bound | under what you promised | that is the promise itself |
# | retried per second | several times the usual | something behind the workers fails |
# | dead letters | any new one, by day | only a person can decide |
# | lost | above 0, at once | Redis lost a key of the queue |
# | `evicted_keys` in INFO | above 0, at once | Redis throws away what was accepted |
# | can't be read | two looks in a row | Redis is away |

# %% [markdown] points=[]
# ## When Redis falls
#
# Now the server itself. Each of these lessons takes a private one of its own. Where none can be started, the table shows what a Redis 6.2.14 answered, and its caption says so.


# %%
from jobkit.connect import PrivateServer


def on_a_server(lesson, stored, **settings):
    """What a lesson returns on a real server, and where that was."""
    try:
        with PrivateServer(**settings) as server:
            return lesson(server), "Measured here."
    except jk.ServerUnavailable:
        return stored, "No real server here: as measured on Redis 6.2.14."


# %% [markdown]
# **Predict.** 100 slips are accepted. Then Redis is killed (SIGKILL; the machine lives) and started again. How many are there if it keeps nothing on disk, and with `appendonly yes`?


# %%
def plug(server):
    queue = jk.Queue(server.client(), "calls")
    queue.submit_many([jk.New("ring", delay=60)] * 100)
    server.restart()
    return queue.counts().scheduled


# %% [markdown]
# Once without, once with the log of every command:

# %% tags=["varies"] varies="the caption says so where no real server can be started"
without, where = on_a_server(plug, 0)
with_log, where = on_a_server(plug, 100, appendonly=True)
rows = [("", "of 100 accepted"), ("nothing on disk", without), ("appendonly", with_log)]
plot.table(rows, caption=f"After SIGKILL and a restart. {where}")

# %% [markdown]
# "Accepted" was true when it was said. What it is worth later is a setting, `appendfsync`: `always` forces each write onto the disk before it answers. `everysec`, the default, also survives the death of Redis alone, but may lose the last second with the machine. (Measured with `always`. The default snapshots bring back what the last one had: of a minute ago, or of an hour.) And a replica that takes over has what had reached it by then: an answer is not held back for it.

# %% [markdown] points=[]
# ## When the memory is full
#
# `maxmemory-policy` says what happens then. Many a Redis was set up as a cache, and throws away what was not used for a while. A slip for tomorrow was not used for a while.


# %%
from redis.exceptions import ResponseError


def small(server, policy):
    r = server.client()
    r.config_set("maxmemory", r.info("memory")["used_memory"] + 2_000_000)
    r.config_set("maxmemory-policy", policy)
    return r


# %% [markdown]
# Slips come in by the hundred, until they are refused:


# %%
def fill(queue):
    for accepted in range(0, 10_000, 100):
        try:
            queue.submit_many([jk.New("ring", b"x" * 200, delay=60)] * 100)
        except ResponseError:  # OOM command not allowed
            return accepted, "refused the next"
    return 10_000, "all"


# %% [markdown]
# And how many have a card at the end, of those that were told "accepted"? Each slip has one. Beside it what the books say (`lost`), and what Redis says:


# %%
def fills(policy):
    def lesson(server):
        queue = jk.Queue(small(server, policy), "calls")
        accepted, said = fill(queue)
        lost, evicted = queue.counts().lost, queue.redis.info("stats")["evicted_keys"]
        cards = queue.redis.scan_iter(queue.keys.job + "*")
        return accepted, sum(1 for _ in cards), lost, evicted, said

    return lesson


# %% [markdown]
# Two megabytes of room, and 10,000 slips that want to come in, once for each policy:

# %% tags=["varies"] varies="how much fits differs a little; the caption says where there is no real server"
rows = [
    (
        "maxmemory-policy",
        "accepted",
        "of these still there",
        "lost",
        "evicted_keys",
        "it said",
    )
]
STORED = {
    "noeviction": (2400, 2400, 0, 0, "refused the next"),
    "allkeys-lru": (10000, 1834, 0, 8171, "all"),
}
for policy, stored in STORED.items():
    answer, where = on_a_server(fills(policy), stored)
    rows.append((policy, *answer))

plot.table(rows, caption=f"2 MB for 10,000 slips. {where}", bold=[2])

# %% [markdown]
# With `noeviction` the guest hears "no", and can ring again. With `allkeys-lru` everybody hears "yes", and most of them will sleep late. (`volatile-*` refuses too, but first throws away what has an expiry: the cards of finished jobs, and the leader's lease.) No log says so, and the kit warns when it finds such a server.
#
# The books are no help here. `lost` counts jobs that no *structure* holds, and never looks at a card; and list and totals lie in the same memory, are thrown away too, and begin anew. Run the cell again: `lost` is now 0, now some thousands. It tells of one key that is gone, not of a night like this. So set `noeviction`, and watch `evicted_keys` in INFO: that is the alarm that can't wait for the morning.

# %% [markdown] points=[]
# ## When an answer gets lost
#
# The command has arrived, and its answer has not: the cable was cut in between. Or the command never arrived. redis-py (from 6 on by default, and the kit's client) sends it again: it can't know which of the two was lost. Here is the night clerk's one command, with one lost answer:


# %%
def orders(r):
    r.rpush("tray", "room 412")


# %% [markdown]
# Whoever orders one call wants to be called once. So there should be one slip for it:


# %%
def one_slip(world):
    slips = world.redis.llen("tray")
    assert slips == 1, f"{slips} slips for one call"


explore(orders, finally_=one_slip, lost_replies=1)

# %% [markdown]
# The kit's submit carries a number for each call. Sent again, it finds its own, and answers as before:


# %%
def submits(r):
    return jk.Queue(r, "q").submit("ring", id="room 412").created


# %% [markdown]
# One job, and the guest hears that it is new:


# %%
def one_job(world):
    assert jk.Queue(world.redis, "q").counts().ready == 1
    assert world.answers == {"A": True}


explore(submits, finally_=one_job, lost_replies=1)

# %% [markdown]
# This has to be so for each verb that writes: ack, fail and release know their token again. Only a claim is never sent twice. A client's retries are a setting of yours as well: whoever counts, pushes or pops by single commands should turn them off, or bear both.

# %% [markdown] points=["A16"]
# ## A key that expires is no timer
#
# It looks so easy. `SET ring:412 1 EX 600`, and Redis tells on a channel when the key has expired. No sorted set, no scheduler, no polling. Why not?
#
# **Predict.** 100 such keys run out in one second. How many events come within two seconds of their moment? And if 20,000 other keys have an expiry, too: sessions, say?

# %% [markdown]
# Somebody listens. Redis sends no such events unless it is told to, so that comes first (`E`: events by their name, `x`: of expiry):

# %%
EVENTS = "__keyevent@0__:expired"


def listener(r):
    r.config_set("notify-keyspace-events", "Ex")
    ear = r.pubsub()
    ear.subscribe(EVENTS)
    ear.get_message(timeout=1)  # the answer to the subscription
    return ear


# %% [markdown]
# And counts what is told, for so many seconds:

# %%
from time import monotonic, sleep


def heard(ear, seconds):
    end, events = monotonic() + seconds, 0
    while (left := end - monotonic()) > 0:
        events += ear.get_message(timeout=left) is not None
    return events


# %% [markdown]
# Many keys that expire, at one go:


# %%
def expiring(r, name, n, **after):
    pipe = r.pipeline(transaction=False)
    for i in range(n):
        pipe.set(f"{name}:{i}", "room 412", **after)
    pipe.execute()


# %% [markdown]
# A night with so many sessions, which have an hour to live:


# %%
def night(others):
    def lesson(server):
        r = server.client()
        expiring(r, "session", others, ex=3600)
        ear = listener(r)
        expiring(r, "ring", 100, ex=1)
        return heard(ear, 3)

    return lesson


# %% [markdown]
# Five nights of three seconds each:

# %%
STORED = {1: 100, 500: 100, 2_000: 24, 5_000: 13, 20_000: 1}
came = {}
for others, stored in STORED.items():
    came[others], where = on_a_server(night(others), stored)

# %% [markdown]
# What came in time, of 100, with ever more sessions around:

# %% tags=["varies"] varies="how many timers it meets in time differs; the caption says where there is no real server"
plot.lines(
    {
        "events that came": list(came.items()),
        "timers that ran out": [(n, 100) for n in came],
    },
    x="other keys with an expiry",
    y="of 100, came within 2 s",
    log=False,
    caption=f"100 timers of one second, among ever more other keys. {where}",
    twin=f"Of 100 timers, {came[1]} are told in time among 1 other key, "
    f"and {came[20_000]} among 20,000.",
)

# %% [markdown]
# The event comes when Redis *deletes* the key, not when its time is over. It deletes what somebody reads, and else what it meets: ten times a second it looks at the next twenty of those that have an expiry, and goes on at once only if many of them were over. So the more sessions, the later your timers. Alone on a laptop it works well, and that is the trap.
#
# The others are not lost. But nobody can say when they come: with 20,000 keys and 200 looks a second, it takes 100 seconds to see each one once.

# %% [markdown] points=["A16"]
# ## Nobody listened
#
# An event is told to those who listen at that moment, and to nobody else. The listener restarts, which takes a second and a half:


# %%
def away(server):
    r = server.client()
    ear = listener(r)
    expiring(r, "ring", 50, px=300)
    ear.close()
    sleep(1.5)
    return heard(listener(r), 0.5), len(r.keys("ring:*"))


# %% [markdown]
# And with two listeners, so that one can restart:


# %%
def two_ears(server):
    r = server.client()
    ears = [listener(r), listener(r)]
    expiring(r, "ring", 50, px=300)
    return sum(heard(ear, 1) for ear in ears), len(r.keys("ring:*"))


# %% [markdown]
# The same 50 calls as jobs, among 20,000 others; their scheduler is away for a second and a half:


# %%
def with_the_kit(server):
    queue = jk.Queue(server.client(), "calls")
    queue.submit_many([jk.New("ring", delay=3600)] * 20_000)
    queue.submit_many([jk.New("ring", delay=0.3)] * 50)
    sleep(1.5)
    jk.Scheduler(queue).tick()
    return len(queue.claim("Ada", limit=100))


# %% [markdown]
# The three of them:

# %%
(told, there), where = on_a_server(away, (0, 0))
(twice, left), _ = on_a_server(two_ears, (100, 0))
kit, _ = on_a_server(with_the_kit, 50)

# %% [markdown]
# Side by side, 50 calls each. How many would you want to ring, and how many do?

# %% tags=["varies"] varies="the caption says so where no real server can be started"
rows = [
    ("50 calls", "calls that ring", "keys left to look at"),
    ("expired events, the listener away for 1.5 s", told, there),
    ("expired events, two listeners", twice, left),
    ("a sorted set, the scheduler away for 1.5 s", kit, "-"),
]
plot.table(rows, caption=where, bold=[1, 2])

# %% [markdown]
# None, or each of them twice. And what ran out is gone: the key was the only place that knew of the call, and the event names the key, not what was in it. In a sorted set the slip lies there until somebody takes it, and whoever takes it is the only one.
#
# > **Document says / measured.** Document A asks "why not EXPIRE and keyspace notifications?" Measured: late, by as much as there are other keys; lost, if nobody listens; doubled, if two do. Expiry is for what may be forgotten. (And the fake sends no such events at all, so these cells ask for a real server.)

# %% [markdown] points=["C11", "A16"]
# ## Proved, and not proved
#
# Proved, for each order and a death at each command: that a counter beside the data drifts, and that totals in the script do not. Measured, here: what a restart, a full memory, and other keys cost. **Not** proved: how your server is set up. That is a page of its own, `docs/running.md`, and `jobkit doctor` looks at the machine.

# %% [markdown] points=["C11"]
# ## Your turn: the oldest call
#
# Write `oldest(redis)`: for how many milliseconds has the oldest call been due that nobody has taken yet? `None` if no call is due.
#
# LIST is the sorted set of what waits, scored by when it is due (ms). TRAY is the list of what a scheduler has found due, in that order; the card `CARDS + room` of each has the field `due` (ms). While you look, a scheduler may carry a slip from LIST to TRAY, and no machine's clock can be trusted but Redis's own (TIME: seconds and microseconds).

# %%
ROUND = redis.prefix + "{round}:"
LIST, TRAY, CARDS = ROUND + "list", ROUND + "tray", ROUND + "card:"


def oldest(redis):
    """For how many ms the oldest call has been due, or None."""
    # your lines


# %% [markdown]
# The stage: calls that are due since so many ms, on the list and in the tray, on a Redis whose clock stands in 2026, whatever yours says. And the scheduler that may come by. (Folded away; you need not read it.)


# %% tags=["check"] jupyter={"source_hidden": true}
import jobkit as jk

CARRIES = """-- carry
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE')
for _, room in ipairs(due) do
  redis.call('ZREM', KEYS[1], room)
  redis.call('RPUSH', KEYS[2], room)
end
return #due
"""


def stage(r, listed, in_tray):
    seconds, micros = r.time()
    now = seconds * 1000 + micros // 1000
    r.delete(LIST, TRAY)
    for n, since in enumerate([*in_tray, *listed]):
        room = f"room {n}"
        r.hset(CARDS + room, mapping={"guest": "Eve", "due": now - since})
        if n < len(in_tray):
            r.rpush(TRAY, room)
        else:
            r.zadd(LIST, {room: now - since})


# %% [markdown]
# What may happen while you look:


# %% tags=["check"] jupyter={"source_hidden": true}
def seen_in_every_order(oldest):
    def carries(r):
        return r.eval(CARRIES, 2, LIST, TRAY)

    def looks(r):
        return oldest(r)

    def eve_is_always_seen(world):
        said = world.answers["B"]
        assert said == 90_000, f"Eve is due for 90,000 ms all the time, you say {said}"

    return explore(
        carries,
        looks,
        given=lambda r: stage(r, [90_000], []),
        finally_=eve_is_always_seen,
    )


# %% [markdown]
# Run this after each change. It stops at the first promise that is broken:


# %% tags=["check"]
WANTED = [
    ("nothing waits", [], [], None),
    ("one call, due in a minute", [-60_000], [], None),
    ("one on the list, due for 90 s", [90_000, -60_000], [], 90_000),
    ("one in the tray, due for 2 min", [-60_000], [120_000, 5_000], 120_000),
    ("in both, the list is older", [90_000], [30_000], 90_000),
    ("in both, the tray is older", [1_000], [30_000], 30_000),
    ("due at this very moment", [0], [], 0),
]


def check(oldest):
    hall = jk.connect("fake", clock=jk.VirtualClock())
    for what, listed, in_tray, wanted in WANTED:
        stage(hall, listed, in_tray)
        said = oldest(hall)
        if said != wanted or isinstance(said, bool):
            return f"Not yet. {what}: wanted {wanted}, got {said}."
    report = seen_in_every_order(oldest)
    return report if not report else "Passed: whoever moves, Eve is seen."


check(oldest)

# %% [markdown]
# <details><summary>First hint: where to look</summary>
#
# ZRANGE with WITHSCORES gives the first of the list with its moment, LINDEX 0 the first of the tray.
#
# </details>
# <details><summary>Second hint: what is needed</summary>
#
# All looks must be at one instant, and by one clock: in a script. Or look at the list before the tray, never after it: then a slip that is carried meanwhile is seen in one of them.
#
# </details>
# <details><summary>Third hint: the shape of the code</summary>
#
# TIME, then two moments that may be missing. The age is now minus the lesser one. If that is below 0, or both are missing: None.
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def oldest(redis):
#     script = """
#     local time = redis.call('TIME')
#     local now = time[1] * 1000 + math.floor(time[2] / 1000)
#     local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
#     local room = redis.call('LINDEX', KEYS[2], 0)
#     local due = tonumber(first or now + 1)
#     if room then due = math.min(due, redis.call('HGET', KEYS[3] .. room, 'due')) end
#     return now - due
#     """
#     age = redis.eval(script, 3, LIST, TRAY, CARDS)
#     return age if age >= 0 else None
# ```
#
# List, tray and TIME in this order by single commands pass, too: the figure is then as old as the way between them.
#
# </details>

# %% [markdown] points=["C11", "A16"]
# ## What you trade
#
# | you choose | and get | and pay with |
# |---|---|---|
# | depth alone | a figure that everybody knows | alarms for busses, silence for a desk that stands still |
# | age of the oldest | what a guest feels | one more read |
# | a counter beside the data | a quick read | a figure that is wrong after the first death |
# | a histogram in the claim | lateness for ever, in seventeen numbers | bounds in place of exact figures |
# | appendonly, always | what was accepted survives a plug | a disk write before each answer |
# | noeviction | a "no" that is heard | a queue that can be full |
# | EXPIRE and events | no scheduler | late, lost, doubled |

# %% [markdown] points=["A19"]
# **Say it without notes.** What do you watch, and why not a key with an expiry as a timer? *(Five sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# I watch the age of the oldest due job first, since that is what users feel; then depth, retries per second and dead letters, which say where it comes from. Levels are counted from the structures, totals are written in the same script as the change, so that no crash makes them drift, and two snapshots make a rate. Redis runs with noeviction and appendonly, since a queue is no cache. An expired event comes when Redis happens to delete the key, which is later the more keys have an expiry, and only to those who listen at that moment, to all of them. So a timer must be something that lies there until it is taken, by one: a sorted set.
#
# </details>
#
# Yours had: age before depth ◯ levels and totals ◯ noeviction ◯ late ◯ lost ◯ doubled ◯

# %% [markdown] points=["C11"]
# ## Three questions an interviewer asks next
#
# **"Your dashboard says depth 0, and a customer's job is three hours late."**
# <details><summary>A short answer</summary>
#
# Depth of what? Ready may be 0 because nothing is promoted: look at *overdue*. Or the job runs, and its handler hangs with a heartbeat that goes on: look at a maximum run time. Or it failed and waits for its next try: its history tells. Or it is in no structure at all: *lost*, submitted minus what is anywhere.
#
# </details>
#
# **"What is a good service level for a delayed job?"**
# <details><summary>A short answer</summary>
#
# A share and a bound of lateness, such as 99 % start within one second of their moment, over a month. It is measured at the claim, by the clock that decided what is due, and not at submission: how long a job was delayed on purpose is no lateness. Retries count from the moment of the retry.
#
# </details>
#
# **"Redis fails over to a replica in the middle of the night. What was lost?"**
# <details><summary>A short answer</summary>
#
# What the master had answered and not yet sent: replication is asynchronous. Jobs that were accepted may be gone, jobs that were done may be there again. `min-replicas-to-write` makes it refuse when no replica follows, WAIT tells how many have it; neither makes it consistent. So effects must bear a second run, and what must not be lost is written first to the database that owns it (an outbox), and submitted from there.
#
# </details>

# %% [markdown]
# The [start page](00_start.ipynb) says what is here.
