# %% [markdown]
# # 09 Jitter and the retry storm
#
# At the end you can say why retries need jitter, which jitter, what it costs, and when it does not help, and you can check each of these in a cell.
#
# About 20 minutes, estimated from the number of words. All cells together took 14 s of processor time, measured.

# %% [markdown] points=["A8"]
# ## Everybody rings again
#
# The taxi office again (notebook 08), on the night of the strike. No train leaves, ten thousand guests of the city want a taxi, and at the same moment the line of the office goes dead. Everybody hears the same silence. And everybody has been told what to do: ring again in 5 seconds, then in 30, in 5 minutes, in an hour.
#
# Half a minute later the line is back. It takes a hundred calls a second.

# %%
import jobkit as jk
from jobkit import plot
from jobkit.storm import Budget, Breaker, compare, metastable, occ, storm, strategies

WAITS = [5, 30, 300, 3600]
NIGHT = {"jobs": 10_000, "outage": 30, "capacity": 100, "poll": 0}

# %% [markdown]
# **Predict.** Four tries each, and the line could serve them all in 100 seconds. How many of the 10,000 get their taxi?
#
# ◯ all ◯ about half ◯ 300 ◯ none

# %% [markdown]
# `storm` plays that night. It takes a policy of the queue, the very object that a worker is given:

# %%
crowd = storm(jk.Table(*WAITS), **NIGHT)
plot.storm(crowd)

# %% [markdown]
# Three hundred. The first wave falls into the outage. Each later wave is *one instant*: a hundred calls get through in its second, the rest is told to come back, and does, all at once. Nobody spread out, for they all started together and wait the same.
#
# In the hour between the last two waves the line was idle, in all but one second. It was never short of capacity. It was short of *order*.

# %%
crowd

# %% [markdown]
# You don't need 10,000 for it. Four guests, a line that takes one call a second, two retries:

# %%
four = storm(jk.Table(5, 10), jobs=4, outage=3, capacity=1, retries=2, poll=0)
plot.table(
    [
        ("guest", 1, 2, 3, 4),
        ("first retry, ms", *four.times[0]),
        ("second", *four.times[1]),
        ("served at", *four.served_by),
    ],
    caption="Served at retry 1, at retry 2, and 0 for never.",
)

# %% [markdown]
# Two waves, two served. With R waves R windows are used, whatever the crowd. How long a window is, is a choice of this model, so be careful with the number: counted per 5 s in place of 1 s, a wave gets 500 through.

# %%
[storm(jk.Table(*WAITS), **NIGHT, window=window).dead for window in (1, 5)]

# %% [markdown] points=["A8"]
# ## And it falls again
#
# So far the line was patient: it refused what it could not take. Most things are not. Give it more than twice what it can take in a second, and it falls over for another half minute.

# %%
falls = storm(jk.Table(*WAITS), **NIGHT, collapse=(2, 30))
falls

# %% [markdown]
# Each wave that comes after the repair breaks it again. **Nobody** gets a taxi, and the office never learns what happened: every time it comes up it is knocked down within a second. That is the retry storm of document A, and it is why this notebook exists.

# %% [markdown] points=["A8"]
# ## The cure: a roll of the dice
#
# Each guest shifts each wait by a roll of their own. Document A rolls ±20 %; half of the wait, or all of it, may be left to chance as well:

# %%
JITTERS = {
    "none": jk.none,
    "±20 %": jk.proportional(0.2),
    "equal": jk.equal,
    "full": jk.full,
}
policies = {name: jk.Table(*WAITS, jitter=jitter) for name, jitter in JITTERS.items()}
night = compare(policies, **NIGHT)
night

# %% [markdown]
# 9,700 dead, and then 0. The same line, the same four retries, the same waits on average. Look where the calls went:

# %%
plot.storm(night)

# %% [markdown]
# Even ±20 % is enough here to save everybody, though it leaves separate heaps: one per wave, each as wide as 40 % of its wait. By the third wave, 5 minutes ± 1, the heap is 120 seconds wide, and 10,000 calls in 120 seconds are less than 100 a second.

# %%
assert [row.dead for row in night.rows] == [9_700, 0, 0, 0]
plot.waves(night.storms[1])

# %% [markdown]
# And the line that falls over?

# %%
compare(policies, **NIGHT, collapse=(2, 30))

# %% [markdown]
# Once, for each of the three: the second wave is still too dense. From then on it stands. (Full jitter lost a dozen: guests whose rolls were all so short that four tries were over before the second repair.)

# %% [markdown] points=["A8"]
# ## Which jitter?
#
# To compare waves, let *every* retry fail, so that all 10,000 make all four:

# %%
deaf = {**NIGHT, "outage": 100_000}
rows = [("most calls in 1 s", "wave 1", "wave 2", "wave 3", "wave 4")]
for name, policy in policies.items():
    run = storm(policy, **deaf)
    rows.append((name, *(f"{run.arrivals(1, retry=k).max():,}" for k in (1, 2, 3, 4))))

plot.table(rows, caption="Every retry fails.")

# %% [markdown]
# The wider the roll, the lower the heap, in every wave. So full jitter, always? Look again at the first table, at p99.

# %%
plot.completion(night)

# %% [markdown]
# Full jitter has the lowest peak *and* the worst tail. Half of its guests are served before half of any other's; but who was unlucky in the third wave rolls between 0 and an hour, and the last per cent is not served within 48 minutes. With ±20 % everybody is home in 7 minutes.
#
# So never show the peak alone. Peak, calls, dead, p99: four numbers, and they do not agree.

# %%
rows = [("", "peak after the outage", "calls", "dead", "p99")]
for r in night.rows:
    numbers = [f"{n:,}" for n in (r.peak_after, r.total_calls, r.dead)]
    rows.append((r.name, *numbers, f"{r.p99_s:,.0f} s"))

plot.table(rows, caption="Four numbers to look at together.")

# %% [markdown]
# (Why p99 and not the last one served? Whether a single guest needed the fourth wave decides between 7 minutes and an hour: the maximum jumps, p99 does not.)

# %% [markdown] points=["A8"]
# ## How wide is wide enough?
#
# N calls spread evenly over W seconds are N/W a second. To get under C, W must be at least N/C: here 100 seconds. **Predict**: spread over exactly 100 s, how full is the fullest second?
#
# ◯ 100 ◯ 105 ◯ 125 ◯ 200


# %%
def fullest(spread, seed):
    policy = jk.Table(spread, jitter=jk.full)
    run = storm(policy, retries=1, outage=0, capacity=100, poll=0, seed=seed)
    return run.arrivals(1).max()


tries = {s: [fullest(s, seed) for seed in range(200)] for s in (100, 125, 150)}
rows = [("spread", "fullest second, mean", "never above 100")]
for spread, peaks in tries.items():
    good = sum(peak <= 100 for peak in peaks) / 2
    rows.append((f"{spread} s", f"{sum(peaks) / 200:.0f}", f"{good:.0f} %"))

plot.table(rows, caption="200 nights each.")

# %% [markdown]
# Chance is lumpy. An average of 100 has seconds of 125, on every single night. Half as much again as N/C is what it takes. Remember that one: **1.5 N/C**.

# %%
assert min(tries[100]) > 100
assert sum(peak <= 100 for peak in tries[150]) >= 0.98 * 200

# %% [markdown] points=["A8", "A18"]
# ## When jitter does not help
#
# First trap: the picture. A short base, and bins as wide as the base:

# %%
short = {name: jk.Exponential(1, jitter=JITTERS[name]) for name in ("none", "full")}
runs = {name: storm(policy, **deaf) for name, policy in short.items()}
rows = [
    (f"{width} s", *(f"{run.arrivals(width).max():,}" for run in runs.values()))
    for width in (1, 0.1, 0.01)
]
head = ("most calls in", "none", "full")
plot.table([head, *rows], caption="Base 1 s, every retry fails.")

# %% [markdown]
# In bins of a second, full jitter looks *worse* than none: the first second holds the first wave, and a quarter of the second one, too. Look closer, and it is six times better, and fifty times. A bin much wider than the jitter hides it. State your bin.

# %% [markdown]
# Second trap: the poll. Document B's scheduler wakes every two seconds. Let the roll be half a second either way:

# %%
narrow = jk.Table(5, jitter=jk.proportional(0.1))
rows = [("poll", "different moments")]
for poll in (0, 0.25, 2):
    run = storm(narrow, retries=1, outage=0, poll=poll)
    rows.append((f"{poll} s" if poll else "none", len(set(run.calls_ms()))))

plot.table(rows, caption="10,000 calls, rolled between 4.5 s and 5.5 s.")

# %% [markdown]
# All 10,000 at one moment again. The dice were rolled, and the scheduler put them back on the grid. Jitter narrower than the poll is no jitter.
#
# Third: a capacity that is *never* enough. Jitter moves calls in time; it does not make them fewer. If the office can take 100 and the city wants 120 every second, the queue grows by 20, with or without dice.

# %% [markdown] points=["A8"]
# ## Don't my workers already limit this?
#
# A good question, and one that interviewers like. Guests don't ring themselves: 116 porters do, each busy for 2 seconds with a call.

# %%
compare(policies, **NIGHT, workers=116, service=2, collapse=(2, 30))

# %% [markdown]
# No storm at all, not even without jitter. 116 porters and 2 seconds are 58 calls a second, and no policy can make them more. (The model lets porters come free evenly. A pool that sits idle could start 116 at one instant.)

# %%
falls = {**NIGHT, "service": 2, "collapse": (2, 30)}
rows = [("porters", "at most", "peak after the outage", "knocked over", "dead")]
for n in (116, 300, 1000):
    r = storm(policies["none"], **falls, workers=n).summary()
    rows.append((n, f"{n / 2:.0f}/s", r.peak_after, r.knocked_over, f"{r.dead:,}"))

plot.table(rows, caption="No jitter.")

# %% [markdown]
# So yes: *if* workers / service time is below what the downstream takes, and if this is the only pool that calls it. Autoscaling, a second team, a call that suddenly fails in 10 ms in place of 2 s: each of them lifts the limit, most likely on the night when you need it. A failing call is often the quickest of all:

# %%
storm(policies["none"], **NIGHT, workers=116, service=0.1).summary().peak_after

# %% [markdown] points=["A8"]
# ## How many porters are enough?
#
# And why 116? Because half a million calls come in a day, each takes 2 seconds, and at the peak they come ten times as fast.
#
# **Predict.** How many porters are on the phone, on average?
#
# ◯ 6 ◯ 12 ◯ 58 ◯ 116

# %%
from jobkit.storm import capacity, erlang_c

plan = capacity(500_000, service=2, peak=10)
plan

# %% [markdown]
# Twelve, and 116 at the peak. That is Little's law: what is inside = how many come per second × how long each stays. But 116 who are *busy* leave nobody free. How often does a call find them all on the phone?

# %%
rows = [("porters at the peak", "nobody is free")]
for n in (116, 120, 128, 140):
    rows.append((n, f"{erlang_c(n, plan.busy_peak):.0%}"))

plot.table(
    rows, caption="Erlang's formula: calls come at random, and take random times."
)

# %% [markdown]
# Twelve porters more, and in place of nearly every call it is one in five. Hence the 16 and the 128 of the table: two numbers to have ready, the average for the bill, the peak for the evening.

# %% [markdown] points=["A8"]
# ## Move it yourself
#
# Exponential waits, eight retries, the line of above. Which of the sliders saves the most guests? Which one only moves the heap?

# %% tags=["widget"]
plot.sliders()

# %% [markdown]
# The same without sliders, for a base of 5 s, a cap of 300 s and an outage of a minute:

# %%
eight = {
    name: jk.Exponential(5, cap=300, jitter=jitter) for name, jitter in JITTERS.items()
}
compare(eight, outage=60, capacity=200, retries=8)

# %% [markdown] points=["A8"]
# ## The same on the queue
#
# Is the simulator telling the truth about *our* queue? Same policy, same seed; a job that is driven to death, on a queue whose clock we hold, and in the simulator:

# %% tags=["varies"] varies="names the fake's version"
from random import Random

clock = jk.VirtualClock()
queue = jk.Queue(jk.connect("fake", clock=clock), "taxi", max_attempts=5)
worker = jk.Worker(queue, backoff=policies["full"], name="porter", rng=Random(7))
rang = []


@worker.task
def ring(job):
    rang.append(clock.now())
    raise ConnectionError("engaged")


# %% [markdown]
# Five runs on the queue, and four retries in the simulator:

# %%
queue.submit("ring")
worker.drain()
told = storm(policies["full"], jobs=1, outage=10_000, poll=0, seed=Random(7))
assert [at - rang[0] for at in rang[1:]] == told.times[:, 0].tolist()
plot.table(
    [("", 1, 2, 3, 4), ("retry, ms", *told.times[:, 0])],
    caption="Both say the same, to the millisecond.",
)

# %% [markdown]
# And on the Redis that this notebook found: 200 rooms whose first ring fails, with ±20 %. What waits in the sorted set has the shape of the first wave.

# %% tags=["varies"] varies="names the Redis that was found, and on a live one real time passes"
queue = jk.Queue(jk.connect(), "city")
worker = jk.Worker(queue, backoff=policies["±20 %"], rng=Random(9))
worker.task(ring)
queue.submit_many([jk.New("ring", id=f"room {n}") for n in range(200)])
for _ in range(200):
    worker.step()
plot.delayed(queue)

# %% [markdown]
# What is proved: on one job the two agree exactly, and a test holds the simulator against an event-by-event one in thousands of random settings. What is not: that *your* downstream refuses or falls the way this model does. Measure it.

# %% [markdown] points=["A8"]
# ## The outage that stays
#
# Now another office: it never refuses. Calls wait in line, first come first served, 300 a second; 200 a second come in. Who has waited for a second hangs up, *but stays in the line*: the operator answers, and nobody is there.
#
# **Predict.** It stands still for two seconds. Then everybody who hung up rings once more. How long until all is well again?
#
# ◯ 2 s ◯ 4 s ◯ a minute ◯ never

# %%
nights = {"no retry": 0, "one retry": 1}
two = {
    name: metastable(200, capacity=300, timeout=1, outage=2, retries=n, after=60)
    for name, n in nights.items()
}
plot.goodput(two)

# %% [markdown]
# Never. One retry each is enough. While it stood still a line of more than a second built up; everybody in it hangs up and rings again; so 400 a second come in for 300, the line grows, everybody hangs up. The operators work all night, at full speed, for callers who are gone. What started it was over long ago: this is a **metastable failure**.

# %%
rows = [("it stood still for", "no retry", "one retry")]
for outage in (0.3, 1.0, 2.0):
    runs = [metastable(200, outage=outage, retries=r, after=60) for r in (0, 1)]
    ends = ["recovers" if run.recovered else "stays down" for run in runs]
    rows.append((f"{outage} s", *ends))

plot.table(rows, caption="200/s for 300/s, patience 1 s.")

# %% [markdown]
# Two conditions, both needed: rate × (1 + retries) above the capacity, and an outage clearly longer than the callers' patience. It has to do with *load*, not with instants. Would jitter help?

# %%
rolled = jk.Exponential(1, jitter=jk.full)
metastable(200, outage=2, retries=1, policy=rolled, after=60)

# %% [markdown]
# No. The retries are spread, and there are as many as before. What helps is fewer of them. A **budget**: each new call earns a tenth of a retry, no more.

# %%
cures = {
    "nothing": {},
    "budget, 10 % of requests": {"budget": Budget(0.1, per="request")},
    "budget, 10 % of successes": {"budget": Budget(0.1, per="success")},
    "circuit breaker": {"breaker": Breaker(50, cooldown=5)},
    "drop what waited 0.5 s": {"shed": 0.5},
}
cured = {
    name: metastable(200, outage=2, retries=1, after=60, **cure)
    for name, cure in cures.items()
}
rows = [("", "recovers", "calls per request", "answered in time")]
for name, n in cured.items():
    numbers = (f"{n.amplification:.2f}", f"{n.answered.mean():.0%}")
    rows.append((name, "yes" if n.recovered else "NO", *numbers))

plot.table(rows, caption="Each of them breaks the loop.")

# %% [markdown]
# Each of them breaks the loop. The budgets differ when it gets tight. With 280 a second for 300, a tenth more is 308, too many; but in an outage there are no successes to earn from:

# %%
tight = {
    per: metastable(280, outage=10, retries=1, budget=Budget(0.1, per=per), after=200)
    for per in ("request", "success")
}
assert [run.recovered for run in tight.values()] == [False, True]
plot.goodput(tight)

# %% [markdown]
# Earned per request it never recovers; earned per success it dries up within the outage, and what is left is a line without retries. Even that takes its time: 2,800 calls piled up, and only 20 a second are left over to work them off.

# %%
drained = metastable(280, outage=10, after=200)
round(280 * 10 / (300 - 280)), round(drained.empty_after_s)

# %% [markdown] points=["A8"]
# ## The figure that everybody quotes
#
# Most of what is said about jitter goes back to one article (Marc Brooker, AWS Architecture Blog, 2015). Its model is yet another: N clients want to write *one row*, each write fails if somebody else was quicker. Here it is, built from its description:

# %%
clients = (10, 30, 60, 100, 150)
sweep = {
    name: [occ(policy, n, runs=60) for n in clients]
    for name, policy in strategies().items()
}
plot.contention(sweep)

# %% [markdown]
# Read it with care. "None", no wait at all, is the *quickest* of all, and costs the most writes: three times those of full jitter. Waiting buys fewer calls with time. And exponential waits without jitter are the worst of both: thirty times as slow, and still more than twice the writes of full jitter, since those who collided collide again.

# %%
hundred = {name: runs[clients.index(100)] for name, runs in sweep.items()}
assert min(hundred, key=lambda name: hundred[name].time_ms.mean()) == "none"
assert min(hundred, key=lambda name: hundred[name].calls.mean()) in {"full", "equal"}

# %% [markdown]
# So "use full jitter, a study says so" is half an argument. That study is about contention. A queue after an outage wants other things: a peak below the capacity, nobody dead, a short tail.

# %% [markdown] points=["A8"]
# ## Your turn
#
# Write the policy for the night of the strike. 10,000 guests, 30 s of silence, 100 calls a second, a line that falls at 200. At most four retries. On each of ten nights:
#
# the line never falls again · at most 5 of 10,000 are dead · 99 % are served within 400 s · at most 26,000 calls


# %%
def tonight():
    return jk.Table(5, 30, 300, 3600, jitter=jk.full)


# %% [markdown]
# The check plays ten nights, and says what broke first:


# %% tags=["check"]
def check(tonight):
    for seed in range(10):
        night = {"jobs": 10_000, "outage": 30, "capacity": 100, "collapse": (2, 30)}
        run = storm(tonight(), **night, poll=0, seed=seed).summary()
        late = run.p99_s is None or run.p99_s > 400
        for broken, why in (
            (run.knocked_over, f"times that the line fell: {run.knocked_over}"),
            (run.dead > 5, f"{run.dead:,} guests have no taxi"),
            (late, f"99 % are served after {run.p99_s} s only"),
            (run.total_calls > 26_000, f"{run.total_calls:,} calls"),
        ):
            if broken:
                peak = f"{run.peak_after:,} calls in the fullest second"
                return f"Not yet, night {seed}: {why}. ({peak} after the outage.)"
    return "Passed, on ten nights."


check(tonight)

# %% [markdown]
# <details><summary>A hint: where to look</summary>
#
# The wave that meets the line must be at least 1.5 N/C wide. How wide is that? And what does a first wave within the outage cost?
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def tonight():
#     return jk.Table(300, jitter=jk.equal)
# ```
#
# 1.5 N/C is 150 s, and equal jitter of 300 s rolls between 150 and 300: as wide as that, and after the outage. `jk.Table(200, jitter=jk.full)` passes as well. So does `jk.Table(300, jitter=jk.proportional(0.2))`: 120 s wide, more than 100 in some seconds, but never 200. The price: nobody has a taxi at once, though the line may be back in two seconds. You can't know.
#
# </details>

# %% [markdown] points=["A8"]
# ## What you trade
#
# | you choose | and get | and pay with |
# |---|---|---|
# | no jitter | waits that you can predict | everybody at one instant; most are dead |
# | ±20 % | a short tail | heaps, as high as N over 40 % of the wait |
# | full jitter | the lowest peak | the longest tail |
# | a wide first wait | one calm wave | nobody is served soon |
# | a budget | an end to metastable failure | requests that fail with no second try |
# | few workers | no storm, whatever the policy | a long queue on a good day |

# %% [markdown]
# **Say it without notes.** Why do retries need jitter, which one would you take, and what does jitter *not* help against? *(Four sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# Jobs that failed together and wait the same come back together, so each wave uses one instant of the downstream's capacity, or knocks it over again; jitter spreads a wave over time. The spread must be about 1.5 times the number of jobs over the capacity, and at least the scheduler's tick, or it does nothing. Full jitter has the lowest peak and the worst tail, ±20 % the opposite, so I would look at peak, calls, dead letters and p99 together, in stated bins. Jitter moves load, it does not reduce it: against a metastable overload it takes a retry budget, a breaker, or shedding, and a pool of few workers prevents the storm in the first place.
#
# </details>
#
# Yours had: one instant ◯ 1.5 N/C ◯ peak against tail ◯ the poll ◯ budgets ◯

# %% [markdown] points=["A8"]
# ## Three questions that an interviewer asks next
#
# **"Our workers are limited anyway. Why bother?"**
# <details><summary>A short answer</summary>
#
# They limit it if workers over service time is below the capacity and nobody else calls. A call that fails fast breaks that: 116 workers make 58 calls a second at 2 s each, and 1,160 at 0.1 s.
#
# </details>
#
# **"The downstream is up again, CPU at 100 %, and still nothing works. What do you do?"**
# <details><summary>A short answer</summary>
#
# It works for callers who have hung up. Take load away, at once: stop the retries, shed the oldest calls, or turn traffic off for the time that the queue needs to drain; then let it back in slowly. Afterwards: a budget per success, deadlines that travel with the call, a queue with an age limit.
#
# </details>
#
# **"How would you choose base and cap?"**
# <details><summary>A short answer</summary>
#
# From the outage that must be outlived: the waits add up to it. From the crowd: a wave of N jobs needs 1.5 N/C of width. And from how late a job may be: the last wait is the tail. If the three do not fit together, the number of jobs that one limiter lets through must, per downstream.
#
# </details>
