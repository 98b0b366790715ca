"""A client that tells after each of its commands."""

import gc

import pytest

from jobkit.connect.telling import client_that_tells


@pytest.fixture
def told():
    return []


def test_it_tells_after_each_command_with_its_number(redis, told):
    client = client_that_tells(redis, lambda n: told.append((n, redis.get("k"))))
    client.set("k", 1)
    assert client.incr("k") == 2
    assert told == [(1, b"1"), (2, b"2")]


def test_a_pipeline_is_one_command(redis, told):
    pipe = client_that_tells(redis, lambda n: told.append((n, redis.get("k")))).pipeline()
    assert pipe.set("k", 1).incr("k").execute() == [True, 2]
    assert told == [(1, b"2")]


def test_what_a_watching_pipeline_reads_at_once_is_a_command_each(redis, told):
    client = client_that_tells(redis, told.append)
    with client.pipeline() as pipe:
        pipe.watch("k")
        assert pipe.get("k") is None
        pipe.multi()
        pipe.set("k", 1).execute()
    assert told == [1, 2, 3]


def test_so_is_a_script(redis, told):
    client = client_that_tells(redis, told.append)
    script = client.register_script("return redis.call('INCR', KEYS[1])")
    script(keys=["k"])  # EVALSHA, which no server knows yet: nothing was answered; SCRIPT LOAD, EVALSHA
    assert script(keys=["k"]) == 2
    assert told == [1, 2, 3]


def test_what_happens_may_end_it(redis):
    def cut(n):
        if n == 2:
            raise EOFError

    client = client_that_tells(redis, cut)
    client.set("k", 1)
    with pytest.raises(EOFError):
        client.incr("k")
    assert redis.get("k") == b"2"  # the command was done: its answer is what was lost


def test_its_end_does_not_close_what_it_shares(redis):
    redis.ping()
    (line,) = redis.connection_pool._available_connections
    client_that_tells(redis, lambda n: None).get("k")
    gc.collect()
    assert redis.connection_pool._available_connections == [line]
    assert line._sock is not None  # `is_connected` is newer than redis-py 5
