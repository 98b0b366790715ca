"""What the length of a lease costs, at both ends."""

from __future__ import annotations

from collections.abc import Mapping

from jobkit.errors import ConfigError
from jobkit.plot.picture import Picture, picture
from jobkit.plot.style import BLUE, GREY, INK, SERIES, SMALL, TEXT, VERMILION, sheet

ROW = 0.36
"""Inches per lease."""


def leases(costs: Mapping[int, tuple[float, int]], of: int, *, caption: str) -> Picture:
    """Draw, per lease, how long a dead worker's job waits, and how many jobs of living workers run twice.

    `costs` is lease in seconds -> (seconds until the dead one's job was back, jobs run twice); `of` is how
    many jobs there were. Raises ConfigError without a lease.
    """
    if not costs:
        raise ConfigError("leases() draws at least one lease: {lease in s: (seconds, run twice)}")
    figure, (left, right) = sheet(0.95 + ROW * len(costs), columns=2)
    panels = (
        (left, [back for back, _ in costs.values()], "the dead one's job is back after", BLUE, SERIES[2][3], " s"),
        (
            right,
            [twice for _, twice in costs.values()],
            f"run twice though nobody died, of {of}",
            VERMILION,
            "////",
            "",
        ),
    )
    for ax, values, what, colour, hatch, unit in panels:
        places = range(len(values))
        ax.barh(places, values, 0.6, facecolor="none", edgecolor=colour, hatch=hatch, linewidth=1.1)
        for place, value in zip(places, values, strict=True):
            ax.text(value, place, f" {value:g}{unit}", va="center", fontsize=SMALL, color=INK)
        ax.set_xlim(0, max(*values, 1) * 1.18)
        ax.set_ylim(len(values) - 0.5, -0.5)
        ax.set_yticks(list(places), [f"{lease} s" for lease in costs], fontsize=TEXT, color=INK)
        ax.tick_params(axis="y", length=0)
        ax.set_title(what, loc="left", fontsize=TEXT, color=INK)
    left.set_ylabel("lease", fontsize=TEXT, color=GREY)
    told = "; ".join(f"{lease} s: back after {back:g} s, {twice} run twice" for lease, (back, twice) in costs.items())
    rows = [(f"{lease} s", f"{back:g} s", f"{twice} of {of}") for lease, (back, twice) in costs.items()]
    head = ("lease", "the dead one's job is back after", "run twice, though nobody died")
    return picture(figure, caption=caption, twin=f"Per lease: {told}.", rows=[head, *rows])
