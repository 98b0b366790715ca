"""Retry storms: when the retries come, wave by wave, and how many jobs are done by when."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes

from jobkit.clock import Seconds, spoken, to_ms
from jobkit.errors import ConfigError
from jobkit.logs import counted
from jobkit.plot.picture import Picture, Row, picture
from jobkit.plot.style import BLACK, GREY, INK, LINE, PAPER, SERIES, SMALL, TEXT, sheet, ticks
from jobkit.plot.timescale import Timescale, round_words
from jobkit.storm import Comparison, Storm

Storms = Storm | Comparison | Iterable[Storm]


def storm(storms: Storms, *, bin: Seconds = 1.0, caption: str | None = None) -> Picture:  # noqa: A002 - as in Storm
    """Draw how many retries come in each bin of `bin` seconds: a panel per storm, the outage shaded.

    The dashed line is what the downstream serves in one bin. Where times differ much their axis is
    logarithmic, too: a late wave is drawn narrow. A bin much wider than the jitter hides it: choose it, and say it.
    """
    runs = _listed(storms)
    bin_ms = to_ms(bin, "bin", least=1)
    counts = [run.arrivals(bin) for run in runs]
    scale = _scale(runs)
    most = max(int(bars.max()) for bars in counts)
    figure, axes = sheet(0.8 + 1.15 * len(runs), rows=len(runs), share=True)
    for ax, run, bars, (colour, _, _, hatch) in zip(axes, runs, counts, SERIES, strict=False):
        _bars(ax, scale, bars, bin_ms, colour=colour, hatch=hatch)
        _downstream(ax, scale, run, bin_ms)
        ax.set_title(_title(run, bars, bin_ms), loc="left", fontsize=TEXT, color=INK, pad=3)
        _count_axis(ax, most)
        scale.draw(ax, "time since they failed together")
        if ax is not axes[-1]:
            ax.set_xlabel("")
            ax.tick_params(labelbottom=False)
    figure.supylabel(f"retries per {round_words(bin_ms)} (log scale)", fontsize=TEXT, color=GREY)
    down = runs[0].setting.downstream
    told = " ".join(f"{run.summary(bin)}." for run in runs)
    is_down = f"is down for {spoken(down.outage_ms)}, then " if down.outage_ms else ""
    shaded = "; shaded: the downstream is down" if is_down else ""
    return picture(
        figure,
        caption=caption
        or f"{counted(runs[0].setting.jobs, 'job')} failed together. "
        f"When their retries come, per {round_words(bin_ms)}{shaded}.",
        twin=f"The downstream {is_down}serves {runs[0].setting.capacity:g}/s. {told}",
        rows=_summary_rows(runs, bin),
    )


def waves(run: Storm, *, bin: Seconds = 1.0, caption: str | None = None) -> Picture:  # noqa: A002 - as in Storm
    """Draw the retries of one storm by their number: first, second, ... At most six numbers are drawn."""
    bin_ms = to_ms(bin, "bin", least=1)
    numbers = range(1, min(run.setting.retries, len(SERIES)) + 1)
    counts = {k: run.arrivals(bin, retry=k) for k in numbers}
    scale = _scale([run])
    most = max(int(bars.max()) for bars in counts.values())
    figure, axes = sheet(0.8 + 0.95 * len(counts), rows=len(counts), share=True)
    for ax, (k, bars), (colour, _, _, hatch) in zip(axes, counts.items(), SERIES, strict=False):
        _bars(ax, scale, bars, bin_ms, colour=colour, hatch=hatch)
        _downstream(ax, scale, run, bin_ms)
        made = int(bars.sum())
        ax.set_title(f"retry {k}: {made:,}, at most {bars.max():,}", loc="left", fontsize=TEXT, color=INK, pad=3)
        _count_axis(ax, most)
        scale.draw(ax, "time since they failed together")
        if ax is not axes[-1]:
            ax.set_xlabel("")
            ax.tick_params(labelbottom=False)
    figure.supylabel(f"retries per {round_words(bin_ms)} (log scale)", fontsize=TEXT, color=GREY)
    spans = {k: run.calls_ms(k) for k in numbers}
    rows: list[Row] = [("retry", "made", f"at most in {round_words(bin_ms)}", "first", "last")]
    for k, at in spans.items():
        ends = (spoken(float(at.min())), spoken(float(at.max()))) if len(at) else ("-", "-")
        rows.append((k, f"{len(at):,}", f"{counts[k].max():,}", *ends))
    told = "; ".join(f"retry {k}: {counted(len(at), 'call')}, at most {counts[k].max():,}" for k, at in spans.items())
    return picture(
        figure,
        caption=caption or f"{run.name}: the waves of retries, each by its number, per {round_words(bin_ms)}.",
        twin=f"In bins of {round_words(bin_ms)}: {told}.",
        rows=rows,
    )


def completion(storms: Storms, *, caption: str | None = None) -> Picture:
    """Draw which share of the jobs has been served by when; what a line lacks at its end is dead."""
    runs = _listed(storms)
    scale = _scale(runs)
    figure, (ax,) = sheet(3.4)
    for run, (colour, marker, dashes, _) in zip(runs, SERIES, strict=False):
        served = run.served_ms
        share = np.arange(1, len(served) + 1) / run.setting.jobs
        keep = np.unique(np.linspace(0, len(served) - 1, 600).astype(int)) if len(served) else np.empty(0, dtype=int)
        xs = [0.0, *(scale(ms) for ms in served[keep].tolist()), scale(scale.end)]
        ys = [0.0, *share[keep].tolist(), len(served) / run.setting.jobs]
        ax.step(xs, ys, where="post", color=colour, linestyle=dashes, linewidth=1.8, label=run.name)
        ax.plot([xs[-1]], [ys[-1]], color=colour, marker=marker, markersize=7)
    _shade(ax, scale, runs[0])
    ax.set_ylim(0, 1.05)
    ticks(ax, [0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"], "y")
    scale.draw(ax, "time since they failed together")
    ax.set_ylabel("served jobs", fontsize=TEXT, color=GREY)
    figure.legend(loc="outside right upper", fontsize=SMALL, labelcolor=INK, frameon=False)
    marks = (10, 50, 90, 99, 100)
    rows: list[Row] = [("", *(f"{q} % of the served" for q in marks), "dead")]
    for run in runs:
        when = ((run.percentile_s(q)) for q in marks)
        rows.append((run.name, *("never" if s is None else spoken(1000 * s) for s in when), f"{run.dead:,}"))
    told = "; ".join(f"{row[0]}: half by {row[2]}, 99 % by {row[4]}, {row[6]} dead" for row in rows[1:])
    return picture(
        figure,
        caption=caption or "Which share of the jobs has been served by when. Shaded: the downstream is down.",
        twin=f"Of those that were served: {told}.",
        rows=rows,
    )


def _listed(storms: Storms) -> list[Storm]:
    runs = [storms] if isinstance(storms, Storm) else list(storms.storms if isinstance(storms, Comparison) else storms)
    if not 1 <= len(runs) <= len(SERIES) or not all(isinstance(run, Storm) for run in runs):
        raise ConfigError(f"a picture shows 1 to {len(SERIES)} results of storm(), or a comparison, got {storms!r}")
    return runs


def _scale(runs: list[Storm]) -> Timescale:
    """Choose the scale: its near end shows the middle of the first retries, or 1/4000 of the whole."""
    end = max(run.last_ms for run in runs) * 1.02
    first = min(float(np.median(run.times[0])) for run in runs)
    return Timescale(end, waits=[max(first, end / 4000)])


def _bars(ax: Axes, scale: Timescale, bars: np.ndarray, bin_ms: int, *, colour: str, hatch: str) -> None:
    """Draw counts as bars; a run of empty bins is one step, so that an hour of them costs nothing."""
    filled = np.flatnonzero(np.diff(bars, prepend=-1))
    edges = [scale(float(at)) for at in [*(filled * bin_ms), len(bars) * bin_ms]]
    few = len(filled) <= 400  # a hatch in bars that are a hair wide is only slow
    ax.stairs(bars[filled], edges, baseline=0.7, fill=True, facecolor=colour, edgecolor=PAPER if few else colour,
              linewidth=0.4, hatch=hatch if few else None)  # fmt: skip
    if few:  # an outline in ink: a bar that is a hair wide must not vanish
        ax.stairs(bars[filled], edges, baseline=0.7, color=colour, linewidth=0.9)


def _downstream(ax: Axes, scale: Timescale, run: Storm, bin_ms: int) -> None:
    """Shade the outages, and draw the capacity of one bin from the outage's end on."""
    _shade(ax, scale, run)
    served = run.setting.capacity * bin_ms / 1000
    begin = scale(run.setting.downstream.outage_ms)
    ax.plot([begin, scale(scale.end)], [served, served], color=BLACK, linestyle="--", linewidth=1.3)
    ax.annotate(
        f"serves {served:,.4g}", (scale(scale.end), served), xytext=(0, 3), textcoords="offset points",
        ha="right", va="bottom", fontsize=SMALL, color=INK, bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip


def _shade(ax: Axes, scale: Timescale, run: Storm) -> None:
    down = run.setting.downstream
    falls = [(at, at + down.windows_lost * down.window_ms) for at in run.knocked_ms]
    for begin, end in [(0, down.outage_ms), *falls]:
        ax.axvspan(
            scale(begin), scale(min(end, scale.end)), facecolor=LINE, alpha=0.6, hatch="//", edgecolor=GREY, lw=0
        )


def _title(run: Storm, bars: np.ndarray, bin_ms: int) -> str:
    p99 = run.percentile_s(99)
    late = "" if p99 is None else f", 99 % of the served by {spoken(1000 * p99)}"
    return f"{run.name}: at most {bars.max():,} in {round_words(bin_ms)}, {run.dead:,} dead{late}"


def _count_axis(ax: Axes, most: int) -> None:
    ax.set_yscale("log")
    ax.set_ylim(0.7, most * 2.2)
    powers = [10**n for n in range(0, 9, 2) if 10**n <= most]
    ticks(ax, powers, [f"{count:,}" for count in powers], "y")


def _summary_rows(runs: list[Storm], bin: Seconds) -> list[Row]:  # noqa: A002 - as in Storm
    rows: list[Row] = [("", "peak", "peak after the outage", "calls", "dead", "99 % by", "quiet after")]
    for run in runs:
        row = run.summary(bin)
        p99 = "never" if row.p99_s is None else spoken(1000 * row.p99_s)
        calls, dead = f"{row.total_calls:,}", f"{row.dead:,}"
        rows.append((run.name, f"{row.peak:,}", f"{row.peak_after:,}", calls, dead, p99, spoken(1000 * row.drained_s)))
    return rows
