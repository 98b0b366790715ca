"""Any bytes as payload, any text of up to 200 bytes as id, task, entity and worker, any prefix: through every verb."""

from dataclasses import fields

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.seeds import LEASE
from support.stores import lose
from support.world import check_books, check_keys

from jobkit.keys import Keys
from jobkit.queue import Queue
from jobkit.submission import New

few = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
names = texts.filter(lambda text: len(text.encode()) <= 200)
payloads = st.binary(max_size=300)

HOSTILE = [
    "a}{b:c",
    "{q}:delayed",
    "}:job:",
    "job:x",
    "a:b:c",
    " ",
    "\n",
    "\x00",
    "a\x00b",
    "\r\n*3\r\n",
    "0",
    "-1",
    "-inf",
    "+inf",
    "(5",
    "*",
    "?[a-z]\\",
    "$",
    ">",
    "nan",
    "1-0",
    "%s%d%%",
    "id",
    "été",
    "🦀",
    "\u202e",
    "x" * 200,
    "é" * 100,
    "🦀" * 50,
]


def whole_life(queue, id, payload, task="task", entity=None, worker="w"):
    """Take one job through every verb; at each step it is the one job, with the same payload."""
    assert queue.submit(task, payload, id=id, delay=5, entity=entity) == (id, True, "scheduled")
    assert queue.submit(task, b"other", id=id) == (id, False, "scheduled")
    queue.redis.clock.advance(5)
    assert queue.promote().moved == 1
    (claim,) = queue.claim(worker)
    assert (claim.id, claim.payload, claim.task, claim.entity) == (id, payload, task, entity)
    queue.extend(claim)
    queue.release(claim)
    (claim,) = queue.claim(worker)
    assert queue.fail(claim, id, delay=3) == "scheduled"
    queue.redis.clock.advance(3)
    assert queue.promote().moved == 1
    (claim,) = queue.claim(worker)
    queue.redis.clock.advance(LEASE + 1)
    assert queue.recover() == (1, 0)
    (claim,) = queue.claim(worker)
    lose(queue)
    assert queue.repair() == [id]
    (claim,) = queue.claim(worker)
    assert queue.fail(claim, "bad", permanent=True) == "dead"
    assert [(letter.id, letter.task) for letter in queue.dead()] == [(id, task)]
    assert queue.requeue(id) == {id: "requeued"}
    queue.promote()
    assert queue.cancel(id) == "cancelled"
    assert queue.claim(worker) == []
    job = queue.get(id)
    assert (job.id, job.payload, job.task, job.entity, job.state) == (id, payload, task, entity, "cancelled")
    assert [event.outcome for event in queue.history(id)] == [
        "released",
        "retry",
        "recovered",
        "recovered",
        "dead",
        "requeued",
    ]
    queue.redis.clock.advance(3601)
    queue.submit(task, payload, id=id)
    queue.ack(*queue.claim(worker))
    assert queue.get(id).payload == payload


@pytest.mark.parametrize("id", HOSTILE)
def test_hostile_ids(queue, id):
    whole_life(queue, id, b"\x00\xff")


@few
@given(id=names, payload=payloads, task=names, entity=st.none() | names, worker=names)
def test_any_names_and_any_bytes(make_queue, redis, id, payload, task, entity, worker):
    redis.flushall()
    whole_life(make_queue(), id, payload, task, entity, worker)


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x00", b"[]", b"{}", b"\xff" * 9, b'{"n":9007199254740993}', b"\r\n", bytes(range(256)), b"x" * (1 << 20)],
    ids=lambda payload: repr(payload[:12]),
)
def test_payloads_that_a_json_library_would_change(queue, payload):
    whole_life(queue, "j", payload)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


@few
@given(args=st.dictionaries(texts, json_values, max_size=4))
@example(args={"empty": [], "object": {}, "big": 2**64 + 1, "deep": [[[]]], "text": "\u2028</script>"})
def test_arguments_come_back_as_they_went(make_queue, redis, args):
    redis.flushall()
    queue = make_queue()
    queue.submit("t", args, id="j")
    (claim,) = queue.claim("w")
    assert claim.args == args
    queue.ack(claim)


@few
@given(ids=st.lists(names, min_size=2, max_size=12, unique=True))
@example(ids=["a", "a:b", "a}", "job:a", "a\n", "A"])
def test_ids_never_meet(make_queue, redis, ids):
    redis.flushall()
    queue = make_queue()
    queue.submit_many([New("t", {"of": id}, id=id, delay=n % 2) for n, id in enumerate(ids)])
    redis.clock.advance(1)
    queue.promote()
    claims = queue.claim("w", 100)
    assert sorted(claim.id for claim in claims) == sorted(ids)
    assert all(claim.args == {"of": claim.id} for claim in claims)
    lose(queue)
    assert sorted(queue.repair()) == sorted(ids)


prefixes = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}"), max_size=20)
queue_names = prefixes.filter(bool)


@few
@given(prefix=prefixes, name=queue_names, id=names)
@example(prefix="lab:*?[a]\\:", name="^-]$", id="*")
@example(prefix="\n\x00", name="\n", id="\n")
@example(prefix="job:", name="job:", id="job:")
def test_any_prefix_and_any_name_of_a_queue(redis, store, prefix, name, id):
    redis.flushall()
    before = redis.prefix
    try:
        redis.prefix = prefix
        queue, neighbour = (Queue(redis, n, ready=store, lease=LEASE) for n in (name, name + "x"))
        neighbour.submit("t", id=id)
        whole_life(queue, id, b"\x01")
        assert all(key.startswith(f"{prefix}{{{name}".encode()) for key in redis.scan_iter())
        assert neighbour.repair() == []
        check_keys(redis)
        check_books(queue)
        check_books(neighbour)
    finally:
        redis.prefix = before


@given(queue=queue_names, prefix=prefixes, id=names)
def test_one_hash_tag_for_all_keys_of_a_queue(queue, prefix, id):
    """Redis Cluster hashes what stands between the first brace and the next closing one."""
    keys = Keys(queue, prefix)
    names = [getattr(keys, field.name) for field in fields(keys) if not field.init and field.name != "job"]
    for key in [*names, keys.job + id, keys.priority(9)]:
        first = key.index("{")
        assert key[first + 1 : key.index("}", first)] == queue
