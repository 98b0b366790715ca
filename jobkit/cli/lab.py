"""`jobkit lab`: JupyterLab on the start page, with nothing to set up and nothing left behind."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from jobkit.cli import notebooks
from jobkit.connect import connect

QUIET = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
"""The kit works without a network, and a first page without a question about news."""


@click.command
@click.argument("name", default="00", metavar="[NN]")
@click.option("--port", default=8888, show_default=True, help="First port to try; the next free one is taken.")
@click.option("--browser/--no-browser", default=None, help="Open a browser [default: where there is a display].")
@click.option("--notebooks", "folder", type=click.Path(path_type=Path, file_okay=False), hidden=True,
              default=notebooks.FOLDER)  # fmt: skip
def command(name: str, port: int, browser: bool | None, folder: Path) -> None:
    """Open the notebooks in JupyterLab, at the one of this number: the start page, unless you say.

    It listens on this machine alone and asks for the token in the address that it prints. Ctrl-C ends it.
    """
    page = notebooks.find((name,), folder=folder.resolve())[0]
    place = notebooks.settle()
    connect()  # which says what the notebooks will find; each of them starts its own
    trust(notebooks.find(folder=folder))
    settings = place / "config" / "labconfig"
    settings.mkdir(exist_ok=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(QUIET, indent=1))
    flags = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.root_dir": page.parent.parent,
        "ServerApp.allow_root": os.geteuid() == 0,
        "ServerApp.open_browser": has_display() if browser is None else browser,
        "ServerApp.answer_yes": True,
        "ServerApp.log_level": "WARN",
        "LabApp.log_level": "WARN",
        "LabApp.extension_manager": "readonly",  # the other one asks a package index
        "LabApp.default_url": f"/lab/tree/{page.parent.name}/{page.name}",
    }
    from jupyterlab.labapp import LabApp

    LabApp.launch_instance([f"--{name}={value}" for name, value in flags.items()])


def trust(paths: list[Path]) -> None:
    """Sign the kit's own notebooks, so that JupyterLab shows their stored outputs whole."""
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary(data_dir=os.environ["JUPYTER_DATA_DIR"])
    for path in paths:
        notary.sign(notebooks.read(path))


def has_display() -> bool:
    """Whether a browser window can open; without one a browser in the terminal would take the screen."""
    return sys.platform in {"darwin", "win32"} or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
