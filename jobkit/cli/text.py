"""How the commands write: ids as the shell takes them, moments, tables that fit the terminal."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from jobkit.logs import plain

PLAIN = re.compile(r"[\w@%+=:,./-]+")
"""What no shell changes; letters and digits of any script."""


def shown(id: str) -> str:
    """An id as the shell takes it: as it is, or quoted, with what does not print in the form of $'...'."""
    if PLAIN.fullmatch(id):
        return id
    return shlex.quote(id) if id.isprintable() else "$'" + "".join(map(_escaped, id)) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return "\\" + char
    if char.isprintable():
        return char
    if char.isascii():
        return ascii(char)[1:-1]  # \n, \t, \x1b: the shell says it as Python does
    return f"\\u{ord(char):04x}" if ord(char) < 1 << 16 else f"\\U{ord(char):08x}"


def masked(text: str) -> str:
    """The text without the user and password of any URL in it."""
    return re.sub(r"//[^/@\s]*@", "//", text)


def note(text: str) -> None:
    """Say something beside the result: on stderr, so that a pipe holds the result alone."""
    click.echo(plain(text), err=True)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> str:
    """Lay out rows under their heads; `right` names the columns of numbers.

    On a terminal the last column is cut where a line ends. In a pipe nothing is cut.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else 1_000_000
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    left = width
    for head, *cells in zip(heads, *rows, strict=True):
        room = max(left // 3, 12) if head != heads[-1] else max(left, 12)
        wide = min(room, max(cell_len(cell) for cell in (head, *cells)))
        left -= wide + 2
        cut: Any = "ellipsis" if head == heads[-1] else "fold"
        justify: Any = "right" if head in right else "left"
        grid.add_column(head, justify=justify, width=wide, no_wrap=head == heads[-1], overflow=cut)
    for row in rows:
        grid.add_row(*row)
    plainly = not terminal or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    out = io.StringIO()
    look: Any = None if plainly else "standard"
    console = Console(file=out, width=width, force_terminal=terminal, color_system=look, markup=False, emoji=False,
                      highlight=False)  # fmt: skip
    console.print(grid)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def moment(ms: int) -> str:
    """A moment (ms since the epoch) as ISO 8601 has it, in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
