# %% [markdown]
# # 11 Cancel
#
# At the end you can cancel a job wherever it is, say who wins each race and why, tell the caller nothing that isn't true, and write a handler that stops when it is asked to.
#
# About 25 minutes, estimated from the number of words. All cells together run in some 10 seconds, measured.

# %% [markdown] points=["C8"]
# ## "Please don't ring"
#
# Eve has ordered a call for six. At five to six she rings the desk: please don't. Where is her slip now? On the list, in the tray, in a porter's hand, or on the list again because nobody picked up the first time.
#
# And what may the clerk promise her?

# %% tags=["varies"] varies="the first line names the Redis that was found"
import random

import jobkit as jk
from jobkit import plot
from jobkit.explore import explore

redis = jk.connect()


def afresh(name):
    """Delete all keys of a queue: a second run begins anew."""
    for key in redis.scan_iter(redis.prefix + "{" + name + "}*"):
        redis.delete(key)


# %% [markdown]
# **Predict.** Document C's worker reads the job's state once more, just before it runs it: if that is CANCELLED, it skips. Is Eve, once she was told "it is cancelled", safe from the telephone?
#
# ◯ yes ◯ yes, unless a worker dies ◯ no

# %% [markdown] points=["C8"]
# ## Tear up the card
#
# The shortest idea first. Each job has a card, so tear it up: without a card nobody knows what to do. One slip in the tray, and a clerk who hopes:


# %%
def a_call(r):
    r.hset("card", mapping={"guest": "Eve", "state": "ready"})
    r.rpush("tray", "room 412")


def tears_up(r):
    r.delete("card")


# %% [markdown]
# The porter looks for the card, and rings. Nobody picks up: he counts the try, and puts the slip back for later.


# %%
def rings_in_vain(r, w):
    if r.lpop("tray") and r.exists("card"):
        w.effect("ring 412")
        r.hincrby("card", "attempts", 1)
        r.rpush("tray", "room 412")


# %% [markdown]
# When both have gone home, the call should be on or off, with a card or without:


# %%
def all_or_nothing(world):
    card = world.redis.hgetall("card")
    slips = world.redis.llen("tray")
    assert not card or b"guest" in card, f"a card that says {card}, and {slips} slip"


explore(rings_in_vain, tears_up, given=a_call, finally_=all_or_nothing)

# %% [markdown]
# HINCRBY makes the card that it doesn't find. So the call is back, and its card says nothing but that it was tried once: not for whom, and not that it was cancelled. A key that is gone can't say no. **To cancel is to write something down, not to delete.**

# %% [markdown] points=["C8"]
# ## A flag, looked at once
#
# So the card stays, and gets a state. Document C's worker takes the slip, and reads the card just before it rings:


# %%
def looks_once(r, w):
    if r.lpop("tray"):
        state = r.hget("card", "state")
        if state != b"cancelled":
            w.effect("ring 412")


# %% [markdown]
# The clerk sets the flag. Then he gives Eve his word:


# %%
def flags(r, w):
    r.hset("card", "state", "cancelled")
    w.effect("tell Eve: cancelled")


# %% [markdown]
# The promise is Eve's: after she was told, the phone stays silent.


# %%
def told_is_told(world):
    said, told = [effect.text for effect in world.effects], "tell Eve: cancelled"
    after = said[said.index(told) :] if told in said else []
    assert "ring 412" not in after, "told that it is cancelled, and rung"


explore(looks_once, flags, given=a_call, finally_=told_is_told)

# %% [markdown]
# Read, flag, tell, ring. No one died. The porter's knowledge was one step old, which is all it takes. How many of all orders end like this?

# %%
found = []


def note(world):
    said = "".join(effect.text[0] for effect in world.effects)
    found.append({"tr": "told, then rung", "rt": "rung, then told"}.get(said, "silent"))


explore(looks_once, flags, given=a_call, finally_=note, reduce=False)
len(found)

# %% [markdown]
# And Eve's morning, in each of them:

# %%
mornings = ("silent", "rung, then told", "told, then rung")
rows = [("Eve's morning", "orders"), *((what, found.count(what)) for what in mornings)]
plot.table(rows, caption="Every order of the two.", bold=[3])

# %% [markdown]
# > **Document says / measured.** Document C: the worker checks the job's current state just before executing. It helps, most of the time. Measured: there are orders in which she is told and rung all the same.
#
# Would a second look help? It would be one step closer, and still a step. The phone is not in Redis, so between the last look and the ring there is always a gap.

# %% [markdown] points=["C8"]
# ## What can be had
#
# If the porter has set out, nobody can be sure to stop him. But that can be *known*. So there are two answers: **cancelled**, it will not run, and **requested**, it has begun, and we ask it to stop. Which one is true must be decided in one step.
#
# First step: taking the slip and saying so on the card become one. (The first line names the script, for the explorer's tables.)

# %%
TAKE = """-- take
local room = redis.call('LPOP', KEYS[1])
local state = redis.call('HGET', KEYS[2], 'state')
if not room or state == 'cancelled' then return 0 end
redis.call('HSET', KEYS[2], 'state', 'running')
return 1
"""

# %% [markdown]
# A slip whose card says cancelled is taken out of the tray and dropped: *acked and skipped*, as the document has it. The keys for this page:

# %%
TRAY, CARD = (redis.prefix + "{desk}:" + part for part in ("tray", "card"))


def given(state):
    redis.delete(TRAY, CARD)
    redis.rpush(TRAY, "room 412")
    redis.hset(CARD, mapping={"guest": "Eve", "state": state})


# %% [markdown]
# Ready, it is taken:

# %%
given("ready")
assert redis.eval(TAKE, 2, TRAY, CARD) == 1
assert redis.hget(CARD, "state") == b"running"

# %% [markdown]
# Cancelled, it is skipped, and the tray is empty:

# %%
given("cancelled")
assert redis.eval(TAKE, 2, TRAY, CARD) == 0
assert redis.llen(TRAY) == 0

# %% [markdown]
# Second step: cancelling reads the state and acts on it, in one.

# %%
CANCEL = """-- cancel
local state = redis.call('HGET', KEYS[1], 'state')
if state == 'running' then
  redis.call('HSET', KEYS[1], 'cancel', 1)
  return 'requested'
end
if not state or state == 'done' then return state or 'missing' end
redis.call('HSET', KEYS[1], 'state', 'cancelled')
return 'cancelled'
"""

# %% [markdown]
# In each state the answer is what is true there:


# %%
def answer(state):
    given(state)
    return redis.eval(CANCEL, 1, CARD).decode()


# %% [markdown]
# Before, during and after:

# %%
assert answer("ready") == "cancelled"
assert answer("running") == "requested"
assert answer("done") == "done"

# %% [markdown]
# Third step: a failed try asks whether it was requested, before it puts the slip back. Else the retry would undo the cancel.

# %%
FAIL = """-- fail
if redis.call('HGET', KEYS[2], 'cancel') then
  redis.call('HSET', KEYS[2], 'state', 'cancelled')
  return 'cancelled'
end
redis.call('HSET', KEYS[2], 'state', 'ready')
redis.call('RPUSH', KEYS[1], 'room 412')
return 'again'
"""

# %% [markdown]
# Requested while it ran, and the try failed: it does not come back.

# %%
assert answer("running") == "requested"
redis.delete(TRAY)
assert redis.eval(FAIL, 2, TRAY, CARD) == b"cancelled"
assert redis.llen(TRAY) == 0

# %% [markdown]
# And the two of them again. The porter rings in vain, and tries a second time if the slip is back:


# %%
def porter(r, w):
    for _ in range(2):
        if r.eval(TAKE, 2, "tray", "card"):
            w.effect("ring 412")
            r.eval(FAIL, 2, "tray", "card")


# %% [markdown]
# What the clerk hears, he tells:


# %%
def clerk(r, w):
    said = r.eval(CANCEL, 1, "card").decode()
    w.effect(f"tell Eve: {said}")


# %% [markdown]
# In every order, with a death of one of them:

# %%
rules = {"given": a_call, "finally_": told_is_told}
explore(porter, clerk, **rules, crashes=1)

# %% [markdown]
# Clean. And if an answer gets lost, so that a script is sent again?

# %%
explore(porter, clerk, **rules, lost_replies=1)

# %% [markdown]
# FAIL puts the slip back, and its answer is lost. Meanwhile the call is cancelled, and Eve is told. Then FAIL arrives a second time, and puts back what is not there any more. So, fourth step: only what is running can fail.

# %%
FAIL = """-- fail
if redis.call('HGET', KEYS[2], 'state') ~= 'running' then return 'too late' end
if redis.call('HGET', KEYS[2], 'cancel') then
  redis.call('HSET', KEYS[2], 'state', 'cancelled')
  return 'cancelled'
end
redis.call('HSET', KEYS[2], 'state', 'ready')
redis.call('RPUSH', KEYS[1], 'room 412')
return 'again'
"""

# %% [markdown]
# All accidents at once:

# %%
assert answer("ready") == "cancelled"
assert redis.eval(FAIL, 2, TRAY, CARD) == b"too late"
accidents = {"crashes": 1, "lost_replies": 1}
explore(porter, clerk, **rules, **accidents)

# %% [markdown]
# The clerk can't stop a porter who has set out, but he never says that he has. (With a second porter the call may be running again, and a late FAIL would hit the wrong run. Against that the kit compares tokens, notebook 07.)

# %% [markdown] points=["C8"]
# ## The same with the kit
#
# `queue.cancel(id)`, one script, for all that a job can be. Each row is a job that we bring into that state. **Predict** the middle column first.


# %%
def brought(queue, state):
    """A job in that state, and its claim if it is running."""
    queue.submit(
        "ring", id=state, delay=600 if state == "scheduled" else 0, max_attempts=2
    )
    if state in ("scheduled", "ready"):
        return None
    [claim] = queue.claim("Ada")
    if state == "waiting for a retry":
        queue.fail(claim, "engaged", delay=60)
    elif state == "dead":
        queue.fail(claim, "no such room", permanent=True)
    elif state == "done":
        queue.ack(claim)
    return claim


# %% [markdown]
# `cancel` answers, or refuses what comes too late:


# %%
def cancel(queue, id):
    try:
        return queue.cancel(id)
    except (jk.WrongState, jk.UnknownJob) as refused:
        return type(refused).__name__


# %% [markdown]
# All six, and one that was never submitted:

# %%
afresh("calls")
calls = jk.Queue(redis, "calls", rng=random.Random(11))
states = ("scheduled", "waiting for a retry", "running", "done", "dead", "ready")
rows = [("it is", "cancel answers", "and then it is")]
for state in states:
    brought(calls, state)
    rows.append((state, cancel(calls, state), calls.get(state).state))

rows.append(("never submitted", cancel(calls, "room 1"), "-"))
plot.table(rows, caption="Cancelling a job, in each state.")

# %% [markdown]
# Four can be cancelled, one of them only by asking; what is over is refused, with an error that can't be overlooked. "Done" is no failure of the cancel. It is an answer that Eve must hear: you *were* rung.
#
# One thing is delicate. The job that was ready is cancelled, and its entry still lies in the stream. To look for it there would mean to read the whole stream; so it stays, and a claim will skip it:

# %%
afresh("calls")
brought(calls, "ready")
calls.cancel("ready")
rows = [("", "ready, as counted", "its state", "what a claim gets")]
rows.append(("after the cancel", calls.counts().ready, calls.get("ready").state, "?"))
got = calls.claim("Bob")
rows.append(("after a claim", calls.counts().ready, calls.get("ready").state, got))
plot.table(rows, caption="A cancelled job that was ready.")

# %% [markdown]
# Counted as ready until then, and never run. `claim` looks at the record in the same script that hands out, so there is no moment in between.

# %% [markdown] points=["C8"]
# ## The races
#
# Cancel against claim: who wins? Let us assert that the guest always does, and let the explorer draw why not.


# %%
def a_ready_call(r):
    jk.Queue(r, "q").submit("ring", id="room 412")


# %% [markdown]
# A is the worker, B is the guest:


# %%
def guest(r):
    return cancel(jk.Queue(r, "q"), "room 412")


def claims(r):
    return [claim.id for claim in jk.Queue(r, "q").claim("Ada")]


# %% [markdown]
# And what each guest would like:


# %%
def the_guest_wins(world):
    assert world.answers["B"] == "cancelled", f"the guest hears: {world.answers['B']}"


explore(claims, guest, given=a_ready_call, finally_=the_guest_wins)

# %% [markdown]
# One step each, so whoever comes first has won, and both know it. There is nothing to mend. The same question for a worker who is about to ack. The claim is made beforehand:

# %%
hand = {}


def a_running_call(r):
    a_ready_call(r)
    [hand["claim"]] = jk.Queue(r, "q").claim("Ada")


# %% [markdown]
# He acks, and she cancels:


# %%
def acks(r):
    jk.Queue(r, "q").ack(hand["claim"])
    return "done"


explore(acks, guest, given=a_running_call, finally_=the_guest_wins)

# %% [markdown]
# Now all races on one page. A worker's step and a guest's, in both orders; for each, what they hear and what becomes of the job. The other steps:


# %%
def queue_step(verb):
    def step(r):
        queue = jk.Queue(r, "q")
        if verb == "fail":
            return queue.fail(hand["claim"], "engaged", delay=60)
        if verb == "release":
            return queue.release(hand["claim"])
        moved = queue.promote() if verb == "promote" else queue.recover()
        return f"{moved[0]} moved"

    return step


# %% [markdown]
# Two more beginnings, a job that is due but still on the list, and one whose lease is over:


# %%
def a_due_call(r):
    jk.Queue(r, "q").submit("ring", id="room 412", delay=5)
    r.clock.advance(5)


def a_late_call(r):
    a_running_call(r)
    r.clock.advance(31)


# %% [markdown]
# Six races:

# %%
RACES = {
    "promote": (queue_step("promote"), a_due_call),
    "claim": (claims, a_ready_call),
    "ack": (acks, a_running_call),
    "fail": (queue_step("fail"), a_running_call),
    "release": (queue_step("release"), a_running_call),
    "recover": (queue_step("recover"), a_late_call),
}

# %% [markdown]
# A promise that only takes notes:


# %%
def race(verb):
    step, given = RACES[verb]
    rows = []

    def note(world):
        first = verb if world.events[0].worker == "A" else "cancel"
        job = jk.Queue(world.redis, "q").get("room 412")
        said = (world.answers["B"], world.answers["A"] or "nothing", job.state)
        rows.append((f"cancel, {verb}", first, *said))

    assert explore(step, guest, given=given, finally_=note, reduce=False)
    return sorted(rows, key=lambda row: row[1] != "cancel")


rows = [row for verb in RACES for row in race(verb)]
head = ("race", "first is", "the guest hears", "the worker hears", "in the end")
plot.table([head, *rows], caption="Who wins.", bold=[5])

# %% [markdown]
# Read it by columns. *cancelled* in the third means that it never runs (again). *requested* is followed by one thing that counts all the same: an **ack** (the bold row). The work was done; to call it cancelled would be a lie about the guest's bill. All that would make it run again, a fail, a release, a recover, cancels it.

# %% [markdown]
# The table in two sentences, which are worth remembering: **Before the claim the guest wins. After it, only a finished run wins against her.**
#
# And in no race was there a third outcome, such as cancelled and yet on the list. That promise, with a death and a lost answer:


# %%
def off_for_good(world):
    queue = jk.Queue(world.redis, "q")
    if world.answers.get("B") == "cancelled":
        world.redis.clock.advance(3600)
        queue.promote()
        queue.recover()
        assert queue.claim("Cleo") == [], "cancelled, and handed out"


for step, given in RACES.values():
    assert explore(step, guest, given=given, finally_=off_for_good, **accidents)

explore(claims, guest, given=a_ready_call, finally_=off_for_good, **accidents)

# %% [markdown] points=["C8"]
# ## A handler that listens
#
# A request is only worth something if somebody looks at it. The kit's worker asks Redis at each *heartbeat*, when it renews the lease, a third of a lease apart. The handler asks with `job.check()`, which costs nothing: no command is sent.
#
# On a clock of our own, a porter who walks twenty floors, five seconds each. On floor 3 the guest changes her mind.

# %% tags=["varies"] varies="names the version of the fake"
hall = jk.connect("fake", clock=jk.VirtualClock())

# %% [markdown]
# (The request comes from elsewhere, of course. Here the handler plays both.)


# %%
def walk(lease, *, listens, at=3, floors=20, each=5):
    hall.flushdb()
    queue, walked = jk.Queue(hall, "floors", lease=lease), []
    worker = jk.Worker(queue, name="Ada", rng=random.Random(1))

    @worker.task
    def tour(job):
        for floor in range(floors):
            if floor == at:
                queue.cancel(job.id)
            hall.clock.sleep(each)
            walked.append(floor)
            if listens:
                job.check()

    queue.submit("tour", id="tour")
    became = worker.step()[0].became
    return len(walked), became, queue


# %% [markdown]
# One who never looks, and one who does:

# %%
rows = [("the handler", "floors walked", "became")]
for name, listens in (("never looks", False), ("job.check() on each floor", True)):
    walked, became, _ = walk(30, listens=listens)
    rows.append((name, walked, became))

plot.table(rows, caption="Cancelled after floor 3. Heartbeats every 10 s.")

# %% [markdown]
# Who never looks walks all twenty, and is *done*, since his ack counts. Who looks stops on floor 4, at the first heartbeat after the request: `check` raised `Cancelled`, and the job became cancelled. Its history says so:

# %%
_, _, queue = walk(30, listens=True)
print(*queue.history("tour"), sep="\n")

# %% [markdown]
# How soon? At the next heartbeat, and then at the next look. So the lease decides. A handler that looks every second, cancelled at ten different moments:


# %%
def reactions(lease):
    moments = range(61, 181, 12)
    long = {"listens": True, "floors": 600, "each": 1}
    return [walk(lease, at=at, **long)[0] - at for at in moments]


waits = {lease: reactions(lease) for lease in (3, 15, 30, 60, 120, 300)}

# %% [markdown]
# The slowest of the ten, for each lease, beside the period of its heartbeat:

# %%
plot.lines(
    {
        "the slowest of ten": [(lease, max(w)) for lease, w in waits.items()],
        "a third of the lease": [(lease, lease / 3) for lease in waits],
    },
    x="lease, in seconds",
    y="seconds from the request to the stop",
    caption="A handler that looks each second hears of it within a third of its lease.",
    twin="The slowest of ten takes nearly a third of the lease, and never more.",
)

# %% [markdown]
# A third of the lease at most, and the time until the next look. A short lease hears sooner; it costs more commands, and takes more of the living for dead (notebook 05). Drag it:

# %% tags=["widget"]
from ipywidgets import IntSlider, interact


@interact(lease=IntSlider(30, min=3, max=180, step=3, continuous_update=False))
def stops(lease):
    waits = reactions(lease)
    print(f"stops {min(waits)} to {max(waits)} s after the request")


# %% [markdown]
# Without a slider, for a lease of three minutes:

# %%
waits = reactions(180)
print(f"stops {min(waits)} to {max(waits)} s after the request")
assert max(waits) <= 180 / 3 + 1

# %% [markdown]
# What he did on the first floors stays done. A cancel is no undo: a handler that has charged a card has to give the money back itself, and `except jk.Cancelled` is the place for it.

# %% [markdown] points=["C8"]
# ## Proved, and not proved
#
# Chance again: calls are submitted, promoted, claimed, acked, failed, lost and cancelled, in any order. Two promises: what was answered *cancelled* is never handed out again, nor is what was *requested*.


# %%
def settles(queue, claim, rng):
    try:
        if rng.random() < 0.5:
            queue.ack(claim)
        else:
            queue.fail(claim, "engaged", delay=20)
    except jk.StaleClaim:
        pass  # its lease was over


# %% [markdown]
# Some claims are never settled: their porters are lost, and the lease ends.


# %%
def prove(redis, rng, rounds=200):
    queue = jk.Queue(redis, "proof", lease=25, rng=rng)
    redis.delete(queue.keys.delayed, *redis.scan_iter(redis.prefix + "{proof}*"))
    heard, held = {"cancelled": set(), "requested": set()}, []
    for n in range(rounds):
        queue.submit("ring", id=f"j{n}", delay=rng.choice([0, 20]))
        for claim in queue.claim("Ada", limit=2):
            assert claim.id not in heard["cancelled"] | heard["requested"]
            held.append(claim)
        id = f"j{rng.randrange(max(0, n - 20), n + 1)}"
        heard.get(cancel(queue, id), set()).add(id)
        if held and rng.random() < 0.8:
            settles(queue, held.pop(rng.randrange(len(held))), rng)
        if n % 5 == 0:
            redis.clock.advance(15)
            queue.promote()
            queue.recover()
    assert min(map(len, heard.values())) > 10
    return f"{rounds} calls: none was handed out after its cancel"


prove(redis, random.Random(1))

# %% [markdown]
# **Not** proved: that a handler looks, that it looks often enough, and that it tidies up when it stops. And nothing is said of a guest who asks *after* the phone rang: for that there is only the answer "done".

# %% [markdown] points=["C8"]
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
# And the race that document C loses, on a real server if there is one, command by command:

# %% tags=["varies"] varies="names the server, or says that there is none"
raced = explore(looks_once, flags, given=a_call, finally_=told_is_told)
try:
    again = raced.replay(jk.connect("private"))
except jk.ServerUnavailable as error:
    again = f"no real server here: {error}"

again

# %% [markdown] points=["C8"]
# ## Your turn: the button at the desk
#
# Write `call_off(redis, room)`. A room's card is the hash `CARDS + room`, with the field `state`. It returns
#
# - `"cancelled"` for a call that is `scheduled` or `ready`. It leaves the sorted set LIST, or the list TRAY, and its state becomes `cancelled`;
# - `"requested"` for one that is `running`: its card gets the field `cancel` with 1;
# - `"done"` for one that is done, and `"missing"` if there is no card. Both change nothing.
#
# Porters work meanwhile, and you may fall after any command.

# %%
DESK = redis.prefix + "{desk}:"
LIST, TRAY, CARDS = DESK + "list", DESK + "tray", DESK + "card:"


def call_off(redis, room):
    """Cancel a call, and say what is true: cancelled, requested, done or missing."""
    # your lines


# %% [markdown]
# The stage, and a porter who takes room 412 from wherever it is and acks it later. When he acks, he notes whether he had heard of a cancel. (Folded away; you need not read it.)


# %% tags=["check"] jupyter={"source_hidden": true}
CARD_412 = CARDS + "room 412"
TAKES = """-- take
local n = redis.call('LREM', KEYS[1], 0, ARGV[1]) + redis.call('ZREM', KEYS[2], ARGV[1])
if n > 0 then redis.call('HSET', KEYS[3], 'state', 'running') end
return n
"""
ACKS = """-- ack
local heard = redis.call('HGET', KEYS[1], 'cancel') or 0
redis.call('HSET', KEYS[1], 'state', 'done', 'heard', heard)
"""


def stage(r, state):
    r.delete(LIST, TRAY, CARD_412)
    r.zadd(LIST, {"room 7": 5_000_000})
    r.rpush(TRAY, "room 9")
    if state != "missing":
        r.hset(CARD_412, mapping={"guest": "Eve", "state": state})
    if state == "scheduled":
        r.zadd(LIST, {"room 412": 6_000_000})
    if state == "ready":
        r.rpush(TRAY, "room 412")


def sight(r):
    """What the card says, and where the call is."""
    card = {k.decode(): v.decode() for k, v in r.hgetall(CARD_412).items()}
    listed = r.zscore(LIST, "room 412") is not None
    return card, listed, r.lrange(TRAY, 0, -1).count(b"room 412")


def said_by(call_off, r):
    said = call_off(r, "room 412")
    return said.decode() if isinstance(said, bytes) else said


# %% [markdown]
# The accidents: a porter at the same time, and a fall.


# %% tags=["check"] jupyter={"source_hidden": true}
def accidents_of(call_off):
    def works(r):
        if taken := r.eval(TAKES, 3, TRAY, LIST, CARD_412, "room 412"):
            r.eval(ACKS, 1, CARD_412)
        return taken

    def calls_off(r):
        return said_by(call_off, r)

    def cancelled_is_never_run(world):
        said, run = world.answers["B"], world.answers["A"]
        assert said != "cancelled" or not run, (
            "Eve hears 'cancelled', and the call is run"
        )

    def requested_is_heard(world):
        card, _, _ = sight(world.redis)
        heard = card.get("heard") == "1"
        assert world.answers["B"] != "requested" or heard, (
            "requested, and nobody heard it"
        )

    def what_is_done_stays_done(world):
        state = sight(world.redis)[0]["state"]
        wanted = "done" if world.answers["A"] else "cancelled"
        assert state == wanted, (
            f"the porter took {world.answers['A']}, the card: {state}"
        )

    def whole_or_not_at_all(world):
        card, listed, slips = sight(world.redis)
        off = card["state"] == "cancelled"
        assert off != bool(listed + slips), (
            f"card: {card['state']}, in {listed + slips} places"
        )

    race = [cancelled_is_never_run, requested_is_heard, what_is_done_stays_done]
    for state in ("ready", "scheduled"):
        given = {"given": lambda r, state=state: stage(r, state)}
        yield explore(works, calls_off, finally_=race, **given)
        yield explore(calls_off, finally_=whole_or_not_at_all, crashes=1, **given)


# %% [markdown]
# Run this after each change. It stops at the first promise that is broken:


# %% tags=["check"]
EVE = {"guest": "Eve"}
WANTED = {
    "scheduled": ("cancelled", EVE | {"state": "cancelled"}),
    "ready": ("cancelled", EVE | {"state": "cancelled"}),
    "running": ("requested", EVE | {"state": "running", "cancel": "1"}),
    "done": ("done", EVE | {"state": "done"}),
    "missing": ("missing", {}),
}


def check(call_off):
    for state, wanted in WANTED.items():
        stage(redis, state)
        said = said_by(call_off, redis)
        card, listed, slips = sight(redis)
        if (said, card) != wanted:
            answer, fields = wanted
            return f"Not yet. {state}: wanted {answer}, {fields}; got {said}, {card}."
        if listed or slips:
            return f"Not yet. {state}: it was called off, and a porter still finds it."
        if (redis.zcard(LIST), redis.llen(TRAY)) != (1, 1):
            return f"Not yet. {state}: other rooms lost their calls, too."
    for report in accidents_of(call_off):
        if not report:
            return report
    return "Passed: whoever is first, and wherever you fall, Eve hears the truth."


check(call_off)

# %% [markdown]
# <details><summary>First hint: where to look</summary>
#
# CANCEL, above, has all but the two places from which the call must go.
#
# </details>
# <details><summary>Second hint: what is needed</summary>
#
# The state must be read, judged and changed in one step, or a porter takes the call between your look and your write. LREM takes a member off a list, ZREM off a sorted set.
#
# </details>
# <details><summary>Third hint: the shape of the code</summary>
#
# A script with three keys, TRAY, LIST and the card. HGET of the state, two branches that return at once (no card or done; running), and then three writes.
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def call_off(redis, room):
#     script = """
#     local state = redis.call('HGET', KEYS[3], 'state')
#     if not state or state == 'done' then return state or 'missing' end
#     if state == 'running' then
#       redis.call('HSET', KEYS[3], 'cancel', 1)
#       return 'requested'
#     end
#     redis.call('LREM', KEYS[1], 0, ARGV[1])
#     redis.call('ZREM', KEYS[2], ARGV[1])
#     redis.call('HSET', KEYS[3], 'state', 'cancelled')
#     return 'cancelled'
#     """
#     return redis.eval(script, 3, TRAY, LIST, CARDS + room, room).decode()
# ```
#
# A WATCH on the card, then MULTI, passes too. LREM walks through the whole tray, so for a long one do as the kit does: mark the card, and let the claim skip.
#
# </details>

# %% [markdown] points=["C8"]
# ## What you trade
#
# | you choose | and get | and pay with |
# |---|---|---|
# | delete the job | nothing to store | half a job that comes back |
# | a flag, looked at once | two lines of code | "cancelled" is sometimes a lie |
# | one step, two answers | the caller hears the truth | a caller who must understand *requested* |
# | skip at the claim | a cancel that costs the same in any queue | an entry that counts as ready for a while |
# | look at each heartbeat | long jobs that stop | up to a third of a lease of waiting |
# | kill the process | it stops now | all that it was in the middle of |

# %% [markdown] points=["A19"]
# **Say it without notes.** Somebody cancels a job. What do you answer, and how do you know that it is true? *(Four sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# It depends on where the job is, and the cancel finds that out and acts on it in one step on the server. Before the claim it is cancelled for good: off the delayed set, or marked, so that the claim, one step itself, skips it. After the claim I can only answer "requested": the worker hears of it at its next heartbeat, and the handler stops where it looks; if it finishes first, its ack counts, and if it fails or its worker dies, it is cancelled instead of retried. A state that is only checked just before running leaves a gap between look and act, and deleting the record lets a retry bring half of it back.
#
# </details>
#
# Yours had: one step ◯ two answers ◯ an ack still counts ◯ no retry after it ◯ why a look is not enough ◯

# %% [markdown] points=["C8"]
# ## Three questions an interviewer asks next
#
# **"A user cancels an order while its payment runs. What do you show?"**
# <details><summary>A short answer</summary>
#
# "Cancelling", not "cancelled", until the job has ended. If it ended done, the payment is there, and what follows is a refund: a new job with an id of its own, submitted in the same step that finds it out. If it ended cancelled, the handler had stopped before the charge, or given it back.
#
# </details>
#
# **"Cancel 100,000 jobs of one customer."**
# <details><summary>A short answer</summary>
#
# Not 100,000 keys in one script: Redis serves nobody else meanwhile. In chunks of some hundred, by ids that you kept per customer (a set, in the same hash tag). Or mark the customer as closed, and let each handler look that up before it works: one write, and the jobs end as they come up.
#
# </details>
#
# **"The handler sits in a C library for an hour and never looks. And now?"**
# <details><summary>A short answer</summary>
#
# A thread can't be killed. Either the work goes to a process of its own, which can be; or it gets a maximum run time, after which its claim is settled, its result refused by the token, and the worker process replaced. The honest answer to the caller is "requested" all that time.
#
# </details>

# %% [markdown]
# The [start page](00_start.ipynb) says what is here.
