"""Retry policies: how long each waits after each attempt, and what its jitter makes of one wait."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
from matplotlib.axes import Axes

from jobkit.backoff import Backoff
from jobkit.clock import Seconds, new_rng, spoken, to_ms
from jobkit.errors import ConfigError
from jobkit.logs import counted
from jobkit.plot.picture import Picture, Row, picture
from jobkit.plot.style import GREY, INK, LINE, PAPER, SERIES, SMALL, TEXT, sheet, ticks
from jobkit.plot.timescale import STEPS, Timescale, even_step, round_words

Policies = Mapping[str, Backoff]
"""What is compared: a name for each policy, as the picture is to say it. At most six."""


class _Chance(Random):
    """Chance that always comes out the same: 0 for the shortest wait, almost 1 for the longest."""

    def __init__(self, u: float) -> None:
        super().__init__(0)
        self._u = u

    def random(self) -> float:
        return self._u


SHORTEST, MIDDLE, LONGEST = _Chance(0.0), _Chance(0.5), _Chance(1 - 2**-53)


def sequence(policies: Policies, attempts: int = 8, *, caption: str | None = None) -> Picture:
    """Draw how long each policy waits after attempt 1, 2, ..., on a log scale.

    A line runs through the middle of the jitter, a band from its shortest to its longest wait: for the
    kit's policies those of chance 0, 1/2 and 1; for a policy of your own, those of 1,000 seeded draws.
    """
    _check(policies)
    numbers = range(1, attempts + 1)
    waits = {name: [_span(policy, n) for n in numbers] for name, policy in policies.items()}
    figure, (ax,) = sheet(3.4)
    middles = [wait[1] for line in waits.values() for wait in line]
    longest = max(wait[2] for line in waits.values() for wait in line)
    floor = max(0.5, min(middles) / 4)  # on a log scale 0 is nowhere: a band that begins there leaves the picture
    ax.set_yscale("log")
    ax.set_ylim(floor, longest * 1.4)
    ax.set_xlim(0.7, attempts + 0.3 + 0.26 * attempts)
    for (name, line), (colour, marker, style, hatch) in zip(waits.items(), SERIES, strict=False):
        low, middle, high = (np.maximum(column, floor / 2) for column in np.array(line).T)
        ax.fill_between(numbers, low, high, facecolor=colour, alpha=0.22, linewidth=0)
        ax.fill_between(numbers, low, high, facecolor="none", edgecolor=colour, hatch=hatch, alpha=0.45, linewidth=0.8)
        ax.plot(numbers, middle, color=colour, marker=marker, linestyle=style, markersize=6.5, label=name)
    _name_ends(ax, {name: line[-1][1] for name, line in waits.items()}, attempts, np.log(longest * 1.4 / floor))
    _duration_ticks(ax, floor, longest * 1.4)
    ticks(ax, list(numbers), [str(n) for n in numbers])
    ax.xaxis.grid(visible=False)
    ax.set_xlabel("failed runs so far", fontsize=TEXT, color=GREY, loc="left")
    ax.set_ylabel("wait (log scale)", fontsize=TEXT, color=GREY)
    rows: list[Row] = [("failed runs", *waits)]
    rows += [(n, *(_range(*line[n - 1]) for line in waits.values())) for n in numbers]
    told = ". ".join(f"{name} goes from {_range(*line[0])} to {_range(*line[-1])}" for name, line in waits.items())
    return picture(
        figure,
        caption=caption
        or f"The wait after each failed run: {', '.join(waits)}. A band is what the jitter may make of it.",
        twin=f"{told}.",
        rows=rows,
    )


def distribution(
    policies: Policies | Backoff,
    attempt: int = 1,
    *,
    n: int = 10_000,
    seed: int = 7,
    per: Seconds | None = None,
    caption: str | None = None,
) -> Picture:
    """Draw when `n` jobs come back that failed together for the `attempt`-th time: a histogram per policy.

    `per` is the width of a bar in seconds; without it a round one is chosen; the picture says which.
    All policies have one scale: a logarithmic one, if the fullest bar of one is 20 times that of another.
    """
    if not isinstance(policies, Mapping):
        policies = {type(policies).__name__: policies}
    _check(policies)
    drawn = {name: _draws(policy, attempt, n, seed) for name, policy in policies.items()}
    end = max(1.0, *(float(delays.max()) for delays in drawn.values()))
    step = even_step(end / 80) if per is None else to_ms(per, "per", least=1)
    counts = {name: np.bincount(delays // step, minlength=int(end // step) + 1) for name, delays in drawn.items()}
    peaks = {name: int(bars.max()) for name, bars in counts.items()}
    log = max(peaks.values()) > 20 * min(peaks.values())
    figure, axes = sheet(0.75 + 1.05 * len(drawn), rows=len(drawn), share=True)
    scale = Timescale((int(end // step) + 1) * step)
    for ax, (name, bars), (colour, _, _, hatch) in zip(axes, counts.items(), SERIES, strict=False):
        edges = [scale(place * step) for place in range(len(bars) + 1)]
        ax.stairs(bars, edges, baseline=0.7 if log else 0, fill=True, facecolor=colour, edgecolor=PAPER, hatch=hatch)
        ax.set_title(
            f"{name}   (at most {peaks[name]:,} in {round_words(step)})", loc="left", fontsize=TEXT, color=INK, pad=3
        )
        if log:
            ax.set_yscale("log")
            ax.set_ylim(0.7, max(peaks.values()) * 1.6)
            powers = [10**n for n in range(0, 8, 2) if 10**n <= max(peaks.values())]
            ticks(ax, powers, [f"{count:,}" for count in powers], "y")
        ax.yaxis.grid(visible=True, color=LINE, linewidth=0.8)
        scale.draw(ax, "")
        ax.tick_params(labelbottom=ax is axes[-1])
    figure.supylabel(f"jobs per {round_words(step)}{' (log scale)' if log else ''}", fontsize=TEXT, color=GREY)
    axes[-1].set_xlabel("time since they failed together", fontsize=TEXT, color=GREY)
    told = "; ".join(f"{_between(name, delays)}, at most {peaks[name]:,}" for name, delays in drawn.items())
    return picture(
        figure,
        caption=caption
        or f"{counted(n, 'job')} that failed together, after attempt {attempt}: "
        f"when they come back, per {round_words(step)}.",
        twin=f"How many come back in one bar of {round_words(step)}: {told}.",
        rows=_shares(drawn),
    )


def _check(policies: Policies) -> None:
    if not 1 <= len(policies) <= len(SERIES):
        raise ConfigError(f"a picture compares 1 to {len(SERIES)} policies, got {len(policies)}")


def _span(policy: Backoff, attempt: int) -> tuple[float, float, float]:
    """The shortest, the middle and the longest wait, in ms."""
    if hasattr(policy, "delays"):
        return policy.delay(attempt, SHORTEST), policy.delay(attempt, MIDDLE), policy.delay(attempt, LONGEST)
    # What else it does with its chance is its own affair: randint, say, would draw again for ever.
    low, middle, high = map(float, np.quantile(_draws(policy, attempt, 1000, 7), [0, 0.5, 1]))
    return low, middle, high


def _draws(policy: Backoff, attempt: int, n: int, seed: int) -> np.ndarray:
    """Draw n delays, in ms: at once where the policy can, else one by one."""
    at_once = getattr(policy, "delays", None)
    if at_once is not None:
        return np.asarray(at_once(np.full(n, attempt), np.random.default_rng(seed)))
    rng = new_rng(seed)
    return np.array([policy.delay(attempt, rng) for _ in range(n)])


def _between(name: str, delays: np.ndarray) -> str:
    low, high = float(delays.min()), float(delays.max())
    if low == high:
        return f"{name}: all after {spoken(low)}"
    if spoken(low) == spoken(high):
        return f"{name}: all within {spoken(high - low)}, after {spoken(low)}"
    return f"{name}: between {spoken(low)} and {spoken(high)}"


def _range(low: float, middle: float, high: float) -> str:
    if high - low < 2:
        return spoken(middle)
    return f"{spoken(middle)} ({spoken(low)} to {spoken(high)})"


def _shares(drawn: Mapping[str, np.ndarray]) -> list[Row]:
    """The quantiles of each policy's delays."""
    heads = ("policy", "shortest", "a tenth within", "half within", "nine tenths within", "longest")
    found = {name: np.quantile(delays, [0, 0.1, 0.5, 0.9, 1]) for name, delays in drawn.items()}
    return [heads, *((name, *(spoken(float(ms)) for ms in marks)) for name, marks in found.items())]


def _name_ends(ax: Axes, ends: Mapping[str, float], attempts: int, decades: float) -> None:
    """Name each line at its right end, lifting names that would lie on one another."""
    least, last = decades * 0.085, -np.inf
    colours = {name: SERIES[place][0] for place, name in enumerate(ends)}
    for name, end in sorted(ends.items(), key=lambda item: item[1]):
        last = max(np.log(end), last + least)
        ax.annotate(
            name,
            (attempts, end),
            (attempts + 0.03 * attempts, np.exp(last)),
            va="center",
            fontsize=SMALL,
            color=INK,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
            arrowprops={"arrowstyle": "-", "color": colours[name], "linewidth": 1.2, "shrinkA": 0, "shrinkB": 4},
        )


def _duration_ticks(ax: Axes, low: float, high: float) -> None:
    places: list[int] = []
    for step in STEPS:
        if low <= step <= high and (not places or np.log(step / places[-1]) > np.log(high / low) / 9):
            places.append(step)
    ticks(ax, places, [round_words(ms) for ms in places], "y")
