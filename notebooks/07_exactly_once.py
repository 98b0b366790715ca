# %% [markdown]
# # 07 Exactly once in effect
#
# At the end you can say why a job sometimes runs twice and why nobody can prevent it, show three orders of effect and mark and what a crash makes of each, and write a handler of which two runs count as one, inside Redis and outside.
#
# About 30 minutes, estimated from the number of words. All cells together run in less than half a minute.

# %% [markdown] points=["A11"]
# ## The bar bill
#
# Room 412 orders a bottle, 12 euros. A porter carries it up, writes 12 on the room's bill, and ticks off the order. Between the bill and the tick he faints. His colleague finds an order that nobody ticked off.
#
# **Predict.** What is on the bill in the morning? ◯ 0 ◯ 12 ◯ 24 ◯ it depends

# %% tags=["varies"] varies="the first line names the Redis that was found"
import random

import jobkit as jk
from jobkit import plot

redis = jk.connect()
clock = redis.clock

for name in ("bar", "again", "keeps-", "till"):  # a second run begins anew
    for key in redis.scan_iter(redis.prefix + "{" + name + "*"):
        redis.delete(key)

# %% [markdown]
# An order is a job of the kit. A porter *claims* it, works, and *acks*: that is the tick. The claim is lent for 30 seconds, the *lease*; who has not acked by then is taken for dead (notebook 05).

# %%
queue = jk.Queue(redis, "bar", lease=30, rng=random.Random(7))
BILL = jk.effect_key(queue, "bill:412")


def bill():
    return int(redis.get(BILL) or 0)


# %% [markdown]
# Ada claims the order, writes it on the bill, and faints:

# %%
queue.submit("bottle", {"euros": 12}, id="order-1")
[ada] = queue.claim("Ada")
redis.incrby(BILL, ada.args["euros"])

# %% [markdown]
# Her lease runs out, and the order is ready again. A little later Bob does what it says, all of it:

# %%
clock.advance(31)
queue.recover()
clock.advance(15)
[bob] = queue.claim("Bob")
redis.incrby(BILL, bob.args["euros"])
queue.ack(bob)
bill()

# %% [markdown]
# **24**, for one bottle. Nobody made a mistake. Here is the life of order 1:

# %% tags=["varies"] varies="a server's own milliseconds pass between the steps"
plot.attempts(queue, "order-1")

# %% [markdown] points=["A11"]
# ## Tick it off first?
#
# **Predict.** Then nobody can find it a second time. What does the guest pay now, if a porter faints between his two steps? ◯ 0 ◯ 12 ◯ 24
#
# For the explorer (notebook 00) a porter is a function of his Redis client. How the evening begins, and how each porter begins his turn:


# %%
def open_bar(r):
    jk.Queue(r, "bar", lease=30).submit("bottle", id="order-1")


def takes(r):
    bar = jk.Queue(r, "bar", lease=30)
    bar.recover()
    return bar, bar.claim("a porter")


# %% [markdown]
# Both kinds of porter:


# %%
def bill_first(r):
    bar, orders = takes(r)
    for order in orders:
        r.incrby("bill", 12)
        bar.ack(order)


def tick_first(r):
    bar, orders = takes(r)
    for order in orders:
        bar.ack(order)
        r.incrby("bill", 12)


# %% [markdown]
# With `crashes=1` the explorer lets a porter die, before each of his commands in turn; after a death a colleague comes, 31 seconds later. The promise here promises nothing: it notes, night after night, what the guest pays.

# %%
import time

from jobkit.explore import explore


def euros(porter, given=None):
    """What the guest pays: if nobody dies, and at the worst moment for a death."""
    paid = []

    def note(world):
        paid.append(int(world.redis.get("bill") or 0))

    def colleague(r):
        time.sleep(31)
        porter(r)

    explore(porter, given=given, finally_=note, crashes=1, after_crash=colleague)
    return paid[0], max(paid, key=lambda euros: abs(euros - 12))


# %% [markdown]
# (`sleep` takes no time in there: it waits until nobody else has anything to do.)

# %%
rows = [
    ("the bill first", *euros(bill_first, open_bar)),
    ("the tick first", *euros(tick_first, open_bar)),
]
head = ("order of the steps", "nobody dies", "the worst death")
plot.table([head, *rows], caption="Euros for a bottle of 12.")

# %% [markdown]
# Two steps in two places, so there is a gap, and a gap has two sides. *At least once* or *at most once*: this is all that a queue alone can offer. The kit chooses at least once, as nearly all queues do, since what came twice can be recognised, and what was lost can't.
#
# So the job of the handler is: **twice must count as once**.

# %% [markdown] points=["A11", "C6"]
# ## First cure: have I done this before?
#
# One of our documents says it in two lines: if the id of the job exists, return; else save it. Then work. A porter of that kind, and what the guest expects:


# %%
def looks_first(r):
    if not r.exists("mark:1"):
        r.set("mark:1", "done")
        r.incrby("bill", 12)


def pays_once(world):
    bill = int(world.redis.get("bill") or 0)
    assert bill == 12, f"the guest pays {bill}"


# %% [markdown]
# **Predict.** For one porter it is right. And for two? ◯ right ◯ wrong ◯ right, but for a rare accident
#
# When are there two with the same order? When the first is not dead, only slow: its lease is over, the order was handed out again, and it goes on working. So, as in notebook 02, every order of two:

# %%
explore(looks_first, looks_first, finally_=pays_once)

# %% [markdown]
# Both asked before either had saved. One switch at the wrong moment is enough.
#
# > **Document says / measured.** Document C: "dedup by job id", as `existsById`, then `save`. Measured: two workers of that kind charge twice, in six steps. It does help against a run that begins when the other has ended. But the slow porter is no rare bird.

# %% [markdown] points=["C6"]
# ## Asking and marking in one command
#
# Redis can do both at once: SET with NX writes only if nothing is there, and answers whether it did.


# %%
def marks_first(r):
    if r.set("mark:1", "done", nx=True):
        r.incrby("bill", 12)


explore(marks_first, marks_first, finally_=pays_once)

# %% [markdown]
# No schedule of two porters fails, and "not tried: crashes". So let one die, anywhere. After a death, R comes and does it all:

# %%
explore(marks_first, finally_=pays_once, crashes=1, after_crash=marks_first)

# %% [markdown]
# Nothing on the bill. The mark tells R that it was done. It lies: a mark that is set *before* the work says only that somebody meant to.
#
# Then the effect first, and the mark when it is true:


# %%
def marks_last(r):
    if not r.exists("mark:1"):
        r.incrby("bill", 12)
        r.set("mark:1", "done")


explore(marks_last, finally_=pays_once, crashes=1, after_crash=marks_last)

# %% [markdown]
# Never, or twice. It is the gap again, in a new place: we have only moved it from "bill and tick" to "bill and mark".
#
# But there is a difference. The tick is in the queue and the bill is elsewhere. *Mark and bill can lie in the same place.*

# %% [markdown] points=["A11", "C6"]
# ## The cure: effect and mark in one step
#
# Both are in Redis, so one script can write them. (Lua in ten minutes: notebook 02.)

# %%
BOTH = """
if redis.call('SET', KEYS[1], 'done', 'NX') then
  redis.call('INCRBY', KEYS[2], ARGV[1])
  return 1
end
return 0
"""


def one_step(r):
    r.eval(BOTH, 2, "mark:1", "bill", 12)


# %% [markdown]
# It has no "in between". Two porters, of whom one may die, and a colleague after that; and, while we are at it, one answer of Redis may get lost:

# %%
accidents = {"crashes": 1, "lost_replies": 1}
explore(one_step, one_step, finally_=pays_once, after_crash=one_step, **accidents)

# %% [markdown]
# Clean. The three on one page, how often the bottle is charged:

# %%
found = {
    porter.__name__: [paid // 12 for paid in euros(porter)]
    for porter in (marks_first, marks_last, one_step)
}
rows = [(name.replace("_", " "), *times) for name, times in found.items()]
plot.table(
    [("the porter", "nobody dies", "the worst death"), *rows],
    caption="How often was the bottle charged?",
    bold=[3],
)

# %% [markdown]
# The three orders give [1, 0], [1, 2] and [1, 1]. This small table is worth knowing by heart: the first loses, the second doubles, and only the third is right.

# %%
assert found == {"marks_first": [1, 0], "marks_last": [1, 2], "one_step": [1, 1]}

# %% [markdown]
# Nobody has to die for it. A porter sends INCRBY, the connection breaks, and he has no answer. He is no fool, and sends it again:

# %%
from redis.exceptions import ConnectionError as NoAnswer


def insists(r):
    try:
        r.incrby("bill", 12)
    except NoAnswer:
        r.incrby("bill", 12)


explore(insists, finally_=pays_once, lost_replies=1)

# %% [markdown]
# The question had arrived; only its answer was lost. With effect and mark in one step "again" is harmless:


# %%
def insists_in_one_step(r):
    try:
        one_step(r)
    except NoAnswer:
        one_step(r)


explore(insists_in_one_step, finally_=pays_once, lost_replies=1)

# %% [markdown]
# What "clean" does not say: anything about a mark that ends too early, or a Redis that forgets its last second. Both come below. The explorer looked at a few commands, on a server that keeps its word.

# %% [markdown] points=["A11"]
# ## Effects that need no mark
#
# Sometimes the effect itself can be written so that twice *is* once. The bill as a sum has to be added to. The bill as a card, with one line per order, has not:

# %%
LINES = redis.prefix + "{bar}:lines:412"
redis.delete(BILL, LINES)
for _ in range(2):  # two runs of order 1
    redis.incrby(BILL, 12)
    redis.hset(LINES, "order-1", 12)

total = sum(map(int, redis.hvals(LINES)))
rows = [("a sum, INCRBY", bill()), ("a line per order, HSET", total)]
head = ("the bill is", "after two runs")
plot.table([head, *rows], caption="To add twice is twice. To write down twice is once.")

# %% [markdown]
# Set instead of add, insert under a key instead of append: where you can, do. It needs no mark, and no crash can part what is one. Where you can't, mark and effect in one step.

# %% [markdown] points=["A11", "C6"]
# ## The same with the kit
#
# `jk.once` is this script for a job of the kit: you give it the claim, and the Redis commands that are the effect. A handler:

# %%
worker = jk.Worker(queue, rng=random.Random(7))


@worker.task
def bottle(job, euros):
    return jk.once(queue, job, ("INCRBY", BILL, euros))


# %% [markdown]
# Again Ada dies after the work and before the ack. Bob is the kit's worker, and runs the same handler:

# %%
redis.delete(BILL)
queue.submit("bottle", {"euros": 12}, id="order-2")
[ada] = queue.claim("Ada")
first = bottle(ada, 12)
clock.advance(31)
queue.recover()
worker.step()

# %% [markdown]
# Two runs. And on the bill?

# %%
head = ("did Ada's run apply it?", "runs", "on the bill")
row = (first, queue.get("order-2").attempt, bill())
plot.table([head, row], caption="Order 2: run twice, charged once.")

# %% [markdown]
# That was one death, at a moment that we chose. The explorer chooses all of them, and an answer may be lost, too. Whatever became of A: in the end Cleo comes by, a lease later.


# %%
def careful(r):
    bar, orders = takes(r)
    for order in orders:
        jk.once(bar, order, ("INCRBY", jk.effect_key(bar, "bill"), 12))
        bar.ack(order)


def pays_once_when_cleo_came(world):
    world.redis.clock.advance(31)
    careful(world.redis)
    bill = world.redis.get(jk.effect_key(jk.Queue(world.redis, "bar"), "bill"))
    assert bill == b"12", f"the guest pays {bill}"


# %% [markdown]
# (What a promise itself sends is no step, so Cleo at least has a quiet night.)

# %%
explore(careful, given=open_bar, finally_=pays_once_when_cleo_came, **accidents)

# %% [markdown]
# Where is the mark? Not in a key of its own. It is a field on the job's card, beside its state:

# %%
fields = redis.hgetall(queue.keys.job + "order-2")
names = (b"state", b"attempt", b"token", b"once:effect")
rows = [("field", "value"), *((name, fields[name]) for name in names)]
plot.table(rows, caption="The card of order 2. The mark says which claim applied it.")

# %% [markdown]
# That isn't for tidiness, it is about *time*. A mark of its own needs an end of its own, and any end is wrong. Say that marks live for an hour:


# %%
MARK = redis.prefix + "{bar}:mark:"


def with_an_end(name):
    new = redis.set(MARK + "order-1", name, nx=True, ex=3600)
    if new:
        redis.incrby(BILL, 12)


# %% [markdown]
# Ada writes the bill and dies before the ack. So do all the hotel's machines, and it takes two hours until they're back:

# %%
redis.delete(BILL, MARK + "order-1")
with_an_end("Ada")
rows = [("Ada's run", redis.exists(MARK + "order-1"), bill())]
clock.advance(2 * 3600)
rows.append(("two hours later", redis.exists(MARK + "order-1"), bill()))
with_an_end("Bob")
rows.append(("Bob's run", redis.exists(MARK + "order-1"), bill()))
head = ("after", "is there a mark?", "on the bill")
plot.table([head, *rows], caption="A mark that ends after an hour.")

# %% [markdown]
# 24: the mark was gone before the job was. The opposite is as bad. A mark that is set *before* work that fails makes the retry believe that all is done:

# %%
redis.delete(BILL, MARK + "order-1")
again = jk.Queue(redis, "again", rng=random.Random(7))
hasty = jk.Worker(again, backoff=jk.Table(5), rng=random.Random(7))


@hasty.task
def charge(job):
    if redis.set(MARK + "order-1", "x", nx=True):
        raise ConnectionError("the till does not answer")


# %% [markdown]
# The till was down once, for a second:

# %%
again.submit("charge", id="order-1")
hasty.drain()

# %% [markdown]
# "Done", at the second try, and nothing was charged. No crash was needed for that, only an error. With `once` the mark lives exactly as long as the card, and the card as long as the job can run. So it can't end too early or stay too long.

# %% [markdown] points=["A11"]
# ## Zombies
#
# Back to the porter who isn't dead but slow: a full disk, a long pause, a laptop that was closed. Ada reads what the guest wants, and freezes. Bob takes over and gets a newer wish. Then Ada wakes up:

# %%
queue.submit("warm", id="warm-1")
wish = {"room 412": 19}
[ada] = queue.claim("Ada")
ada_read = wish["room 412"]
clock.advance(31)
queue.recover()

# %% [markdown]
# Meanwhile the guest has changed her mind, to 22 degrees. The kit numbers its claims, and each number is larger than all before:

# %%
wish["room 412"] = 22
[bob] = queue.claim("Bob")
head = ("claim of warm-1", "attempt", "token")
rows = [(claim.worker, claim.attempt, claim.token) for claim in (ada, bob)]
plot.table([head, *rows], caption="One job, two claims.")

# %% [markdown]
# This number is the **fencing token**. A thermostat that ignores it obeys whoever speaks last. One that remembers the largest it has seen doesn't:


# %%
class Thermostat:
    degrees, seen = None, 0

    def set(self, degrees, token=None):
        if token is not None and token < self.seen:
            return "refused"
        self.degrees, self.seen = degrees, token or 0
        return "set"


# %% [markdown]
# Bob first, then the zombie, with and without tokens:

# %%
plain, fenced = Thermostat(), Thermostat()
late = f"Ada wakes, sets {ada_read}"
rows = [
    ("Bob sets 22", plain.set(22), fenced.set(22, bob.token)),
    (late, plain.set(ada_read), fenced.set(ada_read, ada.token)),
    ("in the room", plain.degrees, fenced.degrees),
]
head = ("", "without tokens", "with tokens")
plot.table([head, *rows], caption="The guest asked for 22.")

# %% [markdown]
# An idempotent effect doesn't help here: to *set* 19 twice is as good as once, and it's still wrong. In the kit each verb compares tokens. Ada's ack:

# %%
try:
    queue.ack(ada)
except jk.StaleClaim as error:
    print(error)

# %% [markdown]
# Refused, and nothing was changed: Bob's run goes on. `once` compares tokens, too. Say that a warm room costs 12 euros:


# %%
def tries(claim):
    try:
        return jk.once(queue, claim, ("INCRBY", BILL, 12))
    except jk.StaleClaim:
        return "refused: stale"


# %% [markdown]
# Ada, Bob, and Bob again:

# %%
redis.delete(BILL)
rows = [
    ("Ada, the zombie", tries(ada)),
    ("Bob", tries(bob)),
    ("Bob, once more", tries(bob)),
    ("on the bill", bill()),
]
plot.table(
    [("who", "once says"), *rows],
    caption="A zombie cannot apply, and Bob's second call changes nothing.",
)

# %% [markdown]
# (The second True means: it's applied, by you. So a call whose answer was lost may simply be sent again.)

# %%
queue.ack(bob)

# %% [markdown] points=["C6"]
# ## The button pressed twice
#
# Not only workers repeat themselves. The guest presses "order" again because nothing happened; a client gets no answer and sends again. Then there are two *jobs*, and no mark on either knows of the other:

# %%
redis.delete(BILL)
for _ in range(2):
    queue.submit("bottle", {"euros": 12})

worker.drain()
bill()

# %% [markdown]
# Unless the order has a name. Give the job an `id` that the *cause* determines, such as the number on the order slip:

# %%
redis.delete(BILL)
presses = [queue.submit("bottle", {"euros": 12}, id="slip-88") for press in range(2)]
worker.drain()

# %% [markdown]
# And a third time, now that it is done:

# %%
presses.append(queue.submit("bottle", {"euros": 12}, id="slip-88"))
rows = [(n, created, state) for n, (_, created, state) in enumerate(presses, 1)]
head = ("press", "created", "its state")
plot.table([head, *rows], caption=f"One job; on the bill: {bill()}.")

# %% [markdown]
# The job's card is the mark, and asking and writing are one script: two clients at one instant make one job. And how long does it hold?

# %%
clock.advance(3601)
queue.submit("bottle", {"euros": 12}, id="slip-88").created

# %% [markdown]
# An hour after the job is done its card is thrown away, and the same slip is a new order. That's the queue's `retention`: choose it longer than any client goes on trying. (While a job waits, runs, or is a dead letter, its card stays.)


# %%
def new_after_two_hours(retention):
    slow = jk.Queue(redis, f"keeps-{retention}", retention=retention)
    slow.submit("bottle", id="slip-88")
    slow.ack(slow.claim("Ada")[0])
    clock.advance(2 * 3600)
    return slow.submit("bottle", id="slip-88").created


# %% [markdown]
# Once with the kit's hour, and once with a day:

# %%
rows = [(f"{hours} h", new_after_two_hours(hours * 3600)) for hours in (1, 24)]
head = ("retention", "a new job?")
plot.table([head, *rows], caption="The same slip again, two hours after it was done.")

# %% [markdown] points=["A11"]
# ## When the effect is elsewhere
#
# The guest pays by card. The bank isn't in Redis, and no script reaches it. So the bank has to keep the mark, and we must tell it what is the same. Here is a small bank that can:


# %%
class Bank:
    def __init__(self):
        self.charges, self.receipts = [], {}

    def charge(self, euros, key=None):
        if key in self.receipts:
            return self.receipts[key]
        self.charges.append(euros)
        receipt = f"receipt {len(self.charges)}"
        if key:
            self.receipts[key] = receipt
        return receipt


# %% [markdown]
# The `key` is called an *idempotency key*. The first call with a key does the work; every later one gets the old receipt.

# %%
bank = Bank()
bank.charge(12, key="k1"), bank.charge(12, key="k1"), sum(bank.charges)

# %% [markdown]
# Which key? **Predict**, for a job that runs twice: which of these charges once? And which goes wrong when the guest orders a second bottle?

# %%
import uuid

keys = {
    "none": lambda job: None,
    "a new one in each run": lambda job: str(uuid.uuid4()),
    "id and attempt": lambda job: f"{job.id}-{job.attempt}",
    "room and amount": lambda job: "412-12",
    "job.idempotency_key": lambda job: job.idempotency_key,
}

# %% [markdown]
# Two orders of 12 euros. In both, Ada calls the bank and dies before the ack, and Bob calls again. The guest should pay 24:


# %%
def pays(key):
    bank, till = Bank(), jk.Queue(redis, "till", lease=30)
    for _ in range(2):
        till.submit("pay")
        [ada] = till.claim("Ada")
        bank.charge(12, key(ada))  # and she dies
        clock.advance(31)
        till.recover()
        [bob] = till.claim("Bob")
        bank.charge(12, key(bob))
        till.ack(bob)
    return sum(bank.charges)


# %% [markdown]
# Was your guess among them?

# %%
rows = [(name, pays(key)) for name, key in keys.items()]
caption = "Two bottles, 24 euros. Each job ran twice."
plot.table([("the key", "the guest pays"), *rows], caption=caption, bold=[5])

# %% [markdown]
# A key must be the same for every run of a job, and different for any other job. The attempt makes it too fine; room and amount too coarse, and the hotel has given a bottle away. The kit's key is the job's id. An id of your own may come again later, as another job, so there a random number is added. Two runs of one job:

# %%
till = jk.Queue(redis, "till", lease=30, rng=random.Random(7))
till.submit("pay", {"euros": 12}, id="order-3")
[ada] = till.claim("Ada")
clock.advance(31)
till.recover()
[bob] = till.claim("Bob")
till.ack(bob)

# %% [markdown]
# And the same id, two hours after it was done:

# %%
clock.advance(2 * 3600)
till.submit("pay", {"euros": 12}, id="order-3")
[cleo] = till.claim("Cleo")
till.ack(cleo)
runs = (ada, bob, cleo)
rows = [(claim.worker, claim.attempt, claim.idempotency_key) for claim in runs]
head, caption = (
    ("run by", "attempt", "key"),
    "Two runs of one job, one of its namesake.",
)
plot.table([head, *rows], caption=caption)

# %% [markdown] points=["A11"]
# ## No answer is not a no
#
# The nastiest case is a timeout. The porter has called the bank, and the line goes dead. Did they charge? Two lines, one that loses the question, one that loses the answer. From here they look alike:


# %%
class BadLine(Bank):
    def __init__(self, loses):
        super().__init__()
        self.loses, self.calls = loses, 0

    def charge(self, euros, key=None):
        self.calls += 1
        if self.calls == 1 and self.loses == "question":
            raise TimeoutError("no answer from the bank")
        receipt = super().charge(euros, key)
        if self.calls == 1 and self.loses == "answer":
            raise TimeoutError("no answer from the bank")
        return receipt


# %% [markdown]
# Three porters. One gives up at a timeout ("it failed"), one tries again without a key, one with:


# %%
def tried(loses, retry, keyed):
    bank = BadLine(loses)
    for _ in range(1 + retry):
        try:
            bank.charge(12, "order-3" if keyed else None)
            break
        except TimeoutError:
            pass
    return sum(bank.charges)


# %% [markdown]
# On each of the two lines:

# %%
rows = [
    (name, tried("question", *how), tried("answer", *how))
    for name, how in (
        ("gives up", (0, False)),
        ("tries again", (1, False)),
        ("tries again, with the key", (1, True)),
    )
]
plot.table(
    [("the porter", "the question was lost", "the answer was lost"), *rows],
    caption="What the guest pays for a bottle of 12.",
    bold=[3],
)

# %% [markdown]
# Who gives up believes that nothing was charged: on the second line the guest has paid for an order that counts as failed. Who tries again charges twice there. And nobody can see which line it was. Only the key makes "try again" right on both. In a worker of the kit a timeout is an error like any other, so it's retried, with the same key:

# %%
bank = BadLine("answer")
porter_of_the_till = jk.Worker(till, backoff=jk.Table(5), rng=random.Random(7))


@porter_of_the_till.task
def pay(job, euros):
    bank.charge(euros, key=job.idempotency_key)


# %% [markdown]
# The line loses the bank's first answer:

# %%
till.submit("pay", {"euros": 12}, id="order-4")
porter_of_the_till.drain()

# %% [markdown]
# Two runs, so two calls. How many charges?

# %%
rows = [("calls", "charges"), (bank.calls, bank.charges)]
plot.table(rows, caption="Order 4, over a bad line.")

# %% [markdown]
# Real banks forget keys, often after a day. Then the last retry must come before that: 5 s, 30 s, 5 min and 1 h are well inside; a dead letter that somebody requeues on Monday isn't. Ask the API how long, and look before you requeue.

# %% [markdown] points=["A11"]
# ## What nobody can promise
#
# And a side that knows no keys? Ringing the phone in room 412, a printer, a mail server. We may mark before, or after. For the explorer, `w.effect` is something that happens outside of Redis:


# %%
def marks_then_rings(r, w):
    if r.set("rung", w.name, nx=True):
        w.effect("ring 412")


def rings_then_marks(r, w):
    if not r.exists("rung"):
        w.effect("ring 412")
        r.set("rung", w.name)


def rings_once(world):
    times = len(world.effects)
    assert times == 1, f"the phone rings {times} times"


# %% [markdown]
# The first of them:

# %%
one = {"finally_": rings_once, "crashes": 1}
explore(marks_then_rings, after_crash=marks_then_rings, **one)

# %% [markdown]
# And the second:

# %%
explore(rings_then_marks, after_crash=rings_then_marks, **one)

# %% [markdown]
# There is no third. A script can't ring, so between a phone and a mark lies a gap that no program closes. Choose: a guest who is woken twice, or one who isn't woken.
#
# And the bank? The porter is the second one again. What differs is the other side: it counts the same key once.


# %%
def charges_then_marks(r, w):
    if not r.exists("paid"):
        w.effect("charge 12 euros, key order-1")
        r.set("paid", w.name)


def the_bank_charges_once(world):
    charges = {charge.text for charge in world.effects}  # a set: it knows its keys
    assert len(charges) == 1, f"the bank charges {len(charges)} times"


one = {"finally_": the_bank_charges_once, "crashes": 1}
explore(charges_then_marks, after_crash=charges_then_marks, **one)

# %% [markdown]
# Clean, for as long as the bank remembers its keys. **Exactly once is not a way of delivering; it is an effect, and the place where the effect lands must help.**

# %% [markdown] points=["A11", "C6"]
# ## Proved, and not proved
#
# A hundred orders, and porters who die at random: after the claim, after `once`, or not at all. Whatever isn't acked comes again, until all is done.


# %%
def prove(redis, rng, orders=100):
    queue = jk.Queue(redis, "proof", lease=30, max_attempts=50, rng=rng)
    redis.delete(queue.keys.delayed, *redis.scan_iter(redis.prefix + "{proof}*"))
    total, runs = jk.effect_key(queue, "total"), 0
    queue.submit_many(jk.New("bottle", {"euros": 12}) for _ in range(orders))
    while queue.counts().totals.get("done", 0) < orders:
        for claim in queue.claim("somebody", limit=orders):
            runs += 1
            fate = rng.choice(["after the claim", "after once", "lives"])
            if fate != "after the claim":
                jk.once(queue, claim, ("INCRBY", total, 12))
            if fate == "lives":
                queue.ack(claim)
        redis.clock.advance(31)
        queue.recover(limit=1000)
    return runs, int(redis.get(total))


# %% [markdown]
# On the bill there should be 1200:

# %%
runs, total = prove(redis, random.Random(1))
assert total == 1200
rows = [("orders", "runs", "on the bill"), (100, runs, total)]
plot.table(rows, caption="100 orders of 12 euros.")

# %% [markdown]
# More than three runs per order, and not a cent too much or too little. The same on the other Redis:

# %% tags=["varies"] varies="names the Redis that was found"
for name in ("fake", "private"):
    try:
        print(prove(jk.connect(name), random.Random(2)))
    except jk.ServerUnavailable as error:
        print(f"no real server here: {error}")

# %% [markdown]
# **Not** proved: anything about effects outside Redis; they are as good as the other side's memory. And if Redis loses its last second in a crash, mark and effect are lost *together*, and the job comes again: right once more. A bank's charge would be there already. (Notebook 14.)

# %% [markdown] points=["A11", "C6"]
# ## Your turn: points
#
# For each order the guest gets points. Write `add_points`: it adds them once per `order`, whoever calls it, however often, and wherever it dies. It returns True if this call has added them, False if they were there.


# %%
POINTS, GIVEN = (redis.prefix + "{bar}:" + part for part in ("points", "given"))


def add_points(redis, order, guest, points):
    """Add `points` to `guest` in the hash POINTS; GIVEN: the orders that had theirs."""
    # your lines


# %% [markdown]
# The check begins with three calls in a row. (Folded away; you need not read it.)


# %% tags=["check"] jupyter={"source_hidden": true}
def points_of(guest, redis=redis):
    return int(redis.hget(POINTS, guest) or 0)


CALLS = [
    ("30 points for order 1", "order-1", 30, (True, 30)),
    ("20 more for order 2", "order-2", 20, (True, 50)),
    ("Order 1 again, a week later", "order-1", 30, (False, 50)),
]


def wrong_in_a_row(add_points):
    redis.delete(POINTS, GIVEN)
    for what, order, points, wanted in CALLS:
        got = add_points(redis, order, "Eve", points), points_of("Eve")
        if got != wanted:
            said = "wanted {} and {}, got {!r} and {}".format(*wanted, *got)
            return f"Not yet. {what}: {said}."
        clock.advance(3.5 * 86_400)
    return None


# %% [markdown]
# Then two porters do order 1, in every order of their commands. Then the power goes out, before any of them, and it's done again. Run this after each change; it stops at the first promise that is broken:


# %% tags=["check"]
def accidents_of(add_points):
    def porter(r):
        return add_points(r, "order-1", "Eve", 30)

    def eve_has_30(world):
        points = points_of("Eve", world.redis)
        assert points == 30, f"Eve has {points} points"

    def one_says_so(world):
        said = list(world.answers.values())
        assert said.count(True) == 1, f"two porters say {said}"

    yield explore(porter, porter, finally_=[eve_has_30, one_says_so])
    yield explore(porter, finally_=eve_has_30, crashes=1, after_crash=porter)


def check(add_points):
    if wrong := wrong_in_a_row(add_points):
        return wrong
    for report in accidents_of(add_points):
        if not report:
            return report
    return "Passed: once, whoever came and wherever it stopped."


check(add_points)

# %% [markdown]
# <details><summary>First hint: where to look</summary>
#
# Which row of the small table, [1, 0], [1, 2], [1, 1], does your order of commands belong to?
#
# </details>
# <details><summary>Second hint: what is needed</summary>
#
# SADD answers 1 if the member is new. What follows from the answer must happen in the same step.
#
# </details>
# <details><summary>Third hint: the shape of the code</summary>
#
# A script with two keys, GIVEN and POINTS: if SADD says 1, then HINCRBY, `return 1`; else `return 0`. In Python, `== 1` makes it True or False.
#
# </details>
# <details><summary>A solution</summary>
#
# ```python
# def add_points(redis, order, guest, points):
#     script = """
#     if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then return 0 end
#     redis.call('HINCRBY', KEYS[2], ARGV[2], ARGV[3])
#     return 1
#     """
#     return redis.eval(script, 2, GIVEN, POINTS, order, guest, points) == 1
# ```
#
# MULTI with SADD and HINCRBY adds always: no command in a transaction sees the answer of another. SISMEMBER before the transaction is the document's race. WATCH on GIVEN cures it, in four journeys.
#
# </details>

# %% [markdown] points=["A11", "C6"]
# ## What you trade
#
# | the effect is | do | and what remains |
# |---|---|---|
# | in Redis | effect and mark in one script: `once` | a field per job, as long as its card lives |
# | a value to be set | set, don't add; with a fencing token | a place that compares tokens |
# | in your database | the mark as a row with a unique key, in the same transaction | a table that somebody has to trim |
# | an API with idempotency keys | the same key for each run | their memory is shorter than yours, some day |
# | an API without | choose: maybe twice, or maybe never | say which, before it happens |

# %% [markdown] points=["A19"]
# **Say it without notes.** A queue says "exactly once". What can it mean, and what can't it? And what do you do in the handler? *(Four sentences aloud, then open.)*
#
# <details><summary>One good answer</summary>
#
# Delivery can only be at least once or at most once, because between the work and the ack there is a gap, and a worker can die in it. So a job may run twice, one run after the other or both at a time, and the handler must make twice count as once. Mark first loses, mark last doubles; effect and mark have to be one step, in the place where the effect is: one script in Redis, one transaction in a database, an idempotency key at an API. A slow worker that comes late is stopped by a fencing token; where the other side offers nothing, you can only choose which of the two faults you prefer.
#
# </details>
#
# Yours had: the gap ◯ both at a time ◯ one step, at the effect ◯ the late one ◯ what can't be had ◯

# %% [markdown] points=["A11", "C6"]
# ## Three questions an interviewer asks next
#
# **"The order is a row in Postgres, the job is in Redis. How do you write both?"**
# <details><summary>A short answer</summary>
#
# Not both: a crash in between leaves one. Write the job as a row too, in the same transaction (an *outbox*), and let a small process move rows to the queue, with the row's id as the job's id. It may move a row twice; dedup by id makes that harmless.
#
# </details>
#
# **"Kafka has exactly-once. Why not use that?"**
# <details><summary>A short answer</summary>
#
# It has it between its own topics: offsets and results are written in one transaction, which is effect and mark in one place again. A card that is charged in between is outside, and needs a key, as everywhere.
#
# </details>
#
# **"How long do you keep the marks?"**
# <details><summary>A short answer</summary>
#
# Longer than the last possible run: all retries, the longest outage, and a dead letter that somebody requeues. Best is a mark that lives and dies with the job's own record. At an API ask for its memory, and don't retry past it without looking first.
#
# </details>

# %% [markdown]
# Why a job comes again at all, with a process that is really killed, is notebook 05. The [start page](00_start.ipynb) has the map.
