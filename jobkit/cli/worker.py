"""`jobkit worker MODULE:WORKER`: a process that runs a Worker which a module of yours made."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import threading
import traceback
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import click

from jobkit.cli.common import listen, loudness, promise, reachable, server
from jobkit.cli.text import masked
from jobkit.errors import ConfigError, JobkitError
from jobkit.journal import Journal
from jobkit.worker import Worker

REPLACE_ME = 75
"""Exit status when a handler hangs: EX_TEMPFAIL of sysexits.h, "try again later"."""

log = logging.getLogger("jobkit.worker")


@click.command
@click.argument("target", metavar="MODULE:WORKER")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1, 1000), help="Handler threads.")
@click.option("--name", help="Its name in logs and histories [default: the module's, or a fresh one].")
@click.option("--journal", metavar="FILE", help="Append a line per start and end of a handler.")
@click.option("--with-parent", is_flag=True, help="End when standard input does, and ignore Ctrl-C: for programs.")
@server
@loudness
def command(
    target: str,
    threads: int,
    name: str | None,
    journal: str | None,
    with_parent: bool,
    url: str | None,
    prefix: str | None,
    level: str | None,
) -> None:
    """Run WORKER, a jobkit.Worker in the Python module MODULE of this folder, until SIGTERM or Ctrl-C.

    Then it claims no more, waits up to the worker's `grace` for what runs, and gives back the rest
    uncharged. --url is what jobkit.connect() finds in the module.

    Exit status: 0 after an orderly end, 2 for a mistake, 75 if a handler hangs past its time: a
    thread can't be killed, so the process ends, for you to start another.
    """
    if with_parent:  # blocked rather than ignored: the worker's own handler of it is never called
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    promise(url, prefix)
    worker = find(target)
    if name is not None:
        worker.rename(name)
    listen(level, worker.name)
    reachable(worker.queue.redis, asked=url is not None)
    if not worker.runner.tasks:
        raise ConfigError(f"{target} has no task: it would bury every job as unknown")
    if journal is not None:
        try:
            worker.watch(Journal(journal))
        except OSError as error:
            raise ConfigError(f"the journal {journal} cannot be written: {error.strerror}") from None
    if with_parent:
        threading.Thread(target=end_with_parent, args=(worker,), name="jobkit-parent", daemon=True).start()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what handlers print is seen at once, in a file too
    tasks = ", ".join(sorted(worker.runner.tasks))
    log.info("%s on %r, tasks: %s", target, worker.queue, tasks, extra={"worker": worker.name})
    worker.run(threads)
    if worker.hung:
        log.critical("ends with exit status %d, to be replaced", REPLACE_ME, extra={"worker": worker.name})
        leave(REPLACE_ME)


def leave(status: int) -> NoReturn:
    """End the process at once: what hangs could keep an orderly exit from ending."""
    logging.shutdown()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    os._exit(status)


def end_with_parent(worker: Worker) -> None:
    """Stop the worker at the end of standard input, a pipe that only the parent holds: it is gone."""
    while sys.stdin and os.read(sys.stdin.fileno(), 4096):
        pass
    log.info("its parent is gone", extra={"worker": worker.name})
    worker.stop()
    worker.queue.clock.sleep(worker.grace + 5)  # the process ends before, if all goes well
    leave(0)


def find(target: str) -> Worker:
    """Import the module and return its worker. Raises ConfigError, with the place in the module where it failed."""
    module_name, _, name = target.partition(":")
    path = "/" in module_name or module_name.endswith(".py")
    if path or not all(part.isidentifier() for part in (*module_name.split("."), name)):
        hint = "; a module is named as in an import, without .py" if path else ""
        raise ConfigError(f"what to run? MODULE:WORKER, such as shop:worker{hint}")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module may raise is its author's to mend
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise ConfigError(f"no module {error.name} in this folder, nor in this environment") from None
        raise ConfigError(f"{module_name} cannot be imported: {place(error, here)}") from None
    found = getattr(module, name, None)
    if isinstance(found, Worker):
        return found
    there = hasattr(module, name)
    what = f"{target} is a {type(found).__name__}, not a Worker" if there else f"{module_name} has no {name}"
    raise ConfigError(f"{what}; {others(module)}")


def others(module: ModuleType) -> str:
    """Say which workers a module has."""
    names = [name for name, value in vars(module).items() if isinstance(value, Worker)]
    return f"its workers: {', '.join(names)}" if names else f"there is no worker in {module.__file__ or 'it'}"


def place(error: BaseException, here: str) -> str:
    """Say where an import failed, and how: the innermost line in the folder `here`, else the innermost of all.

    The line's number alone: its text may hold a password.
    """
    if isinstance(error, SyntaxError):
        return f"{Path(error.filename or '?').name}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(here)]
    frame = (own or frames)[-1]
    what = str(error) if isinstance(error, JobkitError) else f"{type(error).__name__}: {error}"
    return f"{Path(frame.filename).name}, line {frame.lineno}: {masked(what)}"
