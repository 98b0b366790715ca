"""Calls of something that has a limit: how many came, and how many of them were answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from jobkit.clock import Seconds, spoken, to_ms
from jobkit.errors import ConfigError
from jobkit.logs import counted
from jobkit.plot.picture import Picture, Row, picture
from jobkit.plot.style import BLACK, BLUE, GREY, INK, PAPER, SERIES, SMALL, TEXT, VERMILION, sheet, ticks
from jobkit.plot.timescale import Timescale, round_words

Calls = Sequence[tuple[float, bool]]
"""Each call: ms since the beginning, and whether it was answered."""


def calls(series: Mapping[str, Calls], *, per: Seconds, limit: float | None = None, caption: str) -> Picture:
    """Draw the calls of each of the `series` along a line of time, counted per `per` seconds, on a log scale.

    `limit` is what the callee takes in a second, drawn as a line. Raises ConfigError for more than six
    series, for none, and for one without a call.
    """
    if not 1 <= len(series) <= len(SERIES) or not all(series.values()):
        raise ConfigError(f"calls() draws 1 to {len(SERIES)} series of at least one call, got {len(series)}")
    step = to_ms(per, "per", least=1)
    bins = int(max(at for made in series.values() for at, _ in made) // step) + 1
    bars = {name: (_count(made, step, bins), _count(made, step, bins, answered=True)) for name, made in series.items()}
    most = max(int(came.max()) for came, _ in bars.values())
    scale = Timescale(bins * step)
    figure, axes = sheet(0.75 + 1.25 * len(series), rows=len(series), share=True)
    for ax, (name, both) in zip(axes, bars.items(), strict=True):
        _draw(ax, scale, both, step, limit)
        ax.set_title(f"{name}: {_told(series[name])}", loc="left", fontsize=TEXT, color=INK, pad=3)
        ax.set_yscale("log")
        ax.set_ylim(0.7, most * 1.8)
        powers = [10**n for n in range(8) if 10**n <= most]
        ticks(ax, powers, [f"{count:,}" for count in powers], "y")
        scale.draw(ax, "")
        ax.tick_params(labelbottom=ax is axes[-1])
    figure.supylabel(f"calls per {round_words(step)} (log scale)", fontsize=TEXT, color=GREY)
    axes[-1].set_xlabel("time since the first call", fontsize=TEXT, color=GREY)
    shown = [Patch(facecolor=PAPER, edgecolor=VERMILION, hatch="////"), Patch(facecolor=BLUE)]
    axes[0].legend(
        shown,
        ["all calls", "of them answered"],
        loc="upper right",
        fontsize=SMALL,
        labelcolor=INK,
        frameon=False,
        ncols=2,
    )
    told = "; ".join(f"{name}: {_told(made)}" for name, made in series.items())
    return picture(figure, caption=caption, twin=f"{told}.", rows=_table(series, bars, step))


def _count(made: Calls, step: int, bins: int, *, answered: bool = False) -> np.ndarray:
    """Count the calls of each bin, or those that were answered."""
    times = [int(at // step) for at, ok in made if ok or not answered]
    return np.bincount(np.array(times, dtype=int), minlength=bins)


def _draw(ax: Axes, scale: Timescale, bars: tuple[np.ndarray, np.ndarray], step: int, limit: float | None) -> None:
    """Draw all calls as hatched bars, and the answered ones in front, from the same floor."""
    came, answered = bars
    edges = [scale(place * step) for place in range(len(came) + 1)]
    ax.stairs(came, edges, baseline=0.7, fill=True, facecolor=PAPER, edgecolor=VERMILION, hatch="////", linewidth=0.6)
    ax.stairs(answered, edges, baseline=0.7, fill=True, facecolor=BLUE, edgecolor=BLUE, linewidth=0.6)
    if limit is not None:
        served = limit * step / 1000
        ax.axhline(served, color=BLACK, linestyle="--", linewidth=1.2)
        ax.annotate(
            f"takes {served:,.4g}", (scale(scale.end), served), xytext=(0, 3), textcoords="offset points",
            ha="right", va="bottom", fontsize=SMALL, color=INK,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip


def _told(made: Calls) -> str:
    answered = [at for at, ok in made if ok]
    last = f", the last after {spoken(max(answered) - min(at for at, _ in made))}" if answered else ""
    return f"{counted(len(made), 'call')}, {len(answered):,} answered{last}"


def _table(series: Mapping[str, Calls], bars: Mapping[str, tuple[np.ndarray, np.ndarray]], step: int) -> list[Row]:
    rows: list[Row] = [("", "calls", "answered", "refused", f"most in {round_words(step)}")]
    for name, made in series.items():
        answered = sum(ok for _, ok in made)
        rows.append((name, len(made), answered, len(made) - answered, int(bars[name][0].max())))
    return rows
