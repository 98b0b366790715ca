"""Several storms side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from jobkit.errors import ConfigError
from jobkit.storm.result import Storm, Summary
from jobkit.storm.retry import storm

HEADS = ("jitter", "peak", "after the outage", "calls", "per job", "dead", "p50", "p99", "drained", "knocked over")


def compare(storms: Iterable[Any] | Mapping[str, Any], *, bin: float = 1.0, **setting: Any) -> Comparison:  # noqa: A002
    """Lay storms side by side: a list of results of `storm()`, or of policies to run under one setting.

    A mapping names them. `bin` (seconds) is the bin of the peaks; the other arguments are those of
    `storm()`, and hold for each policy alike, the seed too.
    """
    named = list(storms.items()) if isinstance(storms, Mapping) else [(None, one) for one in storms]
    if not named:
        raise ConfigError("compare() needs at least one policy or result, got none")
    done = []
    for name, one in named:
        if isinstance(one, Storm) and setting:
            raise ConfigError(f"{one.name} has been run: its setting cannot be changed by {', '.join(setting)}")
        done.append(one if isinstance(one, Storm) else storm(one, name=name, **setting))
    return Comparison(tuple(done), tuple(one.summary(bin) for one in done))


class Comparison:
    """A table: `rows` to compute with, text in a console, HTML in a notebook."""

    def __init__(self, storms: tuple[Storm, ...], rows: tuple[Summary, ...]) -> None:
        self.storms = storms
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Summary:
        """The row of that name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"{name!r} is not among {', '.join(row.name for row in self.rows)}")

    def cells(self) -> list[tuple[str, ...]]:
        """The rows as texts, in the order of the heads."""
        return [_cells(row) for row in self.rows]

    def __repr__(self) -> str:
        table = [HEADS, *self.cells()]
        widths = [max(len(row[i]) for row in table) for i in range(len(HEADS))]
        lines = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        return "\n".join([*lines, self.note])

    @property
    def note(self) -> str:
        """What a peak is, in one line."""
        return f"peak: the most retries in {self.rows[0].bin_s:g} s; p50, p99, drained: seconds after the failure"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in HEADS)
        body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in self.cells())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(self.note)}</p>"


def _cells(row: Summary) -> tuple[str, ...]:
    p50, p99 = ("never" if s is None else f"{s:,.1f}" for s in (row.p50_s, row.p99_s))
    return (
        row.name,
        f"{row.peak:,}",
        f"{row.peak_after:,}",
        f"{row.total_calls:,}",
        f"{row.amplification:.2f}",
        f"{row.dead:,}",
        p50,
        p99,
        f"{row.drained_s:,.1f}",
        str(row.knocked_over),
    )
