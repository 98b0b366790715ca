"""Lua files are called by name: a wrong or missing name raises TypeError, as for a Python function."""

import re
from importlib import resources

import pytest

from jobkit.keys import Keys
from jobkit.scripts import Scripts, load

PARTS = {"opening", "lanes", "shared"}
ALONE = {"once"}  # not a verb of the queue: it is called with keys of its caller's
VERBS = sorted(
    path.name.removesuffix(".lua")
    for path in resources.files("jobkit.lua").iterdir()
    if path.name.endswith(".lua") and path.name.removesuffix(".lua") not in PARTS | ALONE
)
PROMISES = {
    "submit",
    "promote",
    "claim",
    "ack",
    "fail",
    "extend",
    "release",
    "cancel",
    "recover",
    "requeue",
    "get",
    "counts",
}


def test_each_verb_has_its_file():
    assert set(VERBS) >= PROMISES


@pytest.mark.parametrize("name", VERBS)
def test_a_header_says_all(name):
    source = load(name)
    header, _, body = source.text.partition("\n\n")
    assert header.startswith("-- ")
    assert all(line.startswith("--") for line in header.splitlines()), f"{name}.lua: no empty line ends the header"
    assert re.search(r"^-- returns ", header, re.MULTILINE), f"{name}.lua does not say what it returns"
    assert all(hasattr(Keys("q"), key) for key in source.keys), source.keys
    for table, named in (("KEYS", source.keys), ("ARGV", source.args)):
        used = {int(n) for n in re.findall(rf"\b{table}\[(\d+)\]", body)}
        assert used <= set(range(1, len(named) + 1)), f"{name}.lua uses {table} that its header does not name"
    loops = re.search(r"#ARGV", body)
    assert bool(loops) == (source.rest is not None), f"{name}.lua: a rest is named and read, or neither"


@pytest.mark.parametrize("name", VERBS)
def test_each_key_and_argument_is_used(name):
    source = load(name)
    body = source.text.partition("\n\n")[2]
    for table, named in (("KEYS", source.keys), ("ARGV", source.args)):
        for position, parameter in enumerate(named, 1):
            taken_apart = re.search(rf"= .*\b{table}\[{position}\]", body) or f"{table}[{position}]" in body
            assert taken_apart, f"{name}.lua: nobody reads {table}[{position}] {parameter}"


def test_a_store_names_its_keys_and_has_all_the_functions(store):
    source = store.source
    assert all(hasattr(Keys("q"), key) for key in source.keys)
    functions = set(re.findall(r"^local function (\w+)", source.text, re.MULTILINE))
    assert {"push", "take", "drop", "renew", "expired", "sizes", "holds", "arrived", "reap"} <= functions


@pytest.mark.parametrize("name", [*VERBS, *sorted(PARTS), *ALONE])
def test_payloads_pass_as_bytes_and_time_comes_from_the_server(name):
    text = load(name).text
    assert "cjson" not in text
    assert "cmsgpack" not in text
    assert "os.time" not in text
    assert not re.search(r"redis\.call\('(KEYS|SCAN|FLUSH\w+|EVAL\w*)'", text)


@pytest.fixture
def scripts(store):
    constants = {"retention_ms": 1000, "history": 10, "dead_max": 1, "dead_ms": 1000, "lease_ms": 1000}
    return Scripts(Keys("q"), store.source, store.kind, constants)


@pytest.mark.parametrize(
    ("name", "rest", "named"),
    [
        ("promote", (), {}),
        ("promote", (), {"limit": 1, "more": 2}),
        ("promote", (), {"Limit": 1}),
        ("promote", (5,), {"limit": 1}),
        ("cancel", (), {}),
        ("fail", (), {"id": "a", "token": 1, "delay_ms": 0}),
        ("counts", (1,), {}),
        ("counts", (), {"limit": 1}),
    ],
)
def test_wrong_names(fake, scripts, name, rest, named):
    with pytest.raises(TypeError, match=rf"{name}\.lua takes"):
        scripts.call(fake, name, *rest, **named)
    with pytest.raises(TypeError, match=rf"{name}\.lua takes"):
        scripts.together(fake, ("counts", (), {}), (name, rest, named))
    assert fake.dbsize() == 0


def test_constants_are_filled_in_and_may_be_overruled(fake, scripts):
    assert scripts.call(fake, "cancel", id="nobody") == b"missing"
    assert scripts.call(fake, "cancel", id="nobody", retention_ms=5) == b"missing"


def test_several_as_one_step(redis, scripts):
    answers = scripts.together(
        redis,
        ("submit", ("a", "+0", "t", b"", 5, 0, "", ""), {"nonce": ""}),
        ("claim", (), {"worker": "w", "limit": 1}),
        ("ack", ("a", 1, "b", 2), {}),
        ("counts", (), {}),
    )
    assert answers[0] == [b"created ready"]
    assert answers[1][1][:3] == [b"a", 1, 1]
    assert answers[2] == [b"done", b"stale"]
    assert answers[3][:4] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "header",
    ["-- KEYS[2] a zset", "-- KEYS[1] a zset\n-- KEYS[1] b zset", "-- ARGV[1] a\n-- ARGV[3] b", "-- ARGV[0] a"],
)
def test_a_header_out_of_order(tmp_path, monkeypatch, header):
    package = tmp_path / "crooked"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "bad.lua").write_text(f"-- Bad.\n{header}\nreturn 1\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="out of order"):
        load("bad", "crooked")


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        load("nothing")
