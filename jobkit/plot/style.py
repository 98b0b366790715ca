"""How every picture looks: colours that the colour-blind can tell apart, each with a shape or a hatch of its own.

The paper is opaque: a picture in the dark theme of JupyterLab, or of a code host, stays dark on light.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

PAPER, INK, GREY, LINE = "#fcfbf7", "#1f2328", "#59606a", "#d5d3cb"

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#009e73",
    "#f0e442",
    "#0072b2",
    "#d55e00",
    "#cc79a7",
)
"""The palette of Okabe and Ito, "Color Universal Design", 2008."""

LineStyle = str | tuple[int, tuple[int, ...]]

SERIES: Sequence[tuple[str, str, LineStyle, str]] = (
    (BLUE, "o", "-", ""),
    (VERMILION, "s", "--", "////"),
    (GREEN, "^", "-.", "...."),
    (PURPLE, "D", ":", "xxxx"),
    (ORANGE, "v", (0, (5, 1, 1, 1, 1, 1)), "\\\\\\\\"),
    (SKY, "P", (0, (1, 1)), "++++"),
)
"""Colour, marker, line and hatch of the first, second, ... thing that a picture compares."""

SMALL, TEXT, LARGE = 9.5, 10.5, 12.5
"""Sizes of letters in points; a picture is shown at 100 dots per inch, so 10.5 is about 15 pixels."""

WIDTH = 7.6
"""Inches: 760 pixels fit the page of a notebook without being scaled."""


def sheet(height: float, rows: int = 1, columns: int = 1, *, share: bool = False) -> tuple[Figure, list[Axes]]:
    """Return an empty figure `height` inches high, and its axes, row by row; `share` gives them one scale."""
    figure = Figure(figsize=(WIDTH, height), facecolor=PAPER, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share)
    flat = list(axes.flat)
    for ax in flat:
        ax.set_facecolor(PAPER)
        ax.tick_params(labelsize=SMALL, colors=GREY, length=3)
        ax.set_axisbelow(True)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        ax.spines["bottom"].set_color(GREY)
    return figure, flat


def ticks(ax: Axes, places: Sequence[float], words: Sequence[str], which: str = "x") -> None:
    """Put exactly these ticks on an axis, with a fine line through the picture at each."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axis.set_ticks(places, words)
    axis.grid(visible=True, color=LINE, linewidth=0.8)
