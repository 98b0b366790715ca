# %% [markdown]
# # 01 A sorted set is a delayed queue
#
# At the end you can build a delayed queue out of two Redis structures, name four ways in which the first version breaks, and say what the commands of its list cost when a million jobs wait.
#
# About 30 minutes, estimated from the number of words. All cells together run in less than half a minute, on a quiet machine with two cores.

# %% [markdown] points=["A1"]
# ## The night desk
#
# A hotel desk keeps two things for its wake-up calls. A **list** by the phone, sorted by time, with nothing on it but room numbers. And a **box of cards**, one card per room: who sleeps there, which language, how long to let it ring.
#
# The list says *when*, the card says *what*. To know who is next, nobody reads every card.

# %% tags=["varies"] varies="the first line names the Redis that was found"
import jobkit as jk
from jobkit import plot

redis = jk.connect()
clock = redis.clock

# %% [markdown]
# **Predict.** Redis has no alarm clock: there is no command for "do this at six". How will the desk know that it is six?
#
# ◯ Redis calls back ◯ one timer for each call ◯ somebody looks at the list now and then ◯ sleep until the first call

# %% [markdown] points=["A1"]
# ## A list that sorts itself
#
# First the list. A *sorted set* holds *members*, each with a number, its *score*. ZADD puts them in, in any order:

# %%
TRY = redis.prefix + "try"
redis.delete(TRY)
redis.zadd(TRY, {"room 9": 30, "room 412": 10, "room 7": 20})

# %% [markdown]
# Three were added. (`redis.prefix` is empty on a Redis of your own. On somebody else's it keeps your keys apart from theirs.) ZRANGE reads them back, from the first, 0, to the last, -1:

# %%
redis.zrange(TRY, 0, -1, withscores=True)

# %% [markdown]
# Sorted by score, not by when they came. The `b` means bytes: Redis stores bytes, and gives bytes back. Now room 412 wants to sleep longer. What will ZADD do with a member that it knows?

# %%
redis.zadd(TRY, {"room 412": 40}), redis.zrange(TRY, 0, -1, withscores=True)

# %% [markdown]
# It added **0**, and moved one. A member stands in the set once, whatever happens; a list on paper would now have room 412 twice.
#
# The question that a delayed queue asks all night is "who has a score up to 20?":

# %%
redis.zrange(TRY, "-inf", 20, byscore=True)

# %% [markdown]
# And who was served comes off the list. ZREM says how many it took:

# %%
redis.zrem(TRY, "room 7"), redis.zrem(TRY, "room 7")

# %% [markdown]
# Once 1, then 0: it was not there any more. That 0 is worth more than it looks, and notebook 02 is about it. Three commands, and a delayed queue needs no others of the sorted set:
#
# | to | Redis command | in redis-py | answers |
# |---|---|---|---|
# | add, or move | `ZADD try 30 "room 9"` | `zadd(key, {member: score})` | how many are new |
# | read what is due | `ZRANGE try -inf 20 BYSCORE`, once called ZRANGEBYSCORE | `zrange(key, "-inf", 20, byscore=True)` | the members |
# | take off | `ZREM try "room 9"` | `zrem(key, member)` | how many were there |

# %% [markdown] points=["A1"]
# ## A card for the rest
#
# A member is a name with a number, no more. The rest goes on a card. In Redis that is a *hash*: fields and values under one key.

# %%
ADA = redis.prefix + "try:room 9"
redis.delete(ADA)
redis.hset(ADA, mapping={"guest": "Ada", "language": "en"})
redis.hgetall(ADA)

# %% [markdown]
# HSET writes fields, HGETALL reads the whole card. A field can also count, in one command, without being read first:

# %%
redis.hincrby(ADA, "rings", 1), redis.hincrby(ADA, "rings", 1)

# %% [markdown]
# Why not write the whole card into the member? Because a member is its own name. Change one letter, and it is another member; the old one still stands there:

# %%
(
    redis.zadd(TRY, {"room 9, Ada": 30}),
    redis.zadd(TRY, {"room 9, Ida": 30}),
    redis.zcard(TRY),
)

# %% [markdown] points=["A1"]
# ## A delayed queue in eight lines
#
# Put the two together: one list for the night, one card per room. The score is the moment of the call, *run-at*, in milliseconds since 1970. (A score is a floating-point number. Nanoseconds are too long for it, as notebook 03 shows.)

# %%
LIST = redis.prefix + "{night}:delayed"
CARD = redis.prefix + "{night}:job:"
HOUR = 3_600_000


def submit(room, guest, hours):
    redis.hset(CARD + room, mapping={"guest": guest})
    redis.zadd(LIST, {room: clock.now() + hours * HOUR})


# %% [markdown]
# The braces belong to the names. On one server, such as yours, they do nothing; in a cluster they pick the node, as you will see below. Three guests go to bed:


# %%
def bedtime():
    redis.delete(LIST, *redis.scan_iter(CARD + "*"))  # each night begins anew
    submit("room 9", "Ada", 8)
    submit("room 412", "Bob", 5)
    submit("room 7", "Cleo", 9)


bedtime()
plot.delayed(redis, LIST)

# %% [markdown] points=["A2"]
# ## Due means: score <= now
#
# A porter, which is to say a worker process, looks at the list now and then, and takes at most so many. That is the answer to the question at the top, and the whole trick. (How does he wake in time? There is a bell, and you will ring it below.)


# %%
def due(now, limit=10):
    return redis.zrange(LIST, "-inf", now, byscore=True, offset=0, num=limit)


due(clock.now())

# %% [markdown]
# Nobody yet. Let five hours pass. Nobody can turn a real server's clock, so `advance` makes older what is stored: scores that look like milliseconds since 1970, the cards of the kit, and times to live.
#
# (It counts in seconds, as everything in the kit does outside of Redis. But a list that is *scored* in seconds stays as it is on a real server, and nothing on it falls due.)

# %% tags=["varies"] varies="how long ago a call fell due depends on how fast this machine is"
bedtime()
clock.advance(5 * 3600)
plot.delayed(redis, LIST)

# %% [markdown]
# Bob's call stands at the line: now. And so says the question:

# %%
due(clock.now())

# %% [markdown]
# Strike it off, read his card, ring:

# %%
redis.zrem(LIST, "room 412")
redis.hgetall(CARD + "room 412")

# %% [markdown]
# That is a delayed queue. No timer, no thread, nothing to start again after a crash: the list is only data, and *now* is only a number. Drag now through the night, and see who is due:

# %% tags=["widget"]
from ipywidgets import IntSlider, interact


@interact(hours=IntSlider(3, min=0, max=5))
def night(hours):
    at = due(clock.now() + hours * HOUR)
    rows = [(room, room in at) for room in (b"room 9", b"room 7")]
    return plot.table([("call", "due"), *rows], caption=f"{hours} h from now")


# %% [markdown]
# The same without a slider, for five moments:

# %%
found = [(f"{hours} h from now", due(clock.now() + hours * HOUR)) for hours in range(5)]
caption = "The list stays as it is. Only now moves."
plot.table([("you look", "and due is"), *found], caption=caption)

# %% [markdown] points=["A2"]
# ## First break: the worker's clock
#
# `clock.now()` is the clock of whoever asks, and somebody set it: one an hour fast, one right, one an hour slow. (Summer time is no excuse. Milliseconds since 1970 know of none.) Room 9 is due in three hours. Who sees it when?

# %%
watches = {"an hour fast": 1, "right": 0, "an hour slow": -1}


def who_sees(now, caption):
    rows = [
        (name, *(b"room 9" in due(now(error) + after * HOUR) for after in range(1, 5)))
        for name, error in watches.items()
    ]
    head = ("watch", "in 1 h", "in 2 h", "in 3 h", "in 4 h")
    return plot.table([head, *rows], caption=caption)


who_sees(lambda error: clock.now() + error * HOUR, "Who takes room 9 for due?")

# %% [markdown]
# The fast one rings an hour early. The slow one lets the guest miss the train. And `submit` made the same mistake: it wrote down a time by the watch of whoever took the order. (So do all three of the [documents that this course grew from](../docs/design.md), when they put a failed job back.)
#
# The cure is one clock for all, and it hangs where the list hangs. Redis tells the time:


# %%
def server_now():
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


who_sees(lambda _: server_now(), "The same three porters, and all of them ask Redis.")

# %% [markdown]
# Now all porters get one answer, whatever they wear on their wrists. The price is one more question to Redis, and its answer is a little old on arrival. Further down the kit asks *inside* Redis instead. Notebook 03 is all about clocks.

# %% [markdown] points=["A1"]
# ## Second break: between two commands
#
# `submit` writes twice: the card, then the list. What if the program dies in between? (Redis lives on.) Play it, and stop after the first command:

# %%
redis.hset(CARD + "room 20", mapping={"guest": "Dan"})
# ... and here the power goes out
left = (redis.hgetall(CARD + "room 20"), b"room 20" in due(server_now() + 24 * HOUR))
head = ("the card of room 20", "is it on the list?")
plot.table([head, left], caption="Died after the first command: the card.")

# %% [markdown]
# A card, and no line on the list. Dan oversleeps, and his card lies in the box for ever. The other way round, then, the list first?

# %%
redis.zadd(LIST, {"room 21": server_now()})
# ... and here the power goes out
left = (redis.hgetall(CARD + "room 21"), b"room 21" in due(server_now()))
head = ("the card of room 21", "is it on the list?")
plot.table([head, left], caption="Died after the first command: the list.")

# %% [markdown]
# Room 21 is due, and there is no card: whom to wake, in which language? Swapping the two lines only swaps the fault. The two belong together.
#
# What stands between MULTI and EXEC runs in one go, and nobody gets in between. In redis-py that is a pipeline with a transaction:


# %%
def submit(room, guest, hours):
    at = server_now() + hours * HOUR
    with redis.pipeline(transaction=True) as both:
        both.hset(CARD + room, mapping={"guest": guest})
        both.zadd(LIST, {room: at})
        both.execute()


submit("room 21", "Eve", 0)
redis.hgetall(CARD + "room 21"), due(server_now())

# %% [markdown]
# And if the power goes out before EXEC? Redis has noted down what it was told, and waits. Speak to it over one line, and cut that:

# %%
line = redis.client()  # one connection of its own
words = ("MULTI",), ("HSET", CARD + "room 22", "guest", "Flo")
said = [line.execute_command(*command) for command in words]
line.connection.disconnect()  # ... here it goes out
said, redis.exists(CARD + "room 22")

# %% [markdown]
# QUEUED, and then nothing: a line that is lost before EXEC discards all. But the commands can also run, and one of them *fail*. Gus wants his call in "not a number" hours:

# %%
from redis.exceptions import ResponseError

try:
    submit("room 50", "Gus", float("nan"))
except ResponseError as error:
    print(error)

redis.hgetall(CARD + "room 50"), redis.zscore(LIST, "room 50")

# %% [markdown]
# The card is there, the line is not. A database would roll back; Redis undoes nothing. So check your figures before you send them.
#
# *Taking* a job is harder still: it reads first, and writes what it has read. MULTI alone cannot join those two. That is notebook 02.

# %% [markdown] points=["A2"]
# ## Third break: everything at once
#
# The desk was closed for a day, and 20,000 calls are overdue. Here is what a porter gets who asks without a limit:

# %%
BACKLOG = redis.prefix + "{night}:backlog"


def closed_for_a_day():
    for start in range(0, 20_000, 5000):
        redis.zadd(BACKLOG, {f"room {n}": n for n in range(start, start + 5000)})


closed_for_a_day()
everything = redis.zrange(BACKLOG, "-inf", server_now(), byscore=True)
few = redis.zrange(BACKLOG, "-inf", server_now(), byscore=True, offset=0, num=10)
answers = (("no limit", everything), ("LIMIT 0 10", few))
rows = [(how, f"{len(a):,}", f"{sum(map(len, a)):,}") for how, a in answers]
head = ("asked with", "calls in the answer", "bytes of names")
plot.table([head, *rows], caption="One question, two answers.")

# %% [markdown]
# Two bad things at once. One porter now holds all the calls: if he faints, all of them are late. And Redis, says its manual, runs one command at a time, so others wait while it makes the long answer (how long it takes, we measure below). One of [the documents](../docs/design.md) asks like this, every two seconds.
#
# The cure stands in the second row. Ask for a few, do them, ask again:

# %%
closed_for_a_day()
rounds = 0
some = {"byscore": True, "offset": 0, "num": 500}
while batch := redis.zrange(BACKLOG, "-inf", server_now(), **some):
    assert redis.zrem(BACKLOG, *batch) == len(batch) <= 500
    rounds += 1

rounds

# %% [markdown]
# Forty short answers, and between any two of them the others have their turn. (Reading and striking off are two commands again. For a porter alone that is right, for two it is not: notebook 00.) How large should a batch be? We measure it below.

# %% [markdown] points=["A2"]
# ## Fourth break: three calls at six sharp
#
# **Predict.** Rooms 9, 10 and 101 ask for six o'clock, in this order. In which order will they be called?

# %%
SIX = redis.prefix + "{night}:six"
redis.delete(SIX)
asked = ("room 9", "room 10", "room 101")
for room in asked:
    redis.zadd(SIX, {room: 6})

rows = zip(asked, redis.zrange(SIX, 0, -1), strict=True)
plot.table([("asked", "called"), *rows], caption="All for six o'clock.")

# %% [markdown]
# 10, 101, 9. Where scores are equal, Redis compares the names byte by byte, as a dictionary would, and `1` comes before `9`. Who asked first is written down nowhere.
#
# Do you need an order? Then it must be in the score or in the name. Here it is in the name, with zeros in front:

# %%
redis.delete(SIX)
for room in ("room 009", "room 010", "room 101"):
    redis.zadd(SIX, {room: 6})

redis.zrange(SIX, 0, -1)

# %% [markdown]
# Mostly the honest cure is another one: promise no order among jobs of the same millisecond. The kit promises none. Where order matters, for the events of one account, say, one worker at a time must have that account: notebook 12 (to come).

# %% [markdown] points=["A1"]
# ## What the kit writes
#
# Now the grown-up version. A queue of the kit, and one job, due in five seconds. Which keys does it make? (The seed of `rng` only makes the job's id on your screen the same as here.)

# %%
import random

queue = jk.Queue(redis, "desk", rng=random.Random(1))
redis.delete(queue.keys.delayed, *redis.scan_iter(redis.prefix + "{desk}*"))
job = queue.submit("ring", {"room": 9}, delay=5)
keys = sorted(redis.scan_iter(redis.prefix + "{desk}*"))
rows = [(key.decode().removeprefix(redis.prefix), redis.type(key)) for key in keys]
plot.table([("key", "type"), *rows], caption="What one delayed job leaves in Redis.")

# %% [markdown]
# A list, a card, and two small keys, for in a moment. Here is the kit's card beside the one that you wrote by hand:


# %%
def card(key):
    return {field.decode(): value for field, value in redis.hgetall(key).items()}


yours, kits = card(CARD + "room 9"), card(queue.keys.job + job.id)
shown = kits | dict.fromkeys(("created", "run_at"), "a moment in ms")
fields = sorted(yours | kits)
rows = [(field, yours.get(field, "-"), shown.get(field, "-")) for field in fields]
state = queue.get(job.id).state
plot.table(
    [("field", "by hand", "the kit"), *rows],
    caption=f"A job that is {state}: its card has {len(kits)} fields in the kit.",
)

# %% [markdown]
# `task` names the function that will run, `args` are its arguments, as JSON. `created` and `run_at` say how it came about (and where a job belongs whose line was lost). What decides is the score. It is the same number. And the two small keys?

# %%
same = redis.zscore(queue.keys.delayed, job.id) == int(kits["run_at"])
waits = int(kits["run_at"]) - int(kits["created"])
same, waits, card(queue.keys.totals), redis.get(queue.keys.store)

# %% [markdown]
# One counts what happened: one job submitted so far. One notes where jobs go when they are due: more below. And there are exactly 5,000 ms between the two moments, since [one script](../jobkit/lua/submit.lua) writes both, and asks Redis for the time once. That mends the first break and the second, together.
#
# Now the braces. A Redis Cluster deals keys out to 16,384 *slots*, by the key's name; if it has braces, only by what is inside:

# %%
from redis.crc import key_slot

names = [queue.keys.delayed, queue.keys.ready, queue.keys.job + job.id]
names += ["desk:delayed", "desk:ready"]
rows = [(name.removeprefix(redis.prefix), key_slot(name.encode())) for name in names]
plot.table(
    [("key", "slot"), *rows],
    caption="A tag in braces: all keys of a queue share a slot. Without it, they part.",
)

# %% [markdown]
# A script may only touch keys of one slot. So all keys of a queue carry one *hash tag*: its name, in braces.
#
# Is there nothing else, no hidden switch? Then a job that *you* write, by two commands, must run in the kit's worker:

# %%
redis.delete(queue.keys.job + "by hand")  # if this cell ran before
at = server_now() + 5000
by_hand = {"task": "ring", "args": '{"room": 7}', "created": at, "run_at": at}
redis.hset(queue.keys.job + "by hand", mapping=by_hand)
redis.zadd(queue.keys.delayed, {"by hand": at})

# %% [markdown]
# A worker of the kit calls the function that bears the task's name:

# %%
worker = jk.Worker(queue, rng=random.Random(1))


@worker.task
def ring(job, room):
    print(f"ring, ring, room {room} (job {job.id})")


clock.advance(6)
worker.drain()

# %% [markdown]
# Both ran, the kit's and yours. A delayed job is a line in a sorted set and a card in a hash, and that is all there is.
#
# Who throws the cards away? Bob's is still in your box. The kit gives a card a time to live when its job is done:

# %%
left = redis.ttl(queue.keys.job + job.id)
rows = [("Bob's", redis.ttl(CARD + "room 412")), ("the kit's", f"{left / 3600:.0f} h")]
head = ("card", "time to live")
plot.table([head, *rows], caption="Two jobs that are done. -1 means for ever.")

# %% [markdown]
# By hand we forgot. The kit keeps a card for an hour, so that a second job of the same id is recognised and refused. (Notebook 07 needs that.)

# %% [markdown] points=["A2"]
# ## The other half: promote
#
# To take a job, a porter of the kit never touches the sorted set. One short script moves what is due from there into the *ready queue*, and porters take from that. It is a *stream*: a line of entries, and Redis notes who took which and has not ticked it off yet (02 builds one, 05 shows what the notes are for). Here is the script, below the function of the ready queue that it calls:

# %%
from jobkit.scripts import load

store = queue.store.source.text  # the ready queue's
begin = store.index("local function push")
print(store[begin : store.index("\nend", begin)], "end\n", sep="\n")
print(load("promote").text)

# %% [markdown]
# Look for the four breaks. `TIME` is asked inside the server: one clock. Reading, removing and handing over are one script, and nobody gets in between. `LIMIT` bounds it. And about the order within one millisecond it says nothing.
#
# (EXISTS: most looks find an empty list, and should cost next to nothing. `other_store` looks whether the ready queue is of the kind that was noted. `STREAMS` are keys of the same hash tag, which the kit puts behind the KEYS above.)
#
# Who calls it? By default each worker runs a small *scheduler* beside its work, and that does. Two may: what one has moved, the other does not find.
#
# `promote` answers how many it moved, and in how many seconds the next one is due:

# %%
queue.submit("ring", {"room": 7}, delay=3600)
moved, wait = queue.promote()
plot.table(
    [("moved", "next in"), (moved, f"{wait / 60:.0f} min")],
    caption="What promote answers.",
)

# %% [markdown]
# Nothing moved, the next in an hour. So whoever promotes may sleep that long. "Sleep until the first call", at the top, was not so wrong: it only needs somebody to wake the sleeper when an earlier call comes in. That is the *bell*, a message to all who listen. `submit` rings it too, if the new call is the first on the list. Listen, while two calls come in:

# %% tags=["varies"] varies="durations"
import time
from jobkit.bell import Bell

bell, heard = Bell(redis, queue.keys.bell, clock), []
bell.wait(0)  # begins to listen
for minutes in (120, 30):
    began = time.perf_counter()
    call = queue.submit("ring", {"room": 8}, delay=minutes * 60)
    woken = bell.wait(0.5)
    after = f"wakes after {(time.perf_counter() - began) * 1000:.1f} ms"
    heard.append((f"in {minutes} min", after if woken else "sleeps on"))
    queue.cancel(call.id)

bell.close()
plot.table(
    [("a call is due", "the sleeper"), *heard],
    caption=f"The next call is an hour away. The longest sleep is {bell.floor:g} s.",
)

# %% [markdown]
# The later one changes nothing for the sleeper. The earlier one wakes it long before it is due. And if the message gets lost? Two seconds later the kit's sleeper looks all the same. (Notebook 04 compares the two ways: the bell is quick, the look is sure.)

# %% [markdown] points=["B9"]
# ## Does a job remember that it waited?
#
# **Predict.** Two jobs with the same work, one submitted for now, one for in five seconds. Once both are ready, can a porter tell them apart?

# %%
twins, claims = jk.Queue(redis, "twins"), []
redis.delete(twins.keys.delayed, *redis.scan_iter(redis.prefix + "{twins}*"))
twins.submit("ring", {"room": 1}, id="for now")
twins.submit("ring", {"room": 1}, id="later", delay=5)
clock.advance(5)
moved, _ = twins.promote()
entries = [("an entry", entry) for _, entry in redis.xrange(twins.keys.ready)]
head = ("in the ready queue", "and all that it says")
plot.table([head, *entries], caption=f"After promote, which moved {moved}.")

# %% [markdown]
# One was moved, and two stand in the ready queue: a job without a delay goes straight there. Each entry is an id and nothing else. And when a porter claims them?

# %%
claims = claims or twins.claim("Ada", limit=2)
a, b = claims
fields = ("id", "task", "args", "attempt", "max_attempts")
rows = [(field, getattr(a, field), getattr(b, field)) for field in fields]
waited = [f"{job.run_at - job.created} ms" for job in (a, b)]
rows.append(("run_at - created", *waited))
head = ("field", "submitted for now", "promoted")
plot.table([head, *rows], caption="Two claims: what a handler is given.")

# %% [markdown]
# The same, but for a moment that only people read, and a repair. That is worth a lot: a porter needs one way of working, not two. And a retry is nothing new, only a job with a later time, until `max_attempts` are used up: notebook 08.
#
# A guest does not say "in eight hours", but "at six". For that there is `at=`, a moment with its time zone. And then the guest says: seven.

# %%
from datetime import UTC, datetime, timedelta

today = datetime.fromtimestamp(clock.now() / 1000, UTC)
six = today.replace(hour=6, minute=0, second=0, microsecond=0) + timedelta(days=1)
redis.delete(twins.keys.job + "Ida")
first = twins.submit("ring", {"room": 1}, at=six, id="Ida")
dropped = twins.cancel("Ida")
again = twins.submit("ring", {"room": 1}, at=six + timedelta(hours=1), id="Ida")
row = (first.state, dropped, "made" if again.created else f"no: {again.state}")
plot.table([("at six", "cancel", "at seven"), row], caption="How not to postpone.")

# %% [markdown]
# The kit has no verb to postpone. You cancel, and submit anew under *another* id, since the cancelled card stays for an hour. Those are two steps, and between them the job is nowhere. (On a list of your own one step is enough: the exercise below.)

# %% [markdown] points=["B7"]
# ## What does it cost?
#
# **Predict.** The list grows from a thousand calls to a million. How many times as long does it take to add one more? ◯ the same ◯ twice ◯ 30 times ◯ 1,000 times
#
# First, fill a list; a sorted one and, to compare, a plain one:

# %%
GROW = redis.prefix + "{night}:grow"


def fill(size):
    redis.delete(GROW, GROW + ":list")
    for start in range(0, size, 5000):
        names = [f"job-{n}" for n in range(start, min(size, start + 5000))]
        redis.zadd(GROW, {name: n for n, name in enumerate(names, start)})
        redis.rpush(GROW + ":list", *names)


# %% [markdown]
# Then time commands, turn by turn. The quickest of many counts: whatever was slower was held up by something else.

# %%
import math


def timed(calls, times):
    best = dict.fromkeys(calls, math.inf)
    for n in range(times):
        for name, call in calls.items():
            began = time.perf_counter()
            call(n)
            best[name] = min(best[name], (time.perf_counter() - began) * 1e6)
    return best  # in µs


# %% [markdown]
# The three commands, and a search in the plain list. All in units of a PING, which gives Redis nothing to do and so takes just the way there and back.


# %%
def measure(size):
    fill(size)
    ten = {"byscore": True, "offset": 0, "num": 10}
    quick = {
        "PING": lambda _: redis.ping(),
        "ZADD": lambda n: redis.zadd(GROW, {f"new-{n}": n * 7919 % size}),
        "ZRANGE, 10": lambda n: redis.zrange(GROW, n * 7919 % size, "+inf", **ten),
        "ZREM": lambda n: redis.zrem(GROW, f"new-{n}"),
    }
    slow = {"LPOS in a list": lambda _: redis.lpos(GROW + ":list", f"job-{size // 2}")}
    took = timed(quick, 300) | timed(slow, 20)
    return {name: round(us / took["PING"], 2) for name, us in took.items()}


# %% [markdown]
# A thousand, ten thousand, a hundred thousand; on a real Redis a million, too. It takes some seconds.

# %% tags=["varies"] varies="durations"
sizes = [10**n for n in range(3, 6 if redis.server.kind == "fake" else 7)]
costs = {size: measure(size) for size in sizes}
few, many = costs[sizes[0]], costs[sizes[-1]]
rows = [
    (name, f"{few[name]:.2f}", f"{many[name]:,.2f}", f"{many[name] / few[name]:.1f}")
    for name in few
]
head = ("command", f"{sizes[0]:,} members", f"{sizes[-1]:,} members", "times as much")
plot.table([head, *rows], caption="What one command takes, as a multiple of a PING.")

# %% [markdown]
# Measured: about the same. And the sizes in between, drawn:

# %% tags=["varies"] varies="durations"
three = ("ZADD", "ZRANGE, 10", "ZREM")
most = max(many[name] / few[name] for name in three)
slowest = [(size, max(costs[size][name] for name in three)) for size in sizes]
plain = [(size, costs[size]["LPOS in a list"]) for size in sizes]
plot.lines(
    {"the slowest of the three": slowest, "LPOS in a list": plain},
    x="members",
    y="one command, in PINGs",
    caption="The sorted set hardly feels its size. The plain list does.",
    twin=f"In the largest set its commands take at most {most:.1f} times as much.",
)

# %% [markdown]
# Why so flat? A sorted set is a *skip list*: it finds a place by leaving out about half of what is left, again and again. N members take about log₂ N such steps.

# %%
[round(math.log2(size)) for size in (1_000, 1_000_000)]

# %% [markdown]
# A thousand times the members, twice the steps. So it is computed; but a step is short, and the way to Redis and back hides it: even among a million a ZADD takes little more than a PING, which does nothing. The [documents](../docs/design.md) write O(log N): the time grows as the logarithm of N does. On your screen that is a line that hardly rises.
#
# (On the fake you measure the fake: its ZRANGE walks through all that fits before it cuts.)

# %% [markdown] points=["A2", "B7"]
# ## How large a batch?
#
# ZRANGE is O(log N + M): find the place, then hand out M members. N grows by itself, M you choose. Out of 100,000 members:

# %% tags=["varies"] varies="durations"
fill(100_000)
batches = (1, 10, 100, 1000, 10_000)
calls = {
    m: lambda _, m=m: redis.zrange(GROW, 0, "+inf", byscore=True, offset=0, num=m)
    for m in (9, 8, *batches)  # 9 and 8 only warm up, after the 10,000 before
}
took = timed(calls, 50)
redis.delete(GROW, GROW + ":list")

rows = [(f"{m:,}", f"{took[m]:,.0f} µs", f"{took[m] / m:.2f} µs") for m in batches]
plot.table(
    [("M", "one answer", "per member"), *rows],
    caption="Small batches pay for the way, large ones let others wait.",
)

# %% [markdown]
# Up to a hundred you pay for the way: more members in the same answer cost little. Past a thousand you pay for each of them, and whoever else wants something of this Redis may have to wait for it. The kit's `promote` takes 100 unless you say otherwise, its scheduler 500.

# %% [markdown] points=["A1", "A2"]
# ## Proved, and not proved
#
# A handful of examples proves little. So let chance add, move and strike off, and hold each answer against a plain Python dictionary that is sorted anew each time:


# %%
def prove(redis, rng, rounds=500):
    key, model = redis.prefix + "{night}:proof", {}
    redis.delete(key)
    for _ in range(rounds):
        room, at = f"room {rng.randrange(30)}", rng.randrange(50)
        now = rng.randrange(50)
        if rng.random() < 0.7:
            assert redis.zadd(key, {room: at}) == (room not in model)
            model[room] = at
        else:
            assert redis.zrem(key, room) == (model.pop(room, None) is not None)
        expected = sorted((at, room) for room, at in model.items() if at <= now)[:5]
        got = redis.zrange(key, "-inf", now, byscore=True, offset=0, num=5)
        assert [room.decode() for room in got] == [room for _, room in expected]
    return f"{rounds} random steps, {rounds} right answers"


prove(redis, random.Random(1))

# %% [markdown]
# So: due is score <= now; the order is by score, then by name; LIMIT cuts at the front; a member stands once.
#
# **Not** proved: that two porters get on (02), that clocks agree (03), that a job survives the porter who holds it (05), or the death of Redis itself (14, to come: what it had not yet written to disk is gone).

# %% [markdown] points=["A1", "A2"]
# ## The same on the other Redis
#
# Every cell of this page runs unchanged on a real server and on the fake. Here is the proof again, on both:

# %% tags=["varies"] varies="names the Redis that was found"
for name in ("fake", "private"):
    try:
        print(prove(jk.connect(name), random.Random(2)))
    except jk.ServerUnavailable as error:
        print(f"no real server here: {error}")

# %% [markdown]
# To see the whole page on the fake, start with `JOBKIT_REDIS=fake make lab`.

# %% [markdown] points=["A1"]
# ## Your turn: ten minutes later
#
# A sleepy guest calls the desk: "ten minutes later, please". Write `postpone`. It moves a call by so many seconds, counted from its old time, and returns True. If the call is no longer on the list, it returns False and changes nothing.
#
# Other porters work while you do, and the power may go out between any two of your commands.

# %%
CALLS = redis.prefix + "{night}:calls"


def postpone(redis, room, seconds):
    """Move the call of `room` on CALLS by `seconds`; return whether it was there."""
    # your lines


# %% [markdown]
# One trial: your function runs, and after one of its commands a porter takes the call, or the power is cut. (How is folded away. You need not read it.)

# %% tags=["check"] jupyter={"source_hidden": true}
from traceback import extract_tb

from jobkit.connect.telling import client_that_tells


def trial(postpone, seconds=600, *, on_list=True, thief=0, later=0, cut=0):
    redis.delete(CALLS)
    redis.zadd(CALLS, {"room 412": 1_000_000})
    if on_list:
        redis.zadd(CALLS, {"room 9": 5_000_000})
    taken = []

    def happens(command):
        if command == thief:
            taken.append(redis.zscore(CALLS, "room 9"))
            redis.zrem(CALLS, "room 9")
        if command == later:
            taken.append("put off")
            redis.zadd(CALLS, {"room 9": 300_000}, xx=True, incr=True)
        if command == cut:
            raise EOFError

    try:
        answer = postpone(client_that_tells(redis, happens), "room 9", seconds)
    except EOFError:
        answer = None
    except Exception as error:  # noqa: BLE001 - whatever it was, it is the answer
        answer = error
    return answer, redis.zscore(CALLS, "room 9"), next(iter(taken), None)


def told(answer, score):
    said = f"it returned {answer!r}"
    if isinstance(answer, Exception):
        lines = [f"line {at.lineno}" for at in extract_tb(answer.__traceback__)]
        said = (
            f"{' '.join(lines[1:2]) or 'it'} raised {type(answer).__name__}: {answer}"
        )
    return f"{said}, and its score is {score}"


# %% [markdown]
# Run your cell and then this one, after each change. It stops at the first promise that is broken. (A cell with a SyntaxError defines nothing: the check would judge the function before.)


# %% tags=["check"]
def check(postpone):
    for seconds in (600, 60):
        answer, score, _ = trial(postpone, seconds)
        if (answer, score) != (True, moved := 5_000_000.0 + 1000 * seconds):
            said = (
                f"wanted: {told(answer=True, score=moved)}. Got: {told(answer, score)}."
            )
            return f"Not yet. A call at 5,000,000 ms, {seconds} s later: {said}"
        if redis.zscore(CALLS, "room 412") != 1_000_000:
            return "Not yet. Room 9 is put off, and you touched room 412, too."
    answer, score, _ = trial(postpone, on_list=False)
    if (answer, score) != (False, None):
        said = f"wanted: {told(answer=False, score=None)}. Got: {told(answer, score)}."
        return f"Not yet. A call that is on no list: {said}"
    for n in range(1, 6):
        answer, score, taken = trial(postpone, thief=n)
        why = f"Not yet. A porter took the call after your command {n}"
        if taken and score is not None:
            return f"{why}, and you put it back: it is rung twice."
        if taken and answer is not (taken == 5_600_000):
            return f"{why}, at {taken}, and {told(answer, score)}."
        if trial(postpone, cut=n)[1] is None:
            why = f"Not yet. The power went out after your command {n}"
            return f"{why}: on no list, so nobody is woken."
        *_, seen = trial(postpone, on_list=False, thief=n)
        if (there := seen or trial(postpone, on_list=False, cut=n)[1]) is not None:
            why = f"Not yet. A call that is on no list: after your command {n}"
            return f"{why} it stood there, at {there}, for anybody to ring."
    for n in (1, 2, 3):
        answer, score, put_off = trial(postpone, later=n)
        if put_off and (answer, score) != (True, 5_900_000):
            why = f"Not yet. Another porter put it off by 300 s after your command {n}"
            return f"{why}: {told(answer, score)}, not 5900000.0."
    return "Passed: moved, or left alone, whatever happened in between."


check(postpone)

# %% [markdown]
# <details><summary>A hint: where to look</summary>
#
# ZADD has options. One of them never adds, one of them counts from the old score.
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def postpone(redis, room, seconds):
#     return redis.zadd(CALLS, {room: seconds * 1000}, xx=True, incr=True) is not None
# ```
#
# XX: only what is there. INCR: counted from the old score. It is one command, so nothing fits in between. ZSCORE and then ZADD brings back a call that somebody has just taken. ZREM and then ZADD loses it when the power goes out. ZINCRBY, taken back if it was not there, puts it there for a moment.
#
# Two other ways pass: WATCH, then read, then write in MULTI, and begin anew after a WatchError; or a script in Lua that reads and writes.
#
# </details>

# %% [markdown] points=["A16"]
# ## Trade-offs
#
# | instead of a sorted set | what you gain | what it costs |
# |---|---|---|
# | a timer per job, inside your program | no Redis | all timers die with the program |
# | a plain list | nothing | it is searched from end to end, as measured above |
# | a table with an index on `run_at` | the job is in one transaction with your data | you poll the database; `SKIP LOCKED` passes over rows that another worker holds |
# | a key that expires, and Redis says so | no polling | see the next cell |
#
# The last one tempts everybody: let Redis call back. What is left when a key has expired?

# %%
ALARM = redis.prefix + "alarm"
redis.set(ALARM, "wake Ada in room 9", px=5000)
clock.advance(5.1)
redis.get(ALARM), redis.publish(redis.prefix + "alarms", "room 9 is due")

# %% [markdown]
# `None`: the alarm went off and took the card along. `0`: so many heard the message. We sent this one ourselves, but Redis tells of expired keys in the same way: who does not listen at that instant will never know. And it tells late, when it comes across the key. Notebook 14 (to come) measures how late.

# %% [markdown] points=["A19"]
# ## Explain it without notes
#
# Say it aloud, or write it down: **how does a sorted set make a delayed queue, and what must be added until it is a correct one?** Then open.
#
# <details><summary>One good answer</summary>
#
# Each job is a member of a sorted set, scored by the moment when it is due; its data is in a hash with the same hash tag. Workers ask for members with a score up to now, a few at a time, in O(log N + M), which hardly grows. Now is the server's own time, asked inside the script, because workers' clocks differ. And what belongs together must be one step on the server: card and line; reading, removing and handing over. Otherwise a crash or a second worker gets in between.
#
# </details>
#
# Yours had: score = run-at ◯ the data apart, one tag ◯ a limit ◯ one clock ◯ one step ◯

# %% [markdown] points=["A19"]
# ## Three questions an interviewer asks next
#
# <details><summary>"A guest moves the call from six to seven. What do you send?"</summary>
#
# One ZADD with XX. A member stands once, so it moves; and with XX it does not come back if somebody has taken it meanwhile. Not remove-and-add: between the two the job is nowhere.
#
# </details>
# <details><summary>"Ten million jobs wait. Which of your commands gets slow?"</summary>
#
# None of the three: log₂ of ten million is 23. Memory grows in proportion, and that is what to plan for. Slow is what touches everything: a range without a limit, KEYS, DEL of the whole set (UNLINK frees it in the background).
#
# </details>
# <details><summary>"We have Postgres. Do we need Redis for this?"</summary>
#
# Often not. A table with an index on run_at, read by `SELECT ... WHERE run_at <= now() ORDER BY run_at LIMIT 10 FOR UPDATE SKIP LOCKED`, is the same idea, and the job commits together with your data. Redis is for rates that the database should not carry. Measure yours first.
#
# </details>

# %% [markdown]
# Next: [02, two workers and one job](02_atomic_claim.ipynb). Or back to the [start page](00_start.ipynb).
