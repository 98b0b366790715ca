"""What comes of overload: goodput after an outage, and what contention costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jobkit.clock import Seconds
from jobkit.errors import ConfigError
from jobkit.logs import counted
from jobkit.plot.picture import Picture, Row, picture
from jobkit.plot.style import BLACK, GREY, INK, LINE, SERIES, SMALL, TEXT, sheet
from jobkit.storm import Contention, Outage

Outages = Mapping[str, Outage]


def goodput(outages: Outages, *, bin: Seconds = 1.0, caption: str | None = None) -> Picture:  # noqa: A002
    """Draw, before and after an outage, the calls that arrive and the requests that are answered in time.

    A panel per run, per second in bins of `bin` seconds. Dashed: what the server can do. The space
    between the two lines is work for nobody.
    """
    if not 1 <= len(outages) <= len(SERIES) or not all(isinstance(run, Outage) for run in outages.values()):
        raise ConfigError(f"a picture shows 1 to {len(SERIES)} results of metastable() by name, got {outages!r}")
    figure, axes = sheet(0.9 + 1.5 * len(outages), rows=len(outages), share=True)
    for ax, (name, run) in zip(axes, outages.items(), strict=True):
        at, load, good = run.starts(bin), run.load(bin), run.goodput(bin)
        ax.axvspan(-run.server.down_ns / 1e9, 0, facecolor=LINE, alpha=0.6, hatch="//", edgecolor=GREY, lw=0)
        for line, (colour, _, dashes, _), label in ((load, SERIES[1], "calls"), (good, SERIES[0], "answered in time")):
            ax.step(at, line, where="post", color=colour, linestyle=dashes, linewidth=1.5, label=label)
        ax.axhline(1e9 / run.server.service_ns, color=BLACK, linestyle=":", linewidth=1.4, label="capacity")
        ax.set_title(f"{name}: {_verdict(run)}", loc="left", fontsize=TEXT, color=INK, pad=3)
        ax.yaxis.grid(visible=True, color=LINE, linewidth=0.8)
    axes[0].set_ylim(0, 1.15 * max(float(run.load(bin).max()) for run in outages.values()))
    axes[-1].set_xlabel("seconds since the end of the outage", fontsize=TEXT, color=GREY)
    figure.supylabel("per second", fontsize=TEXT, color=GREY)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=3, fontsize=SMALL, labelcolor=INK, frameon=False)
    rows: list[Row] = [("", "calls per request", "answered in time", "goodput back", "queue empty")]
    for name, run in outages.items():
        back, empty = (_after(s) for s in (run.back_after_s, run.empty_after_s))
        rows.append((name, f"{run.amplification:.2f}", f"{run.answered.mean():.0%}", back, empty))
    return picture(
        figure,
        caption=caption or "Calls that arrive, and requests that are answered in time. Shaded: the outage.",
        twin=" ".join(f"{name}: {run!r}." for name, run in outages.items()),
        rows=rows,
    )


def contention(sweep: Mapping[str, Sequence[Contention]], *, caption: str | None = None) -> Picture:
    """Draw time and calls against the number of clients: a line per strategy, means of the runs of `occ`."""
    if not 1 <= len(sweep) <= len(SERIES) or not all(sweep.values()):
        raise ConfigError(f"a picture shows 1 to {len(SERIES)} strategies, each with results of occ(), got {sweep!r}")
    figure, axes = sheet(3.6, columns=2)
    means = {
        name: [(one.clients, one.time_ms.mean(), one.calls.mean()) for one in runs] for name, runs in sweep.items()
    }
    for place, (ax, what) in enumerate(zip(axes, ("time until all have written, ms", "writes sent"), strict=True), 1):
        for (name, points), (colour, marker, dashes, _) in zip(means.items(), SERIES, strict=False):
            xs, ys = [point[0] for point in points], [point[place] for point in points]
            ax.plot(xs, ys, color=colour, marker=marker, linestyle=dashes, markersize=5, label=name)
        ax.set_yscale("log" if place == 1 else "linear")
        ax.set_title(f"{what}{' (log scale)' if place == 1 else ''}", loc="left", fontsize=TEXT, color=INK, pad=4)
        ax.grid(visible=True, color=LINE, linewidth=0.8)
        ax.set_xlabel("clients", fontsize=TEXT, color=GREY)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=SMALL, labelcolor=INK, frameon=False)
    rows: list[Row] = [("clients", *(f"{name}: ms / writes" for name in means))]
    clients = sorted({point[0] for points in means.values() for point in points})
    found = {name: {n: f"{time:,.0f} / {calls:,.0f}" for n, time, calls in points} for name, points in means.items()}
    rows += [(n, *(found[name].get(n, "-") for name in means)) for n in clients]
    told = "; ".join(
        f"{name}: {points[-1][1]:,.0f} ms and {points[-1][2]:,.0f} writes with {counted(points[-1][0], 'client')}"
        for name, points in means.items()
    )
    runs = int(np.median([len(one.calls) for many in sweep.values() for one in many]))
    return picture(
        figure,
        caption=caption or "Many clients want to write one row: how long it takes, and how many writes it costs.",
        twin=f"Means of {counted(runs, 'run')}. {told}.",
        rows=rows,
    )


def _verdict(run: Outage) -> str:
    return "it stays down" if run.back_after_s is None else f"back after {run.back_after_s:.0f} s"


def _after(seconds: float | None) -> str:
    return "never" if seconds is None else f"after {seconds:.0f} s"
