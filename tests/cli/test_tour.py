"""A tour says what ran, what failed and where, and never that all is well when nothing ran."""

import json

import nbformat
import pytest


def test_tour_leaves_the_originals_and_keeps_executed_copies(course, run, tmp_path):
    folder = course(_00_start=["import jobkit", "40 + 2"], _01_next=[("1 / 0", "raises-exception"), "print('on')"])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    status, out, _ = run("tour", "--notebooks", folder)
    assert status == 0, out
    assert out.splitlines()[0].split()[:3] == ["00_start", "2", "cells"]
    assert out.endswith("all ran to their end. Copies: tour/\n")
    assert before == {path: path.read_bytes() for path in folder.iterdir()}
    copy = nbformat.read(tmp_path / "tour" / "00_start.ipynb", as_version=4)
    assert copy.cells[2].outputs[0].data["text/plain"] == "42"


def test_failures_are_shown_where_they_happened(course, run):
    folder = course(
        _00_fails=["x = 1", "def f():\n    raise KeyError('gone')", "f()", "x"],
        _01_prose=[],
        _02_dies=["import os; os._exit(3)"],
        _03_hangs=["import threading; threading.Event().wait()"],
        _04_works=["1"],
    )
    status, out, _ = run("tour", "--notebooks", folder, "--timeout", 2)
    assert status == 1
    assert "  in code cell 3 of 4:\n    | f()\n  KeyError: 'gone'\n" in out
    assert "  no cell ran\n" in out
    assert "    | import os; os._exit(3)\n  DeadKernelError" in out
    assert "  TimeoutError: still running after 2 s\n" in out
    assert "4 failed: 00_fails, 01_prose, 02_dies, 03_hangs" in out


def test_json_is_all_there_is_on_stdout(course, run):
    folder = course(_00_start=["1"], _01_fails=["1 / 0"], _02_other=["1"])
    status, out, err = run("tour", "0", "01_fails", "--json", "--notebooks", folder)
    told = json.loads(out)
    assert status == 1
    assert told["ok"] is False
    assert told["redis"].startswith("the fake Redis")
    assert [(n["name"], n["ok"], n["cells"], n["executed"]) for n in told["notebooks"]] == [
        ("00_start", True, 1, 1),
        ("01_fails", False, 1, 1),
    ]
    assert told["notebooks"][1]["error"] == {
        "cell": 1,
        "source": "1 / 0",
        "error": "ZeroDivisionError: division by zero",
    }
    assert "01_fails" in err


def test_unknown_notebooks_are_answered_with_those_there_are(course, run, tmp_path):
    folder = course(_00_start=["1"], _08_retry=["1"])
    assert run("tour", "9", "--notebooks", folder) == (
        2,
        "",
        "jobkit: no notebook 9; there are: 00_start, 08_retry\n",
    )
    status, _, err = run("tour", "--notebooks", tmp_path)
    assert (status, err.count("\n")) == (2, 1)


def test_redis_that_does_not_answer_is_found_before_the_first_notebook(course, run):
    status, out, err = run("tour", "--notebooks", course(_00_start=["1"]), JOBKIT_REDIS="redis://127.0.0.1:1/0")
    assert (status, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("home", ["hostile", "unwritable"])
def test_notebooks_run_on_this_python_whatever_home_holds(course, run, hostile_home, home):
    folder = course(_00_start=["import sys, jobkit; print(sys.prefix)", "import matplotlib.pyplot"])
    where = hostile_home if home == "hostile" else "/dev/null/nobody"
    status, out, err = run(
        "tour", "--notebooks", folder, HOME=str(where), JUPYTER_PATH=f"{hostile_home}/.local/share/jupyter"
    )
    assert status == 0, out + err
    assert not [path.name for path in hostile_home.iterdir() if path.name != ".local"]


def test_tour_on_a_real_server(course, run, live_server):
    folder = course(_00_start=["import jobkit\nredis = jobkit.connect()\nassert redis.server.kind == 'private'"])
    status, out, err = run("tour", "--notebooks", folder, JOBKIT_REDIS="private")
    assert status == 0, out
    assert "a private server" in err
