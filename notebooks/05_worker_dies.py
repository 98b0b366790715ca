# %% [markdown]
# # 05 The worker dies
#
# At the end you can hand out work so that no death of a worker loses it, say what that costs, and kill a real process in mid-job to see that you are right.
#
# About 25 minutes, estimated from the number of words. All cells together run in less than 40 seconds, measured.

# %% [markdown] points=["A17"]
# ## The porter who fell
#
# Ada takes the next slip from the desk: room 412, at six. She puts it in her pocket, walks off, and falls down the stairs. No cry, no telephone. At the desk nobody knows, and the desk has no slip for room 412 any more.
#
# A worker process ends like that. Out of memory, a power cut, `kill -9`: no `finally` runs, no farewell is sent.

# %% tags=["varies"] varies="the first line names the Redis that was found"
import jobkit as jk
from jobkit import plot

redis = jk.connect()
clock = redis.clock

for name in ("night", "lease", "desk", "stairs"):  # a second run begins anew
    for key in redis.scan_iter(redis.prefix + "{" + name + "*"):
        redis.delete(key)

# %% [markdown]
# (It runs on a real Redis and on the fake. If the line above says *fake*, all of it works, too, but this is the notebook where a real one is worth having: processes die here.)
#
# **Predict.** Three porters, nine calls; one porter is struck down in mid-call. What becomes of that call?
#
# ◯ it is lost ◯ another makes it at once ◯ another makes it after a while ◯ the guest is rung twice

# %% [markdown] points=["A17"]
# ## Take it and go
#
# Document B's workers take their job with BLPOP: wait for the next entry of a list, and remove it. As in notebook 00, a porter is a function, `r` his client of Redis, and `w.effect` says what he does outside of it:


# %%
def porter(r, w):
    if slip := r.blpop("calls", timeout=1):
        w.effect(f"ring {slip[1].decode()}")


def one_slip(r):
    r.rpush("calls", "room 412")


# %% [markdown]
# Two promises. A queue has to keep the first; the second is what the guest would like.


# %%
def rings(world):
    assert world.effects, "nobody rings"


def rings_once(world):
    times = len(world.effects)
    assert times == 1, f"the phone rings {times} times"


# %% [markdown]
# Two porters, A and B, say Ada and Bob, and one slip. First a night in which nobody falls:

# %%
from jobkit.explore import explore

explore(porter, porter, given=one_slip, finally_=rings_once)

# %% [markdown]
# One command, so no two get the same slip, in any order. "Not tried: crashes", it says there. So try: `crashes=1` lets one porter die, once, before any of his steps.

# %%
explore(porter, porter, given=one_slip, finally_=rings, crashes=1)

# %% [markdown]
# A has the slip and falls. B waits a second, the list is empty, all is well. Every counter says so. The only trace of room 412 is on the stairs.
#
# > **Document says / measured.** Document B has retries, a cap and dead letters, all of which the *worker* sets in motion. One that died sets nothing in motion. One crash is enough, and the call is gone.

# %% [markdown]
# So do not let go of it. LMOVE takes a slip from the list and puts it into Ada's own drawer, in one step:

# %%
CALLS = redis.prefix + "{night}:calls"
DRAWER = redis.prefix + "{night}:drawer of Ada"
redis.rpush(CALLS, "room 412")
redis.lmove(CALLS, DRAWER, "LEFT", "RIGHT")
redis.lrange(DRAWER, 0, -1)

# %% [markdown]
# Not lost any more. But who opens the drawer, and when? Is Ada dead, or is room 412 just slow to wake? The drawer has the slip, and no clock. Two things are missing: *since when* she has it, and *how often* it was handed out. Redis has a structure that writes down both.

# %% [markdown] points=["A10"]
# ## A line with a book
#
# A *stream* is a line of entries. A *consumer group* is a book that lies beside it: who took which entry, when, how often. Open a book, from the first entry on:

# %%
LINE = redis.prefix + "{night}:line"
redis.xgroup_create(LINE, "porters", id="0", mkstream=True)
for room in ("room 412", "room 7", "room 9"):
    redis.xadd(LINE, {"room": room})

redis.xlen(LINE)

# %% [markdown]
# XREADGROUP takes from the line, on somebody's name. The `>` means: what was never handed out. Ada takes two, Bob the next:


# %%
def take(name, count):
    [[_, entries]] = redis.xreadgroup("porters", name, {LINE: ">"}, count=count)
    return [fields[b"room"].decode() for _, fields in entries]


take("Ada", 2), take("Bob", 1), redis.xlen(LINE)

# %% [markdown]
# Three taken, and still **3** in the line. Nothing was removed; it was only written down. XPENDING reads the book. Let an hour pass first, so that there is something to read:

# %%
clock.advance(3600)


def book():
    rooms = {entry: fields[b"room"] for entry, fields in redis.xrange(LINE)}
    rows = [("room", "in the hands of", "untouched for", "handed out")]
    for p in redis.xpending_range(LINE, "porters", "-", "+", 100):
        hours = p["time_since_delivered"] // 3_600_000
        seen = (p["consumer"], f"{hours} h", p["times_delivered"])
        rows.append((rooms[p["message_id"]], *seen))
    return plot.table(rows, caption="The book.")


book()

# %% [markdown]
# There they are, since when and how often. Bob is done with room 9, and says so. XACK ticks an entry off in the book:

# %%
[his] = redis.xpending_range(LINE, "porters", "-", "+", 10, consumername="Bob")
done = his["message_id"]
redis.xack(LINE, "porters", done), redis.xlen(LINE)

# %% [markdown]
# Ticked off, and yet **3** entries: the book and the line are two things. Whoever only acks has a line that grows for ever. So XDEL belongs to it:

# %%
redis.xdel(LINE, done)
book()

# %% [markdown]
# Ada has not been heard of for an hour. XAUTOCLAIM hands over what was untouched for longer than so many milliseconds. First ask for more than two hours, then for more than half of one:

# %%
HOUR = 3_600_000


def take_over(name, untouched):
    _, entries, *_ = redis.xautoclaim(LINE, "porters", name, untouched)
    return [fields[b"room"].decode() for _, fields in entries]


take_over("Bob", 2 * HOUR), take_over("Bob", HOUR // 2)

# %% [markdown]
# With two hours Ada keeps them; with half an hour they are Bob's. That number is the whole policy. And Cleo, who comes by at the same moment with the same question?

# %%
take_over("Cleo", HOUR // 2)

# %% [markdown]
# Nothing. Taking over counts as touching, so of two who ask, one gets it. The book knows all of it:

# %%
book()

# %% [markdown]
# Handed out **twice**: the *delivery count*. It went up although Ada never reported anything, and that is worth remembering for later.
#
# One more question. Ada was not dead, only out cold. She comes round, rings room 412, and ticks it off:

# %%
first = redis.xpending_range(LINE, "porters", "-", "+", 1)[0]["message_id"]
redis.xack(LINE, "porters", first)

# %% [markdown]
# **1**: accepted. The entry is in Bob's hands, and the book did not ask who was ticking. Such a revenant is called a *zombie*; notebook 06 is about it. The whole vocabulary:
#
# | to | Redis command | answers |
# |---|---|---|
# | open a book | `XGROUP CREATE line porters 0 MKSTREAM` | OK |
# | put an entry in line | `XADD line * room 412` | its id |
# | take what is new | `XREADGROUP GROUP porters Ada COUNT 2 STREAMS line >` | the entries |
# | read the book | `XPENDING line porters - + 10` | entry, holder, ms untouched, times handed out |
# | tick off | `XACK line porters id`, and `XDEL line id` | how many it were |
# | take over | `XAUTOCLAIM line porters Bob 30000 0` | the entries, and where to go on |

# %% [markdown] points=["A10", "A17"]
# ## Ring first, or tick off first?
#
# **Predict.** A porter has to ring, and to tick off. Which first, if he may fall in between? ◯ ring ◯ tick off ◯ it is the same
#
# A line with one slip, for the explorer (with an id of our own, since it's shorter):


# %%
def a_line(r):
    r.xgroup_create("line", "porters", id="0", mkstream=True)
    r.xadd("line", {"room": 412}, id="1-1")


# %% [markdown]
# It looks tidier to tick off first: then the book is right, and the hands are free.


# %%
def ticks_first(r, w):
    for _, slips in r.xreadgroup("porters", w.name, {"line": ">"}):
        for slip, _ in slips:
            r.xack("line", "porters", slip)
            w.effect("ring 412")


# %% [markdown]
# If somebody falls, a third one makes the round half a minute later, and takes over what nobody has touched. (In here `sleep` takes no time: it waits until nobody else has anything to do.)


# %%
import time


def takes_over(r, w):
    for slip, _ in r.xautoclaim("line", "porters", w.name, 30_000)[1]:
        w.effect("ring 412")
        r.xack("line", "porters", slip)


def makes_the_round(r, w):
    time.sleep(31)
    takes_over(r, w)


# %% [markdown]
# `after_crash` sends him off. His column is R, for recovery:

# %%
accident = {"given": a_line, "crashes": 1, "after_crash": makes_the_round}
explore(ticks_first, ticks_first, finally_=rings, **accident)

# %% [markdown]
# ("1 pending": one entry in the book is not ticked off.) Step 2 ticks off what isn't done. From there on nobody owes the call to anybody, and R finds an empty book. It's BLPOP again, with more commands. So the other order:


# %%
def rings_first(r, w):
    for _, slips in r.xreadgroup("porters", w.name, {"line": ">"}):
        for slip, _ in slips:
            w.effect("ring 412")
            r.xack("line", "porters", slip)


# %% [markdown]
# The same porters, the same accident, wherever it may happen:

# %%
explore(rings_first, rings_first, finally_=rings, **accident)

# %% [markdown]
# Clean: however the steps of two porters fall, and wherever one of them dies, somebody rings. That's no proof that it is right. Nobody has tried a fall of R, a third porter, a room 13 that kills all who go there, or a Redis that forgets.
#
# And it's the *first* promise. The guest's own?

# %%
rung_twice = explore(rings_first, rings_first, finally_=rings_once, **accident)
rung_twice

# %% [markdown]
# She rang, fell, and took the knowledge of it along. It's no mistake in the program; two steps have no better order. **Tick off first, and it may be never; last, and it may be twice.** Nearly every queue chose the second, and notebook 07 makes twice count as once.

# %% [markdown] points=["C4"]
# ## Invisible for a while
#
# Document C calls the same idea a *visibility timeout*: a job that was claimed is invisible to everybody else for a bounded time. If it is not settled by then, it reappears. The time is the job's *lease*: lent, not given.
#
# In the kit, `claim` begins a lease, and `recover` looks for those that are over. Ada claims, and falls:

# %%
queue = jk.Queue(redis, "lease", lease=30)
queue.submit("ring", {"room": 412}, id="room 412")
queue.claim("Ada")

rows = []
for seconds in (0, 25, 10):
    clock.advance(seconds)
    back = queue.recover().ready
    got = [claim.id for claim in queue.claim("Bob")]
    rows.append((f"{seconds} s later", back, got))

head = ("", "recovered", "what Bob gets")
plot.table([head, *rows], caption="A lease of 30 seconds.")

# %% [markdown]
# Invisible at 0 s and at 25 s; at 35 s it is back, and Bob's. Nobody noticed Ada's fall, and nobody had to: it is her *silence* that counts. Bob rings, and the job's own history tells what happened:

# %% tags=["varies"] varies="a server's own milliseconds pass between the steps"
queue.submit("ring", {"room": 7}, id="room 7")
queue.claim("Ada")
clock.advance(35)
queue.recover()
[claim] = queue.claim("Bob")
clock.advance(10)
queue.ack(claim)
plot.attempts(queue, "room 7")

# %% [markdown]
# Two runs, and the first was *charged*. The kit counts an attempt when it hands a job out, not when somebody reports. Who dies can't report.
#
# Under the hood it is the book that you know: `recover` is XAUTOCLAIM in a script that also writes the history. So the explorer can take the kit's own porters:


# %%
def a_call(r):
    jk.Queue(r, "lease", lease=30).submit("ring", id="room 412")


def works(r, w):
    calls = jk.Queue(r, "lease", lease=30)
    for call in calls.claim(w.name):
        w.effect(f"ring {call.id}")
        calls.ack(call)


def recovers(r, w):
    time.sleep(31)
    jk.Queue(r, "lease", lease=30).recover()
    works(r, w)


# %% [markdown]
# One who falls, before any of his steps, and R, who comes when the lease is over:

# %%
kit = {"given": a_call, "crashes": 1, "after_crash": recovers}
explore(works, finally_=rings, **kit)

# %% [markdown]
# At least once. And the guest's promise? In one line:

# %%
explore(works, finally_=rings_once, **kit).verdict

# %% [markdown]
# The kit can't do better than an order of two steps can.
#
# **Predict.** And if nobody dies? A works, B makes the round, and the clock may jump by 31 seconds, once, at any moment: a laptop lid, a long pause. How often does the phone ring? ◯ once ◯ twice

# %%
explore(rings_first, takes_over, given=a_line, finally_=rings_once, clock_jump=31)

# %% [markdown]
# Twice, and nobody fell: a lease shorter than the silence gives a call *two owners* who both live. Look at A's last line: her tick is answered **0**, too late, and she doesn't read it. That is where notebook 06 begins.

# %% [markdown] points=["A17"]
# ## Three real processes
#
# Enough of pretending. A worker process can't run a function from a cell, since it is another Python. It imports a file. Here is ours, which lies beside this notebook:

# %%
from pathlib import Path

print(Path("desk.py").read_text())

# %% [markdown]
# Each call puts one euro on the guest's bill. On two bills, in fact: a *plain* one, by INCR, and a *careful* one, by the kit's `once`. Then the porter stays on the line a while. Three of them, w1 to w3:

# %%
from jobkit.processes import Crew

desk = jk.Queue(redis, "desk", lease=2)
crew = Crew(redis, "desk:worker", workers=3)
crew.wait(lambda: all("tasks: ring" in crew.log(n) for n in crew.running), seconds=60)
crew

# %% [markdown]
# Real processes, each with a Python of its own. Next the misfortune: 0.7 seconds into the call of room 412, whoever makes it is killed by SIGKILL, which no program can catch.


# %%
def misfortune():
    begun = [mark for mark in crew.marks() if mark.id == "room 412"]
    if len(begun) == 1 and time.time() * 1000 - begun[0].at > 700 and not crew.killed:
        crew.kill(begun[0].worker)


# %% [markdown]
# (`marks` reads a file in which every worker notes each start and end of its handler. A file outlives its writer.) You still have your guess from the top? Nine calls, of which room 412, a heavy sleeper, takes two seconds:

# %% tags=["varies"] varies="which worker takes which call, and when, is up to three real processes"
rooms = [f"room {n}" for n in (7, 9, 412, 30, 31, 12, 14, 21, 22)]
seconds = dict.fromkeys(rooms, 0.8) | {"room 412": 2}
desk.submit_many(jk.New("ring", {"seconds": seconds[room]}, id=room) for room in rooms)
plot.watch(crew, desk, each=misfortune)

# %% [markdown]
# Read it row by row. A solid bar is a call. The hatched one ends in an X: killed. Then the dotted stretch, the rest of a lease of two seconds: room 412 belongs to somebody who is dead, and nobody else may have it. Then it is back, and another porter's: the dotted green bar.
#
# The other two never stopped. So it was "another makes it after a while". And was the guest rung twice? Look at the bills:

# %% tags=["varies"] varies="a very busy machine may take a slow porter for dead, too"
begun = [mark.id for mark in crew.marks() if mark.what == "start"]


def bill(kind, room):
    return int(redis.get(jk.effect_key(desk, f"{kind} bill of {room}")))


rows = [("guest", "runs begun", "plain bill, €", "careful bill, €")]
for room in rooms:
    rows.append((room, begun.count(room), bill("plain", room), bill("careful", room)))

twice = [n for n, room in enumerate(rooms, 1) if begun.count(room) > 1]
plot.table(rows, caption="What the guests pay.", bold=twice)

# %% [markdown]
# Room 412 was rung twice, and would pay twice. Its first porter had written the bill before he fell. No lease can help that: from outside, "died before the effect" and "died after it" look the same.
#
# The careful bill has the effect *and* a mark "done for this job" in one script. The second run finds the mark. Run twice, in effect once: that is the most that anybody can promise, and notebook 07 takes it apart.

# %% tags=["varies"] varies="which of the three was killed"
assert [bill("careful", room) for room in rooms] == [1] * 9
assert desk.counts().totals["done"] == 9
print(*desk.history("room 412"), sep="\n")

# %% [markdown]
# (The history names the porter who held it. Yours may be another one.) Send the crew home:

# %%
crew.close()

# %% [markdown] points=["A10"]
# ## A crash that comes back
#
# The step on the way to room 13 is rotten: whoever goes there, falls. Every time. In the trade that is a *poison* job: it kills its worker, is recovered, and kills the next.
#
# What Redis sees of a crash is silence, so silence will do as one here. Five slips on one tray, room 13 among them; each porter takes what the last one held:

# %%
redis.delete(LINE)
redis.xgroup_create(LINE, "porters", id="0", mkstream=True)
for room in ("room 13", "room 7", "room 9", "room 30", "room 31"):
    redis.xadd(LINE, {"room": room})

take("Ada", 5)
for name in ("Bob", "Cleo"):
    clock.advance(3600)
    take_over(name, HOUR // 2)

book()

# %% [markdown]
# Three porters down, and no guest was rung. The delivery count is there for this: at three, bury it. But look at the column. **All five** stand at 3. Room 13 had company on the tray, and four innocent guests would be buried with it.

# %% [markdown]
# **Predict.** The kit recovers a job on its own: whatever outlived a lease is handed out *alone* from then on. Five slips, at most three runs each. How many porters fall now, and how many guests are buried?

# %%
stairs = jk.Queue(redis, "stairs", lease=30, max_attempts=3)
five = ("room 13", "room 7", "room 9", "room 30", "room 31")
stairs.submit_many(jk.New("ring", id=room) for room in five)

rows = [("on the tray", "the porter", "recovered", "buried")]
while tray := stairs.claim("a porter", limit=5):
    on_tray = [claim.id for claim in tray]
    if falls := "room 13" in on_tray:
        clock.advance(35)
    else:
        stairs.each("ack", tray)
    back = stairs.recover()
    fate = "falls" if falls else "rings"
    rows.append((", ".join(on_tray), fate, back.ready, back.dead))

plot.table(rows, caption="Alone after the first fall.")

# %% [markdown]
# Three falls, as before, and one burial: room 13, at its third attempt, by `recover` itself. Nobody alive had to say so. The others lost a lease, not their lives. The dead letter says why:

# %%
print(stairs.dead()[0])

# %% [markdown]
# An attempt is counted at the hand-out, so a crash counts like an error. A counter that only `fail` moves would stand at 0 for ever, and room 13 would take the whole staff: one public report tells of a job that did so for 17 hours.

# %% [markdown] points=["C4"]
# ## What does a lease cost?
#
# **Predict.** Why 30 seconds? Why not two? ◯ shorter is better ◯ longer is safer ◯ each end costs something
#
# A porter who lives is not silent: the kit's worker renews its leases at a third of their length, the *heartbeat*. But there are pauses in which even the living say nothing: a garbage collection, a laptop lid, a virtual machine that moves. Let 200 porters each pause, most of them shortly. On a clock of our own, so that it takes no time:

# %% tags=["varies"] varies="names the version of the fake"
import random

hall = jk.connect("fake", clock=jk.VirtualClock())
rng = random.Random(5)
pauses = sorted(rng.expovariate(1 / 3) for _ in range(200))  # in seconds; 3 on average

# %% [markdown]
# All 200 claim, fall silent, and ack when they are back; each second somebody looks for leases that are over. Whoever is back too late was taken for dead, and the call is run by another, too. And a 201st is really dead.


# %%
def cost(lease):
    hall.flushdb()
    queue = jk.Queue(hall, "hall", lease=lease)
    queue.submit_many(jk.New("ring", id=f"room {n}") for n in range(201))
    *living, dead = queue.claim("porters", limit=201)
    waking, twice, found = list(zip(pauses, living, strict=True)), 0, None
    for second in range(1, 32):
        hall.clock.advance(1)
        back = [claim for pause, claim in waking if second - 1 < pause <= second]
        twice += queue.each("ack", back).count("stale")
        queue.recover(1000)
        if found is None and queue.get(dead.id).state == "ready":
            found = second
    return found, twice


# %% [markdown]
# An ack that is answered *stale* is a call run twice. For some leases:

# %%
costs = {lease: cost(lease) for lease in (1, 2, 5, 10, 30)}
plot.leases(costs, of=200, caption="Slow, or twice.")

# %% [markdown]
# Two ends of one rope. A short lease finds the dead quickly, and takes many of the living for dead. A long one lets everybody finish, and the dead porter's guest waits.

# %% [markdown]
# Choose a lease from the *pauses*, not from the work: longer than the longest silence that you expect of the living. How long a job takes does not matter, as long as somebody renews the lease (notebook 06). Drag the lease:

# %% tags=["widget"]
from ipywidgets import interact


@interact(lease=(1, 30))
def slow_or_twice(lease=5):
    found, twice = cost(lease)
    print(f"back after {found} s; run twice, though nobody died: {twice} of 200")


# %% [markdown]
# Without a slider, for a lease of 15 seconds:

# %%
found, twice = cost(15)
print(f"back after {found} s; run twice, though nobody died: {twice} of 200")

# %% [markdown]
# For these pauses, and pauses of 3 s on average are a bad night. The kit's lease is 30 s unless you say otherwise.

# %% [markdown] points=["A17"]
# ## Prove it: chaos
#
# One kill, at a moment that we chose, proves little. The explorer tried every moment, but of one small night, and its porters are no processes. So the kit has a campaign, which kills real ones at moments that nobody chose, on a server of its own. It is `jobkit chaos` in a terminal. Here a small one, 40 jobs and 3 kills, in some seconds:

# %% tags=["varies"] varies="real processes, killed at random"
from jobkit.chaos import Plan, campaign

try:
    report = campaign(Plan(workers=3, jobs=40, kills=3, lease=1))
    books = vars(report)
except jk.ServerUnavailable as error:
    books = {"no campaign": str(error)}

rows = [(name, f"{n:g}" if isinstance(n, float) else n) for name, n in books.items()]
plot.table([("the books", ""), *rows], caption="After the last kill.")

# %% [markdown]
# Read the books like an auditor. *lost* = submitted − done − dead: it must be 0. *extra_runs*: what the kills cost, in runs begun again. *double_effects*: 0, although runs were doubled. *kills_in_flight*: how many kills hit somebody at work; a kill that hits an idle worker proves nothing.

# %%
if "lost" in books:
    assert books["lost"] == books["double_effects"] == books["missing_effects"] == 0

# %% [markdown]
# So: a job survives the death of its worker, in mid-job, at any moment; it is charged for it; one that kills its workers ends; an effect by `once` counts once.
#
# **Not** proved: that a late porter can do no harm (06), that effects outside of Redis count once (07), that Redis itself survives. For the last one, `jobkit chaos --redis-restarts 3` kills the server, too (14).

# %% [markdown] points=["A17"]
# ## The same on the other Redis
#
# On the fake the three processes are as real, and die as truly. Only their Redis is a thread of this notebook, over TCP. Start with `JOBKIT_REDIS=fake make lab` to see the page there; the tests run it on both. Which one is this?

# %% tags=["varies"] varies="names the Redis that was found"
print(redis.server)

# %% [markdown]
# The explorer's Redis is always a small fake. But what it finds is a list of commands, and a real server can be given the same ones, step by step. (`replay` empties that server; by now nothing on it is needed.)

# %% tags=["varies"] varies="names the server, or says that there is none"
try:
    again = rung_twice.replay(jk.connect("private"))
except jk.ServerUnavailable as error:
    again = f"no real server here: {error}"

again

# %% [markdown] points=["A10", "A17", "C4"]
# ## Your turn: the round
#
# Every half minute one porter makes the round, and takes over what others have dropped. Write `sweep`. It takes over, on the name `me`, all entries of LINE that nobody has touched for LEASE ms, and returns their rooms. A room that was handed out three times already is not handed out again: its name goes into the set BURIED, and it is ticked off.
#
# There may be more than a hundred. Others make their round at the same time. And you may fall, after any of your commands.

# %%
LEASE, BURIED = 30_000, redis.prefix + "{night}:buried"


def sweep(redis, me):
    """Take over what is late, bury the thrice handed out; return the rooms."""
    # your lines


# %% [markdown]
# The check sets the stage anew for each trial: some rooms, handed out to Ada so many times, 31 seconds ago. (Folded away; you need not read it.)


# %% tags=["check"] jupyter={"source_hidden": true}
def stage(redis, rooms, fresh=()):
    redis.delete(LINE, BURIED)
    redis.xgroup_create(LINE, "porters", id="0", mkstream=True)
    entries = {
        room: redis.xadd(LINE, {"room": room}, id=f"{n}-1")
        for n, room in enumerate(rooms, 1)
    }
    redis.xreadgroup("porters", "Ada", {LINE: ">"})
    for n in range(1, max(rooms.values())):
        again = [entries[room] for room, times in rooms.items() if times > n]
        redis.xclaim(LINE, "porters", "Ada", 0, again)
    redis.clock.advance(31)
    for room in fresh:
        redis.xadd(LINE, {"room": room})
        redis.xreadgroup("porters", "Bob", {LINE: ">"})


def pending():
    rooms = {entry: fields[b"room"].decode() for entry, fields in redis.xrange(LINE)}
    return {
        rooms.get(p["message_id"], "?"): (p["consumer"].decode(), p["times_delivered"])
        for p in redis.xpending_range(LINE, "porters", "-", "+", 1000)
    }


def found_by(sweep, redis, me):
    found = sweep(redis, me) or ()
    return sorted(room.decode() if isinstance(room, bytes) else room for room in found)


def trial(sweep, rooms, fresh=()):
    stage(redis, rooms, fresh)
    return found_by(sweep, redis, "Bea")


# %% [markdown]
# For the accidents there is the explorer: two who make the round at once, and one who falls, with another who comes half a minute later.


# %% tags=["check"] jupyter={"source_hidden": true}
def accidents(sweep):
    rooms = {"room 9": 1, "room 13": 3}

    def round_of(r, w):
        return found_by(sweep, r, w.name)

    def round_later(r, w):
        time.sleep(31)
        return round_of(r, w)

    def no_room_has_two_porters(world):
        found = [room for answer in world.answers.values() for room in answer]
        twice = {room for room in found if found.count(room) > 1}
        assert not twice, f"two porters go to {', '.join(sorted(twice))}"

    def nothing_is_lost(world):
        found = {room for answer in world.answers.values() for room in answer}
        found |= {room.decode() for room in world.redis.smembers(BURIED)}
        assert found == {*rooms}, f"{', '.join(sorted({*rooms} - found))} is lost"

    given = {"given": lambda r: stage(r, rooms)}
    yield explore(round_of, round_of, finally_=no_room_has_two_porters, **given)
    crash = {"crashes": 1, "after_crash": round_later}
    yield explore(round_of, finally_=nothing_is_lost, **crash, **given)


# %% [markdown]
# Run this after each change. It stops at the first promise that is broken:


# %% tags=["check"]
def check(sweep):
    found = trial(sweep, {"room 9": 1, "room 7": 2})
    if found != ["room 7", "room 9"]:
        why = "Ada was silent for 31 s with rooms 7 and 9"
        return f"Not yet. {why}: wanted both, got {found}."
    if pending() != {"room 9": ("Bea", 2), "room 7": ("Bea", 3)}:
        why = "Both should stand in the book on your name, handed out once more"
        return f"Not yet. {why}; it says {pending()}."
    found = trial(sweep, {"room 9": 1}, fresh=["room 30"])
    if found != ["room 9"] or pending().get("room 30") != ("Bob", 1):
        why = "Bob has just taken room 30 and is at work"
        return f"Not yet. {why}: you took it from him."
    found = trial(sweep, {f"room {n}": 1 for n in range(250)})
    if len(found) != 250:
        why = f"Ada held 250 rooms, you took over {len(found)}"
        return f"Not yet. {why}: the rest waits for ever."
    found = trial(sweep, {"room 13": 3, "room 9": 1})
    if "room 13" in found:
        why = "Room 13 was handed out three times already"
        return f"Not yet. {why}, and you hand it out again."
    if redis.smembers(BURIED) != {b"room 13"} or "room 13" in pending():
        why = "Room 13 belongs into BURIED, and out of the book"
        return f"Not yet. {why}. Buried: {redis.smembers(BURIED)}."
    for report in accidents(sweep):
        if not report:
            return report
    return "Passed: nothing lost, nothing from the living, nobody sent twice."


check(sweep)

# %% [markdown]
# <details><summary>A hint: where to look</summary>
#
# XAUTOCLAIM does most of it. Its first answer is where to go on; `0-0` means that it is through. How often something was handed out is in the book: XPENDING of that one entry. And before you tick something off, be sure that it stands somewhere else.
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def sweep(redis, me):
#     rooms, start = [], "0-0"
#     while True:
#         start, entries, *_ = redis.xautoclaim(LINE, "porters", me, LEASE, start)
#         for entry, fields in entries:
#             [seen] = redis.xpending_range(LINE, "porters", entry, entry, 1)
#             if seen["times_delivered"] > 3:
#                 redis.sadd(BURIED, fields[b"room"])
#                 redis.xack(LINE, "porters", entry)
#                 redis.xdel(LINE, entry)
#             else:
#                 rooms.append(fields[b"room"].decode())
#         if start == b"0-0":
#             return rooms
# ```
#
# Taking over is a hand-out itself, so the fourth one shows as 4. SADD comes before XACK: fall in between, and the next round buries it again, which changes nothing. Read XPENDING first and XCLAIM by it without the ms, and you take from Cleo what she has just taken. The kit's `recover` is one script, and has no between.
#
# </details>

# %% [markdown] points=["C4"]
# ## Trade-offs
#
# | who says that a worker is dead | what you gain | what it costs |
# |---|---|---|
# | its silence: a lease | works for a crash, a hang, a broken network, a machine that is gone | one lease of waiting; a long pause looks like death |
# | its connection breaks | at once | a hiccup of the network looks like death, a half-open connection like life |
# | its supervisor starts it again under its old name | at once: it reads its own book | a machine that never comes back; names must be stable |
# | nobody: BLPOP | one command, no book | the job |
#
# The third one is a single command. With `0` in place of `>`, XREADGROUP reads what already stands on one's own name:

# %%
stage(redis, {"room 412": 1})
[[_, entries]] = redis.xreadgroup("porters", "Ada", {LINE: "0"})
[fields[b"room"] for _, fields in entries]

# %% [markdown] points=["A19"]
# ## Explain it without notes
#
# Say it aloud, or write it down: **a worker is killed in mid-job. Who notices, when, by what, and what can go wrong after that?** Then open.
#
# <details><summary>One good answer</summary>
#
# Nobody notices the death; its silence is noticed. A claimed job is lent for a lease, which the worker renews while it lives. Whoever looks for leases that are over hands the job out again, after one lease at most and a little. That hand-out is counted, so that a job which kills its workers ends in the dead letters, and it is handed out alone, so that it takes no others along. The first worker may have done its work before it died, or may only have paused: so the job can run twice, and its effect has to count once.
#
# </details>
#
# Yours had: silence, not death ◯ the lease and its renewal ◯ counted at hand-out ◯ twice is possible ◯ once in effect ◯

# %% [markdown] points=["A19"]
# ## Three questions an interviewer asks next
#
# <details><summary>"Why not exactly-once delivery?"</summary>
#
# Because after a crash nobody can tell whether the work was done: the ack is a message of its own, and may be what got lost. Hand out again and risk twice, or don't and risk never. At least once, with an effect that counts once, is the one that can be built.
#
# </details>
# <details><summary>"How long is your lease?"</summary>
#
# Longer than the longest pause of a living worker (collector, failover, a busy machine), and as short as users can wait after a crash. With a heartbeat it has nothing to do with how long jobs take. 30 s is a fair start; then look at how often `recover` finds something while nobody died.
#
# </details>
# <details><summary>"A job crashes every worker that touches it. What happens in your system?"</summary>
#
# Each hand-out is an attempt, counted before the handler runs. After the lease it is handed out alone, and at the limit it is buried with the reason "lease expired". So it costs `max_attempts` workers and as many leases. Something has to start workers again meanwhile: that is the supervisor's job.
#
# </details>

# %% [markdown]
# Next is 06, long jobs and zombies: what becomes of Ada, who only paused. The [start page](00_start.ipynb) says what is here.
