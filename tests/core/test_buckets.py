"""Buckets by the minute: every due id is found, however late; the document's way misses those of past minutes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.keyspace import server_ms

from jobkit.errors import ConfigError
from jobkit.keys import shard
from jobkit.ready.asfound import java_shard, this_minute
from jobkit.ready.buckets import MINUTE, Buckets, minute_of


@pytest.fixture
def buckets(redis):
    return Buckets(redis, "jobs", shards=3)


def of_shard(buckets, k, n=5):
    return [id for id in map("job-{}".format, range(100)) if buckets.of(id) is buckets.shards[k]][:n]


def test_a_bucket_is_a_minute_of_a_shard(buckets):
    k = shard("job-1", 3)
    assert buckets.add("job-1", 1_792_800_059_999) == f"{{jobs:shard-{k}}}:bucket:2026-10-24T00:00"
    assert minute_of(1_792_800_060_000) == "2026-10-24T00:01"


def test_what_is_due_is_moved_and_nothing_else(buckets):
    now, (early, late, later, *_) = server_ms(buckets.redis), of_shard(buckets, 1)
    buckets.add(early, now - 5)
    buckets.add(late, now - 60 * MINUTE)
    buckets.add(later, now + 10 * MINUTE)
    assert buckets.drain(0) == []
    assert buckets.drain(1) == [late.encode(), early.encode()]
    assert buckets.drain(1) == []
    assert buckets.redis.lrange(buckets.shards[1].ready, 0, -1) == [late.encode(), early.encode()]
    buckets.redis.clock.advance(11 * 60)
    assert buckets.drain(1) == [later.encode()]
    assert not list(buckets.redis.scan_iter("*bucket*"))
    assert not buckets.redis.exists(buckets.shards[1].minutes)


def test_a_limit_leaves_the_rest_for_the_next_call(buckets):
    now, ids = server_ms(buckets.redis), of_shard(buckets, 2, 7)
    for n, id in enumerate(ids):
        buckets.add(id, now - (10 - n) * 20_000)
    found = [buckets.drain(2, 3) for _ in range(3)]
    assert [len(page) for page in found] == [3, 3, 1]
    assert [id.decode() for page in found for id in page] == ids


def test_the_documents_scheduler_misses_what_is_late(buckets):
    now, (missed, present, *_) = server_ms(buckets.redis), of_shard(buckets, 0)
    buckets.add(missed, now - MINUTE)
    buckets.add(present, now)
    for _ in range(3):
        this_minute(buckets, 0)
    ready = buckets.redis.lrange(buckets.shards[0].ready, 0, -1)
    assert missed.encode() not in ready
    assert buckets.drain(0)[0] == missed.encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.dictionaries(st.text(min_size=1, max_size=5), st.integers(-200, 200), max_size=20), st.integers(1, 7))
def test_every_id_is_found_once_when_its_time_has_come(fake, seconds, limit):
    fake.flushall()
    buckets, now = Buckets(fake, "jobs", shards=3), server_ms(fake)
    for id, late in seconds.items():
        buckets.add(id, now + late * 1000)
    found = []
    for _ in range(30):
        for k in range(3):
            while page := buckets.drain(k, limit):
                found += [id.decode() for id in page]
        assert sorted(found) == sorted(id for id, late in seconds.items() if now + late * 1000 <= server_ms(fake))
        fake.clock.advance(30)
    assert sorted(found) == sorted(seconds)


def test_javas_hash_code_has_no_absolute_value_for_one_integer():
    """By the hash codes that Java's own documents and answers give."""
    assert java_shard("polygenelubricants", 3) == -2
    assert java_shard("GydZG_", 3) == -2
    assert java_shard("polygenelubricants", 8) == 0
    assert java_shard("hello", 2**31) == 99_162_322
    assert java_shard("\U0001f600", 2**31) == 1_772_899  # two units of UTF-16
    assert all(0 <= shard(id, 3) < 3 for id in ("polygenelubricants", "GydZG_"))


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, None])
def test_a_number_of_shards_that_makes_no_sense(fake, wrong):
    with pytest.raises(ConfigError):
        Buckets(fake, "jobs", shards=wrong)
