"""exercises/ is made from solutions/: the same paths, the same words, without the answers.

What a learner makes of it, and saves, is no fault.
"""

import pytest
from support.own import KIT, MADE, exercises, must_be_unsolved, somebodys_own


def test_they_were_made_anew_since_a_solution_changed():
    made = (KIT / "exercises/.made.json").read_text("utf-8")
    assert made == exercises.record(MADE), "run: python tools/exercises.py"


@pytest.mark.parametrize("name", MADE)
def test_an_exercise_is_its_solution_without_the_answer(name):
    must_be_unsolved(name)


def test_there_is_no_exercise_without_a_solution():
    paths = [path.relative_to(KIT / "exercises") for path in (KIT / "exercises").rglob("*") if path.is_file()]
    cached = {"__pycache__", ".ipynb_checkpoints"}
    found = {path.as_posix() for path in paths if not cached & set(path.parts)}
    if more := sorted(found - {*MADE, ".made.json"}):
        somebodys_own(f"exercises/{more[0]}")


@pytest.mark.parametrize("strict", [True, False])
def test_a_learners_own_answer_is_left_alone_and_fails_only_where_changes_land(tmp_path, capsys, monkeypatch, strict):
    exercises.main({"02/claim.py": "stub\n", "02/hints.md": "think\n"}, tmp_path)
    (tmp_path / "02/claim.py").write_text("solved\n")
    capsys.readouterr()
    exercises.main({"02/claim.py": "a new stub\n", "02/hints.md": "think hard\n"}, tmp_path)
    assert capsys.readouterr().out.splitlines() == [
        "exercises/02/claim.py is left alone: somebody worked in it. To have it anew, move it away",
        "exercises/02/hints.md",
    ]
    assert (tmp_path / "02/claim.py").read_text() == "solved\n"
    assert (tmp_path / "02/hints.md").read_text() == "think hard\n"
    monkeypatch.setenv("JOBKIT_REQUIRE_LIVE", "1" if strict else "")
    with pytest.raises(pytest.fail.Exception if strict else pytest.skip.Exception, match=r"exercises/02/claim\.py is "):
        somebodys_own("exercises/02/claim.py")
    (tmp_path / "02/claim.py").unlink()
    exercises.main({"02/claim.py": "a new stub\n"}, tmp_path)
    assert (tmp_path / "02/claim.py").read_text() == "a new stub\n"


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
