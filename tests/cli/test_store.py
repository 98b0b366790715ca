"""Notebooks are stored with their outputs, from a source that stays in step with them."""

import os

import nbformat
import pytest
from support.own import somebodys_own

from jobkit.cli import notebooks
from jobkit.cli.notebooks import FOLDER
from jobkit.cli.store import is_as_stored, out_of_step, store

SOURCE = """# %% [markdown]
# # A lesson

# %%
print("hello")

# %% tags=["raises-exception"]
1 / 0

# %%
print("hello")
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A place for a source, and Jupyter settled in the project for as long as the test takes."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    notebooks.settle()
    return tmp_path / "01_lesson.py"


def stored(source):
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def test_stored_with_outputs_and_nothing_of_this_machine(source):
    source.write_text(SOURCE)
    assert out_of_step(source) == "not stored yet: make notebooks"
    assert store(source) == ""
    notebook = stored(source)
    nbformat.validate(notebook)
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code", "code", "code"]
    assert notebook.cells[1].outputs[0].text == "hello\n"
    assert notebook.cells[2].outputs[0].ename == "ZeroDivisionError"
    assert len({cell.id for cell in notebook.cells}) == 4
    assert notebook.metadata.keys() == {"jobkit", "kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}
    assert is_as_stored(notebook)
    first = source.with_suffix(".ipynb").read_bytes()
    store(source)
    assert source.with_suffix(".ipynb").read_bytes() == first, "stored again, nothing differs"
    assert out_of_step(source) == ""
    source.write_text(SOURCE.replace("A lesson", "Another lesson"))
    assert out_of_step(source) == "out of step with 01_lesson.py: make notebooks"


def test_what_a_reader_does_to_a_notebook_is_seen_and_is_not_out_of_step(source):
    source.write_text(SOURCE)
    store(source)
    for change in ({"source": "print('mine')"}, {"execution_count": 7}, {"outputs": []}):
        notebook = stored(source)
        notebook.cells[1].update(change)
        notebook.metadata.language_info["version"] = "3.13.0"  # as JupyterLab saves it
        nbformat.write(notebook, source.with_suffix(".ipynb"))
        assert not is_as_stored(stored(source)), change
        assert out_of_step(source) == ""
        source.write_text(SOURCE.replace("A lesson", f"A lesson, and {change}"))
        assert out_of_step(source) == "out of step with 01_lesson.py: make notebooks"
        source.write_text(SOURCE)
        store(source)


def test_stored_is_what_a_reader_sees_first(tmp_path, run):
    (tmp_path / "01_lesson.py").write_text("# %%\nimport os\nprint(os.environ.get('JOBKIT_REDIS'))\n")
    assert run("store", "--notebooks", tmp_path, JOBKIT_REDIS="fake")[0] == 0
    assert stored(tmp_path / "01_lesson.py").cells[0].outputs[0].text == "None\n"


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("raise ValueError('unplanned')", "cell 1: ValueError: unplanned"),
        ("import tempfile; print(tempfile.gettempdir() + '/x')", "cell 1: its output names a folder of this machine, "),
        ("import sys; print(sys.base_prefix + '/x')", "cell 1: its output names a folder of this machine, "),
    ],
)
def test_what_is_not_stored(source, cell, problem):
    source.write_text(f"# %%\n{cell}\n")
    assert store(source).startswith(problem)
    assert not source.with_suffix(".ipynb").exists()


def test_widgets_are_left_to_their_pictures(source):
    source.write_text("# %%\nimport ipywidgets\nprint('static')\nipywidgets.interact(lambda n: print(n), n=(0, 3));\n")
    assert store(source) == ""
    notebook = stored(source)
    assert [output.output_type for output in notebook.cells[0].outputs] == ["stream"]
    assert "widgets" not in notebook.metadata


def test_tracebacks_name_files_as_the_project_does(source):
    source.write_text('# %% tags=["raises-exception"]\nimport json, jobkit\njobkit.Table("soon")\n')
    assert store(source) == ""
    assert "jobkit/backoff.py" in "".join(stored(source).cells[0].outputs[0].traceback)


def test_the_command_says_what_became_of_each(tmp_path, run):
    (tmp_path / "01_lesson.py").write_text(SOURCE)
    (tmp_path / "02_fails.py").write_text("# %%\n1 / 0\n")
    status, out, _ = run("store", "--notebooks", tmp_path)
    assert status == 1
    assert out.split(maxsplit=3) == ["01_lesson", "stored", "02_fails", "cell 1: ZeroDivisionError: division by zero\n"]
    assert run("store", "1", "--check", "--notebooks", tmp_path)[:2] == (0, f"{'01_lesson':<32}in step\n")


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("[0-9][0-9]_*.py")))
def test_the_kits_own_notebooks_are_in_step(name):
    assert out_of_step(FOLDER / f"{name}.py") == ""


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("[0-9][0-9]_*.ipynb")))
def test_each_of_them_has_a_source(name):
    if not (FOLDER / f"{name}.py").exists():
        somebodys_own(f"notebooks/{name}.ipynb")
