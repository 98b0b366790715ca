"""Time along the bottom of a picture, from a fraction of a second to a month, with ticks a person would choose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from jobkit.clock import spoken
from jobkit.plot.style import GREY, TEXT, ticks

S, MIN, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
STEPS = [
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(S, 2 * S, 5 * S, 10 * S, 30 * S, MIN, 2 * MIN, 5 * MIN, 10 * MIN, 30 * MIN),
    *(HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 365 * DAY),
]
"""Distances between ticks, in ms."""


def about(ms: float) -> str:
    """Say a duration to two digits: what a live server's few ms of real time do not change."""
    if abs(ms) < 1:
        return "0 s"
    number, unit = spoken(abs(ms)).split(" ", 1)
    return f"{'-' if ms < 0 else ''}{float(f'{float(number):.2g}'):g} {unit}"


def round_words(ms: float) -> str:
    """Say a round duration in its largest whole unit: 30 s, 5 min, 1 h."""
    if ms <= 0:
        return f"-{round_words(-ms)}" if ms < 0 else "0 s"
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MIN, "min"), (S, "s")):
        if ms >= unit and ms % unit == 0:
            return f"{ms / unit:g} {name}"
    return spoken(ms)


def even_step(least: float) -> int:
    """Return the smallest distance that a person would choose, and that is at least `least` ms."""
    return next((step for step in STEPS if step >= least), STEPS[-1])


class Timescale:
    """From ms to a place along the picture: in proportion, or by the logarithm where waits differ much.

    `waits` are the durations that must remain visible (those under 1/5000 of the whole can't be). If
    the shortest is less than a twelfth of the whole, time t stands at log(1 + t/t0), with t0 half of
    the shortest: near 0 that is in proportion.
    """

    def __init__(self, end: float, waits: Sequence[float] = (), begin: float = 0) -> None:
        self.begin, self.end = begin, max(end, begin + 1)
        shortest = min((wait for wait in waits if wait > self.end / 5000), default=self.end)
        self.log = begin == 0 and self.end > 12 * shortest
        self.t0 = shortest / 2

    def __call__(self, ms: float) -> float:
        """Return the place: 0 is `begin`, 1 is `end`."""
        if self.log:
            return float(np.log1p(ms / self.t0) / np.log1p(self.end / self.t0))
        return (ms - self.begin) / (self.end - self.begin)

    def draw(self, ax: Axes, label: str, gap: float = 0.085) -> None:
        """Put the ticks and the label under a picture; `gap` is the least distance of two ticks."""
        ax.set_xlim(-0.02, 1.05)
        places, words = self._log_ticks(gap) if self.log else self._even_ticks(gap)
        ticks(ax, [self(ms) for ms in places], words)
        kind = " (log scale: what is later is drawn closer)" if self.log else ""
        ax.set_xlabel(label + kind, fontsize=TEXT, color=GREY)

    def _log_ticks(self, gap: float) -> tuple[list[float], list[str]]:
        chosen: list[float] = [0]
        for step in STEPS:
            if step <= self.end * 1.05 and self(step) - self(chosen[-1]) >= gap:
                chosen.append(step)
        return chosen, ["0", *map(round_words, chosen[1:])]

    def _even_ticks(self, gap: float) -> tuple[list[float], list[str]]:
        step = even_step((self.end - self.begin) * gap)
        first, last = int(np.ceil(self.begin / step)), int(self.end // step)
        places: list[float] = [n * step for n in range(first, last + 1)]
        unit, name = _even_unit(step, max(abs(self.begin), abs(self.end)))
        return places, [f"{place / unit:g} {name}" if place else "0" for place in places]


def _even_unit(step: float, longest: float) -> tuple[int, str]:
    """One unit for all ticks: the largest in which they are whole; or halves, where the last is 2 h, 2 d or more."""
    for unit, part, name in ((DAY, DAY // 2, "d"), (HOUR, HOUR // 2, "h"), (MIN, MIN, "min"), (S, S // 10, "s")):
        if step % (part if longest >= 2 * unit else unit) == 0:
            return unit, name
    return 1, "ms"
