"""Tables, for what is better read than drawn: the content of a key, or the steps of several workers.

A table is its own twin: in a notebook it is a real HTML table, in a terminal the same as text.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jobkit.errors import ConfigError

CELL = "text-align:left;vertical-align:top"


@dataclass(frozen=True)
class Table:
    """What `table` and `steps` make. In a notebook it shows itself; in a terminal it is text."""

    caption: str
    head: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    bold: frozenset[int] = frozenset()
    """The rows of the body, counted from 0, that stand out."""

    def __str__(self) -> str:
        lines = [self.head, *self.body]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ["  ".join(word.ljust(n) for word, n in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([self.caption, "", padded[0], "  ".join("-" * n for n in widths), *padded[1:]])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col" style="{CELL}">{html.escape(word)}</th>' for word in self.head)
        body = "".join(f"<tr>{self._cells(n)}</tr>" for n in range(len(self.body)))
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p><em>{html.escape(self.caption)}</em></p>"
        )

    def _cells(self, row: int) -> str:
        words = [html.escape(word) for word in self.body[row]]
        if row in self.bold:
            words = [word and f"<strong>{word}</strong>" for word in words]
        return "".join(f'<td style="{CELL}">{word}</td>' for word in words)


def table(rows: Sequence[Sequence[object]], *, caption: str, bold: Collection[int] = ()) -> Table:
    """Make a table of `rows`, the headings first. `bold` names rows that stand out, counted from 1.

    Bytes are shown as text. Raises ConfigError without a caption, or if the rows differ in length.
    """
    if not caption.strip() or not rows:
        raise ConfigError("a table needs a caption, and a row of headings")
    if any(len(row) != len(rows[0]) for row in rows):
        raise ConfigError("the rows of a table have different lengths")
    head, *body = (tuple(word(cell) for cell in row) for row in rows)
    return Table(caption.strip(), head, tuple(body), frozenset(n - 1 for n in bold))


def steps(rows: Sequence[Sequence[object]], *, caption: str) -> Table:
    """Show who did what, in which order: a row per step, a column per person, in order of appearance.

    A row is (who, command, answer), or has a note as its fourth; an answer of None is left out. Rows
    with a note stand out.
    """
    people = list(dict.fromkeys(word(row[0]) for row in rows))
    noted = [n for n, row in enumerate(rows, 1) if row[3:] and row[3]]
    lines: list[list[object]] = [["step", *people, *([""] if noted else [])]]
    for n, (who, command, answer, *note) in enumerate(rows, 1):
        said = word(command) if answer is None else f"{word(command)} → {word(answer)}"
        line: list[object] = [n, *(said if word(who) == person else "" for person in people)]
        if noted:
            line.append(f"← {word(note[0])}" if note and note[0] else "")
        lines.append(line)
    return table(lines, caption=caption, bold=noted)


def word(value: object) -> str:
    """Say a value as a reader wants it: bytes as text, numbers without needless digits, lists in brackets."""
    match value:
        case bytes():
            return value.decode("utf-8", "replace")
        case bool():
            return str(value)
        case float():
            return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
        case list() | tuple():
            return f"[{', '.join(word(part) for part in value)}]"
        case dict():
            return f"{{{', '.join(f'{word(key)}: {word(part)}' for key, part in value.items())}}}"
        case _:
            return str(value)
