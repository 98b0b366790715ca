"""Who ran what, when: a row per worker process, and what became of the jobs of one that was killed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jobkit.logs import counted
from jobkit.plot.picture import Picture, Row, picture
from jobkit.plot.shift import Run, Shift, Watched
from jobkit.plot.style import BLUE, GREEN, GREY, INK, PAPER, PURPLE, SMALL, TEXT, VERMILION, WIDTH, sheet
from jobkit.queue import Queue

LOOKS = {
    "once": {"facecolor": "#c9e5f6", "edgecolor": BLUE, "hatch": ""},  # a pale sky
    "cut": {"facecolor": PAPER, "edgecolor": VERMILION, "hatch": "////"},
    "again": {"facecolor": PAPER, "edgecolor": GREEN, "hatch": "...."},
}
"""A run as most are; one that a kill cut off; one of a job that was begun before."""

ROW, BAR = 0.62, 0.46
"""Inches per row; the height of a bar, as a part of it."""

LETTER = 0.078
"""Inches of a letter, about."""

TOLD, DRAWN = 6, 24
"""As many kills are told one by one, and as many workers have a row."""


def crew(crew: Watched | Shift, queue: Queue | None = None, *, caption: str | None = None) -> Picture:
    """Draw what a crew did: a row per worker process, a bar per run of a handler, an X where one was killed.

    With the crew's `queue`, the lease is drawn, too: the dotted span after a kill, in which nobody else
    could have the job. An arrow leads from there to the job's next run. Time is real, in seconds since
    the first handler began.
    """
    shift = crew if isinstance(crew, Shift) else Shift.of(crew, queue)
    return picture(figure(shift), caption=caption or _caption(shift), twin=_told(shift), rows=_table(shift))


def figure(shift: Shift, now: int | None = None) -> Figure:
    """Draw a shift as a figure; `now` (ms since the epoch) is where a run ends that still goes on."""
    workers, runs = _drawn(shift)
    until = max([*_moments(runs), *(at - shift.begin for at, _ in shift.killed), (now or 0) - shift.begin, 1])
    if now is not None:
        runs = [replace(run, freed=until) if _held(run, runs) else run for run in runs]
    right = until * 1.02 if now is None else max(4000, 1000 * -(-until // 1000))
    drawn, (ax,) = sheet(0.8 + ROW * max(1, len(workers)))
    ax.set_xlim(-0.008 * right / 1000, right / 1000)
    ax.set_ylim(-max(1, len(workers)) + 0.4, 0.6)
    ax.set_yticks([-n for n in range(len(workers))], workers, fontsize=TEXT, color=INK)
    ax.tick_params(axis="y", length=0)
    ax.set_ylabel("worker process", fontsize=TEXT, color=GREY)
    ax.set_xlabel("seconds since the first handler began", fontsize=TEXT, color=GREY)
    per_letter = LETTER / ((WIDTH - 0.6) / (right * 1.01 / 1000))
    gone = {name: (at - shift.begin) / 1000 for at, name in shift.killed if name in workers}
    for label in ax.get_yticklabels():
        label.set_parse_math(False)  # a name may have dollars
    for n, name in enumerate(workers):
        ax.plot([0, gone.get(name, until / 1000)], [-n, -n], color=GREY, linewidth=0.8, zorder=1)
    for run in runs:
        _draw(ax, -workers.index(run.worker), run, until, per_letter, again=_again(run, runs))
    for name, at in gone.items():
        _kill(ax, -workers.index(name), at, until / 1000)
    for before, after in _handed_over(runs):
        start = (before.freed if before.freed is not None else before.end or after.start) / 1000
        _arrow(ax, (start, -workers.index(before.worker)), (after.start / 1000, -workers.index(after.worker)))
    return drawn


def _drawn(shift: Shift) -> tuple[list[str], list[Run]]:
    """Return the workers that have a row, and their runs."""
    workers = shift.workers()[:DRAWN]
    return workers, [run for run in shift.runs() if run.worker in workers]


def _draw(ax: Axes, y: int, run: Run, until: int, per_letter: float, *, again: bool) -> None:
    """Draw one run, its name in it if there is room, and the lease that outlived it."""
    end = until if run.end is None else run.end
    look = LOOKS["cut" if run.cut else "again" if again else "once"]
    left, width = run.start / 1000, max(end - run.start, 1) / 1000
    ax.barh(y, width, BAR, left=left, linewidth=1.1, zorder=2, **look)  # type: ignore[arg-type]
    names = (str(run), run.job, run.job.split()[-1])
    _write(ax, (left, left + width), y, names, per_letter, box=bool(look["hatch"]))
    if (run.freed or 0) > end:
        span = ((run.freed or 0) - end) / 1000
        ax.barh(y, span, BAR, left=end / 1000, facecolor="none", edgecolor=PURPLE, linestyle=":", linewidth=1.6)
        words = (f"held by the lease, {span:.1f} s", f"lease runs on, {span:.1f} s", f"lease, {span:.1f} s", "lease")
        _write(ax, (end / 1000 + 9 * per_letter, end / 1000 + span), y, words, per_letter, box=False)
    elif run.freed is not None:
        ax.plot([run.freed / 1000], [y + BAR / 2], marker="v", markersize=9, color=PURPLE, zorder=4)


def _write(ax: Axes, span: tuple[float, float], y: float, words: Sequence[str], letter: float, *, box: bool) -> None:
    """Write the longest of these that fits between two moments, on paper of its own if it needs a `box`."""
    left, right = span
    for text in words:
        if (len(text) + 1) * letter < right - left:
            paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.2} if box else None
            ax.text(
                (left + right) / 2, y, text, ha="center", va="center", fontsize=SMALL, color=INK, bbox=paper, zorder=5,
                clip_on=True, parse_math=False,
            )  # fmt: skip
            return


def _kill(ax: Axes, y: int, at: float, until: float) -> None:
    ax.plot([at], [y], marker="X", markersize=12, color=VERMILION, markeredgecolor="white", zorder=6)
    side, gap = ("right", -9) if at > 0.9 * until else ("left", 9)
    ax.annotate(
        "killed", (at, y), (gap, 0), textcoords="offset points", ha=side, va="center", fontsize=SMALL, color=INK,
        fontweight="bold", zorder=6,
    )  # fmt: skip


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    up = 1 if end[1] >= start[1] else -1
    ax.annotate(
        "",
        (end[0], end[1] - up * BAR / 2 if end[1] != start[1] else end[1]),
        (start[0], start[1] + up * BAR / 2),
        arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.3, "shrinkA": 1, "shrinkB": 1, "linestyle": "--"},
        zorder=3,
    )


def _again(run: Run, runs: Sequence[Run]) -> bool:
    return any(other.job == run.job and other.start < run.start for other in runs)


def _held(run: Run, runs: Sequence[Run]) -> bool:
    """Whether its job is still lent to a worker that is gone."""
    return run.cut and run.freed is None and not any(o.job == run.job and o.start > run.start for o in runs)


def _handed_over(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Pair each run that lost its job with the job's next run."""
    pairs = []
    for run in runs:
        later = [other for other in runs if other.job == run.job and other.start > run.start]
        if later and (run.cut or run.freed is not None):
            pairs.append((run, later[0]))
    return pairs


def _moments(runs: Sequence[Run]) -> list[int]:
    return [at for run in runs for at in (run.start, run.end, run.freed) if at is not None]


# -- in words --------------------------------------------------------------------


def _caption(shift: Shift) -> str:
    runs, killed = shift.runs(), shift.killed
    if not killed:
        return f"{counted(len(shift.workers()), 'worker')}, and who ran what when."
    saved = [(before, after) for before, after in _handed_over(runs) if before.cut]
    if len(killed) == len(saved) == 1:
        before, after = saved[0]
        return f"{before.worker} is killed while it runs {before.job}; {after.worker} runs {before.job} again."
    again = f"{counted(len(saved), 'job')} run again by another (dotted green bars)"
    return f"{counted(len(killed), 'worker')} killed, {again}."


def _told(shift: Shift) -> str:
    runs = shift.runs()
    if not runs:
        return "No handler has begun."
    took, jobs = max(_moments(runs)) / 1000, dict.fromkeys(run.job for run in runs)
    who, what = counted(len(shift.workers()), "worker"), counted(len(jobs), "job")
    parts = [f"{who} ran {what} in {counted(len(runs), 'run')}, within {took:.1f} s."]
    parts += [_told_kill(at - shift.begin, name, runs) for at, name in shift.killed[:TOLD]]
    if len(shift.killed) > TOLD:
        parts.append(f"And {len(shift.killed) - TOLD} more were killed.")
    twice = [job for job in jobs if sum(run.job == job for run in runs) > 1]
    parts += [
        f"{job} was begun more than once." for job in twice if not any(run.job == job and run.cut for run in runs)
    ]
    if len(twice) < len(jobs):
        parts.append("Every other job was begun once." if twice else "Every job was begun once.")
    if len(shift.workers()) > DRAWN:
        parts.append(f"Only the first {DRAWN} workers are drawn.")
    return "\n\n".join(parts)


def _told_kill(at: int, name: str, runs: Sequence[Run]) -> str:
    hit = [run for run in runs if run.worker == name and run.cut]
    if not hit:
        return f"{name} was killed at {at / 1000:.1f} s, with nothing in hand."
    stories = []
    for run in hit:
        after = [other for other in runs if other.job == run.job and other.start > run.start]
        lease = "" if run.freed is None else f" The lease on {run.job} was over {(run.freed - at) / 1000:.1f} s later."
        again = (
            f" {after[0].worker} ran it again (run {after[0].attempt}) from {after[0].start / 1000:.1f} s on."
            if after
            else f" Nobody has begun {run.job} again."
        )
        into = (at - run.start) / 1000
        stories.append(f"{name} was killed at {at / 1000:.1f} s, {into:.1f} s into {run}.{lease}{again}")
    return " ".join(stories)


def _table(shift: Shift) -> list[Row]:
    rows: list[Row] = [("worker", "job", "run", "began", "ended", "how")]
    for run in _drawn(shift)[1]:
        how = "killed" if run.cut else "still at work" if run.end is None else "to its end"
        if run.freed is not None and not run.cut:
            how += ", its lease over before"
        end = "-" if run.end is None else f"{run.end / 1000:.1f} s"
        rows.append((run.worker, run.job, run.attempt, f"{run.start / 1000:.1f} s", end, how))
    return rows
