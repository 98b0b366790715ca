# %% [markdown]
# # 02 Two workers, one job: the atomic claim
#
# At the end you can write down the order of steps in which two workers run one job, say what each of four cures leaves open, and build the fifth, which holds: a Lua script of ten lines.
#
# About 35 minutes, estimated from the number of words. All cells together run in less than half a minute.

# %% [markdown] points=["A3"]
# ## A full house
#
# Tonight the hotel is full, and the desk has two clerks, Ada and Bob. A clerk looks at the list of calls, strikes off what is due, and lays a slip with the room's number into a **tray**. Porters take slips from the tray and ring.
#
# So the porters never touch the list. But two clerks do.

# %% tags=["varies"] varies="the first line names the Redis that was found"
import jobkit as jk
from jobkit import plot

redis = jk.connect()
clock = redis.clock
DESK = redis.prefix + "{desk}:"
DELAYED, TRAY, READY = DESK + "delayed", DESK + "tray", DESK + "ready"

# %% [markdown]
# **Predict.** 1,000 calls are due. Three clerks move them from the list to the tray, each as fast as it can, by the code of one of our documents. How many slips will lie in the tray?
#
# ◯ 1,000 ◯ a few more ◯ about 2,000 ◯ nearly 3,000

# %% [markdown] points=["A3"]
# ## Every order of two clerks
#
# Here is a clerk, one command per step. At each `yield` the other may get ahead. (`RPUSH` appends to a Redis list, our tray, and answers how long it is now.)


# %%
def clerk(name):
    due = redis.zrange(DELAYED, "-inf", clock.now(), byscore=True)
    yield name, "ZRANGE: what is due?", due
    for room in due:
        yield name, "ZREM: strike it off", redis.zrem(DELAYED, room)
        yield name, "RPUSH: a slip into the tray", redis.rpush(TRAY, room)


# %% [markdown]
# In notebook 00 we chose an order in which it breaks. Let us choose none, and try them all. Three steps of A and three of B can be shuffled like this:

# %%
from itertools import combinations


def orders(n):
    """Every way to shuffle n steps of A with n of B."""
    for mine in combinations(range(2 * n), n):
        yield "".join("A" if at in mine else "B" for at in range(2 * n))


# %% [markdown]
# For two steps each there are six:

# %%
list(orders(2))

# %% [markdown]
# Each trial begins with a fresh list, and on it some calls that are due.


# %%
def given(*rooms, at=0):
    redis.delete(DELAYED, TRAY, READY)
    redis.zadd(DELAYED, {room: clock.now() + at for room in rooms})


# %% [markdown]
# Then two clerks take their steps in a given order, and we look into the tray.


# %%
def trial(clerk, order):
    given("room 412")
    who = {"A": clerk("Ada"), "B": clerk("Bob")}
    steps = [step for turn in order if (step := next(who[turn], None))]
    return steps, redis.lrange(TRAY, 0, -1)


# %% [markdown]
# A clerk that finds nothing due is done after one step, so some shuffles come to the same. We keep the different ones, by who took which step:


# %%
def every_order(clerk, n):
    runs = [trial(clerk, order) for order in orders(n)]
    return {"".join(name[0] for name, *_ in steps): len(tray) for steps, tray in runs}


# %% [markdown]
# How many different orders are there, and in how many are there two slips?

# %%
found = every_order(clerk, 3)
len(found), list(found.values()).count(2)

# %% [markdown]
# 16 different orders, written down as who takes each step (`AABA`: Ada, Ada, Bob, Ada). In **12** of them room 412 lies in the tray twice. It is no rare accident that needs bad luck. Once both have read, nothing can save them:

# %%
rows = [(order, slips) for order, slips in found.items() if slips == 1]
plot.table(
    [("order", "slips"), *rows],
    caption="The four that go well: one is past its ZREM before the other reads.",
)

# %% [markdown]
# Here is one of the twelve, with what nobody noticed. (Trying every order by hand is clumsy for longer programs. A later notebook has an explorer for it.)

# %%
steps, tray = trial(clerk, "ABAABB")
notes = {2: "Ada has not struck it off yet", 5: "0 means: somebody was here before you"}
noted = [(*step, notes.get(n, "")) for n, step in enumerate(steps, 1)]
plot.steps(noted, caption="The answer in step 5 says it all. Nobody reads it.")

# %% [markdown] points=["B4"]
# ## First cure: send them together
#
# One of the documents sends ZREM and RPUSH in one *pipeline* and calls the promotion atomic. Let us be generous, and make the pipeline a transaction: between MULTI and EXEC nobody gets in.


# %%
def piped(name):
    due = redis.zrange(DELAYED, "-inf", clock.now(), byscore=True)
    yield name, "ZRANGE: what is due?", due
    for room in due:
        both = redis.pipeline(transaction=True)
        both.zrem(DELAYED, room).rpush(TRAY, room)
        yield name, "ZREM and RPUSH, together", both.execute()


# %% [markdown]
# Two steps each, where there were three. Fewer orders; are fewer of them bad?

# %%
found = every_order(piped, 2)
plot.table(
    [("order", "slips"), *sorted(found.items())],
    caption="All orders of two who send both together.",
)

# %% [markdown]
# Four of six. What the pipeline joins are the two writes. The read before them is still apart, and what it read may be old by the time that they arrive:

# %%
steps, tray = trial(piped, "ABAB")
noted = [*steps[:3], (*steps[3], "0 struck off, and a second slip: in one breath")]
plot.steps(noted, caption="Ada and Bob, each with a perfect transaction.")

# %% [markdown]
# > **Document says / measured.** Document B: the pipeline makes the promotion "one coordinated unit", and removing early keeps the window small. Measured: in four of the six orders there is a second slip. How small the window is in practice comes further down, with three clerks who hurry.
#
# A pipeline saves journeys. It doesn't decide anything: no command in it can see what the one before it answered.

# %% [markdown] points=["A3"]
# ## Second cure: read the answer
#
# You found this one in notebook 00: only who gets a 1 from ZREM may go on.


# %%
def careful(name):
    due = redis.zrange(DELAYED, "-inf", clock.now(), byscore=True)
    yield name, "ZRANGE: what is due?", due
    for room in due:
        struck = redis.zrem(DELAYED, room)
        yield name, "ZREM: strike it off", struck
        if struck:
            yield name, "RPUSH: a slip into the tray", redis.rpush(TRAY, room)


# %% [markdown]
# How many slips are there now, over all orders?

# %%
set(every_order(careful, 3).values())

# %% [markdown]
# One slip in every order. The duplicates are gone. But a clerk can also stop: a crash, a kill, a cable. So we ask a second question of each cure: **where is the call, if the clerk dies after its first, second, third step?**


# %%
def where():
    waits, slips = redis.zcard(DELAYED), redis.llen(TRAY) + redis.xlen(READY)
    if waits + slips == 1:
        return "on the list" if waits else "in the tray"
    return "in both" if waits else "LOST" if not slips else f"{slips} times"


# %% [markdown]
# That says where. And this kills Ada after none, one, two of her steps, and so on:


# %%
def deaths(clerk, steps, at=0):
    found = []
    for last in range(steps + 1):
        given("room 412", at=at)
        ada = clerk("Ada")
        for _ in range(last):
            next(ada)
        found.append(where())
    return found


# %% [markdown]
# And the same clerk with its last two steps swapped: first the slip, then the striking off.


# %%
def swapped(name):
    due = redis.zrange(DELAYED, "-inf", clock.now(), byscore=True)
    yield name, "ZRANGE: what is due?", due
    for room in due:
        yield name, "RPUSH: a slip into the tray", redis.rpush(TRAY, room)
        yield name, "ZREM: strike it off", redis.zrem(DELAYED, room)


# %% [markdown]
# Both, side by side:

# %%
head = ("clerk", "dies at once", "after 1", "after 2", "after 3")
rows = [("reads the answer", *deaths(careful, 3))]
rows += [("the slip first", *deaths(swapped, 3))]
plot.table([head, *rows], caption="Where is room 412?")

# %% [markdown]
# Read the column "after 2". Struck off, and no slip: no one will ever ring room 412. With the slip first it is in both, so the next clerk will lay a second one. Swapping the lines swaps the fault.
#
# This is the heart of the matter: **two commands always leave a gap between them**, and order only decides what falls into it.

# %% [markdown]
# Document C gives its clerk a careful first half. `claimDueJobs` takes all due calls off the list atomically; then a loop lays the slips, one by one, from the client. With three calls due:

# %%
rows = []
for laid in range(4):
    given("room 7", "room 9", "room 412")
    listed = redis.zrange(DELAYED, 0, -1)
    claimed = [room for room in listed if redis.zrem(DELAYED, room)]
    redis.rpush(TRAY, *claimed[:laid]) if laid else None
    there = (redis.zcard(DELAYED), redis.llen(TRAY))
    rows.append((laid, *there, 3 - sum(there)))
head = ("slips laid before it dies", "on the list", "in the tray", "lost")
plot.table([head, *rows], caption="Claimed together, handed over one by one.")

# %% [markdown]
# > **Document says / measured.** The same document also has a Lua script that does both halves in one step. That one is right. Its Java loop, a page earlier, loses whatever the loop has not reached.

# %% [markdown] points=["A4"]
# ## Third cure: pop
#
# Redis has one command that reads *and* removes: ZPOPMIN takes the members with the lowest scores. Two clerks can't both get one. So why not simply:

# %%
given("room 9", "room 412")
redis.zpopmin(DELAYED, 1)[0][0], redis.zpopmin(DELAYED, 1)[0][0]

# %% [markdown]
# Never the same one twice. But did it look at the clock? **Predict** what it does with a call that is due in an hour.

# %%
given("room 20", at=3_600_000)
[(room, score)] = redis.zpopmin(DELAYED, 1)
room, round((score - clock.now()) / 60_000)

# %% [markdown]
# Room 20, 60 minutes early. ZPOPMIN knows lowest, not due. **It is right only if all that was popped is due**, and nobody tells you that beforehand. So the clerk must look at the score, and put back what came too soon:


# %%
def pops(name):
    popped = redis.zpopmin(DELAYED, 1)
    yield name, "ZPOPMIN", [room for room, _ in popped]
    for room, score in popped:
        if score <= clock.now():
            yield name, "RPUSH: a slip into the tray", redis.rpush(TRAY, room)
        else:
            yield name, "ZADD: put it back", redis.zadd(DELAYED, {room: score}, nx=True)


# %% [markdown]
# Now kill it, once with a call that is due, once with one that is an hour away:

# %%
head = ("the call is", "dies at once", "after 1", "after 2")
rows = [("due now", *deaths(pops, 2))]
rows += [("due in an hour", *deaths(pops, 2, at=3_600_000))]
plot.table([head, *rows], caption="Where is the call?")

# %% [markdown]
# It can even lose calls that nobody had to touch for an hour. And a pop of many loses many: with `ZPOPMIN key 100`, a crash in the next instant costs up to a hundred calls.
#
# `nx=True` matters too. While the slip is in the clerk's hand, the guest may move her call:

# %%
given("room 20", at=3_600_000)
[(room, score)] = redis.zpopmin(DELAYED, 1)
redis.zadd(DELAYED, {room: score + 600_000})  # "ten minutes later, please"
kept = [
    redis.zadd(DELAYED, {room: score}, nx=True),
    round((redis.zscore(DELAYED, room) - score) / 60_000),
]
lost = [
    redis.zadd(DELAYED, {room: score}),
    round((redis.zscore(DELAYED, room) - score) / 60_000),
]
plot.table(
    [("put back", "added", "minutes later"), ("with NX", *kept), ("without", *lost)],
    caption="What becomes of her wish.",
)

# %% [markdown]
# And a *cancelled* call would come back to life, NX or not. To make ZPOPMIN safe you need: a look at each score, a way back that knows what happened meanwhile, and a second place that remembers who holds what. That is more than we set out to replace.

# %% [markdown] points=["A3"]
# ## Fourth cure: watch the list
#
# Redis can also say no. After `WATCH key`, EXEC does nothing if somebody has changed that key in between. Read, then write *if nothing moved*:

# %%
from redis.exceptions import WatchError


def refused(pipe):
    try:
        return pipe.execute()
    except WatchError:
        return "refused"


# %% [markdown]
# Three journeys now: WATCH, ZRANGE, and what stands between MULTI and EXEC.


# %%
def watcher(name):
    pipe = redis.pipeline(transaction=True)
    yield name, "WATCH the list", pipe.watch(DELAYED)
    due = pipe.zrange(DELAYED, "-inf", clock.now(), byscore=True)
    yield name, "ZRANGE: what is due?", due
    if due:
        pipe.multi()
        pipe.zrem(DELAYED, *due).rpush(TRAY, *due)
        yield name, "EXEC: ZREM and RPUSH", refused(pipe)
    pipe.reset()


# %% [markdown]
# Our two questions: how many slips, over all orders, and where is the call after a death?

# %%
head = ("slips", "dies at once", "after 1", "after 2", "after 3")
row = (set(every_order(watcher, 3).values()), *deaths(watcher, 3))
plot.table([head, row], caption="WATCH: over all orders, and after each death.")

# %% [markdown]
# One slip in every order, and the call is never lost: **this is right**, too. What it costs shows when two are at work:

# %%
steps, tray = trial(watcher, "ABABAB")
steps[5:] = [(*steps[5], "try again from the start")]
plot.steps(steps, caption="The second EXEC finds the list changed.")

# %% [markdown]
# Bob made three journeys for nothing. And it isn't only other clerks who change the list. Every guest who orders a call does:

# %%
given("room 412")
ada = watcher("Ada")
steps = [next(ada), next(ada)]
added = redis.zadd(DELAYED, {"room 7": clock.now() + 3_600_000})
steps.append(("a guest", "ZADD: wake me at eight", added))
steps.append((*next(ada), "room 7 has nothing to do with it"))
plot.steps(steps, caption="The busier the hotel, the less gets done.")

# %% [markdown]
# Right, but it slows down just when there is much to do. What we want is to read and write in one step *inside* Redis, with no journey in between. For that it has a language.

# %% [markdown] points=["A3"]
# ## Ten minutes of Lua
#
# EVAL sends a small program in Lua, and Redis runs it **as one step**: no other client gets a turn until it ends. The first lesson is that it answers:

# %%
redis.eval("return 'good evening'", 0)

# %% [markdown]
# The 0 says how many *keys* follow. Names of keys go into `KEYS`, everything else into `ARGV`, both counted from 1. Commands are called with `redis.call`:

# %%
script = "return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])"
redis.eval(script, 1, DELAYED, 10, "room 9")

# %% [markdown]
# Why two lists? A cluster has to know the keys *before* it runs the script, to send it to the node that holds them. Never glue a key's name together inside.
#
# Now four traps, all in one cell. Guess each before you look:

# %%
traps = {
    "return 3.7": [],
    "return {1, 2, nil, 4}": [],
    "return ARGV[1] < ARGV[2]": [10, 9],
    "return tonumber(ARGV[1]) < tonumber(ARGV[2])": [10, 9],
    "if 0 then return '0 is true' end": [],
}
rows = [(code, args or "", redis.eval(code, 0, *args)) for code, args in traps.items()]
plot.table([("script", "ARGV", "answer"), *rows], caption="What Lua makes of it.")

# %% [markdown]
# Numbers come back whole. A list ends at its first `nil`. Arguments are text, and as text "10" is smaller than "9" (`True` came back as 1, `False` as None). And 0 is true, so `if redis.call('ZREM', ...)` is always true: write `== 1`.
#
# Enough Lua. It has loops and ifs, and looks like this:

# %%
script = """
local sum = 0
for _, number in ipairs(ARGV) do sum = sum + number end
return sum
"""

# %% [markdown]
# Three numbers, as arguments:

# %%
redis.eval(script, 0, 10, 20, 12)

# %% [markdown]
# `local` makes a variable, `ipairs` walks through a list, `..` joins text, `#list` is its length. In `sum + number` the text became a number by itself.
#
# Sending the text each time would be a waste. `register_script` remembers it, and sends only its fingerprint:

# %%
add = redis.register_script(script)
add(args=[1, 2, 3])

# %% [markdown] points=["A3"]
# ## A better tray: the smallest stream
#
# One more piece. A slip that a porter takes from a list is gone, and if he faints, so is the call. A *stream* remembers. XADD appends an entry with fields:

# %%
redis.delete(READY)
for room in ("room 7", "room 9"):
    redis.xadd(READY, {"id": room})

[fields for _, fields in redis.xrange(READY)]

# %% [markdown]
# (Each entry also has a number of its own, made of the time; so it looks different on your screen, and we leave it out.) A *group* of readers shares the entries. XREADGROUP hands each to one of them only; `>` means "what nobody had yet":

# %%
redis.xgroup_create(READY, "porters", "0")


def takes(porter):
    got = redis.xreadgroup("porters", porter, {READY: ">"}, count=1)
    return [fields[b"id"] for _, entries in got for _, fields in entries]


takes("Cleo"), takes("Dan"), takes("Cleo")

# %% [markdown]
# Cleo has room 7, Dan has room 9, and there is no third. Both are now *pending*: handed out, and not yet ticked off. Cleo has rung:

# %%
[cleos, dans] = redis.xpending_range(READY, "porters", "-", "+", 10)
redis.xack(READY, "porters", cleos["message_id"])
redis.xdel(READY, cleos["message_id"])
plot.table(
    [
        ("still pending", "held by"),
        ("room 9", redis.xpending(READY, "porters")["consumers"][0]["name"]),
    ],
    caption="Dan has fainted, but his slip has his name on it.",
)

# %% [markdown]
# What a list forgets, a stream knows: who holds what. Notebook 05 takes Dan's slip back. For the clerk it's all the same, RPUSH or XADD:
#
# | to | Redis command | answers |
# |---|---|---|
# | append | `XADD ready * id room-9` | the entry's number |
# | take | `XREADGROUP GROUP porters Cleo COUNT 1 STREAMS ready >` | entries nobody had |
# | see who holds what | `XPENDING ready porters` | how many, whose |
# | tick off | `XACK ready porters <number>`, then `XDEL` | how many |

# %% [markdown] points=["A3", "C3"]
# ## The cure, in four steps
#
# First step: read, inside. Limited, as in notebook 01.

# %%
claim = redis.register_script("""
return redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
""")
given("room 7", "room 9", "room 412")
assert claim(keys=[DELAYED], args=[clock.now(), 2]) == [b"room 412", b"room 7"]

# %% [markdown]
# Second step: strike off what was read. Now there is no gap between reading and removing.

# %%
claim = redis.register_script("""
local due = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE',
  'LIMIT', 0, ARGV[2])
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
end
return due
""")

# %% [markdown]
# Two of the three, the earliest first:

# %%
assert len(claim(keys=[DELAYED], args=[clock.now(), 2])) == 2
assert redis.zrange(DELAYED, 0, -1) == [b"room 9"]

# %% [markdown]
# That is Document C's first half: claimed, and in no one's tray. Third step: hand over in the same script, so that nothing ever lives in the client's hand.

# %%
claim = redis.register_script("""
local due = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE',
  'LIMIT', 0, ARGV[2])
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('XADD', KEYS[2], '*', 'id', id)
end
return #due
""")

# %% [markdown]
# Afterwards one is on the list, and two are in the stream:

# %%
given("room 7", "room 9", "room 412")
assert claim(keys=[DELAYED, READY], args=[clock.now(), 2]) == 2
assert (redis.zcard(DELAYED), redis.xlen(READY)) == (1, 2)

# %% [markdown]
# Fourth step: `clock.now()` is still the clerk's own watch. A script can ask the one clock that all share. (TIME answers seconds and microseconds.)

# %%
claim = redis.register_script("""
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local due = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('XADD', KEYS[2], '*', 'id', id)
end
return #due
""")

# %% [markdown]
# As a clerk of ours, it has a single step:


# %%
def scripted(name):
    yield name, "the script", claim(keys=[DELAYED, READY], args=[100])


# %% [markdown] points=["A3"]
# ## Proved, and not proved
#
# The same two questions as for the others. Every order of two clerks, and a death after each step:

# %%
in_tray = {}
for order in orders(1):
    steps, _ = trial(scripted, order)
    in_tray[order] = redis.xlen(READY)

assert deaths(scripted, 1) == ["on the list", "in the tray"]
plot.table(
    [("order", "slips"), *in_tray.items()],
    caption="Two orders are left, and both are right.",
)

# %% [markdown]
# One step has no middle. A third accident: the script ran, and its *answer* was lost. The clerk doesn't know, and sends it again:

# %%
given("room 412")
answers = [claim(keys=[DELAYED, READY], args=[100]) for _ in range(3)]
assert redis.xlen(READY) == 1
rows = [("sent", "once", "twice", "three times"), ("moved", *answers)]
plot.table(rows, caption="An answer was lost, twice.")

# %% [markdown]
# It finds nothing, and does nothing. Now all clerks on one page, with the steps that each takes:

# %%
clerks = {
    "ZRANGE, ZREM, RPUSH": (clerk, 3),
    "a pipeline": (piped, 2),
    "reads the answer": (careful, 3),
    "the slip first": (swapped, 3),
    "ZPOPMIN": (pops, 2),
    "WATCH": (watcher, 3),
    "the script": (scripted, 1),
}

# %% [markdown]
# For each, where the call can be after two clerks, and after a death:


# %%
def after_two(clerk, n):
    return {(trial(clerk, order), where())[1] for order in orders(n)}


rows = [
    (name, n, sorted(after_two(program, n)), sorted(set(deaths(program, n))))
    for name, (program, n) in clerks.items()
]
head = ("clerk", "journeys", "after two clerks", "after a death")
plot.table([head, *rows], caption="Seven clerks, two questions.", bold=[6, 7])

# %% [markdown]
# Two rows are right, and one of them needs one journey.
#
# **Not** proved: what becomes of a slip once a porter holds it (05); that ringing twice does no harm (07); that Redis itself survives (14). And while a script runs, all others wait: hence the LIMIT.

# %% [markdown] points=["A3", "C3"]
# ## promote.lua, line by line
#
# The kit's own is the same script, with four additions. Here it is, with what each line is for:

# %%
from jobkit.scripts import load

lines = load("promote").text.splitlines()
code = [line for line in lines if line and not line.startswith("--")]
why = [
    "an empty list: nothing to do, and an idle queue asks no more than this",
    "one clock for all: the server's",
    "seconds and microseconds become whole milliseconds",
    "due means score <= now; at most so many at once",
    "each that is due, in order of its time",
    "off the list",
    "into the ready store: XADD, as in your script",
    "",
    "something came? wake the porters who sleep (notebook 04)",
    "look at the next one",
    "how many moved, and for how long the clerk may sleep; -1: for ever",
]
assert len(code) == len(why)
plot.table(
    [("line", "what for"), *zip(code, why, strict=True)],
    caption="jobkit/lua/promote.lua, without its header.",
)

# %% [markdown]
# Document C calls this step **SCHEDULED → QUEUED**. Where is the state written down that it changes? Take a job that is due:

# %%
queue = jk.Queue(redis, "night")
redis.delete(queue.keys.delayed, *redis.scan_iter(redis.prefix + "{night}*"))
queue.submit("ring", {"room": 412}, delay=5, id="call-412")
clock.advance(5)
CARD = queue.keys.job + "call-412"

# %% [markdown]
# What the kit says of it, and what its card says, before the step and after it:


# %%
def seen(when):
    state = queue.get("call-412").state
    return when, state, redis.hlen(CARD), redis.hget(CARD, "state")


rows = [seen("before"), (queue.promote(), seen("after"))[1]]
head = ("", "the kit says", "fields on the card", "its field state")
plot.table([head, *rows], caption="A transition, and nothing was written on the card.")

# %% [markdown]
# Nowhere. A job is *scheduled* because the list holds it, and *ready* because the stream does. So the two can't disagree, and moving it is the transition. Since the move is one step, nobody can ever see it in both or in neither.

# %% [markdown] points=["A3", "B4"]
# ## Measured: three clerks who hurry
#
# Enough of stepping by hand. Three threads, 1,000 calls, all due, on a real server if this machine has one:

# %% tags=["varies"] varies="names the Redis that was found, if it is another one"
from collections import Counter
from threading import Barrier, Thread

try:
    live = redis if redis.server.kind != "fake" else jk.connect("private")
except jk.ServerUnavailable:
    live = redis

print("in the race:", live.server)

# %% [markdown]
# The document's clerk reads what is due, then sends a pipeline per call:


# %%
def pipeline_clerk(delayed, ready):
    for room in live.zrange(delayed, "-inf", live.clock.now(), byscore=True):
        both = live.pipeline(transaction=True).zrem(delayed, room)
        both.xadd(ready, {"id": room}).execute()


# %% [markdown]
# Ours calls the script until nothing is left:


# %%
def script_clerk(delayed, ready):
    while claim(keys=[delayed, ready], args=[100], client=live):
        pass


# %% [markdown]
# Three threads, and a barrier, so that all start at one instant:


# %%
def together(work, clerks=3):
    start = Barrier(clerks)
    threads = [Thread(target=lambda: (start.wait(), work())) for _ in range(clerks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# %% [markdown]
# Then a porter takes every slip and rings, and we count how often each phone rang:


# %%
def hurry(clerk):
    delayed, ready = (live.prefix + "{hurry}:" + part for part in ("delayed", "ready"))
    live.delete(delayed, ready)
    live.zadd(delayed, {f"room {n}": live.clock.now() for n in range(1000)})
    together(lambda: clerk(delayed, ready))
    rings = Counter(fields[b"id"] for _, fields in live.xrange(ready))
    return Counter(rings.values())


# %% [markdown]
# Your guess from the top of the page, now:

# %% tags=["varies"] varies="three threads race, so each run differs a little"
rang = {"the document's pipeline": hurry(pipeline_clerk)}
rang["the script"] = hurry(script_clerk)
rows = [
    (
        name,
        *(f"{often[n]:,}" for n in (1, 2, 3)),
        f"{sum(n * often[n] for n in often):,}",
    )
    for name, often in rang.items()
]
head = ("clerk", "rang once", "twice", "three times", "all in all")
caption = "1,000 rooms, three clerks: how many rang how often?"
plot.table([head, *rows], caption=caption, bold=[1])

# %% [markdown]
# Look at the last column of the first row. Most phones rang more than once, though each pipeline was a perfect transaction and nothing crashed. The second row is what you want to see in your bills: 1,000, each once.

# %%
assert rang["the script"] == {1: 1000}
assert rang["the document's pipeline"][1] < 500

# %% [markdown]
# Why so many? All three read the *same* 1,000 at the start, and from then on each works off its own old copy. A small batch would narrow the window. It wouldn't close it.

# %% [markdown] points=["A3", "A4", "C3"]
# ## Your turn: the claim
#
# Open [claim.py](../exercises/02_atomic_claim/claim.py): it says what `claim_due` must do, and ends in `raise NotImplementedError`. Write it, save the file, and run the last cell of this section. Where to begin? The four steps above; but try it from memory first.
#
# The check plays two clerks with *your* code, so it needs them to stop at each command. (How is folded away. You need not read it.)

# %% tags=["check"] jupyter={"source_hidden": true}
import copy
from contextlib import suppress
from queue import SimpleQueue


class Died(BaseException):
    """What a clerk meets who dies: no `except Exception` holds it up."""


class Hand:
    """Runs a program that stops before each command; `step` lets one through."""

    def __init__(self, name, program):
        self.name, self.go, self.told = name, SimpleQueue(), SimpleQueue()
        self.ended, self.answer = False, None
        client = copy.copy(redis)
        client.auto_close_connection_pool = False  # shared: its end must not close it
        client.execute_command = self.gate(redis.execute_command)
        client.pipeline = lambda *args, **options: self.piped(
            client, redis.pipeline(*args, **options)
        )
        Thread(target=self.run, args=(program, client), daemon=True).start()

    def run(self, program, client):
        try:
            self.answer = program(client)
        except (Exception, Died) as error:  # noqa: BLE001, whatever your code may raise
            self.answer = error
        self.told.put(None)

    def gate(self, command, *said):
        def call(*args, **options):
            if not self.go.get():
                raise Died
            answer = "refused"
            try:
                answer = command(*args, **options)
            finally:
                self.told.put((self.name, spoken(said or args), answer))
            return answer

        return call

    def piped(self, client, pipe):
        whole = self.gate(pipe.execute, "MULTI ... EXEC")

        def one_by_one():
            stack = list(pipe.command_stack)
            pipe.reset()
            return [client.execute_command(*args, **options) for args, options in stack]

        pipe.execute = lambda: (
            whole() if pipe.transaction or pipe.explicit_transaction else one_by_one()
        )
        pipe.immediate_execute_command = self.gate(pipe.immediate_execute_command)
        return pipe

    def step(self, *, alive=True):
        if self.ended:
            return None
        self.go.put(alive)
        step = self.told.get()
        self.ended = step is None
        return step


# %% [markdown]
# A trial: so many calls that are due and one that isn't, two clerks, and an order. Afterwards they go on to the end, or die where they stand.


# %% tags=["check"] jupyter={"source_hidden": true}
def spoken(args):
    words = [word.decode() if isinstance(word, bytes) else str(word) for word in args]
    if words[0].startswith(("EVAL", "SCRIPT")):
        return words[0]
    return " ".join(words).replace(redis.prefix + "{desk}:", "")


def play(claim_due, due, turns, limit=10, *, die=False):
    redis.delete(DELAYED, READY)
    calls = {f"room {n}": clock.now() - 1000 + n for n in range(1, due + 1)}
    redis.zadd(DELAYED, calls | {"room 99": clock.now() + 3_600_000})
    who = {
        name: Hand(name, lambda client: claim_due(client, DELAYED, READY, limit))
        for name in sorted(set(turns))
    }
    steps = [step for turn in turns if (step := who[turn].step())]
    for hand in who.values():
        while not hand.ended and len(steps) < 60:
            if step := hand.step(alive=not die):
                steps.append(step)
    return steps, [hand.answer for hand in who.values()]


def rooms(due):
    return [f"room {n}" for n in range(1, due + 1)] + ["room 99"]


def places():
    """How often each room stands somewhere: on the list, in the stream."""
    listed = [room.decode() for room in redis.zrange(DELAYED, 0, -1)]
    slips, none = redis.xrange(READY), b"a slip without the field id"
    return listed, [fields.get(b"id", none).decode() for _, fields in slips]


# %% [markdown]
# The first promise: due by the server's clock. Here is a server on which it is 2001. A claim that asks its own watch takes everything.


# %% tags=["check", "varies"] varies="names the version of the fake"
long_ago = jk.connect("fake", clock=jk.VirtualClock(start=1_000_000_000_000))


def asks_the_server(claim_due):
    long_ago.zadd(DELAYED, {"room 1": 1_000_000_000_000 + 3_600_000})
    with suppress(Exception):  # what else is wrong, the next one says
        claim_due(long_ago, DELAYED, READY, 10)
    if not long_ago.exists(DELAYED):
        why = "Due in an hour by the server's clock, and moved now"
        yield f"Not yet. {why}. Did you ask if it is due, and by whose clock?"


# %% [markdown]
# The second is the plain one: what is due is moved, the earliest first, at most so many, and counted.


# %% tags=["check"]
def moves_what_is_due(claim_due):
    for due, limit in ((3, 2), (3, 10), (0, 10)):
        steps, [answer] = play(claim_due, due, "A", limit)
        if isinstance(answer, NotImplementedError):
            yield "Not yet. claim.py still ends in NotImplementedError."
        wanted = [f"room {n}" for n in range(1, min(due, limit) + 1)]
        listed, slips = places()
        good = (answer, slips) == (len(wanted), wanted)
        if not good or sorted(listed + slips) != rooms(due):
            said = f"{due} due, limit {limit}. Wanted: {wanted} in the stream"
            said += f", and the answer {len(wanted)}. Got: {slips}, and {answer!r}"
            said = f"Not yet. {said}; left on the list: {listed}."
            yield plot.steps(steps or [("A", "no command", None)], caption=said)


# %% [markdown]
# The third: in every order of two clerks, one slip.


# %% tags=["check"]
def hands_over_once(claim_due):
    alone, _ = play(claim_due, 1, "A")
    if len(alone) > 6:
        why = f"{len(alone)} commands for one call"
        yield f"Not yet. {why} are too many to try every order."
    for order in orders(len(alone)):
        steps, answers = play(claim_due, 1, order)
        _, slips = places()
        if slips != ["room 1"] or sum(answers) != 1:
            said = f"Handed over once? Here: {slips}, with the answers {answers}."
            yield plot.steps(steps, caption=f"Not yet. {said}")


# %% [markdown]
# The fourth: a clerk who dies after any of its commands leaves each call in one place.


# %% tags=["check"]
def outlives_a_death(claim_due):
    alone, _ = play(claim_due, 2, "A")
    for after in range(len(alone) + 1):
        steps, _ = play(claim_due, 2, "A" * after, die=True)
        listed, slips = places()
        for room in rooms(2):
            times = (listed + slips).count(room)
            if times != 1:
                said = f"{room} is {'in both places' if times else 'lost'}"
                steps.append(("A", "dies", None, said))
                yield plot.steps(steps, caption="Not yet. In one place, whoever dies?")


# %% [markdown]
# The fifth has a number: at most two commands, however many calls are due.


# %% tags=["check"]
def is_quick(claim_due):
    steps, _ = play(claim_due, 9, "A")
    if len(steps) > 2:
        why = f"It keeps all promises, with {len(steps)} commands for nine calls"
        yield f"Not yet. {why}. The goal is two."


def check(claim_due):
    promises = (asks_the_server, moves_what_is_due, hands_over_once)
    for promise in (*promises, outlives_a_death, is_quick):
        for broken in promise(claim_due):
            return broken
    return "Passed: once in every order, safe from any death, in at most two commands."


# %% [markdown]
# And your file. Run this cell after each change of it:

# %%
import runpy
from pathlib import Path

FILE = Path(jk.__file__).parents[1] / "exercises/02_atomic_claim/claim.py"
check(runpy.run_path(str(FILE))["claim_due"])

# %% [markdown]
# <details><summary>First hint: where to look</summary>
#
# Between any two of your commands another clerk can act, or yours can die. How many commands may there be, then, between reading what is due and handing it over?
#
# </details>
# <details><summary>Second hint: what is needed</summary>
#
# None: it has to be one. EVAL runs a whole program as one command. Inside it, TIME gives the clock, ZRANGE with BYSCORE and LIMIT what is due, ZREM takes off, XADD hands over.
#
# </details>
# <details><summary>Third hint: the shape of the code</summary>
#
# Ask TIME and make milliseconds of it; read what is due; for each id ZREM and XADD; `return #due`. Send the text with `redis.eval(text, 2, delayed, ready, limit)`.
#
# </details>
#
# A solution: [solutions/02_atomic_claim/claim.py](../solutions/02_atomic_claim/claim.py). Beside it are [twelve wrong ones](../solutions/02_atomic_claim/wrong), each with the promise that it breaks. The documents' own are among them.

# %% [markdown] points=["A3", "A4", "C3"]
# ## What you trade
#
# | the claim | right? | journeys | and the price |
# |---|---|---|---|
# | ZRANGE, then ZREM | no: twice | 2 and more | - |
# | the same, ZREM's answer read | no: lost in a crash | 2 and more | - |
# | ZPOPMIN | if all is due, and no one crashes | 1 | a way back, and a memory of who holds what |
# | WATCH, MULTI, EXEC | yes | 3 | starts anew whenever anybody touches the list |
# | a script | yes | 1 | all others wait while it runs, so keep it short; one more language |
# | one scheduler only, with a lock | almost | many | a lock that runs out in a pause: notebook 13 |

# %% [markdown] points=["A19"]
# **Say it without notes.** Why is it not enough to read ZREM's answer? And why is a pipeline not enough, even as a transaction? *(Three sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# ZREM's answer stops two workers from both acting, but when the winner acts, the job is already gone from the sorted set; if it dies there, no one has it. A transaction joins the writes, not the read that decided them: both clients may have read the same job before either wrote. Reading, removing and handing over must be one step on the server, and a Lua script is the one that needs a single journey.
#
# </details>
#
# Yours had: the crash ◯ the read outside ◯ all three in one step ◯

# %% [markdown] points=["C3"]
# ## Three questions an interviewer asks next
#
# **"We have Postgres, no Redis. Claim a job there."**
# <details><summary>A short answer</summary>
#
# `UPDATE jobs SET state = 'queued' WHERE id IN (SELECT id FROM jobs WHERE state = 'scheduled' AND run_at <= now() ORDER BY run_at LIMIT 10 FOR UPDATE SKIP LOCKED) RETURNING id`, in one transaction. FOR UPDATE locks the rows that were read until the commit, so reading and writing are one step; SKIP LOCKED lets a second worker pass over them instead of queueing up behind. A crash rolls back.
#
# </details>
#
# **"Isn't a Lua script slow? Redis has one thread."**
# <details><summary>A short answer</summary>
#
# It does the same commands that you would send, without the journeys in between. But nobody else is served meanwhile, so each call is limited, a hundred jobs or so, and the loop is outside. A script that never ends blocks everybody, and after its first write it can't even be killed.
#
# </details>
#
# **"The client sent the script and got no answer. What now?"**
# <details><summary>A short answer</summary>
#
# Send it again. What was moved is off the list, so the second call moves what is due by then. Nothing doubles, because the answer carries no jobs, only a number. If the script *returned* the jobs to run, a lost answer would lose them; that's why it hands over to a stream.
#
# </details>

# %% [markdown]
# Next: what becomes of a slip in the hand of a porter who faints (05), and why ringing twice must do no harm (07). The [start page](00_start.ipynb) says which of them are here.
