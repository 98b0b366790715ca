"""All that a queue keeps on its server, read at once, as a promise looks at it."""

from collections import Counter
from dataclasses import dataclass

from support.stores import structures

DELAYED, DEAD, LANE = "delayed", "dead", "waiting"
EFFECT = "{q}:effect:"


@dataclass(frozen=True)
class Seen:
    """A job: its record, and where it stands."""

    record: dict
    ttl: int = -1
    places: tuple = ()
    """One for each place: `delayed`, `dead`, `waiting`, or the name of its entry, such as `r1767225600000-0`."""
    leases: tuple = ()
    """(name of the entry, who holds it, ms since it was touched) of each entry that is pending."""
    effects: int = 0
    due: float | None = None
    """When the delayed set has it, ms."""

    @property
    def state(self):
        """Its state, from the raw data: independent of what the scripts make of it; None if there is no record."""
        if not self.record:
            return None
        waits = b"scheduled" if DELAYED in self.places else b"ready"
        return self.record.get(b"state", waits).decode()

    @property
    def live(self):
        """Whether the queue still has to do with it."""
        return self.state in {"scheduled", "waiting", "ready", "running", "dead"}

    @property
    def home(self):
        """The one place where it can go on from; None if it stands there in vain, or nowhere."""
        held = {entry for entry, *_ in self.leases}
        wanted = {
            "scheduled": lambda place: place == DELAYED,
            "waiting": lambda place: place == LANE,
            "ready": lambda place: place not in {DELAYED, DEAD, LANE} and place not in held,
            "running": lambda place: place in held and place.encode() == self.record.get(b"entry"),
            "dead": lambda place: place == DEAD,
        }[self.state]
        return next(filter(wanted, self.places), None)

    @property
    def entity(self):
        return self.record.get(b"entity")

    @property
    def turn(self):
        """Where it stands in its lane; b"" at the head."""
        return self.record.get(b"place", b"")

    @property
    def token(self):
        return int(self.record.get(b"token", 0))

    @property
    def attempt(self):
        return int(self.record.get(b"attempt", 0))

    @property
    def limit(self):
        return int(self.record.get(b"max", 5))


NOBODY = Seen({})


@dataclass(frozen=True)
class Picture:
    """The queue at one moment. Two with the same `text` can't be told apart."""

    at: int
    jobs: dict
    totals: Counter
    text: str

    def job(self, id):
        return self.jobs.get(id, NOBODY)


def picture(queue):
    """Read a queue: what there is of it, in one pipeline."""
    keys, there = queue.keys, sorted(queue.redis.keys())
    pipe, asked, kinds = queue.redis.pipeline(transaction=False), [], _kinds(queue)
    for key in there:
        kind, id = _kind(keys, kinds, key.decode())
        for read in READS[kind] if keys.tokens.encode() in there or kind != "stream" else READS["stream"][:1]:
            read(pipe, key)
            asked.append((kind, id or key.decode()))
    found = {}
    for (kind, name), answer in zip(asked, pipe.execute(raise_on_error=False), strict=True):
        nothing = isinstance(answer, Exception)  # XPENDING of a stream that has no group yet
        found.setdefault(kind, {}).setdefault(name, []).append([] if nothing else answer)
    at = queue.clock.now()
    places, leases = _places(keys, found.get("zset", {}), found.get("stream", {}))
    if queue.store.name != "streams":
        places, leases = _listed(queue, found, places, at)
    records, effects = found.get("record", {}), found.get("effect", {})
    due = dict(found.get("zset", {}).get(keys.delayed, [[]])[0])
    jobs = {
        id: Seen(
            *records.get(id, ({}, -1)),
            tuple(places.get(id, ())),
            tuple(leases.get(id, ())),
            int(effects.get(id, [0])[0]),
            due.get(id.encode()),
        )
        for id in {*records, *places, *leases}
    }
    totals = found.get("hash", {}).get(keys.totals, [{}])[0]
    counts = Counter({name.decode(): int(value) for name, value in totals.items()})
    return Picture(at, jobs, counts, repr((at, found)))


READS = {
    "zset": [lambda pipe, key: pipe.zrange(key, 0, -1, withscores=True)],
    "stream": [
        lambda pipe, key: pipe.xrange(key),
        lambda pipe, key: pipe.xpending_range(key, "workers", "-", "+", 100),
        lambda pipe, key: pipe.xinfo_groups(key),
    ],
    "list": [lambda pipe, key: pipe.lrange(key, 0, -1)],
    "hash": [lambda pipe, key: pipe.hgetall(key)],
    "string": [lambda pipe, key: pipe.get(key)],
    "record": [lambda pipe, key: pipe.hgetall(key), lambda pipe, key: pipe.pttl(key)],
    "effect": [lambda pipe, key: pipe.get(key)],
}


def _kinds(queue):
    """Say of which type each key of a queue is that is no record; the rest are strings."""
    keys, waiting = queue.keys, "stream" if queue.store.name == "streams" else "list"
    kinds = {key: "zset" if key == keys.leases else waiting for key in structures(queue)}
    zsets = dict.fromkeys((keys.delayed, keys.dead, keys.waiting), "zset")
    return kinds | zsets | dict.fromkeys((keys.totals, keys.lateness, keys.lanes), "hash")


def _kind(keys, kinds, key):
    """Say what a key is, and of a job's key, whose."""
    for start, kind in ((keys.job, "record"), (EFFECT, "effect")):
        if key.startswith(start):
            return kind, key.removeprefix(start)
    return kinds.get(key, "string"), None


def _places(keys, zsets, streams):
    """Return where each id stands, and the leases of its entries."""
    places, leases = {}, {}
    for where, key in ((DELAYED, keys.delayed), (DEAD, keys.dead)):
        for id, _ in zsets.get(key, [[]])[0]:
            places.setdefault(id.decode(), []).append(where)
    for member, _ in zsets.get(keys.waiting, [[]])[0]:
        size, _, rest = member.decode().partition(":")
        places.setdefault(rest[int(size) + 18 :], []).append(LANE)
    for letter, key in (("r", keys.ready), ("a", keys.alone)):
        entries, pending, *_ = *streams.get(key, ()), [], []
        owner = {entry: fields[b"id"].decode() for entry, fields in entries}
        for entry, id in owner.items():
            places.setdefault(id, []).append(letter + entry.decode())
        for held in pending:
            id, name = owner.get(held["message_id"], ""), letter + held["message_id"].decode()
            leases.setdefault(id, []).append((name, held["consumer"].decode(), held["time_since_delivered"]))
    return places, leases


def _listed(queue, found, places, at):
    """Return the same of lists and deadlines: an entry that is held is named by the job's id, as the record has it."""
    leases, deadlines = {}, dict(found.get("zset", {}).get(queue.keys.leases, [[]])[0])
    for name, (entries,) in found.get("list", {}).items():
        for n, id in enumerate(entries):
            places.setdefault(id.decode(), []).append(f"{name}[{n}]")
    for id, ends in deadlines.items():
        name, job = id.decode(), found.get("record", {}).get(id.decode(), [{}])[0]
        places.setdefault(name, []).append(name)
        lease_ms = int(job.get(b"lease", queue.lease_ms))
        leases.setdefault(name, []).append((name, job.get(b"worker", b"").decode(), at + lease_ms - int(ends)))
    return places, leases
