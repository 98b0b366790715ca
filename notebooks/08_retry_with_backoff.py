# %% [markdown]
# # 08 Retry with backoff
#
# At the end you can send a failed job back so that no crash loses or doubles it, choose its waits, and say what a cap, a jitter and a limit are each for, and in which order they come.
#
# About 30 minutes, estimated from the number of words. All cells together took 16 to 32 s on two cores that had other work, too.

# %% [markdown] points=["A6"]
# ## The line is engaged
#
# Room 412 has a train at six and asked for a taxi. The night porter rings the taxi office: engaged. So he puts a slip on the list by the phone, "412, try again", with a time on it, and goes on with his work.
#
# Which time? And what if he is called away while he writes the slip?

# %% tags=["varies"] varies="the first line names the Redis that was found"
import random

import jobkit as jk
from jobkit import plot

redis = jk.connect()
clock = redis.clock

for name in ("engaged", "desk"):  # a second run of this page begins anew
    for key in redis.scan_iter(redis.prefix + "{" + name + "}*"):
        redis.delete(key)

# %% [markdown]
# **Predict.** After a failed try the porter does three things: he *counts* the try on the room's card, puts the *slip* on the list, and *ticks off* the old slip in his hand. He may be called away between any two. In which order is that safe?
#
# ◯ count, slip, tick ◯ tick first ◯ slip first ◯ in no order

# %% [markdown] points=["A6"]
# ## The pieces
#
# The list is a sorted set, a card is a hash (notebook 01). The line where porters take their work is a *stream*: an entry that was handed out stays *pending*, on its porter's name, until XACK ticks it off.

# %%
TAXI = redis.prefix + "{taxi}:"
DELAYED, READY, DEAD = TAXI + "delayed", TAXI + "ready", TAXI + "dead"
CARD = TAXI + "job:room 412"


def given():
    """One job, in the hands of Ada; returns its entry in the stream."""
    redis.delete(DELAYED, READY, DEAD, CARD)
    redis.xgroup_create(READY, "porters", mkstream=True)
    redis.xadd(READY, {"id": "room 412"})
    [[_, [(entry, _)]]] = redis.xreadgroup("porters", "Ada", {READY: ">"})
    return entry


# %% [markdown]
# The waits that document A asks for (one of [three](../docs/design.md) that this course grew from): 5 s, 30 s, 5 min, 1 h. Each is shifted by chance, up to 20 % either way, and after four retries it is enough. Here is its way of doing it, in Python:

# %%
WAITS = [5, 30, 300, 3600]
rng = random.Random(29)


def on_failure(job, watch):
    tries = redis.hincrby(CARD, "attempts", 1)
    if tries > len(WAITS):
        redis.zadd(DEAD, {job: watch() / 1000})
        return
    wait = WAITS[tries - 1] * rng.uniform(0.8, 1.2)
    redis.zadd(DELAYED, {job: int(watch() + wait * 1000)})


# %% [markdown]
# Anybody would write it so, and on a sunny day it works. `watch` is the clock of whoever calls; this one is right. Two failures:


# %%
def server_now():
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


given()
waits = []
for _ in range(2):
    on_failure("room 412", server_now)
    waits.append(round((redis.zscore(DELAYED, "room 412") - server_now()) / 1000))

waits

# %% [markdown]
# In seconds: about 5, and about 30. Now break it. There are three ways, and the first is on the porter's wrist.

# %% [markdown] points=["A6"]
# ## First break: a slow watch
#
# `watch` is read on the porter's own machine. Let it be two minutes slow, and right, and two minutes fast. How long is each wait *really*, by the clock in the hall?


# %%
def real_waits(error):
    given()
    found = []
    for _ in WAITS:
        on_failure("room 412", lambda: server_now() + error * 1000)
        found.append((redis.zscore(DELAYED, "room 412") - server_now()) / 1000)
    return ["at once" if wait < 0 else f"{wait:.0f} s" for wait in found]


watches = {"right": 0, "two minutes slow": -120, "two minutes fast": 120}
rows = [(name, *real_waits(error)) for name, error in watches.items()]
head = ("watch", *(f"wanted {s} s" for s in WAITS))
plot.table([head, *rows], caption="What became of the four waits.")

# %% [markdown]
# The slow watch burns two of its four retries in one breath, while the office has not even hung up. The fast one makes a guest wait two minutes for a five-second retry.
#
# The cure is in notebook 03: the one clock is in Redis. A porter should say "in five seconds", never "at six".

# %% [markdown] points=["A6"]
# ## Second break: two of them
#
# Look again for the tick in `on_failure`. There is none. What does Redis hold after one failure?

# %%
given()
on_failure("room 412", server_now)
redis.zcard(DELAYED), redis.xpending(READY, "porters")["pending"]

# %% [markdown]
# One on the list, and one still pending on Ada's name. A minute later the slip is due. And somebody looks for entries that were held too long, as one should: Ada might have died.

# %%
clock.advance(60)
due = redis.zrange(DELAYED, "-inf", server_now(), byscore=True)
_, entries, *_ = redis.xautoclaim(READY, "porters", "Bob", 30_000)
taken_over = [fields[b"id"] for _, fields in entries]
plot.steps(
    [
        ("Ada", "ZRANGE: what is due?", due),
        ("Ada", "rings for a taxi", None),
        ("Bob", "XAUTOCLAIM: what was held over 30 s?", taken_over),
        ("Bob", "rings for a taxi", None, "one guest, two taxis"),
    ],
    caption="One failed job has become two live ones.",
)

# %% [markdown]
# Two taxis for one guest, and it does not stop there. Each time the slip is due it is handed out anew, and fails:

# %%
given()
rows = []
for tries in range(1, 5):
    on_failure("room 412", server_now)
    in_hand = redis.xpending(READY, "porters")["pending"]
    rows.append((tries, redis.zcard(DELAYED), in_hand))
    redis.xadd(READY, {"id": "room 412"})
    redis.xreadgroup("porters", "Ada", {READY: ">"})

head = ("failures", "on the list", "in somebody's hands")
plot.table([head, *rows], caption="Without a tick, each failure leaves one more.")

# %% [markdown]
# > **Document says / measured.** Document A takes crashed jobs back from the pending entries, which is right. Its retry never acks, which is not: after four failures one guest stands in five places.
#
# So tick it off. But when?

# %% [markdown] points=["A6"]
# ## Third break: called away
#
# Three commands have six orders, and the porter may be called away after none, one, two or all three of them. That is little enough to try everything. The commands:

# %%
DO = {
    "count": lambda entry: redis.hincrby(CARD, "attempts", 1),
    "slip": lambda entry: redis.zadd(DELAYED, {"room 412": server_now() + 5000}),
    "tick": lambda entry: redis.xack(READY, "porters", entry),
}

# %% [markdown]
# And what is right afterwards? The job lives once: either still in hand and uncounted, as if nothing had been done, or on the list and counted.


# %%
def verdict():
    on_list, in_hand = redis.zcard(DELAYED), redis.xpending(READY, "porters")["pending"]
    counted = int(redis.hget(CARD, "attempts") or 0)
    if on_list + in_hand != 1:
        return "twice" if on_list else "LOST"
    if counted != on_list:
        return "counted, still in hand" if counted else "not counted"
    return "right"


# %% [markdown]
# Now every order, cut at every place:

# %%
from itertools import permutations


def cut(order, after):
    entry = given()
    for command in order[:after]:
        DO[command](entry)
    return verdict()


found = {order: [cut(order, after) for after in range(4)] for order in permutations(DO)}
rows = [(", ".join(order), *verdicts) for order, verdicts in found.items()]
head = ("order", "away at once", "after one", "after two", "not away")
plot.table([head, *rows], caption="Six orders, four moments to be called away.")

# %% [markdown]
# Read a row from left to right: both ends are right, the middle never is. Tick early, and the guest is forgotten. Tick late, and there are two taxis. Count first, and a try is charged that will be charged again.

# %%
assert not any("right" in verdicts[1:3] for verdicts in found.values())
sum("LOST" in verdicts for verdicts in found.values()), len(found)

# %% [markdown]
# In no order, then; three of six can even lose the job. (In document B a worker *pops* its job from a list. Nothing is pending there, so it lives in the rows that tick first.) What helps is to have no middle.

# %% [markdown] points=["A6"]
# ## The cure, in three steps
#
# A Lua script runs in Redis as one step: nothing gets in between, and no accident on the porter's side can halve it. First step, the clock, asked inside:

# %%
settle = redis.register_script("""
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
""")

# %% [markdown]
# The porter now says "in 5,000 ms", and no watch is asked:

# %%
given()
settle(keys=[DELAYED], args=["room 412", 5000])
assert 4000 < redis.zscore(DELAYED, "room 412") - server_now() <= 5000

# %% [markdown]
# Second step, the count and the tick in the same script:

# %%
settle = redis.register_script("""
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local tries = redis.call('HINCRBY', KEYS[2], 'attempts', 1)
redis.call('ZADD', KEYS[1], now + ARGV[tries + 2], ARGV[1])
redis.call('XACK', KEYS[3], 'porters', ARGV[2])
""")

# %% [markdown]
# The waits come along as arguments 3, 4 and so on, so that the script finds the right one by its own count. The dice stay in Python, where they can be seeded.

# %%
entry = given()
settle(keys=[DELAYED, CARD, READY], args=["room 412", entry, 5000, 30_000])
assert verdict() == "right"

# %% [markdown]
# No middle: away before it, or after it. Done? One kind of accident is left. The script runs, and its *answer* is lost on the way. A careful client sends it again:

# %%
settle(keys=[DELAYED, CARD, READY], args=["room 412", entry, 5000, 30_000])
wait = redis.zscore(DELAYED, "room 412") - server_now()
redis.hget(CARD, "attempts"), round(wait / 1000)

# %% [markdown]
# One failure, counted as **2**, and a wait of **30** s in place of 5. The second call should have been told that it comes too late. Something in the script knows: XACK answers 1 only to the first. Third step:

# %%
settle = redis.register_script("""
if redis.call('XACK', KEYS[3], 'porters', ARGV[2]) == 0 then return 'too late' end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local tries = redis.call('HINCRBY', KEYS[2], 'attempts', 1)
local wait = ARGV[tries + 2]
if not wait then
  redis.call('ZADD', KEYS[4], now, ARGV[1])
  return 'dead'
end
redis.call('ZADD', KEYS[1], now + wait, ARGV[1])
return 'again'
""")

# %% [markdown]
# The end came along with it: when there is no further wait, the job goes to the dead letters. Once failed, twice told:

# %%
keys, waits = [DELAYED, CARD, READY, DEAD], [1000 * wait for wait in WAITS]
entry = given()
[settle(keys=keys, args=["room 412", entry, *waits]) for _ in range(2)]

# %% [markdown]
# And the table of accidents again. One command has only one order, and this time being told twice is among them:


# %%
def told(times):
    entry = given()
    for _ in range(times):
        settle(keys=keys, args=["room 412", entry, *waits])
    return verdict()


row = ("settle", *(told(times) for times in (0, 1, 2, 3)))
assert set(row[1:]) == {"right"}
head = ("order", "away at once", "not away", "told twice", "told three times")
plot.table([head, row], caption="No middle.")

# %% [markdown]
# And a guest whose taxi never comes? Each time the slip is due, it is taken off the list and handed out again:


# %%
def fails_again(entry):
    answer = settle(keys=keys, args=["room 412", entry, *waits])
    redis.zrem(DELAYED, "room 412")
    redis.xadd(READY, {"id": "room 412"})
    [[_, [(entry, _)]]] = redis.xreadgroup("porters", "Ada", {READY: ">"})
    return answer.decode(), entry


entry, answers = given(), []
for _ in range(5):
    answer, entry = fails_again(entry)
    answers.append(answer)

plot.table(
    [("run", 1, 2, 3, 4, 5), ("the answer", *answers)],
    caption="Four retries, and an end.",
)

# %% [markdown]
# "At most 4 retries" is five runs. Write down which of the two you count, or somebody will be off by one. The kit counts runs: its `max_attempts` is 5.

# %% [markdown] points=["C7"]
# Document C gives up when `attempt >= MAX_ATTEMPTS`, document A when it is `>`. How many runs does a limit of 4 allow?


# %%
rows = [
    ("count, then ask: > 4", next(run for run in range(1, 9) if run > 4)),
    ("count, then ask: >= 4", next(run for run in range(1, 9) if run >= 4)),
    ("ask: >= 4, then count", next(run for run in range(1, 9) if run - 1 >= 4)),
]
plot.table([("how it is written", "runs"), *rows], caption="One limit, off by one.")

# %% [markdown]
# One thing on the way out. `on_failure` wrote the moment of burial as `watch() / 1000`, in seconds; the list has milliseconds. Now somebody reads it who expects one unit everywhere:

# %%
from datetime import UTC, datetime

given()
for _ in range(5):
    on_failure("room 412", server_now)

datetime.fromtimestamp(redis.zscore(DEAD, "room 412") / 1000, UTC).year

# %% [markdown]
# Buried in 1970. "Drop dead letters older than 30 days" would drop it today. One unit, everywhere: the kit has ms in every key, and seconds in Python.

# %% [markdown] points=["A7", "B5", "C7"]
# ## How long?
#
# When to come back is settled; how long to wait is not. All three documents double the wait, and each counts differently: is n the tries so far, or the *re*tries so far? The kit has a constructor for each:

# %%
policies = {
    "A: base × 2^attempts": jk.Exponential.counting_attempts(5),
    "B: min(base × 2^retries, cap)": jk.Exponential.counting_retries(2, cap=60),
    "C: 2^attempt s + up to 0.5 s": jk.Exponential.plus_up_to(0.5),
    "A's table, ±20 %": jk.Table(*WAITS, jitter=jk.proportional(0.2)),
}
plot.sequence(policies, 8)

# %% [markdown]
# A log scale, so doubling is a straight line. Three of them are parallel: same factor. A's base is another; B and C begin alike, and B lies flat from its sixth wait on: that is the cap. The table is steeper than any of them.
#
# > **Document says / measured.** Document A gives a formula, base × 2^attempts, and then a list of waits, 5 s, 30 s, 5 min, 1 h. The next cell holds them side by side.

# %%
policy = jk.Exponential.counting_attempts(5, cap=3600)
formula = [policy.delay(n, rng) // 1000 for n in range(1, 5)]
rows = [("base × 2^attempts", *formula), ("the list", *WAITS)]
head = ("document A, in s", 1, 2, 3, 4)
plot.table([head, *rows], caption="A formula, and four numbers that it does not make.")

# %% [markdown] points=["A7"]
# The formula begins with 10, not 5, and is nowhere near an hour after four tries. In the list each step is a factor of its own: 6, 10, 12.
#
# A list is fine. Four numbers that everybody can read beat a formula that nobody checks. But how long do they last, all together, from the first failure to the last run? `wait` is the formula without its dice: chance comes in as a number, 0 for the shortest wait and 1 for the longest.

# %%
rows = [("policy", "four retries span at least", "at most")]
for name, policy in policies.items():
    spans = (sum(policy.wait(n, u) for n in range(1, 5)) for u in (0, 1))
    rows.append((name, *(f"{ms / 60_000:.1f} min" for ms in spans)))

plot.table(rows, caption="A longer outage buries every job that it meets.")

# %% [markdown]
# That is the first number to choose: how long an outage must your jobs outlive? B and C give up after half a minute. One restart of the taxi office's computer, and all is dead letters. So people raise the number of retries. And then n gets large.

# %% [markdown] points=["A6"]
# ## Why a slip, and not a nap?
#
# The porter could also stay by the phone: `time.sleep(5)`, and ring again. No list, no script. What would that cost? Half a million calls a day, 2 s each, on a day when every one of them fails, five times:

# %%
from jobkit.storm import capacity

plan = capacity(500_000, service=2, failure=1, policy=policies["A's table, ±20 %"])
rows = [
    ("on the phone", f"{plan.busy:,.0f}"),
    ("waiting for the next try", f"{plan.parked:,.0f}"),
]
head = ("on average", "how many")
plot.table([head, *rows], caption="How many come per second × how long each stays.")

# %% [markdown]
# With slips, 58 porters do it, and the rest is paper. With naps, each of those 22,761 is a porter asleep by a phone.

# %% [markdown] points=["B5"]
# ## Fourth break: a large n
#
# Document B computes its wait in Go, where a duration is a signed 64-bit number of *nanoseconds*: shift the base left by n, then compare with the cap. Here is what its arithmetic keeps:


# %%
def int64(x):
    return (x + 2**63) % 2**64 - 2**63


def go_wait(n, base=2 * 10**9, cap=60 * 10**9):
    wait = int64(base * int64(1 << n))
    if wait > cap:
        return cap
    return wait


# %% [markdown]
# **Predict.** What does `go_wait(33)` return?
#
# ◯ 60 s ◯ 2 × 2^33 s ◯ nothing, it fails ◯ something else

# %%
rows = [(n, f"{go_wait(n) / 1e9:,.0f} s") for n in (0, 1, 4, 5, 32, 33, 34, 40, 54, 64)]
head = ("retries so far", "wait")
plot.table([head, *rows], caption="min(base × 2^n, cap), in 64 bits.")

# %% [markdown]
# > **Document says / measured.** Document B's table has "6 and more: 60 s", capped. Its code holds that from 5 to 32. (And its table counts the first retry as 1, where the code wants 0.)
#
# 2 × 10⁹ × 2³³ is more than 2⁶³. The number turns negative, and a negative number is not greater than the cap. From then on it is a lottery, until all bits have been pushed out on the left. Does anybody get that far? The waits before it, in minutes:

# %%
round(sum(go_wait(n) for n in range(33)) / 60e9, 1)

# %% [markdown]
# An outage of 29 minutes is enough, if nobody limits the retries. Give the kit's worker this policy. (A policy is anything with a `delay(attempt, rng)` in ms.)


# %%
class Go:
    def delay(self, attempt, rng):
        return go_wait(attempt - 1) // 10**6


queue = jk.Queue(redis, "engaged", max_attempts=1000)
worker = jk.Worker(queue, backoff=Go())


@worker.task
def ring(job):
    raise ConnectionError("engaged")


# %% [markdown]
# A hundred runs. `drain` moves the clock from one due time to the next:

# %%
queue.submit("ring", id="room 412")
tries = worker.drain(most=100)
queue.cancel("room 412")
print(*tries[30:38], sep="\n")

# %% [markdown]
# Each minute one call; then 0 ms, 0 ms, 0 ms. (The kit takes "before now" for "now".) One lucky minute, and again. How often did the phone ring in each minute?

# %%
from collections import Counter
from itertools import accumulate

times = accumulate([0, *(each.delay_ms for each in tries[:-1])])
per_minute = Counter(at // 60_000 for at in times)
rows = sorted(per_minute.items())
plot.table(
    [("minute", "calls"), *rows[:3], ("...", "..."), *rows[-5:]],
    caption="A hundred calls. The hundred-and-first was not allowed.",
)

# %% [markdown]
# Past the 53rd retry every wait is 0. The office is down, and we ring it as fast as we can, for ever. The policy that was to protect it now attacks it.

# %% [markdown] points=["B5"]
# ## The cure: clamp the exponent
#
# Python's whole numbers don't overflow, so is it safe here? Not with a factor that is a float, and 1.5 is a popular one:

# %%
try:
    min(60, 2 * 2.0**1024)
except OverflowError:
    print("OverflowError")

# %% [markdown]
# The cap came too late: the power was computed first. Turn it round. Past some exponent the cap holds anyway, so never compute a larger one:

# %%
import math


def capped(n, base=2, cap=60, factor=2.0):
    enough = math.ceil(math.log(cap / base, factor))
    return min(cap, base * factor ** min(n, enough))


# %% [markdown]
# Held against the document's own numbers, and against large ones:

# %%
assert [capped(n) for n in range(7)] == [2, 4, 8, 16, 32, 60, 60]
assert capped(33) == capped(1024) == capped(10**18) == 60

# %% [markdown]
# The same for a small n, and nothing that can overflow for a large one. The kit does it, too, once, when a policy is made:

# %%
kits = jk.Exponential.counting_retries(2, cap=60)
assert all(kits.delay(n + 1, rng) == capped(n) * 1000 for n in range(200))
kits.delay(10**18, rng)

# %% [markdown] points=["A6", "C7"]
# ## Where does the chance go?
#
# Say that 10,000 rooms rang while the office was down. All failed together; without chance they all come back together. Three policies, after the first failure:

# %%
five = {
    "none": jk.Table(*WAITS),
    "A: ±20 %": jk.Table(*WAITS, jitter=jk.proportional(0.2)),
    "full: anything up to the wait": jk.Table(*WAITS, jitter=jk.full),
}
plot.distribution(five, attempt=1, per=0.1)

# %% [markdown]
# The same 10,000 calls. Without jitter they fall into one tenth of a second. With ±20 % they spread over two seconds, with full jitter over five. (What that does to the office is notebook 09. Here we only place the dice.)
#
# Document C adds up to half a second, whatever the wait. After the first failure that is a quarter of it. After the eighth?

# %%
eighth = {
    "C: 2^n s + up to 0.5 s": jk.Exponential.plus_up_to(0.5),
    "2^n s, ±20 %": jk.Exponential.counting_attempts(1, jitter=jk.proportional(0.2)),
}
plot.distribution(eighth, attempt=8, per=2)

# %% [markdown] points=["C7"]
# All 10,000 come back within one bar, half a second of four minutes. A jitter that does not grow with the wait is soon no jitter. And nothing caps document C's waits. Its twentieth, in days:

# %%
round(jk.Exponential.plus_up_to(0.5).delay(20, rng) / 86_400_000, 1)

# %% [markdown]
# Twelve days. Nobody meant that. So a cap it is. Which brings the last break.

# %% [markdown] points=["A6", "A7"]
# ## Fifth break: the cap after the dice
#
# **Predict.** Ten thousand calls, base 2 s, cap 60 s, ±20 %, after the seventh failure. First the roll, then the cap. How many wait exactly 60 s?
#
# ◯ none ◯ a few ◯ half ◯ all


# %%
class CapLast:
    def delay(self, attempt, rng):
        return int(min(60, 2 ** min(attempt, 10) * rng.uniform(0.8, 1.2)) * 1000)


# %% [markdown]
# How many of 10,000 wait exactly 60 s, after four failures, five, six, seven?

# %%
exactly = {
    n: sum(CapLast().delay(n, rng) == 60_000 for _ in range(10_000)) / 100
    for n in (4, 5, 6, 7)
}
rows = [(n, f"{2**n} s", f"{percent:.0f} %") for n, percent in exactly.items()]
head = ("failed runs", "before the cap", "wait exactly 60 s")
plot.table([head, *rows], caption="Roll, then cap.")

# %% [markdown]
# All. At 128 s even the luckiest roll lies above the cap, and `min` shaves everybody to the same instant. The jitter is gone exactly where the waits are long and the crowd is largest. Roll last instead:

# %%
fifth = jk.proportional(0.2)
cap_first = jk.Exponential.counting_attempts(1, cap=60, jitter=fifth)
orders = {"roll, then cap": CapLast(), "cap, then roll": cap_first}
plot.distribution(orders, attempt=7, per=1)

# %% [markdown]
# The price is honest: a wait may now be 72 s, a fifth above the "cap". If 60 must never be passed, cap at 50.
#
# Cap first, jitter last. Write it down in four lines:


# %%
def wait(attempt, u, base=2, cap=60, fraction=0.2):
    enough = math.ceil(math.log2(cap / base))
    steady = min(cap, base * 2 ** min(attempt - 1, enough))
    return int(1000 * steady * (1 - fraction + 2 * fraction * u))


# %% [markdown]
# `u` is chance, between 0 and 1, and comes in from outside: 0 is the unluckiest roll, 1 the luckiest.

# %%
assert (wait(1, 0.5), wait(6, 0.5), wait(10**18, 0.5)) == (2000, 60_000, 60_000)
assert (wait(7, 0.0), wait(7, 1.0)) == (48_000, 72_000)

# %% [markdown]
# The function has no secrets: same arguments, same wait. That is why it can be tested at all.
#
# Base, cap and jitter are yours to move:

# %% tags=["widget"]
from ipywidgets import IntSlider, interact


@interact(
    base=IntSlider(2, min=1, max=30, description="base, s"),
    cap=IntSlider(60, min=30, max=3600, step=30, description="cap, s"),
    percent=IntSlider(20, min=0, max=100, step=5, description="jitter, ±%"),
)
def shape(base, cap, percent):
    policy = jk.Exponential(base, cap=cap, jitter=jk.proportional(percent / 100))
    return plot.sequence({f"{base} s, cap {cap} s, ±{percent} %": policy}, 10)


# %% [markdown]
# The same without a slider, for three settings:

# %%
settings = {
    "2 s, cap 60 s, ±20 %": (2, 60, 0.2),
    "2 s, cap 600 s, ±50 %": (2, 600, 0.5),
    "30 s, cap 3600 s, none": (30, 3600, 0),
}
shapes = {
    name: jk.Exponential(b, cap=c, jitter=jk.proportional(f))
    for name, (b, c, f) in settings.items()
}
plot.sequence(shapes, 10)

# %% [markdown]
# The base moves the line up, the cap says where it turns flat, the jitter is its width. The cap decides how quickly you notice that the office is back; the base, how hard you knock while it isn't.

# %% [markdown] points=["A6"]
# ## All of it, in the kit
#
# Now the real thing. A policy, a worker, and four guests: one gets through at the fourth try, one never does. For the third the office says "not in this town", for the fourth "ring again in two minutes".

# %%
queue = jk.Queue(redis, "desk", retention=86_400)
again = jk.Table(5, 30, 300, 3600, jitter=jk.proportional(0.2))
worker = jk.Worker(queue, backoff=again, rng=random.Random(8))


@worker.task
def taxi(job, room):
    if room == 404:
        raise jk.Permanent("404: not in this town")
    if room == 429 and job.attempt == 1:
        raise jk.RetryAfter(120)
    if room == 500 or (room == 412 and job.attempt < 4):
        raise ConnectionError(f"{room}: engaged")


# %% [markdown]
# Not every failure deserves a retry. `Permanent` says that no wait can help; `RetryAfter` lets the other side name the wait, and the policy is not asked.

# %%
guests = (412, 500, 404, 429)
queue.submit_many([jk.New("taxi", {"room": n}, id=f"room {n}") for n in guests])
worker.drain()

# %% [markdown]
# One line is one run. The same, drawn: a mark is the end of a run, a line is a wait, and the number on it is its length.

# %%
names = [f"room {n}" for n in guests]
plot.attempts(queue, *names, caption="Four guests, four fates.")

# %% [markdown]
# Room 500 was tried five times in over an hour and then given up; 404 was given up at once, and its guest can look for another way while there is time. What was given up keeps its reason:

# %%
print(*queue.dead(), sep="\n")

# %% [markdown]
# And the script that does it? One of the four files to read first. Look for your three steps: the clock, the count, the "too late". (Its head is a contract: what goes in, what may come out.)

# %%
from jobkit.scripts import load

print(load("fail").text)

# %% [markdown]
# `now()` is the server's time. `held` is the "too late": it compares a *token*, since an ack tells only *whether* an entry was held, not by whom (notebook 06). `drop` is the tick, and takes the entry out of the stream as well. And the count? It was made before, at the claim; here it is only taken back from a job that nobody could run.
#
# The kit counts when a job is *handed out*. A porter who drops dead over a job has tried it, too:

# %%
queue.submit("taxi", {"room": 1}, id="room 1")
queue.promote()
[claim] = queue.claim("a porter who now drops dead")
queue.get("room 1").attempt

# %% [markdown]
# In your script such a job would be tried for ever: it dies before it can be counted. Notebook 10 is about that job. Meanwhile the porter is well after all, and reports a failure, twice, because the first answer got lost:

# %%
answers = [queue.fail(claim, "engaged", delay=5) for _ in range(2)]
assert answers == [jk.State.SCHEDULED, jk.State.SCHEDULED]
queue.get("room 1").attempt, len(queue.history("room 1")), queue.counts().scheduled

# %% [markdown]
# Told twice, done once: one attempt, one line in its history, one slip. The second call got the answer that the first should have had. And what if a failure is reported for a claim that is over?

# %%
clock.advance(5)
queue.promote()
[newer] = queue.claim("Bob")
try:
    queue.ack(claim)
except jk.StaleClaim as refused:
    print("StaleClaim: refused,", str(refused).split("refused: ")[1])

# %% [markdown] points=["A6", "A7", "B5", "C7"]
# ## Proved, and not proved
#
# The cuts we tried were all there are: one script has no middle. For the waits, let chance choose policies and attempts, up to a billion, and hold each wait against what was promised:


# %%
def prove(rng, rounds=2000):
    for _ in range(rounds):
        base, fraction = rng.randint(1, 100), rng.random()
        cap = base * rng.randint(1, 1000)
        factor, jitter = rng.choice((1.5, 2, 10)), jk.proportional(fraction)
        policy = jk.Exponential(base, cap=cap, factor=factor, jitter=jitter)
        n, seed = rng.randint(1, 10 ** rng.randint(1, 9)), rng.random()
        wait = policy.delay(n, random.Random(seed))
        assert base * (1 - fraction) * 1000 - 1 <= wait <= cap * (1 + fraction) * 1000
        assert wait == policy.delay(n, random.Random(seed))
        steady = jk.Exponential(base, cap=cap, jitter=jk.none)
        assert steady.delay(n, rng) <= steady.delay(n + 1, rng) <= cap * 1000
    return f"{rounds:,} policies kept what they promise"


prove(random.Random(1))

# %% [markdown]
# So: within its bounds, never falling, never overflowing, and the same chance gives the same wait.
#
# **Not** proved: that these waits are good for the office (09). That a job which is tried twice does no harm (07). And the cuts were a porter's; if Redis itself dies, other rules hold (14).

# %% [markdown] points=["A6"]
# ## The same on the other Redis
#
# Every cell of this page runs unchanged on a real server and on the fake. Here is one guest's whole story on both, from the same seed:


# %%
def story(redis):
    queue = jk.Queue(redis, "story", retention=86_400)
    redis.delete(queue.keys.delayed, *redis.scan_iter(redis.prefix + "{story}*"))
    worker = jk.Worker(queue, backoff=again, rng=random.Random(8))
    worker.task(taxi)
    queue.submit("taxi", {"room": 412}, id="room 412")
    worker.drain()
    return [str(event) for event in queue.history("room 412")]


# %% [markdown]
# Told by one and by the other:

# %% tags=["varies"] varies="names the Redis that was found"
for name in ("fake", "private"):
    try:
        print(*story(jk.connect(name)), sep="\n")
    except jk.ServerUnavailable as error:
        print(f"no real server here: {error}")

# %% [markdown]
# Equal to the millisecond of each wait: Redis decides *when it is now*, your dice decide *how long*, and dice can be seeded.

# %% [markdown] points=["A6", "A7", "B5", "C7"]
# ## Your turn: the garage's terms
#
# The garage answers our calls on these terms. After the first failure wait 5 s, then double, but the doubling ends at 10 minutes. Each wait is then shifted by ±20 %. Write it: whole milliseconds, for any number of failed runs (a large one must cost no more than a small one); `u` is chance between 0 and 1.


# %%
def garage(failed, u):
    """Return how long to wait after `failed` failed runs (the first is 1), in ms."""
    # your lines


# %% [markdown]
# The check knows the breaks of this page by name. Run it after each change; it stops at the first promise that is broken:

# %% tags=["check"]
TERMS = [
    ((1, 0.5), 5000, "the first wait is the base. Is the first n 0 or 1?"),
    ((2, 0.5), 10_000, "the second wait is twice the first."),
    ((1, 0.0), 4000, "an unlucky roll shortens by a fifth."),
    ((1, 1.0), 6000, "a lucky roll lengthens by a fifth."),
    ((8, 0.5), 600_000, "the doubling ends at ten minutes."),
    ((9, 0.0), 480_000, "at the cap there is jitter, too. Which comes last?"),
    ((9, 1.0), 720_000, "at the cap there is jitter, too. Which comes last?"),
    ((32, 0.5), 600_000, "64 bits are soon used up."),
    ((5000, 0.5), 600_000, "a large n is only a large n."),
]


# %% [markdown]
# Each row is a call, what should come back, and why. What did not come back as a whole number gets a word of its own:


# %% tags=["check"]
import tracemalloc


def hint(got, wanted, why):
    if got is None:
        return "nothing came back. Is there a `return` on every way through?"
    if not isinstance(got, int):
        return "whole milliseconds are an int. `round` makes one."
    return "milliseconds, please, not seconds." if got * 1000 == wanted else why


def memory(garage):
    tracemalloc.start()
    garage(200_000, 0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


# %% [markdown]
# And a large n must not make a large number on the way, even where Python can hold it. Its memory tells:


# %% tags=["check"]
def check(garage):
    for arguments, wanted, why in TERMS:
        call = f"Called garage{arguments}."
        try:
            got = garage(*arguments)
        except (ArithmeticError, MemoryError, RecursionError) as error:
            return f"Not yet: {why} {call} It raised {type(error).__name__}."
        if got != wanted or not isinstance(got, int):
            said = f"{call} Returned {got!r}, expected {wanted}."
            return f"Not yet: {hint(got, wanted, why)} {said}"
    if (peak := memory(garage)) > 10_000:
        why = (
            "past some n the cap holds anyway, so clamp the exponent before the power."
        )
        said = f"Called garage(200000, 0.5). It took {peak:,} bytes of memory."
        return f"Not yet: {why} {said}"
    return f"Passed, in all {len(TERMS) + 1} situations."


check(garage)

# %% [markdown]
# <details><summary>A hint: where to look</summary>
#
# `wait`, above, has the right order. Its numbers are others. How many doublings lie between 5 s and 600 s?
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def garage(failed, u):
#     steady = min(600_000, 5000 * 2 ** min(failed - 1, 7))
#     return round(steady * (0.8 + 0.4 * u))
# ```
#
# Seven doublings: 5 × 2⁷ is 640, past the cap. The exponent is clamped before the power, the cap comes before the roll. `round` gives a whole number. `jk.Exponential(5, cap=600, jitter=jk.proportional(0.2))` is the same policy.
#
# </details>

# %% [markdown] points=["A6", "A7", "B5", "C7"]
# ## What you trade
#
# | you choose | and get | and pay with |
# |---|---|---|
# | a short base | a hiccup is over in seconds | knocks at a door that is closed |
# | a high cap | peace for whoever is down | a guest who waits long after it is up again |
# | many retries | jobs that outlive a long outage | dead letters that you hear of hours later |
# | a wide jitter | no crowd | waits that nobody can predict |
# | a table | four numbers that all can read | a fifth that somebody must think of |

# %% [markdown]
# **Say it without notes.** A job has failed. What must happen in one step, and why? And in which order come doubling, cap, jitter and limit? *(Four sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# Giving up the claim, counting the try and setting the next time must be one step on the server: any two commands have a gap in which a crash loses the job, doubles it or miscounts it. The step asks Redis for the time, so no worker's clock matters, and it refuses a claim that is not the newest, so a repeated call changes nothing. The wait doubles with an exponent that is clamped before the power, then comes the cap, and the jitter last, or the cap would put everybody on one instant again. At the limit the job goes to the dead letters with its reason, and the sum of all waits is the longest outage that it can outlive.
#
# </details>
#
# Yours had: one step ◯ the server's clock ◯ the repeated call ◯ cap before jitter ◯ the limit and what it outlives ◯

# %% [markdown] points=["A6"]
# ## Three questions that an interviewer asks next
#
# **"The API answers 429 with Retry-After: 120. And what about a 400?"**
# <details><summary>A short answer</summary>
#
# The 429 names its own wait: take it in place of the policy's, and count the attempt. A 400 will be a 400 tomorrow: no retry, straight to the dead letters. Retry what may pass (timeouts, 429, 5xx), bury what can't.
#
# </details>
#
# **"The call timed out. Do you retry?"**
# <details><summary>A short answer</summary>
#
# A timeout is not a failure but an unknown: the taxi may be on its way. Retry only if doing it twice does no harm, so send the same idempotency key with each try (notebook 07). If the other side knows no such key, ask it first what became of the last one.
#
# </details>
#
# **"The outage lasts three hours. Your table is through after one. What now?"**
# <details><summary>A short answer</summary>
#
# All that was due meanwhile is in the dead letters, with its reason; requeue it when the office is back, spread over some minutes so that it isn't a crowd (`queue.requeue(over=600)`). Better: notice that *everything* fails, and stop calling for a while without burning attempts, by a circuit breaker in front of the API. Raising the retries for all jobs is the poor answer: it delays the news.
#
# </details>
