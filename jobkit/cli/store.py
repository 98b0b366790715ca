"""`jobkit store`: make notebooks/NN_name.ipynb, outputs and all, from the source NN_name.py beside it.

The source is a jupytext py:percent file: it reads well in a review, and is what an author edits.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import click
from nbformat import NotebookNode, from_dict

from jobkit.cli import notebooks
from jobkit.connect.choose import VARIABLE
from jobkit.errors import ConfigError

WIDGET = "application/vnd.jupyter.widget-view+json"
"""A live widget's view is not stored: without its kernel it shows an error, and each slider has a picture beside it."""
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@click.command
@click.argument("names", nargs=-1, metavar="[NN]...")
@click.option("--check", is_flag=True, help="Run nothing: only say which notebooks are out of step with their source.")
@click.option("--notebooks", "folder", type=click.Path(path_type=Path, file_okay=False), hidden=True,
              default=notebooks.FOLDER)  # fmt: skip
def command(names: tuple[str, ...], check: bool, folder: Path) -> None:
    """Run the sources of these numbers, or all of them, and store the notebooks with their outputs.

    A cell that raises without the tag `raises-exception`, or an output that names a folder of this
    machine, is not stored: exit status 1. JOBKIT_REDIS is not looked at: what is stored is what a
    reader sees first.
    """
    sources = notebooks.find(names, folder=folder, suffix=".py")
    notebooks.settle()
    os.environ.pop(VARIABLE, None)
    verdicts = {source.stem: out_of_step(source) if check else store(source) for source in sources}
    for name, problem in verdicts.items():
        click.echo(f"{name:<32}{problem or ('in step' if check else 'stored')}")
    if any(verdicts.values()):
        raise SystemExit(1)


def store(source: Path) -> str:
    """Run a source and store it as a notebook; the answer is what kept it from that, or empty."""
    notebook = load(source)
    outcome = notebooks.execute(notebook, folder=source.parent)
    if outcome.failure:
        return f"cell {outcome.failure.cell}: {outcome.failure.error}"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [tidy(output) for output in cell.outputs if WIDGET not in output.get("data", {})]
            if names := places_named(cell):
                return f"cell {cell.execution_count}: its output names a folder of this machine, {names[0]}"
    made = {"source": digest(notebook), "stored": digest(notebook, outputs=True)}
    notebook.metadata = from_dict(METADATA | {"jobkit": made})  # the kernel put its version there
    notebooks.write(notebook, source.with_suffix(".ipynb"))
    return ""


def out_of_step(source: Path) -> str:
    """Say that a notebook was not stored anew since its source changed, or nothing. A reader's changes are no fault."""
    stored = source.with_suffix(".ipynb")
    if not stored.exists():
        return "not stored yet: make notebooks"
    made = notebooks.read(stored).metadata.get("jobkit", {})
    same = made.get("source") == digest(load(source))
    return "" if same else f"out of step with {source.name}: make notebooks"


def is_as_stored(notebook: NotebookNode) -> bool:
    """Whether nobody ran or changed it since: a reader who solves an exercise and saves has a notebook of their own."""
    return bool(notebook.metadata.get("jobkit", {}).get("stored") == digest(notebook, outputs=True))


def digest(notebook: NotebookNode, *, outputs: bool = False) -> str:
    """A fingerprint of the cells: their kind, source and tags, and, if asked, what they put out."""
    cells = [
        [cell.cell_type, cell.source, cell.metadata.get("tags", [])]
        + ([cell.get("execution_count"), cell.get("outputs")] if outputs else [])
        for cell in notebook.cells
    ]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()[:16]


def load(source: Path) -> NotebookNode:
    """Read a py:percent source as a notebook, with cell ids that stay the same while a cell does."""
    try:
        import jupytext
    except ImportError:
        raise ConfigError("jupytext is missing here; `make notebooks` brings it") from None
    notebook: NotebookNode = jupytext.read(source, fmt="py:percent")
    notebook.metadata = from_dict(METADATA)
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        digest = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def tidy(output: NotebookNode) -> NotebookNode:
    """Take out of an output what would differ on the next machine: where files lie, the kernel's number."""
    paths = sysconfig.get_paths()
    places = "|".join(re.escape(f"{place}/") for place in (paths["purelib"], paths["stdlib"], notebooks.FOLDER.parent))

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return re.sub(r"\S*/ipykernel_\d+/\d+\.py", "<cell>", re.sub(places, "", value))
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, dict):  # a picture names no folder, and is long
            return NotebookNode({k: item if k.startswith("image/") else clean(item) for k, item in value.items()})
        return value

    cleaned: NotebookNode = clean(output)
    return cleaned


def places_named(cell: NotebookNode) -> list[str]:
    """The folders of this machine that a cell's outputs name."""
    places = {str(notebooks.FOLDER.parent), str(Path.home()), sys.prefix, sys.base_prefix, tempfile.gettempdir()}
    text = str(cell.outputs)
    return sorted(place for place in places if len(place) > 1 and f"{place}/" in text)
