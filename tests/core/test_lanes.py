"""Jobs of one entity run one at a time, in the order of their submission; whatever ends one, the next comes."""

import pytest
from support.lane import claimed, lane, run_all, states
from support.world import levels

from jobkit.errors import StaleClaim
from jobkit.submission import New


def test_one_at_a_time_in_the_order_of_submission(queue):
    assert lane(queue, "a1", "a2", "a3") == ["ready", "waiting", "waiting"]
    assert lane(queue, "b1", "b2", entity="bob") == ["ready", "waiting"]
    queue.submit("t", id="c")
    assert queue.counts().waiting == 3
    assert levels(queue) == (0, 3, 0, 0)
    rounds = []
    while claims := queue.claim("w", 10):
        rounds.append({claim.id for claim in claims})
        queue.each("ack", claims)
    assert rounds == [{"a1", "b1", "c"}, {"a2", "b2"}, {"a3"}]
    assert not queue.redis.exists(queue.keys.lanes, queue.keys.waiting)


def test_many_submitted_at_once_keep_their_order(queue):
    ids = [f"j{n}" for n in range(25)][::-1]  # an order that no sorting of the ids makes
    queue.submit_many([New("t", id=id, entity="ada") for id in ids[:12]])
    queue.submit_many([New("t", id=id, entity="ada") for id in ids[12:]])
    assert run_all(queue) == ids


def test_a_head_that_waits_for_its_time_holds_its_entity_back(queue):
    assert lane(queue, "a1", delay=60) == ["scheduled"]
    assert lane(queue, "a2") == ["waiting"]
    assert claimed(queue) == []
    queue.redis.clock.advance(60)
    assert run_all(queue) == ["a1", "a2"]


def test_the_next_one_comes_to_its_own_time(queue):
    lane(queue, "a1")
    lane(queue, "a2", delay=60)
    (claim,) = queue.claim("w")
    queue.ack(claim)
    assert states(queue, "a1", "a2") == "done scheduled"
    assert 50 < queue.counts().wait <= 60
    queue.redis.clock.advance(60)
    queue.promote()
    assert claimed(queue) == ["a2"]


def time_that_passed(queue):
    lane(queue, "a1")
    lane(queue, "a2", delay=60)
    queue.redis.clock.advance(60)


def test_the_next_one_is_ready_at_once_if_its_time_came_meanwhile(queue):
    time_that_passed(queue)
    queue.ack(*queue.claim("w"))
    assert states(queue, "a2") == "ready"


def late(queue, claim):
    queue.redis.clock.advance(31)
    queue.recover()


def after_a_cancel(act):
    def settle(queue, claim):
        queue.cancel(claim.id)
        act(queue, claim)

    return settle


ENDS = {
    "ack": (lambda q, claim: q.ack(claim), "done"),
    "the last failure": (lambda q, claim: q.fail(claim, "x"), "dead"),
    "a permanent failure": (lambda q, claim: q.fail(claim, "x", permanent=True), "dead"),
    "an unknown task": (lambda q, claim: q.refuse(claim, "x"), "dead"),
    "the last lease": (late, "dead"),
    "fail, asked to stop": (after_a_cancel(lambda q, claim: q.fail(claim, "x")), "cancelled"),
    "release, asked to stop": (after_a_cancel(lambda q, claim: q.release(claim)), "cancelled"),
    "recover, asked to stop": (after_a_cancel(late), "cancelled"),
    "ack, asked to stop": (after_a_cancel(lambda q, claim: q.ack(claim)), "done"),
}


@pytest.mark.parametrize("way", ENDS)
def test_whatever_ends_the_head_the_next_one_comes(queue, way):
    end, state = ENDS[way]
    lane(queue, "a1", "a2", "a3", max_attempts=1)
    end(queue, *queue.claim("w"))
    assert states(queue, "a1", "a2", "a3") == f"{state} ready waiting"
    assert claimed(queue) == ["a2"]


STAYS = {
    "retry": (lambda q, claim: q.fail(claim, "x", delay=60), "scheduled"),
    "release": (lambda q, claim: q.release(claim), "ready"),
    "recover": (late, "ready"),
    "extend": (lambda q, claim: q.extend(claim), "running"),
    "a cancel that is asked for": (lambda q, claim: q.cancel(claim.id), "running"),
}


@pytest.mark.parametrize("way", STAYS)
def test_a_head_that_is_not_over_stays_the_head(queue, way):
    act, state = STAYS[way]
    lane(queue, "a1", "a2")
    act(queue, *queue.claim("w"))
    assert states(queue, "a1", "a2") == f"{state} waiting"
    queue.redis.clock.advance(61)
    queue.recover()
    assert run_all(queue) == (["a2"] if way.startswith("a cancel") else ["a1", "a2"])


@pytest.mark.parametrize("delay", [0, 60])
def test_a_head_that_is_cancelled_before_it_ran_frees_its_lane(queue, delay):
    lane(queue, "a1", delay=delay)
    lane(queue, "a2", "a3")
    assert queue.cancel("a1") == "cancelled"
    assert states(queue, "a2", "a3") == "ready waiting"
    assert run_all(queue) == ["a2", "a3"]  # past the entry of the cancelled one, if it has one


def test_one_that_waits_is_cancelled_and_goes_out_of_its_lane(queue):
    lane(queue, "a1", "a2", "a3")
    assert queue.cancel("a2") == "cancelled"
    assert queue.cancel("a2") == "cancelled"
    assert queue.redis.pttl(queue.keys.job + "a2") > 0, "nothing names it: its record may go"
    assert queue.counts().waiting == 1
    assert run_all(queue) == ["a1", "a3"]


def test_a_dead_letter_that_is_requeued_joins_the_end_of_its_lane(queue):
    lane(queue, "a1", "a2", "a3")
    queue.fail(*queue.claim("w"), "x", permanent=True)
    assert queue.requeue("a1") == {"a1": "requeued"}
    assert queue.requeue("a1") == {"a1": "waiting"}
    assert states(queue, "a1", "a2", "a3") == "waiting ready waiting"
    lane(queue, "a4")
    assert run_all(queue) == ["a2", "a3", "a1", "a4"]


def test_a_dead_letter_whose_lane_is_empty_is_its_head(queue):
    lane(queue, "a1")
    queue.fail(*queue.claim("w"), "x", permanent=True)
    queue.requeue("a1", over=0)
    assert lane(queue, "a2") == ["waiting"]
    assert run_all(queue) == ["a1", "a2"]


def test_an_id_that_is_known_does_not_join_again(queue):
    lane(queue, "a1", "a2")
    assert queue.submit("t", id="a2", entity="ada")[1:] == (False, "waiting")
    assert queue.submit("t", id="a2", entity="bob")[1:] == (False, "waiting")
    assert run_all(queue) == ["a1", "a2"]


def test_an_ack_that_is_sent_again_sets_one_going(queue):
    lane(queue, "a1", "a2", "a3")
    (claim,) = queue.claim("w")
    for _ in range(3):
        queue.ack(claim)
    assert queue.each("ack", [claim, claim]) == ["done", "done"]
    assert states(queue, "a2", "a3") == "ready waiting"


def test_a_late_writer_frees_nothing(queue):
    lane(queue, "a1", "a2")
    (zombie,) = queue.claim("w")
    late(queue, zombie)
    assert [claim.id for claim in queue.claim("w2")] == ["a1"]
    with pytest.raises(StaleClaim):
        queue.ack(zombie)
    with pytest.raises(StaleClaim):
        queue.fail(zombie, "x", permanent=True)
    assert states(queue, "a1", "a2") == "running waiting"


def test_500_acks_of_heads_in_one_step(queue):
    queue.submit_many([New("t", id=f"{turn}-{n}", entity=f"e{n}") for turn in range(2) for n in range(500)])
    claims = queue.claim("w", 500)
    assert queue.each("ack", claims) == ["done"] * 500
    assert {claim.id for claim in queue.claim("w", 1000)} == {f"1-{n}" for n in range(500)}


def test_a_batch_holds_one_of_each_entity(queue):
    queue.submit_many([New("t", id=f"{entity}{n}", entity=entity) for n in range(3) for entity in "abc"])
    assert claimed(queue, 100) == ["a0", "b0", "c0"]


def test_the_bell_rings_for_the_next_one(queue):
    lane(queue, "a1", "a2")
    lane(queue, "b1", entity="bob")
    lane(queue, "b2", entity="bob", delay=60)
    claims = queue.claim("w", 2)
    with queue.redis.pubsub() as ear:
        ear.subscribe(queue.keys.bell)
        ear.get_message(timeout=1)
        for claim, word in zip(claims, (b"ready", b"due"), strict=True):
            queue.ack(claim)
            assert ear.get_message(timeout=1)["data"] == word


@pytest.mark.one_server("it asks one node what it counts")
@pytest.mark.live_only(reason="it counts the commands that the server runs")
def test_a_job_without_an_entity_costs_no_command_more(queue):
    redis = queue.redis
    redis.config_resetstat()
    queue.submit_many([New("t")] * 100)
    queue.each("ack", queue.claim("w", 100))
    calls = {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in redis.info("commandstats").items()}
    assert calls["hset"] >= 200, "the jobs came and went"
    assert not {"hsetnx", "hdel", "zrange"} & calls.keys(), calls
    assert not redis.exists(queue.keys.lanes, queue.keys.waiting)
