"""A picture that can also be read: every picture has a caption, and a twin that says the same in words and figures.

Measured in JupyterLab 4.6: the `alt` of an image output never reaches the page. So a picture is two
outputs: the PNG, and below it the caption and, folded, the twin.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from jobkit.errors import ConfigError
from jobkit.plot.style import PAPER

SHARPNESS = 2
"""Dots of the PNG per pixel of the page: for screens that have them."""

LEFT = "text-align:left"
"""JupyterLab sets a table's words to the right, unless told otherwise."""

Row = Sequence[object]


@dataclass(frozen=True)
class Picture:
    """What `picture` makes. In a notebook it shows itself; in a terminal it is its caption and its twin."""

    png: bytes
    width: int
    """Pixels on the page; the PNG has twice as many."""
    caption: str
    twin: str
    rows: tuple[tuple[str, ...], ...] = ()
    """The figures behind the picture: a table, its first row the headings."""

    def __str__(self) -> str:
        return "\n\n".join(filter(None, [self.caption, self.twin, _as_text(self.rows)]))

    __repr__ = __str__

    def save(self, path: str | Path) -> None:
        """Write the PNG to a file. Equal pictures are equal bytes, with one version of matplotlib."""
        Path(path).write_bytes(self.png)

    def html(self) -> str:
        """Return the caption, and the twin folded below it, as HTML."""
        words = "".join(f"<p>{html.escape(part)}</p>" for part in self.twin.split("\n\n"))
        return (
            f"<p><em>{html.escape(self.caption)}</em></p>"
            f"<details><summary>The picture in words</summary>{words}{_as_html(self.rows)}</details>"
        )

    def _ipython_display_(self) -> None:
        from IPython.display import display  # noqa: PLC0415 - only a notebook comes here

        show: Callable[..., object] = display

        image = {"image/png": self.png, "text/plain": self.caption}
        show(image, raw=True, metadata={"image/png": {"width": self.width}})
        words = {"text/html": self.html(), "text/plain": "\n\n".join(filter(None, [self.twin, _as_text(self.rows)]))}
        show(words, raw=True)


def picture(figure: Figure, *, caption: str, twin: str, rows: Sequence[Row] = ()) -> Picture:
    """Turn a matplotlib figure into a picture that can also be read.

    `caption` is one or two sentences: what to see. `twin` says what the picture says, for those who
    can't see it (paragraphs are separated by an empty line), and `rows` holds the figures behind it,
    the headings first. Raises ConfigError without a caption, or without a twin that says more.
    """
    if not caption.strip() or not twin.strip():
        raise ConfigError("a picture needs a caption and a twin: what it shows, in words, for those who can't see it")
    if twin.strip() == caption.strip():
        raise ConfigError("the twin repeats the caption: it should say what the picture says, figures and all")
    if any(len(row) != len(rows[0]) for row in rows):
        raise ConfigError("the rows of a picture's table have different lengths")
    png = _small(figure)
    table = tuple(tuple(str(cell) for cell in row) for row in rows)
    return Picture(png, round(figure.get_figwidth() * 100), caption.strip(), twin.strip(), table)


def _small(figure: Figure) -> bytes:
    """Draw a figure, in at most 128 colours: a third of the bytes, in each stored notebook and each of its versions."""
    raw, paper = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=100 * SHARPNESS, facecolor=PAPER, pil_kwargs={"compress_level": 1})
    full = Image.open(raw).convert("RGB")
    few = full.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(paper, format="png", optimize=True)
    return paper.getvalue()


def _as_text(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _as_html(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head, *body = ([html.escape(cell) for cell in row] for row in rows)
    heading = "".join(f'<th scope="col" style="{LEFT}">{cell}</th>' for cell in head)
    cells = ["".join(f'<td style="{LEFT}">{cell}</td>' for cell in row) for row in body]
    lines = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><thead><tr>{heading}</tr></thead><tbody>{lines}</tbody></table>"
