"""Workers in processes of their own: the same search, the same report; and nothing is left of them."""

import signal
import subprocess
import sys

import psutil
import pytest
from support import programs
from support.apart import assert_none_left, none_left

from jobkit.errors import ConfigError, ExploreError
from jobkit.explore import Apart, explore


@pytest.fixture(scope="module")
def code():
    with Apart(programs.__file__) as code:
        yield code


def both(code, name):
    names, asked = programs.CASES[name]
    here, there = dict(asked), dict(asked)
    if "after_crash" in asked:
        here["after_crash"], there["after_crash"] = (
            vars(programs)[asked["after_crash"]],
            code.worker(asked["after_crash"]),
        )
    return (
        explore(*[vars(programs)[each] for each in names], **here),
        explore(*[code.worker(each) for each in names], **there),
    )


@pytest.mark.parametrize("name", programs.CASES)
def test_the_report_is_the_same(code, name):
    here, there = both(code, name)
    assert there.to_dict() == here.to_dict()
    assert str(there) == str(here)


def explored(code, name="claim", workers=2, **settings):
    return explore(*[code.worker(name)] * workers, **settings)


def test_workers_here_and_apart_race_against_each_other(code):
    report = explore(programs.racy, code.worker("racy"), **programs.RUN)
    assert "done 2 times" in report.verdict
    assert report.to_dict() == explore(programs.racy, programs.racy, **programs.RUN).to_dict()


def test_a_failure_is_replayed_on_a_real_server(code, live):
    report = explore(code.worker("racy"), code.worker("racy"), **programs.RUN)
    replayed = report.replay(live)
    assert replayed.failure.what == report.failure.what


def test_what_it_prints_is_kept_by_worker(apart):
    code = apart(
        "import sys\nprint('loaded')\n"
        "def claim(r, w):\n    print(w.name)\n    print('wrong', file=sys.stderr)\n    r.ping()"
    )
    explored(code, bound=0)
    code.close()
    lines = code.printed["A"].splitlines()
    assert lines[:3] == ["loaded", "A", "wrong"]
    assert code.printed["B"].splitlines()[:2] == ["loaded", "B"]


def test_a_flood_of_prints_neither_stops_it_nor_fills_the_memory(apart):
    code = apart("def claim(r, w):\n    print('x' * 1_000_000)\n    r.ping()")
    explored(code, bound=1)
    code.close()
    assert len(code.printed["A"]) < 70_000
    assert code.printed["A"].endswith("bytes more")


def test_the_judge_s_file_imports_the_learner_s(tmp_path):
    (tmp_path / "answer.py").write_text("def move(redis):\n    return redis.zpopmin('delayed')\n")
    (tmp_path / "judge").mkdir()
    judge = tmp_path / "judge" / "worker.py"
    judge.write_text(
        "from answer import move\n"
        "def worker(r, w):\n"
        "    for job, _ in move(r):\n"
        "        w.effect('run ' + job.decode())\n"
    )
    with Apart(judge, folder=tmp_path) as code:
        assert explored(code, "worker", **programs.RUN)
        (tmp_path / "answer.py").write_text("\n\nmove = None / 1\n")
    with Apart(judge, folder=tmp_path) as code, pytest.raises(ExploreError, match=r"answer.py, line 3: TypeError"):
        explored(code, "worker")


@pytest.mark.parametrize("name", ["json.py", "redis.py", "jobkit.py", "threading.py", "two words.py"])
def test_a_file_may_have_any_name(tmp_path, name):
    (tmp_path / name).write_text(
        "import json, redis, threading\ndef claim(r, w): return redis.Redis.__name__, json.dumps(1)"
    )
    with Apart(tmp_path / name) as code:
        assert explored(code, finally_=lambda world: world.answers["A"] == ("Redis", "1"))


def test_there_is_such_a_file_and_folder(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no file .*answer.py"):
        Apart(tmp_path / "answer.py")
    (tmp_path / "answer.py").touch()
    with pytest.raises(ConfigError, match=r"there is no folder .*nowhere"):
        Apart(tmp_path / "answer.py", tmp_path / "nowhere")


def test_it_knows_no_secret_and_no_server(apart, monkeypatch):
    monkeypatch.setenv("JOBKIT_REDIS", "redis://:hush@production")
    monkeypatch.setenv("TOKEN", "hush")
    code = apart("import os\ndef claim(r, w): return sorted(os.environ), 'hush' in str(os.environ)")

    def hushed(world):
        names, hush = world.answers["A"]
        return not hush and "TOKEN" not in names and "PATH" in names

    assert explored(code, finally_=hushed)


def test_it_has_nothing_but_its_end_of_the_socket_pair(apart):
    code = apart("import os\ndef claim(r, w): return sorted(os.listdir('/proc/self/fd'))")
    assert explored(code, finally_=lambda world: len(world.answers["A"]) <= 6 or str(world.answers))


def test_after_an_error_it_begins_anew_and_after_close_never(apart):
    code = apart("def claim(r, w): r.ping()\ndef bad(r, w):\n    import os\n    os._exit(7)")
    assert explored(code)
    with pytest.raises(ExploreError, match="worker A ended its process, with exit code 7"):
        explored(code, "bad")
    assert_none_left(code.path.parent)
    assert explored(code)
    code.close()
    with pytest.raises(ExploreError, match="were closed"):
        explored(code)


def test_time_is_limited_for_all_workers_together(apart):
    code = apart(
        "import select\n"
        "def claim(r, w):\n    for _ in range(9):\n        select.select([], [], [], 0.1)\n        r.ping()",
        seconds=0.5,
    )
    with pytest.raises(ExploreError, match=r"the workers of answer.py have run for 0.5 s in all"):
        explored(code)


def test_a_file_that_takes_too_long_to_load(apart):
    code = apart("while True: pass", load_seconds=1)
    with pytest.raises(ExploreError, match=r"answer.py was not loaded within 1 s"):
        explored(code)


def test_loading_may_take_longer_than_patience(apart):
    code = apart("import select\nselect.select([], [], [], 2.5)\ndef claim(r, w): r.ping()")
    assert explored(code, patience=1)


def test_a_finally_that_never_ends(apart):
    code = apart("def claim(r, w):\n    try:\n        r.ping()\n    finally:\n        while True:\n            pass")
    with pytest.raises(ExploreError, match=r"worker A ran for 0.3 s without a command"):
        explored(code, workers=1, crashes=1, patience=0.3)


def test_an_endless_script_is_the_server_s_trouble(apart):
    code = apart("def claim(r, w): r.eval('while true do pcall(function() while true do end end) end', 0)")
    with pytest.raises(ExploreError, match=r"the server does not come to an end with EVAL|did not end within"):
        explored(code, patience=1)


def test_a_child_of_the_child_ends_too(apart):
    code = apart("import os\ndef claim(r, w):\n    if os.fork() == 0:\n        while True: pass\n    r.ping()")
    assert explored(code, bound=0)
    code.close()
    assert_none_left(code.path.parent)


PARENT = """
import sys
from jobkit.explore import explore
from jobkit.explore.apart import Apart
with Apart(sys.argv[1]) as code:
    explore(code.worker("claim"), patience=100, always=lambda world: print("running", flush=True))
"""


@pytest.mark.parametrize("busy", ["while True: pass", "r.blpop('nothing', 0)", "import time; time.sleep(0)"])
def test_a_child_ends_with_its_parent_even_by_sigkill(tmp_path, busy, eventually):
    path = tmp_path / "answer.py"
    path.write_text(f"def claim(r, w):\n    for _ in range(999): r.ping()\n    {busy}\n")
    with subprocess.Popen([sys.executable, "-c", PARENT, str(path)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout.readline() == b"running\n"
        assert any(str(path) in " ".join(child.cmdline()) for child in psutil.Process(parent.pid).children())
        parent.kill()
    eventually(lambda: none_left(tmp_path))


def test_an_interrupt_leaves_nothing(apart):
    code = apart("def claim(r, w):\n    while True: pass")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    with pytest.raises(KeyboardInterrupt):
        explored(code, patience=60)
    assert_none_left(code.path.parent)


def test_a_worker_here_is_watched_as_ever(code):
    def endless(_r):
        while True:
            pass

    with pytest.raises(ExploreError, match="worker B ran for 1 s without a command"):
        explore(code.worker("racy"), endless, patience=1)


def test_words_go_through_as_they_are(apart):
    code = apart(
        "def claim(r, w):\n"
        "    raw = bytes(range(256))\n"
        "    r.set(raw, raw * 1000)\n"
        "    w.effect('ä \\U0001f600 \\0 \\ud800')\n"
        "    return r.get(raw) == raw * 1000, raw, [(), {}, {1: (None, 1.5)}], {1, 2}, 10 ** 50\n"
    )

    def same(world):
        assert world.effects[0].text == "ä \U0001f600 \0 \ud800"
        assert world.answers["A"] == (True, bytes(range(256)), [(), {}, {1: (None, 1.5)}], "{1, 2}", 10**50)

    assert explored(code, finally_=same, bound=0)
