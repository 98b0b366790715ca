"""The kit's log: silent until asked, then a readable line for each event, in the right place."""

import logging
import re
import subprocess
import sys
import threading

import pytest
from nbformat.v4 import new_code_cell, new_notebook

import jobkit as jk
from jobkit.cli import notebooks
from jobkit.logs import Line, counted, plain, show_log

LINE = re.compile(r"^\d\d:\d\d:\d\d\.\d{3}  (\S+) +(.*)$")


@pytest.fixture(autouse=True)
def as_before():
    """Leave the logger as it was."""
    logger = logging.getLogger("jobkit")
    handlers, level = logger.handlers[:], logger.level
    yield
    logger.handlers[:], logger.level = handlers, level


@pytest.fixture
def worker(fake):
    worker = jk.Worker(jk.Queue(fake, "mail"), name="w1", backoff=jk.Table(5))
    worker.task(name="bad")(lambda job: 1 / 0)
    worker.queue.submit("bad", id="a\nb")
    return worker


def test_it_is_silent_until_asked():
    question = (
        "import jobkit as jk, logging\n"
        "worker = jk.Worker(jk.Queue(jk.connect('fake', clock=jk.VirtualClock()), 'mail'))\n"
        "worker.queue.submit('nobody')\n"
        "worker.step()\n"
        "logging.getLogger('jobkit.scheduler').critical('x')\n"
    )
    done = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    assert not done.stdout
    assert [line for line in done.stderr.splitlines() if not line.startswith("jobkit: the fake Redis")] == []


def test_a_line_has_time_worker_and_sentence(worker, capsys):
    show_log()
    worker.step()
    out, err = capsys.readouterr()
    assert not out
    (line,) = err.splitlines()
    assert LINE.match(line).groups() == (
        "w1",
        r"bad: ZeroDivisionError: division by zero, attempt 1, again in 5 s (a\nb)",
    )


def test_asked_twice_it_is_told_once(worker, capsys):
    show_log("DEBUG")
    show_log()
    worker.step()
    assert len(capsys.readouterr().err.splitlines()) == 1
    show_log("ERROR")
    logging.getLogger("jobkit.worker").warning("not this")
    assert not capsys.readouterr().err
    show_log("warning")
    logging.getLogger("jobkit.worker").warning("but this")
    show_log(logging.CRITICAL)
    logging.getLogger("jobkit.worker").error("not this")
    assert capsys.readouterr().err.endswith("but this\n")


@pytest.mark.parametrize("level", ["LOUD", "", None, 1.5, True, ["INFO"]])
def test_an_unknown_level_says_which_there_are(level):
    before = logging.getLogger("jobkit").handlers[:]
    with pytest.raises(jk.ConfigError, match="DEBUG, INFO, WARNING, ERROR, CRITICAL"):
        show_log(level)
    assert logging.getLogger("jobkit").handlers == before


def test_it_follows_the_stream_of_the_moment(monkeypatch, capsys):
    show_log()
    log = logging.getLogger("jobkit.worker")
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", sys)
    log.info("in a notebook")
    monkeypatch.delitem(sys.modules, "ipykernel.kernelapp")
    log.info("in a program")
    out, err = capsys.readouterr()
    assert LINE.match(out.rstrip("\n"))[2] == "in a notebook"
    assert LINE.match(err.rstrip("\n"))[2] == "in a program"


def test_who_it_was(capsys):
    show_log()
    log = logging.getLogger("jobkit.worker")
    thread = threading.Thread(target=lambda: log.info("x"), name="jobkit-handler-3")
    thread.start()
    thread.join()
    log.info("x")
    log.info("x", extra={"worker": "w7"})
    show_log(who="shop")
    log.info("x")
    log.info("x", extra={"worker": "w7"})
    who = [LINE.match(line)[1] for line in capsys.readouterr().err.splitlines()]
    assert who == ["handler-3", "main", "w7", "shop", "w7"]


def test_nothing_logged_can_pass_for_another_line_or_steer_a_terminal():
    error = ValueError("a\n12:00:00.000  w1  forged\x1b[2J\u202e")
    record = logging.LogRecord("jobkit", logging.ERROR, "f", 1, "%s", (str(error),), (ValueError, error, None))
    text = Line().format(record)
    assert not any(char in text for char in "\x1b\u202e")
    assert len([line for line in text.splitlines() if LINE.match(line)]) == 2, (
        "the traceback's message has its own lines"
    )
    assert text.splitlines()[0].endswith(r"a\n12:00:00.000  w1  forged\x1b[2J\u202e")


def test_plain_keeps_what_prints():
    assert plain("größe 日本語 😀 \\ '") == "größe 日本語 😀 \\ '"
    assert plain("\t\r\x00\x7f\x85\u2028\U000e0001") == r"\t\r\x00\x7f\x85\u2028\U000e0001"


def test_in_a_notebook_it_is_no_red_box(tmp_path, monkeypatch):
    monkeypatch.setenv("JOBKIT_REDIS", "fake")
    source = (
        "import jobkit as jk\n"
        "jk.show_log()\n"
        "worker = jk.Worker(jk.Queue(jk.connect(), 'mail'), name='w1')\n"
        "worker.queue.submit('nobody', id='a')\n"
        "_ = worker.step()"
    )
    notebook = new_notebook(cells=[new_code_cell(source)])
    assert notebooks.execute(notebook, folder=tmp_path).ok
    (output,) = notebook.cells[0].outputs
    assert output.name == "stdout"
    assert LINE.match(output.text.splitlines()[1]).groups() == (
        "w1",
        "nobody: UnknownTask: w1 has no task 'nobody', attempt 1, dead (a)",
    )


def test_how_many():
    assert [counted(n, "job") for n in (0, 1, 2, 2000)] == ["0 jobs", "1 job", "2 jobs", "2,000 jobs"]
    assert [counted(n, "retry") for n in (1, 2)] == ["1 retry", "2 retries"]
