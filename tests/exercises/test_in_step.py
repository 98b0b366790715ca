"""exercises/ is made from solutions/: the same paths, the same words, without the answers."""

import os
import sys
from pathlib import Path

import pytest

KIT = Path(__file__).parents[2]
sys.path.insert(0, os.fspath(KIT / "tools"))
import exercises  # noqa: E402, a script beside the package

MADE = exercises.exercises()


@pytest.mark.parametrize("name", MADE)
def test_an_exercise_is_its_solution_without_the_answer(name):
    assert (KIT / "exercises" / name).read_text("utf-8") == MADE[name], "run: python tools/exercises.py"


def test_there_is_no_exercise_without_a_solution():
    found = {path.relative_to(KIT / "exercises").as_posix() for path in (KIT / "exercises").rglob("*.*")}
    assert {name for name in found if "__pycache__" not in name} == set(MADE)


@pytest.mark.parametrize("name", [name for name in MADE if name.endswith(".py")])
def test_an_exercise_says_what_to_write_and_no_more(name):
    text = MADE[name]
    compile(text, name, "exec")
    assert '"""' in text
    assert "raise NotImplementedError" in text
    assert "SOLUTION" not in text


def test_a_part_of_the_module_is_left_out_and_a_part_of_a_function_becomes_a_stub():
    begin, end = "### BEGIN SOLUTION\n", "### END SOLUTION\n"
    text = f"{begin}A = 1\n{end}\n\ndef f():\n    {begin}    return A\n    {end}"
    assert exercises.stub(text).strip() == "def f():\n    raise NotImplementedError"


@pytest.mark.parametrize("text", ["def f():\n    return 1\n", "def f():\n    ### BEGIN SOLUTION\n    return 1\n"])
def test_a_solution_without_its_marks_is_refused(text):
    with pytest.raises(ValueError, match="BEGIN SOLUTION"):
        exercises.stub(text)
