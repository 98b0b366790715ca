"""What a script may reach: the same names on the fake and live, and nothing of the Python that the fake is made of."""

import subprocess
import sys

import pytest
import redis as redis_py

from jobkit.connect import fakelua

HIDDEN = "python os io require package module debug dofile loadfile"
PYTHONS_OWN = [
    "return cjson.null.__class__",
    "return cjson.decode('[null]')[1].__class__",
    "return redis.call.__globals__",
    "return getmetatable(cjson.null).__index",
    "cjson.null.x = 1",
    "local ok, e = pcall(redis.call, 'SET') return e.__traceback__.tb_frame",
    "local e = coroutine.wrap(function() redis.call('SET') end) e()",
    "local co = coroutine.create(function() redis.call('SET') end) return select(2, coroutine.resume(co)).args.x",
    "return select(2, xpcall(function() redis.call('SET') end, function(e) return e end)).__class__.x",
    "return cjson.encode(pcall)",
    "local t = {} t[1] = t return cjson.encode(t)",
    "redis.call({})",
    "redis.call({upper = function() return 'GET' end, decode = function() return 'acl' end}, 'WHOAMI')",
]
READONLY = [
    "x = 1",
    "pcall = 1",
    "KEYS = {}",
    "string.x = 1",
    "redis.call = 1",
    "rawset(_G, 'x', 1)",
    "rawset(string, 'x', 1)",
    "setmetatable(_G, {})",
    "loadstring('x = 1')()",
    "load(coroutine.wrap(function() coroutine.yield('x = 1') end))()",
]
ENDLESS = [
    "while true do end",
    "while true do pcall(function() while true do end end) end",
    "local function again() return again() end again()",
    "while true do pcall(coroutine.wrap(function() while true do end end)) end",
    "xpcall(function() while true do end end, function() while true do end end)",
    "while true do pcall(redis.call, 'SET') end",
    "while true do collectgarbage() end",
    "table.sort({3, 2, 1}, function() while true do end end)",
    "string.gsub(string.rep('a', 100), 'a', function() while true do end end)",
]


@pytest.mark.parametrize("name", HIDDEN.split())
def test_a_script_has_no_such_name(redis, name):
    if name == "os" and _is_live(redis, since=(7, 4)):
        assert redis.eval(
            "local names = {} for name in pairs(os) do table.insert(names, name) end return names", 0
        ) == [b"clock"]
        return
    with pytest.raises(redis_py.ResponseError, match=f"nonexistent global variable '{name}'"):
        redis.eval(f"return {name}", 0)


@pytest.mark.parametrize("script", READONLY)
def test_a_script_leaves_nothing_behind(redis, script):
    with pytest.raises(redis_py.ResponseError, match=r"readonly table|protected metatable"):
        redis.eval(script, 0)
    assert redis.eval("return {type(pcall), type(string.rep), type(redis.call), #KEYS}", 0)[0] == b"function"
    assert not redis.eval("return string.x", 0)


def test_what_a_pcall_catches_is_text(redis):
    assert redis.eval("local ok, said = pcall(redis.call, 'SET') return type(said)", 0) == b"string"
    assert redis.eval("local ok, said = pcall(error, {code = 7}) return said.code", 0) == 7
    assert redis.eval("return {xpcall(function() error('a', 0) end, function(e) return e .. 'b' end)}", 0)[1] == b"ab"
    assert redis.eval("return {pcall(function(a, b) return a + b end, 1, 2)}", 0)[1] == 3


def test_chance_is_the_same_in_every_script_of_the_fake_and_of_redis_6(redis):
    script = "return {math.random(1000), math.random(1000)}"
    assert (redis.eval(script, 0) == redis.eval(script, 0)) != _is_live(redis, since=(7, 0))


def _is_live(redis, since):
    """Whether it is a server, and of such a version; Valkey begins at 7.2, and shows what Redis 7.4 does."""
    if redis.server.kind == "fake":
        return False
    return redis.server.product == "Valkey" or tuple(map(int, redis.server.version.split(".")[:2])) >= since


def test_coroutines_work(redis):
    script = "local next = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) return next() + next()"
    assert redis.eval(script, 0) == 3
    assert redis.eval("return ('x'):rep(3) .. ('y'):upper()", 0) == b"xxxY"


@pytest.mark.parametrize("script", PYTHONS_OWN)
def test_no_object_of_pythons_opens_up(fake, script):
    with pytest.raises(redis_py.ResponseError):
        fake.eval(script, 0)


def test_bytecode_is_not_run(fake):
    with pytest.raises(redis_py.ResponseError, match="bytecode"):
        fake.eval(b"\x1bLua", 0)
    assert fake.eval(r"return select(2, loadstring('\27Lua'))", 0) == b"bytecode is not loaded"


@pytest.mark.parametrize("command", ["ACL WHOAMI", "CLIENT KILL ID 1"])
def test_a_script_is_no_administrator(redis, command):
    words = ", ".join(f"'{word}'" for word in command.split())
    with pytest.raises(redis_py.ResponseError, match="not allowed from script"):
        redis.eval(f"return redis.call({words})", 0)


@pytest.mark.parametrize("script", ENDLESS)
def test_an_endless_script_ends(fake, monkeypatch, script):
    with monkeypatch.context() as patch:
        patch.setattr(fakelua, "PATIENCE", 0.02)
        with pytest.raises(redis_py.TimeoutError, match="did not end within"):
            fake.eval(script, 0)
    assert fake.eval("return 1", 0) == 1
    assert fake.eval("for i = 1, 5000 do end return 2", 0) == 2


@pytest.mark.parametrize("script", ["local t = {} for i = 1, 1e9 do t[i] = i end", "return string.rep('x', 2^30)"])
def test_a_script_has_so_much_memory(fake, script):
    with pytest.raises(redis_py.ResponseError):
        fake.eval(script, 0)
    assert fake.eval("return 1", 0) == 1


def test_nothing_repeated_for_ever_is_nothing(fake):
    assert fake.eval("return string.rep('', 2^31 - 1)", 0) == b""


def test_ctrl_c_ends_an_endless_script():
    program = """
import signal, redis
from jobkit.connect.fake import FakeRedis
signal.setitimer(signal.ITIMER_REAL, 0.2)
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    FakeRedis().client().eval("while true do pcall(function() while true do end end) end", 0)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "interrupted"
