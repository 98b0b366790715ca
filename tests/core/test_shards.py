"""A queue in shards: one place for each id, the same verbs, one layout."""

import subprocess
import sys
from collections import Counter

import pytest
from support.lane import states

from jobkit.errors import ConfigError, JobError, UnknownJob, WrongState
from jobkit.keys import route, shard
from jobkit.once import effect_key, once
from jobkit.ready import Lists, Sharded, Streams, store_of
from jobkit.shards import ShardedQueue
from jobkit.submission import New


@pytest.fixture
def make(redis):
    return lambda shards=3, **settings: ShardedQueue(redis, "q", **({"shards": shards} | settings))


@pytest.fixture
def queue(make):
    return make()


# -- where an id is ------------------------------------------------------------------------------------


def test_the_hash_is_crc_32():
    """By the check value of its catalogue, and by zip's own tool: any language has it."""
    assert shard("123456789", 2**32) == 0xCBF43926
    assert [shard(id, 8) for id in ("order-1", "order-2", "é", "")] == [7, 5, 6, 0]


def test_every_process_finds_the_same_shard():
    program = "from jobkit.keys import shard; print([shard(f'order-{n}', 8) for n in range(50)], hash('order-1') % 8)"
    told = set()
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        told.add(done.stdout.rpartition("]")[0])
    assert told == {str([shard(f"order-{n}", 8) for n in range(50)])[:-1]}


@pytest.mark.parametrize("ids", ["order-{}", "{:08}", "user:{}:mail", "é{}"])
@pytest.mark.parametrize("n", [2, 3, 8, 16])
def test_ids_are_spread_evenly(ids, n):
    counts = Counter(shard(ids.format(k), n) for k in range(8000))
    assert len(counts) == n
    assert max(counts.values()) < 1.15 * 8000 / n
    assert min(counts.values()) > 0.85 * 8000 / n


def test_an_id_is_routed_by_its_braces_as_in_a_cluster():
    told = {id: route(id) for id in ("a", "{ada}1", "1-{ada}", "{}a", "{ada", "a}{b:c", "{a}{b}", "x{a}b}", "{a{b}")}
    assert told == {
        "a": "a",
        "{ada}1": "ada",
        "1-{ada}": "ada",
        "{}a": "{}a",
        "{ada": "{ada",
        "a}{b:c": "a}{b:c",
        "{a}{b}": "a",
        "x{a}b}": "a",
        "{a{b}": "a{b",
    }


# -- the verbs -----------------------------------------------------------------------------------------


def test_each_shard_is_an_ordinary_queue_with_a_tag_of_its_own(queue):
    assert [part.name for part in queue.shards] == ["q:shard-0", "q:shard-1", "q:shard-2"]
    for n in range(30):
        queue.submit("t", id=f"job-{n}")
    for k, part in enumerate(queue.shards):
        assert part.keys.ready == f"{{q:shard-{k}}}:ready"
        assert part.counts().ready > 4
        own = {f"job-{n}" for n in range(30) if shard(f"job-{n}", 3) == k}
        assert {claim.id for claim in part.claim("w", 30)} == own


def test_a_job_is_found_wherever_it_is(queue):
    fresh = [queue.submit("t", entity=entity, delay=5).id for entity in (None, "ada", "bob", "eve")]
    queue.submit_many([New("t", id=f"own-{n}", delay=5) for n in range(9)])
    for id in [*fresh, *(f"own-{n}" for n in range(9))]:
        assert queue.get(id).state == "scheduled"
        assert queue.cancel(id) == "cancelled"
        assert queue.history(id) == []
    with pytest.raises(UnknownJob):
        queue.get("nobody")
    assert queue.counts().totals["cancelled"] == 13


def test_many_are_answered_in_the_order_in_which_they_came(queue):
    ids = [f"job-{n}" for n in range(40)]
    assert [told.id for told in queue.submit_many([New("t", id=id) for id in ids])] == ids
    again = queue.submit_many([New("t", id=id) for id in reversed(ids)])
    assert [(told.id, told.created) for told in again] == [(id, False) for id in reversed(ids)]


def test_an_entity_has_one_shard_and_keeps_its_order_there(queue):
    jobs = [New("t", {"n": n}, entity=entity) for n in range(4) for entity in ("ada", "bob", "a}{b", "é")]
    told = queue.submit_many(jobs)
    assert {one.state for one in told[:4]} == {"ready"}
    assert {one.state for one in told[4:]} == {"waiting"}
    assert queue.counts().waiting == 12
    order = {job.entity: [] for job in jobs}
    while claims := queue.claim("w", 100):
        for claim in claims:
            assert queue.of(claim.id) is queue.of_entity(claim.entity)
            order[claim.entity].append(claim.args["n"])
            queue.ack(claim)
    assert order == {job.entity: [0, 1, 2, 3] for job in jobs}


def test_the_id_of_an_entitys_job_says_its_shard_so_no_id_is_in_two(queue):
    """The same id with another entity: refused, before anything is written."""
    assert queue.submit("t", id="{ada}7", entity="ada").created
    assert queue.submit("t", id="{ada}7", entity="ada")[1:] == (False, "ready")
    assert queue.submit("t", id="{ada}7")[1:] == (False, "ready")
    for wrong in ("7", "{bob}7", "ada7", "{}7"):
        with pytest.raises(JobError, match="carries it in braces"):
            queue.submit_many([New("t"), New("t", id=wrong, entity="ada")])
    with pytest.raises(JobError, match="carries it in braces"):
        queue.submit("t", id="{ada}7", entity="bob")
    assert queue.counts().totals == {"submitted": 1}


def test_claims_are_settled_in_their_shard(queue):
    queue.submit_many([New("t", id=f"job-{n}") for n in range(8)])
    a, b, c, d, e, *_ = queue.claim("w", 8)
    assert len({claim.token for claim in (a, b, c, d, e)}) < 5, "each shard counts its own tokens"
    queue.ack(a)
    queue.fail(b, "x", delay=5)
    queue.extend(c)
    queue.release(c)
    queue.refuse(d, "x")
    assert once(queue, e, ("INCR", effect_key(queue, e.id)))
    assert queue.redis.get(effect_key(queue, e.id)) == b"1"
    assert states(queue, *(claim.id for claim in (a, b, c, d, e))) == "done scheduled ready dead running"


def test_dead_letters_of_all_shards_the_newest_first(queue):
    for n in range(9):
        queue.submit("t", id=f"job-{n}")
        queue.fail(*queue.claim("w"), "x", permanent=True)
        queue.redis.clock.advance(1)
    assert [letter.id for letter in queue.dead()] == [f"job-{n}" for n in range(8, -1, -1)]
    assert [letter.id for letter in queue.dead(3, offset=4)] == ["job-4", "job-3", "job-2"]
    assert queue.requeue("job-3", "nobody", "job-5") == {"job-3": "requeued", "nobody": "missing", "job-5": "requeued"}
    assert queue.purge("job-0", "job-1") == 2
    assert len(queue.requeue()) == 5
    assert queue.counts().dead == 0
    assert queue.purge() == 0


def test_due_and_late_jobs_of_all_shards(queue):
    queue.submit_many([New("t", id=f"job-{n}", delay=5 + n % 2) for n in range(12)])
    assert 4 < queue.promote().wait <= 5
    queue.redis.clock.advance(6)
    assert queue.promote().moved == 12
    queue.claim("gone", 12)
    queue.redis.clock.advance(31)
    assert queue.recover() == (12, 0)
    queue.tidy()
    for part in queue.shards:
        part.redis.delete(part.keys.ready, part.keys.alone)
    assert len(queue.repair()) == 12


# -- one layout ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [1, 2, 4, 7])
def test_a_process_with_another_number_is_refused_whatever_it_does_first(make, other):
    make().submit("t", id="job")
    wrong = make(other)
    for act in (wrong.counts, wrong.agree, lambda: wrong.submit("t"), lambda: wrong.claim("w")):
        with pytest.raises(ConfigError, match="3 shards"):
            act()
    assert make().counts().totals == {"submitted": 1}


def test_an_ordinary_queue_on_a_shard_is_refused_too(make, redis):
    make().submit("t")
    with pytest.raises(ConfigError, match="3 shards"):
        ShardedQueue(redis, "q", shards=3, ready=Lists()).counts()


@pytest.mark.parametrize("store", [Streams(), Lists(fair=4)])
def test_the_kind_of_a_shard_is_read_back(store):
    kind = Sharded(store, 12).kind
    assert store_of(kind).kind == kind
    assert store_of(kind).every == store.every


@pytest.mark.parametrize("shards", [0, -1, 1025, 2.0, True, "3", None])
def test_a_number_that_makes_no_sense(redis, shards):
    with pytest.raises(JobError):
        ShardedQueue(redis, "q", shards=shards)


def test_an_empty_queue_is_resized(make):
    old = make(retention=10)
    old.submit("t", id="job")
    old.ack(*old.claim("w"))
    with pytest.raises(WrongState, match="keeps the records"):
        old.resize(5)
    old.submit("t", id="job-2")  # open again
    old.ack(*old.claim("w"))
    old.redis.clock.advance(11)
    new = old.resize(5)
    assert new.submit("t", id="job").created
    for act in (old.counts, lambda: old.submit("t"), lambda: make(4).submit("t")):
        with pytest.raises(ConfigError):
            act()
    new.ack(*new.claim("w"))
    back = new.resize(2, forget=True)
    assert back.submit("t", id="job").created
    with pytest.raises(ConfigError):
        new.submit_many([New("t", id=f"job-{n}") for n in range(9)])
    with pytest.raises(WrongState, match="holds 1 jobs"):
        back.resize(3)


@pytest.mark.parametrize("state", ["scheduled", "waiting", "running", "dead"])
def test_a_queue_that_is_not_empty_is_not_resized(make, state):
    queue = make()
    queue.submit("t", id="{e}1", entity="e", delay=9 if state == "scheduled" else 0)
    if state != "scheduled":
        (claim,) = queue.claim("w")
        if state == "waiting":
            queue.submit("t", id="{e}2", entity="e")
        if state == "dead":
            queue.fail(claim, "x", permanent=True)
    with pytest.raises(WrongState, match="jobs or dead letters"):
        queue.resize(4, forget=True)
    assert queue.submit("t").created


@pytest.mark.parametrize("done", range(8))
def test_a_resize_that_was_interrupted_goes_on(make, redis, monkeypatch, done):
    queue, calls = make(), 0
    queue.submit("t", id="job")
    queue.ack(*queue.claim("w"))

    def counted(act):
        def call(*args, **named):
            nonlocal calls
            calls += 1
            if calls > done:
                raise KeyboardInterrupt
            return act(*args, **named)

        return call

    with monkeypatch.context() as patch:
        for name in ("open", "close"):
            patch.setattr(f"jobkit.queue.Queue.{name}", counted(getattr(type(queue.shards[0]), name)))
        with pytest.raises(KeyboardInterrupt):
            queue.resize(5, forget=True)
    assert make().resize(5, forget=True).submit("t", id="job").created
