"""Who takes himself for the leader, and when: a row per candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jobkit.errors import ConfigError
from jobkit.plot.picture import Picture, picture
from jobkit.plot.style import BLUE, GREY, INK, PAPER, SKY, SMALL, TEXT, VERMILION, sheet

ROW = 0.62
"""Inches per candidate."""

Span = tuple[float, float]


def leaders(
    terms: Mapping[str, Sequence[tuple[float, float, int]]],
    *,
    asleep: Mapping[str, Sequence[Span]] | None = None,
    caption: str,
) -> Picture:
    """Draw who believes to lead: `terms` is name -> spans of (from, until, fencing number), in seconds.

    `asleep` is name -> spans in which he stood still. What is hatched is a belief that is no longer
    true: somebody has a newer number. Raises ConfigError without a candidate.
    """
    if not terms:
        raise ConfigError('leaders() draws at least one candidate: {"Ada": [(0, 30, 1)]}')
    begun = sorted((number, start) for spans in terms.values() for start, _, number in spans)
    figure, (ax,) = sheet(0.9 + ROW * len(terms))
    told, rows = [], [("who", "from", "until", "number", "outdated from")]
    for row, (name, spans) in enumerate(terms.items()):
        for start, end, number in spans:
            old = min([at for other, at in begun if other > number and at < end], default=end)
            ax.barh(row, old - start, 0.5, left=start, color=SKY, edgecolor=BLUE)
            if old < end:
                ax.barh(row, end - old, 0.5, left=old, color=PAPER, edgecolor=VERMILION, hatch="////")
                ax.text((old + end) / 2, row, "outdated", va="center", ha="center", fontsize=SMALL, color=INK,
                        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.5})  # fmt: skip
            ax.text(start, row, f" {number}", va="center", fontsize=TEXT, color=INK)
            rows.append((name, f"{start:g} s", f"{end:g} s", str(number), f"{old:g} s" if old < end else "-"))
            late = f", though from {old:g} s on another one has a newer number" if old < end else ""
            told.append(f"{name} believes to lead with number {number} from {start:g} to {end:g} s{late}.")
        for start, end in (asleep or {}).get(name, ()):
            ax.plot([start, end], [row + 0.36] * 2, color=GREY, linewidth=3, solid_capstyle="butt")
            ax.text(start, row + 0.36, "stands still  ", va="center", ha="right", fontsize=SMALL, color=GREY)
            told.append(f"{name} stands still from {start:g} to {end:g} s.")
    ax.set_yticks(range(len(terms)), list(terms), fontsize=TEXT, color=INK)
    ax.set_ylim(len(terms) - 0.4, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("seconds", fontsize=TEXT, color=GREY)
    return picture(figure, caption=caption, twin=" ".join(told) or "Nobody leads.", rows=rows)
