"""Any entities and any ids: their lanes never mix, and each keeps its order."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.stores import Streams

from jobkit import lanes
from jobkit.queue import Queue
from jobkit.submission import New

HOSTILE = ["a", "a:", "a:b", "1:a", "a;", "b", "a}{b", "é", "\x00", "9" * 16, "a:0000000000000001:j", " ", "\n"]
entities = st.sampled_from(HOSTILE) | st.text(min_size=1, max_size=6)


@pytest.fixture
def queue(fake):
    return Queue(fake, "q", ready=Streams())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.tuples(entities, entities), min_size=1, max_size=12, unique_by=lambda job: job[1]))
def test_each_lane_keeps_its_order(queue, jobs):
    queue.redis.flushall()
    queue.submit_many([New("t", id=id, entity=entity) for entity, id in jobs])
    told = [(one.entity.decode(), one.id.decode()) for page in lanes.waiting(queue.redis, queue.keys) for one in page]
    heads = dict(reversed(jobs))
    assert {one: queue.get(heads[one]).state for one in heads} == dict.fromkeys(heads, "ready")
    assert sorted(told) == sorted(set(jobs) - set(heads.items()))
    order = {entity: [] for entity in heads}
    while claims := queue.claim("w", 100):
        assert len({claim.entity for claim in claims}) == len(claims)
        for claim in claims:
            order[claim.entity].append(claim.id)
        queue.each("ack", claims)
    assert order == {entity: [id for one, id in jobs if one == entity] for entity in heads}


def test_the_lanes_are_read_page_by_page(queue, monkeypatch):
    monkeypatch.setattr(lanes, "PAGE", 3)
    jobs = [(entity, f"{entity}{n}") for n in range(8) for entity in ("a", "bb", "é")]
    queue.submit_many([New("t", id=id, entity=entity) for entity, id in jobs])
    pages = list(lanes.waiting(queue.redis, queue.keys))
    assert max(map(len, pages)) == 3
    told = [(one.entity.decode(), one.id.decode()) for page in pages for one in page]
    assert sorted(told) == sorted(jobs[3:])
    assert [id for entity, id in told if entity == "bb"] == [f"bb{n}" for n in range(1, 8)]
    queue.redis.delete(queue.keys.lanes)
    assert sorted(entity for page in lanes.without_head(queue.redis, queue.keys) for entity in page) == [
        b"a",
        b"bb",
        "é".encode(),
    ]
