# %% [markdown]
# # Start here
#
# A hotel, at night. Wake-up calls stand on a list, sorted by time. Two porters watch the list, and room 412 is due in five seconds.
#
# **How often will its phone ring?** Never, once, twice, or does it depend? Decide. Then run the cells one by one, with Shift+Enter.

# %% tags=["varies"] varies="the first line names the Redis that was found"
import jobkit as jk
from jobkit import plot

redis = jk.connect()
clock = redis.clock
CALLS = redis.prefix + "calls"

# %% [markdown]
# The list lives in Redis: a *sorted set*, each room with the time of its call in milliseconds. A porter reads what is due, strikes it off, and rings. At each `yield` the other porter may get ahead.


# %%
def porter(name):
    due = redis.zrange(CALLS, "-inf", clock.now(), byscore=True)
    yield name, "ZRANGE: what is due?", due
    for room in due:
        struck = redis.zrem(CALLS, room)
        yield name, "ZREM: strike it off", struck
        yield name, "rings", room


# %% [markdown]
# Anybody would write it like this, and for one porter it is right. Room 412 goes on the list, and five seconds later two of them go to work:

# %%
redis.zadd(CALLS, {"room 412": clock.now() + 5000})
clock.advance(5)
ada, bob = porter("Ada"), porter("Bob")
steps = [next(who) for who in (ada, bob, ada, ada, bob, bob)]
plot.steps(steps, caption="Two porters, one call: the phone in room 412 rings twice.")

# %% [markdown] points=["A3"]
# ## Why it rang twice
#
# No error, no warning, no line in a log. How often it rings depends on the order of the steps, and that one was chosen by hand: is it a rare one? Here is the porter as a plain function. `r` is his client of Redis (redis-py), `w` the porter himself: what he does outside of Redis, he tells to `w.effect`.


# %%
def hasty(r, w):
    due = r.zrange("calls", "-inf", r.clock.now(), byscore=True)
    for room in due:
        r.zrem("calls", room)
        w.effect(f"ring {room.decode()}")


# %% [markdown]
# Two more functions: how the evening begins, and a *promise*, which says what must hold when all is over.


# %%
def one_call(r):
    r.zadd("calls", {"room 412": r.clock.now()})


def rings_once(world):
    rings = len(world.effects)
    assert rings == 1, f"the phone rings {rings} times"


# %% [markdown]
# `explore` lets two porters take their steps in every order, one *schedule* after another, on a small Redis of its own. It stops at the simplest that breaks the promise:

# %%
from jobkit.explore import explore

explore(hasty, hasty, given=one_call, finally_=rings_once)

# %% [markdown]
# Read it downwards: a line is a step, a column a porter, and behind the arrow stands what Redis answered. (The long number is now, in milliseconds.) B gets ahead of A once, and that is enough.
#
# In step 5 Redis tells A: ZREM took **0** lines off, somebody was here before you. Nobody reads it. Make it "charge the card" instead of "ring", and a customer has paid twice.

# %% [markdown] points=["A3"]
# ## Your turn: one line
#
# `if True` is the line to change. When may a porter ring?


# %%
def careful(r, w):
    due = r.zrange("calls", "-inf", r.clock.now(), byscore=True)
    for room in due:
        struck = r.zrem("calls", room)
        if True:  # <- change this line
            w.effect(f"ring {room.decode()}")


# %% [markdown]
# `explore` is the judge. `bound=None` asks for every order there is, however odd. After each change, run the cell above and then this one. (A cell with a SyntaxError defines nothing: the judge would see the function before.)

# %% tags=["check"]
report = explore(careful, careful, given=one_call, finally_=rings_once, bound=None)
print("Passed: the phone rings once, in every order." if report else "Not yet.")
report

# %% [markdown]
# <details><summary>The line, if you want to compare</summary>
#
# `if struck:`. Only the porter whose ZREM answered 1 may ring. The answer was there all the time.
#
# </details>

# %% [markdown] points=["A3"]
# ## Is it right now?
#
# One question is left. A porter can fall asleep, at any line. `crashes=1` lets that happen to one of the two, before any of his steps:

# %%
explore(careful, careful, given=one_call, finally_=rings_once, crashes=1)

# %% [markdown]
# A strikes the call off and falls asleep. B finds an empty list. Nobody rings, and room 412 misses its train. So ring first, and strike off later?


# %%
def ring_first(r, w):
    for room in r.zrange("calls", "-inf", r.clock.now(), byscore=True):
        w.effect(f"ring {room.decode()}")
        r.zrem("calls", room)


explore(ring_first, ring_first, given=one_call, finally_=rings_once, crashes=1)

# %% [markdown]
# Twice again, and nobody need fall asleep for that. Between two commands there is a gap. What helps is *one* step, inside Redis, that reads, strikes off and hands over.

# %% [markdown] points=["A3", "A6", "A9"]
# ## The same with the kit
#
# That step is called `promote`, and it is the heart of this kit. Give it a job that is due, and let two porters call it:

# %%
queue = jk.Queue(redis, "desk")
redis.delete(
    CALLS, *redis.scan_iter(redis.prefix + "{desk}*")
)  # a second run begins anew
queue.submit("ring", {"room": 9}, delay=5, id="call-9")
clock.advance(5)
[queue.promote().moved for porter in ("Ada", "Bob")]

# %% [markdown]
# Ada moved one job, Bob moved none. Now for the other half of the subject: what if nobody picks up? Try again, of course. But when, and how often? A worker has a *backoff* for that:

# %%
import random

again = jk.Table(5, 30, 300, 3600, jitter=jk.proportional(0.2))
worker = jk.Worker(queue, backoff=again, rng=random.Random(7))


@worker.task
def ring(job, room):
    if room == 412:
        raise ConnectionError("nobody picks up")


# %% [markdown]
# After 5 s, 30 s, 5 min and 1 h, each give or take 20 %. Room 9 waits to be rung, and room 412 joins the queue, for in five seconds:

# %%
queue.submit("ring", {"room": 412}, delay=5, id="call-412")
worker.step()

# %% [markdown]
# That was room 9, and it picked up. Five seconds later it is 412's turn:

# %%
clock.advance(5)
worker.step()

# %% [markdown]
# The first try failed, and the worker did not sit down to wait: the job went back to the sorted set with a later time. Nor do we wait. `drain` moves the clock from one due time to the next, until nothing is left:

# %%
worker.drain()

# %% [markdown]
# Five runs, then no more: a job that never works must not run for ever. Here is its life on a line of time:

# %% tags=["varies"] varies="a server's own milliseconds pass between the steps"
plot.attempts(queue, "call-412")

# %% [markdown]
# A job that was given up is not lost. It is a *dead letter*: somebody looks at it, mends the cause, and sends it again.

# %%
print(queue.dead()[0])

# %% [markdown] points=["A8"]
# ## Why give or take?
#
# The 20 % look like a detail. So let 10,000 calls fail in one instant: the city's telephone exchange is silent for half a minute, and then puts through a hundred calls a second. Each call is tried again, by the table above. How many are lost, without the dice and with them?

# %%
from jobkit.storm import compare, storm

NIGHT = {"jobs": 10_000, "outage": 30, "capacity": 100}
same = jk.Table(5, 30, 300, 3600)
plot.storm(compare({"no dice": same, "±20 %": again}, **NIGHT))

# %% [markdown]
# Without dice all of them come back in the same second, again and again. A hundred get through each time, and **9,700** are dead letters. With the dice, none. Now move them: how little is enough?

# %% tags=["widget"]
from ipywidgets import IntSlider, interact


def dice(percent):
    return jk.Table(5, 30, 300, 3600, jitter=jk.proportional(percent / 100))


@interact(percent=IntSlider(0, max=100, description="±%", continuous_update=False))
def night(percent):
    return plot.storm(storm(dice(percent), **NIGHT))


# %% [markdown]
# The same without a slider:

# %%
rows = [("dice", "dead letters", "half of the others by", "99 % of them by")]
for percent in (0, 1, 2, 20, 100):
    seen = storm(dice(percent), **NIGHT).summary()
    by = (f"{seconds / 60:.0f} min" for seconds in (seen.p50_s, seen.p99_s))
    rows.append((f"±{percent} %", f"{seen.dead:,}", *by))

plot.table(rows, caption="10,000 calls that failed together.")

# %% [markdown]
# Two per cent lose nobody, but half of the calls take over an hour. With twenty it is minutes, for all of them. With a hundred, half are quicker still, and a few wait for over an hour. Which is best? Notebook 09.

# %% [markdown] points=[]
# ## Which Redis you have
#
# `connect` says it once, under the first cell. Here it is whenever you ask:

# %% tags=["varies"] varies="names the Redis that was found"
print(redis.server)

# %% [markdown]
# | it says | you have | and |
# |---|---|---|
# | a private server | a real Redis, started for this notebook | it listens to you alone, and ends with the notebook |
# | the fake | Redis in Python, inside this notebook | enough for nearly everything; a real one is better for crashes |
# | at an address | the server whose URL is in `JOBKIT_REDIS` | its time can't be moved, so use one of the other two |
#
# To choose, set `JOBKIT_REDIS` to `private` or `fake` before `make lab`. `.venv/bin/jobkit doctor` says what your machine has, and what to do about what it lacks.

# %% [markdown] points=[]
# ## The map
#
# | | notebook | |
# |---|---|---|
# | 00 | Start here | you are here |
# | 01 | [A sorted set is a delayed queue](01_sorted_set.ipynb) | here, 30 minutes |
# | 02 | [Two workers, one job: the atomic claim](02_atomic_claim.ipynb) | here, 30 minutes |
# | 03 | [Whose clock?](03_whose_clock.ipynb) | here, 25 minutes |
# | 04 | [Scheduler and workers apart](04_apart.ipynb) | here, 40 minutes |
# | 05 | [The worker dies](05_worker_dies.ipynb) | here, 25 minutes |
# | 06 | [Long jobs and zombies](06_long_jobs_and_zombies.ipynb) | here, 30 minutes |
# | 07 | [Exactly once in effect](07_exactly_once.ipynb) | here, 30 minutes |
# | 08 | [Retry with backoff](08_retry_with_backoff.ipynb) | here, 30 minutes |
# | 09 | [Jitter and the retry storm](09_retry_storm.ipynb) | here, 20 minutes |
# | 10 | [Poison and dead letters](10_poison_and_dead_letters.ipynb) | here, 30 minutes |
# | 11 | [Cancel](11_cancel.ipynb) | here, 25 minutes |
# | 12 | [The hot minute](12_hot_bucket.ipynb) | here, 25 minutes |
# | 13 | [Recurring schedules on many instances](13_recurring.ipynb) | here, 25 minutes |
# | 14 | [Running it](14_running_it.ipynb) | here, 24 minutes |
# | 15 | Capstone: the interview problem | to come |

# %% [markdown] points=[]
# ## Three doors
#
# - **You study alone.** Go on with 01. Guess before you run a cell: a wrong guess is remembered best.
# - **You have an interview.** Tonight 00, 02, 05, 07 and 09: the claim, the crash, once in effect, the storm. Say each "explain it without notes" aloud before you open the answer. The interview problem itself, 15, is to come.
# - **You teach.** `make tour` runs every notebook without a browser, so you know beforehand that all of it works on your machines. Ask for a guess before each cell that breaks something.

# %% [markdown] points=[]
# ## Four files to read first
#
# The whole kit fits into one sitting. These four come first, and each stands by itself:
#
# - [promote.lua](../jobkit/lua/promote.lua): what is due becomes ready, in one step. You have just called it.
# - [backoff.py](../jobkit/backoff.py): how long to wait before the next try
# - [fail.lua](../jobkit/lua/fail.lua): another try, or the dead letters
# - [leader.py](../jobkit/leader.py): one scheduler of many

# %% [markdown] points=[]
# ## When you are stuck
#
# - *Kernel, Restart Kernel and Run All Cells* brings any notebook back to a clean start, Redis included.
# - `queue.submit?` in a cell shows what a method takes, and `queue.submit??` how it works.
# - `make` alone lists what you can do. `.venv/bin/jobkit doctor` looks for what is missing.
# - The [design](../docs/design.md) is one page: states, keys, laws. The [README](../README.md) has the rest.
