"""Lines: how one figure grows with another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.ticker import MaxNLocator, NullFormatter

from jobkit.errors import ConfigError
from jobkit.plot.picture import Picture, Row, picture
from jobkit.plot.style import GREY, INK, LINE, SERIES, SMALL, TEXT, sheet
from jobkit.plot.tables import word

Points = Sequence[tuple[float, float]]


def lines(series: Mapping[str, Points], *, x: str, y: str, caption: str, twin: str, log: bool = True) -> Picture:
    """Draw each of the `series` as a line through its points (x, y), both axes logarithmic unless `log=False`.

    `x` and `y` say what the axes are, units included. Raises ConfigError for more than six lines,
    for none, and, on logarithmic axes, for what has no logarithm.
    """
    if not 1 <= len(series) <= len(SERIES) or not all(series.values()):
        raise ConfigError(f"lines() draws 1 to {len(SERIES)} lines of at least one point, got {len(series)}")
    if log and any(value <= 0 for points in series.values() for point in points for value in point):
        raise ConfigError("lines() has logarithmic axes: all figures must be greater than 0")
    figure, (ax,) = sheet(3.6)
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
    elif all(float(value).is_integer() for points in series.values() for _, value in points):
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    for (name, points), (colour, marker, dashes, _) in zip(series.items(), SERIES, strict=False):
        xs, ys = zip(*points, strict=True)
        ax.plot(xs, ys, color=colour, marker=marker, linestyle=dashes, linewidth=1.8, markersize=7, label=name)
    low, high = ax.get_ylim()
    if log:
        ax.set_ylim(low, max(high, 12 * low))  # a line that hardly moves should look as if it hardly moved
    ax.grid(visible=True, which="major", color=LINE, linewidth=0.8)
    ax.tick_params(which="minor", length=0)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.12g}")
        axis.set_minor_formatter(NullFormatter())
    scale = " (log scale)" if log else ""
    ax.set_xlabel(x + scale, fontsize=TEXT, color=GREY)
    ax.set_ylabel(y + scale, fontsize=TEXT, color=GREY)
    figure.legend(loc="outside right upper", fontsize=SMALL, labelcolor=INK, frameon=False)
    return picture(figure, caption=caption, twin=twin, rows=_table(series, x))


def _table(series: Mapping[str, Points], x: str) -> list[Row]:
    places = sorted({at for points in series.values() for at, _ in points})
    found = {name: dict(points) for name, points in series.items()}
    rows: list[Row] = [(x, *series)]
    rows += [(f"{at:,.12g}", *(word(found[name].get(at, "-")) for name in series)) for at in places]
    return rows
