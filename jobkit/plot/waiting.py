"""What waits: a delayed set along a line of time, with the server's own now."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from redis import Redis

from jobkit.errors import ConfigError
from jobkit.logs import counted
from jobkit.plot.picture import Picture, Row, picture
from jobkit.plot.style import BLACK, BLUE, GREY, INK, ORANGE, PAPER, SKY, SMALL, TEXT, VERMILION, sheet
from jobkit.plot.timescale import Timescale, about, even_step, round_words
from jobkit.queue import Queue

NAMED = 12
"""As many jobs get a line and a name each; more of them are counted in bars."""

Entry = tuple[str, float]
"""A job's id, and the ms from now until it is due (negative: overdue)."""


def delayed(
    source: Queue | Redis, key: str | None = None, *, limit: int = 10_000, caption: str | None = None
) -> Picture:
    """Draw a delayed set: who is due when, left of now or right of it.

    `source` is a queue, or a Redis client with the `key` of any sorted set scored in ms since the
    epoch. Now is Redis TIME, read in the same transaction. The first 12 jobs have names; more are
    drawn as counts. Raises ConfigError for a client without a key.
    """
    if isinstance(source, Queue):
        redis, key = source.redis, source.keys.delayed
    elif key is None:
        raise ConfigError("delayed() draws a queue, or a client and the key of a sorted set: delayed(redis, key)")
    else:
        redis = source
    entries, total = _read(redis, key, limit)
    due = sum(1 for _, ms in entries if ms <= 0)
    few = len(entries) <= NAMED
    times = [0.0, *(ms for _, ms in entries)]
    width = (max(times) - min(times)) or 1000
    scale = Timescale(max(times) + (0.15 if few else 0.02) * width, begin=min(times) - 0.04 * width)
    figure, (ax,) = sheet(1.0 + (0.3 * max(1, len(entries)) if few else 1.6))
    rows = _draw_each(ax, entries, scale) if few else _draw_counts(ax, entries, scale)
    ax.axvline(scale(0), color=VERMILION, linewidth=1.8, linestyle="--", zorder=1)
    ax.text(
        scale(0), 1.01, "now", transform=ax.get_xaxis_transform(), color=INK, ha="center", va="bottom", fontsize=TEXT
    )
    scale.draw(ax, "due, counted from now")
    more = f" Only the first {limit} of {total} are drawn." if total > limit else ""
    waiting = f"{counted(len(entries), 'job')} {'waits' if len(entries) == 1 else 'wait'} in {key}"
    told = f"{waiting}: {due} due, {len(entries) - due} later.{more}"
    first = f" The earliest is {entries[0][0]}, {_when(entries[0][1])}." if entries else ""
    return picture(
        figure,
        caption=caption or f"The sorted set {key}: what is left of the dashed line is due.",
        twin=told + first,
        rows=rows,
    )


def _read(redis: Redis, key: str, limit: int) -> tuple[list[Entry], int]:
    """Read the set and the server's time at one instant."""
    pipe = redis.pipeline(transaction=True)
    pipe.time()
    pipe.zcard(key)
    pipe.zrange(key, 0, limit - 1, withscores=True)
    (seconds, micros), total, members = pipe.execute()
    now = seconds * 1000 + micros // 1000
    return [(id.decode("utf-8", "replace"), float(score) - now) for id, score in members], total


def _when(ms: float) -> str:
    if abs(ms) < 1:
        return "now"
    return f"in {about(ms)}" if ms > 0 else f"{about(-ms)} ago"


def _draw_each(ax: Axes, entries: list[Entry], scale: Timescale) -> list[Row]:
    """Draw each job as a line from now to its time; what is due has another marker, and its words right of now."""
    for row, (_, ms) in enumerate(entries):
        is_due = ms <= 0
        ax.plot([scale(0), scale(ms)], [-row, -row], color=GREY, linewidth=1.4)
        ax.plot([scale(ms)], [-row], marker="D" if is_due else "o", markersize=9, color=VERMILION if is_due else BLUE)
        ax.annotate(
            f"due {_when(ms)}" if is_due else _when(ms),
            (scale(max(0, ms)), -row),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=INK,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
        )
    names = [id if len(id) <= 24 else id[:23] + "…" for id, _ in entries]
    ax.set_yticks([-row for row in range(len(entries))], names, fontsize=TEXT, color=INK)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-max(1, len(entries)) + 0.4, 0.6)
    return [("job", "due"), *((id, _when(ms)) for id, ms in entries)]


def _draw_counts(ax: Axes, entries: list[Entry], scale: Timescale) -> list[Row]:
    """Draw bars of jobs; a bar ends at now, so that none is half due."""
    step = even_step((scale.end - scale.begin) / 60)
    # a bin holds (start, end]: what is due exactly now stands left of now
    places = np.array([np.ceil(ms / step) - 1 for _, ms in entries])
    starts, counts = np.unique(places, return_counts=True)
    lefts = [scale(start * step) for start in starts]
    due = starts < 0
    bars = ax.bar(lefts, counts, scale(step) - scale(0), align="edge", color=SKY, edgecolor=BLUE, linewidth=0.8)
    for bar, is_due in zip(bars, due, strict=True):
        if is_due:
            bar.set(facecolor=ORANGE, edgecolor=BLACK, hatch="////")
    ax.set_ylabel(f"jobs per {round_words(step)}", fontsize=TEXT, color=GREY)
    coarse = even_step((scale.end - scale.begin) / NAMED)
    spans, sums = np.unique([np.ceil(ms / coarse) - 1 for _, ms in entries], return_counts=True)
    rows: list[Row] = [("due from now, after", "until", "jobs")]
    words = [(round_words(n * coarse), round_words((n + 1) * coarse), int(c)) for n, c in zip(spans, sums, strict=True)]
    return rows + words
