"""`jobkit worker`: a real process that runs a module's worker, and ends in order."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import jobkit as jk
from jobkit.connect import address_for_others
from jobkit.journal import read

SHOP = """
import pathlib, time
import jobkit as jk

queue = jk.Queue(jk.connect(), "shop", lease=3)
worker = jk.Worker(queue, grace=GRACE, max_run=MAX_RUN)

@worker.task
def receipt(job, to):
    print("a receipt for", to)

@worker.task
def wait(job, file, seconds=30):
    pathlib.Path(file).touch()
    time.sleep(seconds)

@worker.task
def bad(job):
    raise OSError("no route\\nto host")
"""


@pytest.fixture
def shop(tmp_path, real):
    """Start `jobkit worker shop:worker` on the test's server; what it printed lands in files."""
    address = address_for_others(real).removesuffix("?prefix=")

    def start(*arguments, grace=5, max_run=None, source=SHOP, stdin=None):
        module = source.replace("GRACE", str(grace)).replace("MAX_RUN", str(max_run))
        tmp_path.joinpath("shop.py").write_text(module)
        command = [sys.executable, "-m", "jobkit", "worker", "shop:worker", *arguments]
        return subprocess.Popen(
            command,
            env={**os.environ, "JOBKIT_REDIS": address},
            cwd=tmp_path,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def queue(real):
    return jk.Queue(real, "shop", lease=3)


def end(process, number=signal.SIGTERM):
    if number is not None:
        process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


LINE = re.compile(r"^\d\d:\d\d:\d\d\.\d{3}  worker-[0-9a-f]{8}  (.*)$")


def sentences(err):
    """What the log says: all but its first line, which tells of the connection."""
    first, *lines = err.splitlines()
    assert first.startswith("jobkit: ")
    assert all(LINE.match(line) for line in lines), err
    return [LINE.match(line)[1] for line in lines]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_works_until_a_signal(number, shop, queue, eventually):
    queue.submit("receipt", {"to": "ada"}, id="a")
    queue.submit("receipt", {"to": "bob"}, id="b", delay=0.2)
    queue.submit("bad", id="c\nd", max_attempts=1)
    with shop("--threads", "2") as process:
        eventually(lambda: queue.counts().totals.get("done") == 2 and queue.counts().dead == 1, within=20)
        status, out, err = end(process, number)
    assert status == 0
    assert sorted(out.splitlines()) == ["a receipt for ada", "a receipt for bob"]
    said = sentences(err)
    assert said[0] == "shop:worker on Queue('shop', streams), tasks: bad, receipt, wait"
    assert {"receipt: done, attempt 1 (a)", "receipt: done, attempt 1 (b)"} <= set(said)
    assert r"bad: OSError: no route\nto host, attempt 1, dead (c\nd)" in said


def test_what_runs_may_end_within_its_grace(shop, queue, tmp_path, eventually):
    queue.submit("wait", {"file": str(tmp_path / "begun"), "seconds": 1.5}, id="a")
    with shop(grace=10) as process:
        eventually((tmp_path / "begun").exists, within=20)
        status, _, err = end(process)
    assert status == 0
    assert "wait: done, attempt 1 (a)" in sentences(err)
    assert queue.counts().totals["done"] == 1


def test_what_runs_for_longer_is_given_back_uncharged(shop, queue, tmp_path, eventually):
    queue.submit("wait", {"file": str(tmp_path / "begun")}, id="a")
    with shop(grace=0.3) as process:
        eventually((tmp_path / "begun").exists, within=20)
        assert queue.get("a").attempt == 1
        status, _, _ = end(process)
    assert status == 0
    job = queue.get("a")
    assert (job.state, job.attempt) == (jk.State.READY, 0)


def test_a_handler_that_hangs_ends_the_process_with_75(shop, queue, tmp_path):
    queue.submit("wait", {"file": str(tmp_path / "begun")}, id="a", max_attempts=1)
    with shop(grace=0.2, max_run=0.3) as process:
        _, err = process.communicate(timeout=30)
    assert process.returncode == 75
    said = sentences(err)
    assert "wait: RunTooLong: its maximum run time is over, attempt 1, dead (a)" in said
    assert said[-1] == "ends with exit status 75, to be replaced"


@pytest.mark.parametrize(("flag", "lines"), [("-q", 0), ("-v", 3)])
def test_quieter_and_louder(flag, lines, shop, queue, eventually):
    queue.submit("receipt", {"to": "ada"}, id="a", delay=0.2)
    with shop(flag) as process:
        eventually(lambda: queue.counts().totals.get("done"), within=20)
        status, _, err = end(process)
    assert status == 0
    assert len(sentences(err)) >= lines if lines else not sentences(err)


def test_a_module_that_sets_up_logging_keeps_its_own(shop, queue, eventually):
    own = "import logging\nlogging.basicConfig(format='OWN %(name)s %(message)s')\n"
    queue.submit("receipt", {"to": "ada"}, id="a")
    with shop(source=own + SHOP) as process:
        eventually(lambda: queue.counts().totals.get("done"), within=20)
        _, _, err = end(process)
    assert "OWN jobkit.worker receipt: done, attempt 1 (a)" in err.splitlines()
    assert all(line.startswith("OWN jobkit.") for line in err.splitlines()[1:])


def test_the_prefix_is_the_modules_unless_one_is_given(shop, real, eventually):
    own = SHOP.replace("jk.connect()", "jk.connect(prefix='own:')")
    for flags, prefix in (((), "own:"), (("--prefix", "mine:"), "mine:")):
        real.prefix = prefix
        queue = jk.Queue(real, "shop")
        queue.submit("receipt", {"to": "ada"}, id="a")
        with shop(*flags, source=own) as process:
            eventually(lambda queue=queue: queue.counts().totals.get("done"), within=20)
            assert end(process)[0] == 0


def test_the_script_finds_the_module_of_this_folder(tmp_path, live, eventually):
    script = Path(sys.executable).with_name("jobkit")
    if not script.exists():
        pytest.skip("jobkit is not installed here")
    tmp_path.joinpath("shop.py").write_text(SHOP.replace("GRACE", "5").replace("MAX_RUN", "None"))
    queue = jk.Queue(live, "shop")
    queue.submit("receipt", {"to": "ada"})
    command = [script, "worker", "shop:worker", "--url", address_for_others(live)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: queue.counts().totals.get("done"), within=20)
        status, out, _ = end(process)
    assert (status, out) == (0, "a receipt for ada\n")


# -- as the child of a program --------------------------------------------------------


def test_a_child_ends_with_its_parent_and_not_by_its_ctrl_c(shop, queue, tmp_path, eventually):
    queue.submit("wait", {"file": str(tmp_path / "begun"), "seconds": 1}, id="a")
    journal = tmp_path / "journal"
    with shop("--with-parent", "--name", "w7", "--journal", str(journal), stdin=subprocess.PIPE) as process:
        eventually((tmp_path / "begun").exists, within=20)
        process.send_signal(signal.SIGINT)
        queue.submit("receipt", {"to": "ada"}, id="b")
        eventually(lambda: queue.counts().totals.get("done") == 2, within=20)
        assert process.poll() is None
        status, out, err = end(process, None)  # which closes its standard input
    assert (status, out) == (0, "a receipt for ada\n")
    assert [line.split("  ")[1].strip() for line in err.splitlines()[1:]] == ["w7"] * (len(err.splitlines()) - 1)
    assert "its parent is gone" in err
    marks = [(mark.worker, mark.what, mark.id) for mark in read(journal)]
    assert marks == [("w7", "start", "a"), ("w7", "end", "a"), ("w7", "start", "b"), ("w7", "end", "b")]


def test_a_child_whose_handler_does_not_end_goes_with_its_parent_all_the_same(shop, queue, tmp_path, eventually):
    queue.submit("wait", {"file": str(tmp_path / "begun")}, id="a")
    with shop("--with-parent", grace=0.2, stdin=subprocess.PIPE) as process:
        eventually((tmp_path / "begun").exists, within=20)
        assert end(process, None)[0] == 0
    assert (queue.get("a").state, queue.get("a").attempt) == (jk.State.READY, 0)


def test_options_of_a_child_that_cannot_be(modules, live, call, tmp_path):
    address = address_for_others(live)
    for option, value, says in (
        ("--journal", str(tmp_path / "no" / "folder"), "cannot be written: No such file or directory"),
        ("--name", "", "a worker's name"),
    ):
        status, out, err = call("worker", f"good{modules}:w", "--url", address, option, value)
        assert (status, out) == (2, "")
        assert says in err.splitlines()[-1]


# -- what is wrong with it is one line ------------------------------------------------

MODULES = {
    "good": "import jobkit as jk\nr = jk.connect()\nqueue = jk.Queue(r, 'q')\nw = jk.Worker(queue)\nw.task(print)\n",
    "idle": "import jobkit as jk\nw = jk.Worker(jk.Queue(jk.connect(), 'q'))\n",
    "needs": "import jobkit\n\nimport nosuchthing\n",
    "deeper": "import needs\n",
    "broken": "x = (\n",
    "quits": "raise SystemExit(3)\n",
    "fails": "def f():\n    raise ValueError('redis://ada:s3cret@h is no good')\n\nf()\n",
    "away": "import jobkit as jk\njk.connect('redis://ada:s3cret@127.0.0.1:1')\n",
    "other": "import jobkit as jk\nw = jk.Worker(jk.Queue(jk.connect('fake'), 'q'))\nw.task(print)\n",
}


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """The folder that the user works in. Each test's modules have names of their own: imports are remembered."""
    suffix = f"_{tmp_path.name[-12:]}".replace("-", "_")
    for name, source in MODULES.items():
        tmp_path.joinpath(f"{name}{suffix}.py").write_text(source.replace("needs", f"needs{suffix}"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("JOBKIT_REDIS", "")
    return suffix


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("good", "what to run? MODULE:WORKER, such as shop:worker"),
        ("good:", "what to run? MODULE:WORKER, such as shop:worker"),
        ("./good:w", "a module is named as in an import, without .py"),
        ("good.py:w", "a module is named as in an import, without .py"),
        ("redis://ada:s3cret@h", "what to run?"),
        ("nosuch:w", "no module nosuch_ in this folder, nor in this environment"),
        ("nosuch.deep:w", "no module nosuch in this folder, nor in this environment"),
        ("needs:w", "needs_ cannot be imported: needs_.py, line 3: ModuleNotFoundError: No module named 'nosuchthing'"),
        ("deeper:w", "deeper_ cannot be imported: needs_.py, line 3: ModuleNotFoundError"),
        ("broken:w", "broken_ cannot be imported: broken_.py, line 1: SyntaxError: '(' was never closed"),
        ("quits:w", "quits_ cannot be imported: quits_.py, line 1: SystemExit: 3"),
        ("fails:w", "fails_ cannot be imported: fails_.py, line 2: ValueError: redis://h is no good"),
        ("away:w", "away_ cannot be imported: away_.py, line 2: nothing answers at redis://127.0.0.1:1"),
        ("good:nope", "good_ has no nope; its workers: w"),
        ("good:queue", "good_:queue is a Queue, not a Worker; its workers: w"),
        ("needless:w", "no module needless_"),
        ("idle:w", "idle_:w has no task: it would bury every job as unknown"),
        ("other:w", "the worker is on the fake Redis"),
    ],
)
def test_a_worker_that_cannot_be_found(target, says, modules, live, call):
    name, colon, worker = target.partition(":")
    known = name in MODULES or name in {"nosuch", "needless"}
    given = f"{name}{modules}{colon}{worker}" if known else target
    status, out, err = call("worker", given, "--url", address_for_others(live))
    lines = [line for line in err.splitlines() if "a server that jobkit did not start" not in line]
    mine = [line.replace(modules, "_") for line in lines if not re.match(r"jobkit: (the fake )?Redis .*, as", line)]
    assert (status, out, len(mine)) == (2, "", 1)
    assert says in mine[0]
    assert "s3cret" not in err


def test_a_private_server_is_of_no_use(modules, live, call):
    status, _, err = call("worker", f"good{modules}:w", JOBKIT_REDIS=None)
    assert status == 2
    assert err.splitlines()[-1].endswith("no other process can submit to it. Give --url, or set JOBKIT_REDIS to a URL")
    assert call("worker", f"good{modules}:w", "--prefix", "a:", JOBKIT_REDIS=None)[2].startswith("jobkit: which Redis?")


def test_a_url_that_the_module_does_not_take_is_not_ignored(modules, live, call, tmp_path):
    address = address_for_others(live)
    tmp_path.joinpath(f"own{modules}.py").write_text(MODULES["good"].replace("connect()", f"connect({address!r})"))
    status, _, err = call("worker", f"own{modules}:w", "--url", address)
    assert status == 2
    assert "the module names a Redis of its own" in err.splitlines()[-1]


@pytest.mark.parametrize("threads", ["0", "-1", "1001", "two"])
def test_threads_that_cannot_be(threads, modules, call):
    status, out, err = call("worker", f"good{modules}:w", "--threads", threads)
    assert (status, out, err.count("\n")) == (2, "", 1)
