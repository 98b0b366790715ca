"""Find and run the kit's notebooks: what `tour`, `store`, `lab` and the tests have in common."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from jobkit.cli.kernels import Manager
from jobkit.errors import ConfigError

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"


@dataclass(frozen=True)
class Failure:
    """The cell that ended a run: its number among the code cells, its source, and what it raised."""

    cell: int
    source: str
    error: str


@dataclass(frozen=True)
class Outcome:
    """How a notebook ran: code cells there, code cells executed, seconds taken, and what went wrong."""

    cells: int
    executed: int
    seconds: float
    failure: Failure | None

    @property
    def ok(self) -> bool:
        """Whether it ran to its end. A notebook in which nothing ran proves nothing."""
        return self.failure is None and self.executed > 0


def find(names: tuple[str, ...] = (), *, folder: Path = FOLDER, suffix: str = ".ipynb") -> list[Path]:
    """The notebooks of these numbers or names, or all of them, in the order of the course.

    "8", "08", "08_retry" and "notebooks/08_retry.ipynb" are the same one. Raises ConfigError, with the
    names that exist, for one that does not.
    """
    known = sorted(folder.glob(f"[0-9][0-9]_*{suffix}"))
    if not known:
        raise ConfigError(f"no notebooks in {folder}: this command works in a clone of the kit")
    found = set()
    for name in (Path(name).name.removesuffix(suffix) for name in names):
        same = {path for path in known if name == path.stem or name.zfill(2) == path.stem[:2]}
        if not same:
            raise ConfigError(f"no notebook {name}; there are: {', '.join(path.stem for path in known)}")
        found |= same
    return sorted(found) or known


def settle(folder: Path = FOLDER.parent / ".jupyter") -> Path:
    """Keep Jupyter, IPython and matplotlib in one folder of the project, for this process and its children.

    Always, not only where HOME cannot be written: a kernel called python3, a password or an extension
    in somebody's HOME would otherwise decide what the notebooks run on. Returns the folder.
    """
    inside = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "MPLCONFIGDIR": "matplotlib",
    }
    for variable, name in inside.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        os.environ[variable] = str(folder / name)
    for variable in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "MPLBACKEND"):
        os.environ.pop(variable, None)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this environment's kernel before the machine's
    quiet = folder / "ipython" / "profile_default" / "ipython_kernel_config.json"
    if not quiet.exists():
        # a kernel warns at every start that it speaks unencrypted, though it speaks on loopback alone
        quiet.parent.mkdir(exist_ok=True)
        quiet.write_text('{"IPKernelApp": {"log_level": 40}}\n')
    if not any((folder / "matplotlib").glob("fontlist*")):
        # made now, or matplotlib says in the first picture's output that it is making it
        subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=False, capture_output=True)
    return folder


def execute(notebook: NotebookNode, *, folder: Path = FOLDER, timeout: float = 300) -> Outcome:
    """Run every cell in a fresh kernel that works in `folder`; the outputs land in the notebook.

    Ends at the first cell that raises, unless the cell is tagged `raises-exception`. `timeout` is in
    seconds, for one cell.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    for cell in cells:
        cell.outputs, cell.execution_count = [], None
    begun: list[NotebookNode] = []
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        kernel_manager_class=Manager,
        timeout=timeout,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=True,  # without it nbclient stumbles over a slider's output; it is not kept, see below
        coalesce_streams=True,
        on_cell_execute=lambda cell, cell_index: begun.append(cell),  # noqa: ARG005 - nbclient names them
    )
    started, failure = time.monotonic(), None
    try:
        client.execute()
    except CellExecutionError as error:
        failure = Failure(len(begun), begun[-1].source, f"{error.ename}: {error.evalue}")
    except CellTimeoutError:
        failure = Failure(len(begun), begun[-1].source, f"TimeoutError: still running after {timeout:g} s")
    except (DeadKernelError, RuntimeError) as error:  # RuntimeError: a kernel that did not start
        failure = Failure(len(begun), begun[-1].source if begun else "", f"{type(error).__name__}: {error}")
    notebook.metadata.pop("widgets", None)  # large, differs from run to run, and dead without its kernel
    return Outcome(len(cells), len(begun), time.monotonic() - started, failure)


def read(path: Path) -> NotebookNode:
    """Read a notebook."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook, whole or not at all."""
    unfinished = path.with_suffix(".part")
    nbformat.write(notebook, unfinished)
    unfinished.replace(path)
