"""The child: runs the workers of one file, and asks its parent for everything.

apart.py starts it as `python -P -m jobkit.explore.child FD FILE FOLDER BYTES SECONDS`. FD is its end
of the socket pair, and its only way out. Whatever happens here, the parent believes nothing but that
a worker asked for a command, an effect, a sleep, or ended.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import resource
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from jobkit.errors import ExploreError, JobkitError
from jobkit.explore.actor import Line, LocalActor, WorkerFunction, arity
from jobkit.explore.calls import Ended
from jobkit.explore.disguise import disguise
from jobkit.explore.frames import LONGEST, Channel, Start, read_answer, request_bytes


def serve(channel: Channel, module: ModuleType) -> None:
    """Run one worker after another, each from request to request."""
    lines: dict[bool, Line] = {}
    actors: list[LocalActor] = []
    while True:
        start, answer, now = read_answer(channel.receive())
        if start is not None:
            while actors:
                actors.pop().kill()
            try:
                function = _function(module, start)
            except JobkitError as error:
                channel.send(request_bytes(Ended(error=error)))
                continue
            line = lines.setdefault(start.whole, Line(whole=start.whole))
            actors.append(LocalActor(start.name, function, line, start.offset))
        channel.send(request_bytes(actors[-1].go(answer, now)))


def load(file: Path, folder: Path) -> ModuleType:
    """Run a file as a module; what it imports is first looked for in `folder`. Raises ExploreError, with the line."""
    sys.path.insert(0, str(folder))
    sys.argv[:] = [str(file)]
    module = ModuleType(file.stem if file.stem not in sys.modules else f"{file.stem}_")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    try:
        exec(compile(file.read_bytes(), file, "exec", dont_inherit=True), vars(module))  # noqa: S102 - that is what the child is for
    except BaseException as error:  # noqa: BLE001 - SystemExit, too
        raise ExploreError(f"{file.name} cannot be loaded: {_place(error, file, folder)}") from None
    return module


def _function(module: ModuleType, start: Start) -> WorkerFunction:
    function: WorkerFunction | None = getattr(module, start.function, None)
    if not callable(function):
        has = [name for name, thing in vars(module).items() if callable(thing) and not name.startswith("_")]
        raise ExploreError(
            f"{Path(str(module.__file__)).name} has no function {start.function}; it has {has or 'none'}"
        )
    arity(function)
    return function


def _place(error: BaseException, file: Path, folder: Path) -> str:
    """Say what went wrong in which line of the file; of one that it imports, where that is of the same folder."""
    where, line = file, None
    if isinstance(error, SyntaxError):
        where, line = Path(error.filename or file), error.lineno
        text = error.msg
    else:
        text = str(error)
        for frame in traceback.extract_tb(error.__traceback__):
            if Path(frame.filename) == file or Path(frame.filename).parent == folder:
                where, line = Path(frame.filename), frame.lineno
    return f"{where.name}, line {line or '?'}: {type(error).__name__}: {text}"[:LONGEST]


def _end_with(parent: socket.socket) -> None:
    """Wait, in a thread, until the parent has hung up or died; then take along whatever was started here."""
    poll = select.poll()
    poll.register(parent, 0)
    poll.poll()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _limit(memory: int, seconds: int) -> None:
    """Limit what this process may use, as far as its system knows such limits: macOS has none for memory."""
    for what, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))


def main(number: str, file: str, folder: str, memory: str, seconds: str) -> NoReturn:
    """Load the file, say how that went, and serve until the parent hangs up."""
    _limit(int(memory), int(seconds))
    end = socket.socket(fileno=int(number))
    channel = Channel(end)
    _thread.start_new_thread(_end_with, (end,))
    try:
        module = load(Path(file), Path(folder))
    except ExploreError as error:
        channel.send(request_bytes(Ended(error=error)))
    else:
        channel.send(request_bytes(Ended()))
        with disguise(), contextlib.suppress(EOFError):
            serve(channel, module)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
