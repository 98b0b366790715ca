"""A command takes the ready store that the queue has, whatever it is."""

import json

import pytest

import jobkit as jk


@pytest.mark.parametrize("store", [jk.Streams(), jk.Lists(fair=4), jk.Leases()], ids=lambda store: store.kind)
def test_stats_and_dead_letters_of_any_store(redis, url, call, store):
    queue = jk.Queue(redis, "post", ready=store)
    queue.submit("receipt", id="j")
    queue.fail(*queue.claim("w"), "boom", permanent=True)
    told = json.loads(call("stats", "post", "--json")[1])
    assert (told["store"], told["dead"]) == (store.kind, 1)
    assert call("dead", "requeue", "post", "j")[0] == 0
    queue.promote()
    assert [claim.id for claim in queue.claim("w")] == ["j"]


def test_a_scheduler_of_another_store_is_refused(redis, url, call):
    jk.Queue(redis, "post", ready=jk.Lists(fair=4)).submit("receipt")
    status, _, err = call("scheduler", "post", "--store", "leases")
    assert status == 2
    assert "the ready store of post is lists fair=4, and not leases" in err


def test_a_shard_is_looked_at_as_a_queue_of_its_own(redis, url, call):
    queue = jk.ShardedQueue(redis, "post", shards=3)
    shard = queue.of("j")
    queue.submit("receipt", id="j")
    told = json.loads(call("stats", shard.name, "--json")[1])
    assert (told["store"], told["ready"]) == ("streams in 3 shards", 1)
    queue.fail(*queue.claim("w"), "boom", permanent=True)
    assert call("dead", "requeue", shard.name, "j")[0] == 0
    assert queue.promote().moved == 1
