"""The course as it is stored, and as it runs."""

import os
import subprocess
import sys

import pytest
from nbformat import NotebookNode
from support.own import somebodys_own

from jobkit.cli import notebooks, store

NAMES = [path.stem for path in notebooks.find(suffix=".py")]


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", NAMES)


@pytest.fixture
def source(name) -> NotebookNode:
    return store.load(notebooks.FOLDER / f"{name}.py")


def as_stored(name) -> NotebookNode:
    notebook = notebooks.read(notebooks.FOLDER / f"{name}.ipynb")
    if not store.is_as_stored(notebook):
        somebodys_own(f"notebooks/{name}.ipynb")
    return notebook


@pytest.fixture(name="as_stored")
def _as_stored():
    return as_stored


@pytest.fixture
def stored(name) -> NotebookNode:
    return as_stored(name)


@pytest.fixture
def run(tmp_path):
    """Run a notebook in a process of its own, on a server of its own; return the executed copy."""

    def execute(name, server):
        told = subprocess.run(
            [sys.executable, "-m", "jobkit", "tour", name, "--to", str(tmp_path)],
            env={**os.environ, "JOBKIT_REDIS": server},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert told.returncode == 0, told.stdout + told.stderr
        return notebooks.read(tmp_path / f"{name}.ipynb")

    return execute


@pytest.fixture
def code(stored) -> list[NotebookNode]:
    return [cell for cell in stored.cells if cell.cell_type == "code"]
