# %% [markdown]
# # 10 Poison and dead letters
#
# At the end you can end a job that kills its workers, decide which errors deserve another try, keep a dead-letter queue that does not grow for ever, and empty it without a second outage.
#
# About 30 minutes, estimated from the number of words. All cells together took 20 s at best, and over a minute on a machine that had much other work.

# %% [markdown] points=["A9"]
# ## Room 13
#
# The floor of room 13 is rotten. A porter who goes in falls into the cellar, and is not seen again tonight. The slip was only lent to him (notebook 05), so half a minute later it is back at the desk, and the next porter takes it.
#
# Such a job is a *poison job*: it kills whoever runs it.

# %% tags=["varies"] varies="the first line names the Redis that was found"
import random

import jobkit as jk
from jobkit import plot

redis = jk.connect()
clock = redis.clock


def afresh(name):
    """Delete all keys of a queue: a second run begins anew."""
    for key in redis.scan_iter(redis.prefix + "{" + name + "}*"):
        redis.delete(key)


# %% [markdown]
# **Predict.** The hotel allows three visits per room, and a worker counts a visit when it reports a failure. So document A has it. How many of tonight's twelve porters will fall?
#
# ◯ none ◯ 1 ◯ 3 ◯ all 12

# %% [markdown] points=["A9"]
# ## Counted at the failure
#
# A stream with four slips, room 13 first, a card per room, and a set for what is given up (the commands are those of notebook 05):

# %%
CELLAR = redis.prefix + "{cellar}:"
LINE, DEAD, CARD = CELLAR + "line", CELLAR + "dead", CELLAR + "job:"
ROOMS = ("room 13", "room 7", "room 9", "room 412")


def four_slips(r):
    r.delete(LINE, DEAD, *(CARD + room for room in ROOMS))
    r.xgroup_create(LINE, "porters", id="0", mkstream=True)
    for n, room in enumerate(ROOMS, 1):
        r.xadd(LINE, {"room": room}, id=f"{n}-1")


# %% [markdown]
# A porter takes what nobody has touched for 30 s; if there is no such slip, he takes new ones.


# %%
def take(r, name, most=10):
    late = r.xautoclaim(LINE, "porters", name, 30_000, count=most)[1]
    if late:
        return late
    new = r.xreadgroup("porters", name, {LINE: ">"}, count=most)
    return new[0][1] if new else []


# %% [markdown]
# And when the visit is over, he ticks the slip off:


# %%
def tick_off(r, entry):
    r.xack(LINE, "porters", entry)
    r.xdel(LINE, entry)


# %% [markdown]
# The visit. `Falls` stands for `kill -9`: it is no `Exception`, so not even `except Exception` sees it, and not one more line of that porter runs.


# %%
class Falls(BaseException):
    """The end of a porter."""


# %% [markdown]
# Which rooms were rung, we note in a list:

# %%
rung = []


def visit(room):
    if room == "room 13":
        raise Falls
    rung.append(room)


# %% [markdown]
# And document A's order of things: run, and count in the branch for errors.


# %%
def counts_failures(r, name):
    for entry, slip in take(r, name):
        room = slip[b"room"].decode()
        try:
            visit(room)
        except OSError:
            if r.hincrby(CARD + room, "attempts", 1) >= 3:
                r.zadd(DEAD, {room: r.clock.now()})
        else:
            tick_off(r, entry)


# %% [markdown]
# A night of twelve porters, each half a minute after the last. Afterwards we read the cards and the group's own book:


# %%
def night(works):
    four_slips(redis)
    rung.clear()
    fell = 0
    for n in range(1, 13):
        try:
            works(redis, f"porter {n}")
        except Falls:
            fell += 1
        clock.advance(31)
    return fell


# %% [markdown]
# One row per room: what its card says, how often the stream handed it out, whether it was given up, and how often its phone rang:


# %%
def books(caption):
    seen = redis.xpending_range(LINE, "porters", "-", "+", 10)
    times = {p["message_id"]: p["times_delivered"] for p in seen}
    rows = [("room", "counted", "handed out", "given up", "rung")]
    for n, room in enumerate(ROOMS, 1):
        counted = int(redis.hget(CARD + room, "attempts") or 0)
        out = times.get(f"{n}-1".encode(), "ticked off")
        dead = redis.zscore(DEAD, room) is not None
        rows.append((room, counted, out, dead, rung.count(room)))
    return plot.table(rows, caption=caption)


# %% [markdown]
# Now the night:

# %%
fell = night(counts_failures)
books(f"Porters who fell: {fell} of 12.")

# %% [markdown]
# **All twelve**, and the card says 0. Who has fallen reports no failure, so nothing is counted, so the limit never comes. And look at the other three: each was in the pocket of a porter who fell over room 13 first. Handed out 12 times, rung never.
#
# > **Document says / measured.** Document A counts in `on_failure`, "after max attempts, move to jobs:dead". Measured: a job that kills its worker has 0 attempts after 12 of them.

# %% [markdown] points=["A9"]
# ## The smallest counterexample
#
# For the explorer (notebook 00) it is one porter, one slip, and one death. `w.effect` tells that he goes in:


# %%
def one_slip(r):
    r.xgroup_create("line", "porters", id="0", mkstream=True)
    r.xadd("line", {"room": "13"}, id="1-1")


# %% [markdown]
# He takes it, goes in, and counts when he is back:


# %%
def counts_afterwards(r, w):
    if r.xreadgroup("porters", w.name, {"line": ">"}):
        w.effect("goes into room 13")
        r.hincrby("card", "attempts", 1)


# %% [markdown]
# The promise: no visit without a count.


# %%
def each_visit_is_counted(world):
    counted = int(world.redis.hget("card", "attempts") or 0)
    visits = len(world.effects)
    assert counted >= visits, f"{visits} visit, and {counted} counted"


# %% [markdown]
# One may die, before any of his steps:

# %%
from jobkit.explore import explore

rules = {"given": one_slip, "finally_": each_visit_is_counted}
explore(counts_afterwards, **rules, crashes=1)

# %% [markdown]
# Two steps and a death. So the count must come *before* the visit:


# %%
def counts_first(r, w):
    if r.xreadgroup("porters", w.name, {"line": ">"}):
        r.hincrby("card", "attempts", 1)
        w.effect("goes into room 13")


explore(counts_first, **rules, crashes=1)

# %% [markdown]
# Clean. A porter who dies after the count and before the visit has a visit charged that never was: that is the price, and it does little harm.

# %% [markdown] points=["A9"]
# ## The cure, in three steps
#
# First step: count at the hand-out. `counted` takes as before, and writes on each card at once:


# %%
def counted(r, name, most=10):
    slips = take(r, name, most)
    for _, slip in slips:
        r.hincrby(CARD + slip[b"room"].decode(), "attempts", 1)
    return slips


# %% [markdown]
# On the card before anybody has gone in:

# %%
four_slips(redis)
counted(redis, "Ada")
assert redis.hget(CARD + "room 13", "attempts") == b"1"

# %% [markdown]
# Second step: who is handed out for the fourth time is not visited but given up. In the dead set first, then ticked off, so that a death in between loses nothing:


# %%
def buried(r, slips, most=3):
    left = []
    for entry, slip in slips:
        room = slip[b"room"].decode()
        if int(r.hget(CARD + room, "attempts")) > most:
            r.zadd(DEAD, {room: r.clock.now()})
            tick_off(r, entry)
        else:
            left.append((entry, room))
    return left


# %% [markdown]
# The porter with both:


# %%
def buries(r, name):
    for entry, room in buried(r, counted(r, name)):
        visit(room)
        tick_off(r, entry)


# %% [markdown]
# The same night, with twelve of them:

# %%
fell = night(buries)
assert fell == 3
books(f"Porters who fell: {fell} of 12.")

# %% [markdown]
# Three porters fell, and not twelve. But read the column "given up": **all four rooms**. Rooms 7, 9 and 412 never did any harm. They were in the same pocket three times, their cards say 4 as well, and their phones never rang.
#
# Third step: what came back late may have killed somebody. So it is handed out *alone*.


# %%
def alone(r, name):
    slips = r.xautoclaim(LINE, "porters", name, 30_000, count=1)[1]
    for _, slip in slips:
        r.hincrby(CARD + slip[b"room"].decode(), "attempts", 1)
    return slips or counted(r, name)


# %% [markdown]
# What is new may still come in a batch, since nobody has died of it yet.


# %%
def careful(r, name):
    for entry, room in buried(r, alone(r, name)):
        visit(room)
        tick_off(r, entry)


# %% [markdown]
# Once more the same night:

# %%
fell = night(careful)
assert fell == 3
assert sorted(rung) == ["room 412", "room 7", "room 9"]
books(f"Porters who fell: {fell} of 12.")

# %% [markdown]
# Room 13 is given up, the others were rung, once each. They had to wait: while room 13 came back, its neighbours lay in the book.

# %% [markdown] points=["A9", "A10"]
# ## The same with the kit
#
# In the kit, `claim` counts in the very script that hands out, and `recover` puts a job whose lease is over into a second stream, which is read one at a time. A hundred jobs, a worker that takes all of them at once, and the poison on top:

# %%
queue = jk.Queue(redis, "kit", lease=30, max_attempts=3)
worker = jk.Worker(queue, batch=100, name="porter")
worker.task(lambda job: visit(job.id), name="ring")

jobs = ["room 13", *(f"room {n}" for n in range(101, 200))]

# %% [markdown]
# Each fall is the end of a worker. Another begins when the lease is over:

# %%
afresh("kit")
queue.submit_many(jk.New("ring", id=room) for room in jobs)
fell = 0
rung.clear()
while queue.counts().ready + queue.counts().running:
    try:
        worker.step()
    except Falls:
        fell += 1
        clock.advance(31)

# %% [markdown]
# What became of the hundred:

# %%
counts = queue.counts()
most = max(queue.get(room).attempt for room in jobs[1:])
row = (fell, counts.totals["done"], counts.dead, most)
head = ("workers lost", "done", "dead", "most runs of another job")
plot.table([head, row], caption="A hundred jobs, with a poison job first in the batch.")

# %% [markdown]
# Three workers lost, 99 done, one dead. A hundred were in the first pocket; each of the others was handed out a second time, and rung once.

# %%
assert sorted(rung) == sorted(jobs[1:])
assert fell == 3

# %% [markdown]
# Here are the lives of room 13 and of one of its neighbours:

# %% tags=["varies"] varies="a server's own milliseconds pass between the steps"
plot.attempts(queue, "room 13", "room 150")

# %% [markdown]
# The upper line ends at the limit, and nobody had to report anything. A worker whose machine was only restarted leaves the same mark: the kit can't tell a killer from bad luck, so it counts both. A limit of 1 would bury a job for one restart.

# %% [markdown] points=["A9", "A6"]
# ## Two kinds of errors
#
# Most failures do report. A letter comes back: "no such address". Or the post office is shut for two minutes. The first will fail for ever, the second will not. **Predict.** With waits of 5 s, 30 s, 5 min and 1 h: after how long does the guest hear that the address is wrong?
#
# ◯ at once ◯ after 5 s ◯ after 5 minutes ◯ after more than an hour

# %% [markdown]
# Twenty letters on a clock of its own, so that it takes no time. `truth` is how the world is, `says` what the handler raises:

# %% tags=["varies"] varies="names the version of the fake"
hall = jk.connect("fake", clock=jk.VirtualClock())

# %% [markdown]
# (An exception that is not one of the kit's two means: try again, as the backoff says.)


# %%
def post(truth, says):
    hall.flushdb()
    queue, begin = jk.Queue(hall, "post"), hall.clock.now()
    worker = jk.Worker(queue, backoff=jk.Table(5, 30, 300, 3600), batch=20)

    @worker.task
    def letter(job):
        if truth == "no such address" or hall.clock.now() < begin + 120_000:
            raise says("no")

    queue.submit_many(jk.New("letter") for _ in range(20))
    runs, minutes = worker.drain(), (hall.clock.now() - begin) / 60_000
    return truth, says.__name__, len(runs), queue.counts().dead, f"{minutes:.0f} min"


# %% [markdown]
# `Permanent` says that no retry can help. `RetryAfter` brings a wait of its own; ours asks for 130 seconds, as an API does with a header:


# %%
class In130Seconds(jk.RetryAfter):
    def __init__(self, why):
        super().__init__(130, why)


rows = [
    post(truth, says)
    for truth in ("no such address", "shut for 2 min")
    for says in (ConnectionError, jk.Permanent, In130Seconds)
]
head = ("how it is", "the handler raises", "runs", "dead", "over after")
plot.table([head, *rows], caption="Twenty letters.", bold=[2, 6])

# %% [markdown]
# Two rows are right, and each mistake costs something else. Trying a wrong address again is 100 runs, and the guest hears of it after **66 minutes**. Giving up on a shut office buries 20 letters for an outage of two minutes. Where the other side names the wait, two runs per letter are enough.
#
# | the other side says | it is | raise |
# |---|---|---|
# | 400, 404, 422 | permanent | `Permanent` |
# | 429 or 503, with a Retry-After | transient | `RetryAfter` |
# | 500, no route, connection refused | transient | the error itself |
# | nothing: a timeout | unknown (notebook 07) | the error itself |
#
# And an error that nobody has thought of? It is tried again. The limit makes that safe.

# %% [markdown]
# One kind is the kit's own: a job that no handler knows, because somebody deployed half a system. Waiting does not teach the worker. It is buried at once:

# %%
afresh("fax")
fax = jk.Queue(redis, "fax")
clerk = jk.Worker(fax, name="Ada")
fax.submit("fax", id="fax 1")
print(clerk.step(), "| charged:", fax.get("fax 1").attempt)

# %% [markdown]
# *Dead*, and no attempt was charged: nothing was tried. When the missing handler is deployed, the job can be sent back to work. So let us look at the place where it waits.

# %% [markdown] points=["A9"]
# ## The tray
#
# What is given up goes to the *dead-letter queue*. It answers three questions: what, when, and why.

# %%
letter = fax.dead()[0]
rows = [
    ("what", f"{letter.task}, {letter.id}"),
    ("why", letter.last.error["message"]),
    ("after how many runs", letter.last.attempt),
    ("sent back before", letter.replays),
]
plot.table([("question", "the letter says"), *rows], caption="A dead letter.")

# %% [markdown]
# The time is there as well (`letter.buried`, in ms), and the whole history with each run's error: `queue.history(id)`. Room 13's:

# %%
print(*queue.history("room 13"), sep="\n")

# %% [markdown]
# > **Document says / measured.** Document A keeps, "for inspection", a sorted set of ids and times. Of the cellar's room 13 that is:

# %% tags=["varies"] varies="a moment in ms"
redis.zrange(DEAD, 0, -1, withscores=True)

# %% [markdown]
# A name and a moment. Whoever opens that tray on Monday can't say what was wrong. The reason has to be written where the decision is made, in the same step.
#
# And how large does a tray get? **Predict** for a queue that keeps three letters, after ten.

# %%
tray = jk.Queue(redis, "tray", dead_max=3, dead_age=30 * 86_400)


def give_up(queue, *ids):
    queue.submit_many(jk.New("post", id=id) for id in ids)
    for claim in queue.claim("Ada", limit=len(ids)):
        queue.fail(claim, "no such address", permanent=True)


def sizes(when):
    counts = tray.counts()
    return when, counts.dead, counts.totals.get("dropped", 0)


# %% [markdown]
# Ten letters; then a month goes by. (A scheduler tidies up once a minute.)

# %%
afresh("tray")
give_up(tray, *(f"letter {n}" for n in range(10)))
rows = [sizes("ten letters later")]
clock.advance(31 * 86_400)
tray.tidy()
rows.append(sizes("and a month later"))
plot.table(
    [("", "in the tray", "dropped"), *rows], caption="Bounded by count, and by age."
)

# %% [markdown]
# The oldest go first. Without a bound, a bug that fails every job fills Redis until it refuses new ones, and the whole queue stands still over letters that nobody reads. `dropped` grows in the same script: put an alarm on it, since a dropped letter is lost work. (The kit keeps 10,000, for 30 days, unless you say otherwise.)

# %% [markdown] points=["A9"]
# ## Back to work, by hand
#
# The carpenter has mended the floor; room 13 may be tried again. Off the dead set, onto the list. What anybody would type:


# %%
def a_letter(r):
    r.zadd("dead", {"room 13": r.clock.now()})


def by_hand(r):
    for room in r.zrange("dead", 0, -1):
        r.zrem("dead", room)
        r.zadd("delayed", {room: r.clock.now()})


# %% [markdown]
# Wherever it is, it should be in one place:


# %%
def in_one_place(world):
    places = [world.redis.zcard(key) for key in ("dead", "delayed")]
    assert sum(places) == 1, f"room 13 stands in {sum(places)} places"


# %% [markdown]
# You know the question by now:

# %%
explore(by_hand, given=a_letter, finally_=in_one_place, crashes=1)

# %% [markdown]
# In no place: the terminal was closed in between, and the letter that survived four retries is lost at its rescue. The other way round it stands in two, is run, and is sent back once more by whoever opens the tray next:


# %%
def swapped(r):
    for room in r.zrange("dead", 0, -1):
        r.zadd("delayed", {room: r.clock.now()})
        r.zrem("dead", room)


explore(swapped, given=a_letter, finally_=in_one_place, crashes=1)

# %% [markdown]
# The kit's `requeue` is one script. Two people press the button at once, one may die, one answer may be lost:


# %%
def a_dead_job(r):
    give_up(jk.Queue(r, "q"), "room 13")


def presses(r):
    return jk.Queue(r, "q").requeue("room 13")


# %% [markdown]
# And the promise, one place and one new life:


# %%
def one_life(world):
    queue = jk.Queue(world.redis, "q")
    counts, job = queue.counts(), queue.get("room 13")
    assert counts.scheduled + counts.ready + counts.dead == 1, counts
    assert len(queue.history("room 13")) <= 2, "sent back twice"


# %% [markdown]
# (Its history has one line for the burial, and one for each time that it was sent back.)

# %%
accidents = {"crashes": 1, "lost_replies": 1}
explore(presses, presses, given=a_dead_job, finally_=one_life, **accidents)

# %% [markdown]
# One of the two was first. And what is written down tells what happened:

# %%
afresh("tray")
give_up(tray, "room 13")
clock.advance(3600)
tray.requeue("room 13")
print(*tray.history("room 13"), sep="\n")
print("sent back:", tray.requeue("room 13"), "| attempts:", tray.get("room 13").attempt)

# %% [markdown]
# The old failure is still told, the attempts start anew, and the second press changes nothing. That is the *audit*: a job that succeeds at last shows what it went through.

# %% [markdown] points=["A9", "A8"]
# ## Retry all
#
# Now the morning after an outage. The taxi office was down, and 200 calls are in the tray. It is up again, and takes 5 calls a second. If more come, it hangs up on everybody for half a minute.
#
# **Predict.** You press "retry all". How many of the 200 are back in the tray an hour later? ◯ none ◯ a few ◯ more than a third


# %%
class Office:
    """Takes 5 calls a second; one more, and it is shut for 30 s."""

    def __init__(self):
        self.calls, self.opens = [], 0

    def call(self):
        now = hall.clock.now()
        second = [at for at, ok in self.calls[-5:] if ok and at > now - 1000]
        ok = now >= self.opens and len(second) < 5
        if not ok and now >= self.opens:
            self.opens = now + 30_000
        self.calls.append((now, ok))
        if not ok:
            raise ConnectionError("429: too many calls")


# %% [markdown]
# A sensible backoff, with jitter, and three retries:

# %%
AGAIN = jk.Table(5, 30, 300, jitter=jk.proportional(0.2))


def retry_all(over):
    hall.flushdb()
    queue = jk.Queue(hall, "taxi", max_attempts=4, rng=random.Random(1))
    give_up(queue, *(f"room {n}" for n in range(200)))
    office, begin = Office(), hall.clock.now()
    worker = jk.Worker(queue, backoff=AGAIN, batch=100, rng=random.Random(2))
    worker.task(lambda job: office.call(), name="post")
    queue.requeue(over=over)
    worker.drain()
    return [(at - begin, ok) for at, ok in office.calls], queue.counts().dead


# %% [markdown]
# All at once, and spread evenly over a minute:

# %%
tried = {over: retry_all(over) for over in (0, 60)}
plot.calls(
    {"all at once": tried[0][0], "over a minute": tried[60][0]},
    per=10,
    limit=5,
    caption="200 dead letters are sent back to an office that takes 5 calls a second.",
)

# %% [markdown]
# The first rush trips the limit, its retries come back together and trip it again, and "retry all" has made a second outage. (The jitter of the first wait is a fifth of 5 seconds; 200 calls need 40.) So many are back in the tray, with their attempts used up:

# %%
_, left = tried[0]
assert left > 50
left

# %% [markdown]
# Spread over a minute it is 200 calls for 200 taxis. How slowly must it be? Try it:

# %% tags=["widget"]
from ipywidgets import IntSlider, interact


@interact(over=IntSlider(60, min=0, max=120, step=10, continuous_update=False))
def rescue(over):
    return plot.calls(
        {f"over {over} s": retry_all(over)[0]}, per=10, limit=5, caption=""
    )


# %% [markdown]
# Without a slider, for some of them:

# %%
rows = [("spread over", "calls", "taxis", "back in the tray")]
for over in (0, 10, 30, 40, 60, 120):
    made, dead = tried.get(over) or retry_all(over)
    rows.append((f"{over} s", len(made), 200 - dead, dead))

plot.table(rows, caption="200 letters; the office takes 5 a second.", bold=[4, 5, 6])

# %% [markdown]
# From 40 s on, which is 200 / 5, nothing is refused. Below that it is up to chance, and each row has nearly four times the calls. So the arithmetic is one division: letters by the rate that the other side has *free*, beside its usual work. Send one back first, look whether it works, then the rest, spread. `queue.requeue(over=600)`, or `jobkit dead requeue taxi --all --over 600` in [a terminal](../docs/cli.md).

# %% [markdown] points=["A9"]
# ## Proved, and not proved
#
# Let chance decide: 60 jobs in batches of ten. Some are good, some always raise, some kill their worker. In the end each is done or dead, and dead are those that deserve it, and no others.


# %%
def prove(redis, rng, jobs=60):
    queue = jk.Queue(redis, "proof", lease=30, max_attempts=4, rng=rng)
    redis.delete(queue.keys.delayed, *redis.scan_iter(redis.prefix + "{proof}*"))
    worker = jk.Worker(queue, backoff=jk.Table(5), batch=10, rng=rng)
    kinds = {f"j{n}": rng.choice(["good"] * 6 + ["bad", "poison"]) for n in range(jobs)}

    @worker.task
    def work(job):
        if kinds[job.id] == "poison":
            raise Falls
        if kinds[job.id] == "bad":
            raise ValueError("never works")

    queue.submit_many(jk.New("work", id=id) for id in kinds)
    while queue.counts().totals.get("done", 0) + queue.counts().dead < jobs:
        try:
            worker.drain()
        except Falls:
            redis.clock.advance(31)
    dead = {letter.id for letter in queue.dead(limit=jobs)}
    assert dead == {id for id, kind in kinds.items() if kind != "good"}
    return f"{jobs} jobs: {jobs - len(dead)} done, {len(dead)} dead, for a reason each"


prove(redis, random.Random(1))

# %% [markdown]
# A good job can be charged for the company of its first batch, and for no other: from then on it goes alone. So with a limit of 1 it would be buried all the same.
#
# **Not** proved: that your handlers know a permanent error when they see one; that a requeued job does no harm twice (07: its idempotency key stays the same); that somebody reads the tray (14).

# %% [markdown] points=["A9"]
# ## The same on the other Redis
#
# Every cell runs unchanged on a real server and on the fake. The proof on both:

# %% tags=["varies"] varies="names the Redis that was found"
for name in ("fake", "private"):
    try:
        print(prove(jk.connect(name), random.Random(2)))
    except jk.ServerUnavailable as error:
        print(f"no real server here: {error}")

# %% [markdown]
# `Falls` only plays a death. The kit's tests do it with real processes, a handler that sends SIGKILL to its own process, and a batch of a hundred: `tests/faults/test_poison.py`.

# %% [markdown] points=["A9"]
# ## Your turn: send them back
#
# Write `send_back(redis, rooms, over)` for the cellar's keys. Each of the `rooms` that stands in the sorted set DEAD leaves it and enters the sorted set DELAYED, and its card's `attempts` become 0. The first is due now, by the server's clock, the others evenly after it, `over` ms in all: with 4 rooms and 400 ms, at 0, 100, 200, 300. Rooms that are not in DEAD are left alone, and take no place. Return how many were sent back.
#
# Others may press the same button, and you may fall after any command.

# %%
DELAYED = CELLAR + "delayed"


def send_back(redis, rooms, over):
    """Move rooms from DEAD to DELAYED, spread over `over` ms; return how many."""
    # your lines


# %% [markdown]
# The stage of each trial (folded away; you need not read it):


# %% tags=["check"] jupyter={"source_hidden": true}
BACK = ("room 1", "room 2", "room 3", "room 4")


def stage(r):
    r.delete(DEAD, DELAYED, *(CARD + room for room in (*BACK, "room 5")))
    r.zadd(DEAD, {room: n for n, room in enumerate(BACK)})
    for room in (*BACK, "room 5"):
        r.hset(CARD + room, mapping={"attempts": 3, "guest": "Eve"})
    r.zadd(DELAYED, {"room 5": 5_000_000})


def places(r):
    """Where each room is: its attempts, and whether it is dead, and when it is due."""
    found = {}
    for room in (*BACK, "room 5"):
        card = r.hgetall(CARD + room)
        tries = (card.get(b"attempts"), card.get(b"guest"))
        found[room] = (tries, r.zscore(DEAD, room) is not None, r.zscore(DELAYED, room))
    return found


def trial(send_back, rooms, over):
    """One call in the explorer, by a porter whose own clock is ten minutes fast."""
    seen = {}

    def calls(r):
        return send_back(r, list(rooms), over)

    def note(world):
        seen.update(answer=world.answers.get("A"), now=world.redis.clock.now())
        seen.update(places=places(world.redis))

    report = explore(calls, given=stage, finally_=note, offsets=[600])
    return seen if report else report


# %% [markdown]
# And its accidents: one who falls, after whom somebody presses again, and two who press at once.


# %% tags=["check"] jupyter={"source_hidden": true}
def accidents_of(send_back):
    def presses(r):
        return send_back(r, list(BACK), 400)

    def each_is_in_one_place(world):
        for room, (_, dead, due) in places(world.redis).items():
            there = dead + (due is not None)
            assert there == 1, f"{room} stands in {there} places"

    def none_is_back_with_old_attempts(world):
        for room, ((tries, _), dead, _) in places(world.redis).items():
            fresh = dead or room == "room 5" or tries in (b"0", None)
            assert fresh, f"{room} is back, and has {tries.decode()} attempts"

    def each_is_counted_once(world):
        if not world.crashed:
            sent = sum(world.answers.values())
            assert sent == 4, f"4 rooms, and {sent} were sent back"

    promises = [each_is_in_one_place, none_is_back_with_old_attempts]
    two = [*promises, each_is_counted_once]
    yield explore(presses, given=stage, finally_=promises, crashes=1)
    yield explore(presses, presses, given=stage, finally_=two)


# %% [markdown]
# Run this after each change. It stops at the first promise that is broken:


# %% tags=["check"]
def check(send_back):
    seen = trial(send_back, BACK, 400)
    if not isinstance(seen, dict):
        return seen
    if seen["answer"] != 4:
        return f"Not yet. Four dead rooms: wanted the answer 4, got {seen['answer']}."
    still = [room for room, (_, dead, _) in seen["places"].items() if dead]
    if still:
        return f"Not yet. Sent back, and still in DEAD: {', '.join(still)}."
    due = [seen["places"][room][2] for room in BACK]
    if None in due:
        return "Not yet. Each of the four should stand in DELAYED."
    if min(due) >= seen["now"] + 500_000:
        return "Not yet. Due ten minutes late: that was your clock, not the server's."
    after = [round(at - seen["now"]) for at in due]
    if after != [0, 100, 200, 300]:
        return f"Not yet. Due at 0, 100, 200 and 300 ms, please; got {after}."
    if any(seen["places"][room][0] != (b"0", b"Eve") for room in BACK):
        return "Not yet. On the card, attempts become 0, and the guest stays."
    seen = trial(send_back, ("room 5", "room 1", "room 99", "room 2"), 400)
    if not isinstance(seen, dict):
        return seen
    if seen["answer"] != 2 or seen["places"]["room 5"] != ((b"3", b"Eve"), False, 5e6):
        return "Not yet. Room 5 is not dead: leave it alone, and don't count it."
    after = [seen["places"][room][2] - seen["now"] for room in ("room 1", "room 2")]
    if after != [0, 200]:
        return f"Not yet. Two of four were dead: due at 0 and 200 ms, not {after}."
    for report in accidents_of(send_back):
        if not report:
            return report
    return "Passed: spread, once each, and in one place, wherever you fall."


check(send_back)

# %% [markdown]
# <details><summary>First hint: where to look</summary>
#
# `by_hand` and `swapped`, above, and what the explorer said of them. Then the fourth step of the cure in notebook 02.
#
# </details>
# <details><summary>Second hint: what is needed</summary>
#
# ZREM says whether the room was there. What follows from that answer must happen in the same step.
#
# </details>
# <details><summary>Third hint: the shape of the code</summary>
#
# A script with two keys, DEAD and DELAYED. A first loop takes off what is dead, and keeps it in a list; a second one spreads the list, since only then it is known how many they are.
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def send_back(redis, rooms, over):
#     script = """
#     local t = redis.call('TIME')
#     local now, dead = t[1] * 1000 + math.floor(t[2] / 1000), {}
#     for i = 3, #ARGV do
#       if redis.call('ZREM', KEYS[1], ARGV[i]) == 1 then dead[#dead + 1] = ARGV[i] end
#     end
#     for n, room in ipairs(dead) do
#       redis.call('ZADD', KEYS[2], now + math.floor((n - 1) * ARGV[1] / #dead), room)
#       redis.call('HSET', ARGV[2] .. room, 'attempts', 0)
#     end
#     return #dead
#     """
#     return redis.eval(script, 2, DEAD, DELAYED, over, CARD, *rooms)
# ```
#
# All in one step, by the server's time. A loop in Python has a gap per room. (The cards' names are made from a prefix, as the kit does: fine within one hash tag.) A WATCH on DEAD, then MULTI, passes too.
#
# </details>

# %% [markdown] points=["A9"]
# ## What you trade
#
# | you choose | and get | and pay with |
# |---|---|---|
# | count at the hand-out | a job that kills workers ends | a worker's bad luck is charged to the job |
# | a low limit | few workers lost | a job buried by two restarts |
# | late jobs alone | innocent jobs live | they wait their turn after a crash |
# | a small tray | Redis never fills up | letters dropped before anybody read them |
# | retry all, at once | it is quick, if all goes well | a second outage |

# %% [markdown] points=["A19"]
# **Say it without notes.** A job kills every worker that touches it. What ends it, what protects the others, and what do you do on the morning after? *(Five sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# Each hand-out is counted in the step that hands out, since a dead worker can't report. When a lease is over, the job goes back to be handed out alone, so that it takes no batch along; at the limit it goes to the dead letters, with its reason. Errors that no retry can help go there at once. The dead-letter queue is bounded by count and age, and what it drops is counted and watched. When the cause is mended, one letter is sent back as a trial, then the rest, spread at a rate that the other side has to spare; their history stays, and their idempotency keys do, too.
#
# </details>
#
# Yours had: counted at the hand-out ◯ alone ◯ permanent at once ◯ a bound ◯ spread ◯

# %% [markdown] points=["A9"]
# ## Three questions an interviewer asks next
#
# **"Is a programming error in the handler permanent?"**
# <details><summary>A short answer</summary>
#
# For this version of the code it is, and the code can't know it. So it is tried again, uses up its attempts and is buried with its traceback. After the fix, requeue. Marking every unknown error permanent buries jobs for a hiccup; the limit makes trying harmless.
#
# </details>
#
# **"10,000 letters this morning, all of the same error. And if every one has another?"**
# <details><summary>A short answer</summary>
#
# One cause: mend it, send back one, then all, spread. Then ask why 10,000 jobs had to fail one by one: a circuit breaker would have stopped calling. If the errors differ, group them by task and type first; what is malformed is purged or repaired by hand, not sent back.
#
# </details>
#
# **"Why not keep failed jobs in the queue and try for ever?"**
# <details><summary>A short answer</summary>
#
# Then the share of hopeless work only grows: workers and the other side are busy with jobs that never succeed, and nobody is told. A limit turns a silent loss of capacity into a number that can have an alarm.
#
# </details>

# %% [markdown]
# Next: [11, cancel](11_cancel.ipynb). Or back to the [start page](00_start.ipynb).
