"""A small course of one's own, and the command line at work on it."""

import os
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook


@pytest.fixture
def course(tmp_path):
    """Write notebooks by name: a list of sources each; a pair of source and tag for a tagged cell."""
    folder = tmp_path / "kit" / "notebooks"
    folder.mkdir(parents=True)

    def write(**notebooks):
        for name, cells in notebooks.items():
            made = [new_markdown_cell("# A lesson")]
            for cell in cells:
                source, *tags = (cell,) if isinstance(cell, str) else cell
                made.append(new_code_cell(source, metadata={"tags": tags}))
            nbformat.write(new_notebook(cells=made), folder / f"{name.strip('_')}.ipynb")
        return folder

    return write


@pytest.fixture
def command(tmp_path):
    """Start `jobkit ...` in an empty folder, on the fake unless the environment says otherwise."""

    def start(*arguments, **env):
        return subprocess.Popen(
            [sys.executable, "-m", "jobkit", *map(str, arguments)],
            env={**os.environ, "JOBKIT_REDIS": "fake", **env},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def run(command):
    """Run `jobkit ...` to its end: exit status, stdout, stderr."""

    def finish(*arguments, **env):
        with command(*arguments, **env) as process:
            out, err = process.communicate(timeout=100)
        return process.returncode, out, err

    return finish


@pytest.fixture
def hostile_home(tmp_path):
    """The HOME of somebody whose kernel called python3 does not start."""
    home = tmp_path / "home"
    kernel = home / ".local" / "share" / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    kernel.joinpath("kernel.json").write_text(
        '{"argv": ["/bin/false", "{connection_file}"], "display_name": "not this one", "language": "python"}'
    )
    return home
