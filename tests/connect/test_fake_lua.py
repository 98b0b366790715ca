"""What the kit's scripts rely on, where the plain fake is wrong or slow: the same on the fake and live."""

import pytest
import redis as redis_py


def test_the_error_of_a_pcall_is_text(redis):
    script = (
        "local r = redis.pcall('XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', KEYS[1], '>') return {type(r.err), r.err}"
    )
    kind, text = redis.eval(script, 1, "nothing")
    assert kind == b"string"
    assert text.startswith(b"NOGROUP ")
    redis.xgroup_create("s", "other", mkstream=True)
    assert redis.eval(script, 1, "s")[1].startswith(b"NOGROUP ")


def test_a_second_group_of_that_name_is_busy(redis):
    script = "local r = redis.pcall('XGROUP', 'CREATE', KEYS[1], 'g', '0', 'MKSTREAM') return r.err or r.ok"
    assert redis.eval(script, 1, "s") == b"OK"
    assert redis.eval(script, 1, "s").startswith(b"BUSYGROUP ")


def test_reading_a_missing_stream_says_nogroup(redis):
    with pytest.raises(redis_py.ResponseError, match="NOGROUP"):
        redis.xreadgroup("g", "c", {"nothing": ">"})


def test_a_kept_script_gets_fresh_arguments(redis):
    script = redis.register_script("local n = #KEYS n = n + #ARGV return {KEYS[1], ARGV[1], n}")
    assert script(keys=["a"], args=["x"]) == [b"a", b"x", 2]
    assert script(keys=["b"], args=["y"]) == [b"b", b"y", 2]
    redis.script_flush()
    assert script(keys=["c"], args=["z"]) == [b"c", b"z", 2]


def test_a_script_may_not_leave_global_names(redis):
    with pytest.raises(redis_py.ResponseError):
        redis.eval("left_behind = 1", 0)
    assert redis.eval("return redis.call('PING').ok", 0) == b"PONG"


def test_a_broken_script_is_an_error_each_time(redis):
    for _ in range(2):
        with pytest.raises(redis_py.ResponseError):
            redis.eval("this is not lua", 0)
        with pytest.raises(redis_py.ResponseError):
            redis.eval("error('boom')", 0)
        with pytest.raises(redis_py.ResponseError, match="WRONGTYPE"):
            redis.eval("redis.call('SET', KEYS[1], 1) return redis.call('ZADD', KEYS[1], 1, 'a')", 1, "k")


def test_a_fake_collects_luas_garbage(fake):
    script = fake.register_script(
        "local t = {} for i = 1, 2000 do t[i] = {i, tostring(i)} end return collectgarbage('count')"
    )
    sizes = [script() for _ in range(600)]
    assert max(sizes[-200:]) <= 1.5 * max(sizes[:200])
