"""A job's attempts along a line of time, from its history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes

from jobkit.clock import spoken
from jobkit.history import Event
from jobkit.job import Job, State
from jobkit.logs import counted
from jobkit.plot.picture import Picture, Row, picture
from jobkit.plot.style import BLACK, BLUE, GREEN, GREY, INK, ORANGE, PAPER, PURPLE, SKY, SMALL, TEXT, VERMILION, sheet
from jobkit.plot.timescale import Timescale, about
from jobkit.queue import Queue

LOOKS = {
    "retry": ("failed", "X", VERMILION),
    "dead": ("dead", "s", BLACK),
    "done": ("done", "o", GREEN),
    "recovered": ("worker lost", "v", PURPLE),
    "released": ("given back", "<", ORANGE),
    "running": ("running", ">", BLUE),
    "requeued": ("requeued", "^", BLUE),
    "adopted": ("found again", "D", SKY),
    "cancelled": ("cancelled", "P", ORANGE),
    "due": ("next run", "o", GREY),
}
"""An outcome's word, marker and colour; each marker has one meaning."""

CHOSE_A_WAIT = ("retry", "requeued")

ROW = 0.62
"""Inches per job."""

_WHO = {
    (False, True): "it was",
    (True, True): "they were",
    (True, False): "the first was",
}

FINE_MS = 2000
"""A picture of less than this shows single ms."""

SNAP_MS = 250
"""In a longer one, what was measured below this took no time: a live server's own ms change no word."""

SHORT = 12
"""As many events are told one by one; of more, the first and the last few."""


@dataclass(frozen=True)
class Line:
    """One job as it is drawn: moments in ms since the picture's beginning."""

    job: Job
    born: int
    runs: list[tuple[int, int, Event]]
    """From, until, and what it was."""
    waits: list[tuple[int, int, str]]
    """From, until, and how long in words: each wait that somebody chose."""
    due: int | None
    """When it is due, if it waits."""

    @property
    def end(self) -> int:
        """The last moment that is drawn."""
        return max([self.due or 0, self.born, *(until for _, until, _ in self.runs)])


def attempts(queue: Queue, *ids: str, caption: str | None = None) -> Picture:
    """Draw the attempts of one or several jobs, each job a line: `attempts(queue, "mail-1", "mail-2")`.

    A mark is the end of a run, numbered; its shape and its word say how it ended. A line between two
    marks is a wait, with its length. A run long enough to be seen is a bar. Time counts from the first
    submit; where the waits differ much, its scale is logarithmic, and says so. Waits are exact. What
    was measured (runs, the first wait) is rounded to 0.1 s, from 1 s on to 0.5 s, from 10 s on to 1 s,
    and below 0.25 s left out, unless the whole took less than 2 s: so a live server tells what the fake tells.
    Raises UnknownJob, also for a job that was done so long ago that its record is gone.
    """
    lines = _read(queue, ids)
    waits = [end - start for line in lines for start, end, _ in line.waits]
    scale = Timescale(max(line.end for line in lines), waits)
    figure, (ax,) = sheet(0.75 + ROW * len(lines))
    for row, line in enumerate(lines):
        _draw(ax, -row, line, scale)
    ax.set_ylim(-len(lines) + 0.45, 0.55)
    ax.set_yticks([-row for row in range(len(lines))], [line.job.id for line in lines], fontsize=TEXT, color=INK)
    ax.tick_params(axis="y", length=0)
    together = len({line.born for line in lines}) == 1
    scale.draw(ax, f"time since {_WHO[len(lines) > 1, together]} submitted")
    twin = "\n\n".join(_told(line) for line in lines)
    return picture(figure, caption=caption or _caption(lines), twin=twin, rows=_table(lines))


def _read(queue: Queue, ids: Iterable[str]) -> list[Line]:
    jobs = [(queue.get(id), queue.history(id)) for id in ids]
    if not jobs:
        raise TypeError("attempts() draws at least one job: attempts(queue, id)")
    begin = min(job.created for job, _ in jobs)
    end = max(max([job.run_at, *(event.ended for event in events)]) for job, events in jobs)
    return [_line(job, events, begin, fine=end - begin < FINE_MS) for job, events in jobs]


def _line(job: Job, events: list[Event], begin: int, *, fine: bool) -> Line:
    """Lay a job's events end to end: the waits as they were chosen; what was measured, rounded."""

    def measured(ms: int) -> int:
        if fine or ms < SNAP_MS:
            return max(0, ms) if fine else 0
        step = 100 if ms < 1000 else 500 if ms < 10_000 else 1000
        return (ms + step // 2) // step * step

    born = here = measured(job.created - begin)
    runs, waits = [], []
    last = job.created
    for event in events:
        late = measured(event.started - last)
        if event is events[0] and late and event.attempt == 1:
            waits.append((here, here + late, about(late)))
        start = here + late
        here = start + measured(event.ended - event.started)
        runs.append((start, here, event))
        last = event.ended
        if event.outcome in CHOSE_A_WAIT and event.delay_ms:
            waits.append((here, here + event.delay_ms, spoken(event.delay_ms)))
            here, last = here + event.delay_ms, last + event.delay_ms
    due = None
    if job.state == State.SCHEDULED:
        due = here if events else born + job.run_at - job.created
        if not events:
            waits.append((born, due, spoken(due - born)))
    return Line(job, born, runs, waits, due)


def _draw(ax: Axes, y: float, line: Line, scale: Timescale) -> None:
    """Draw one job: waits first, then runs, then the marks."""
    ax.plot([scale(line.born)], [y], marker="|", markersize=15, color=GREY)
    for start, end, words in line.waits:
        left, right = scale(start), scale(end)
        ax.plot([left, right], [y, y], color=GREY, linewidth=1.6, solid_capstyle="butt", zorder=2)
        if right - left > 0.0105 * len(words) + 0.007:  # between the numbers of two runs
            ax.text(
                (left + right) / 2,
                y + 0.09,
                words,
                ha="center",
                va="bottom",
                fontsize=SMALL,
                color=GREY,
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
            )
    seen = -1.0
    for start, end, event in line.runs:
        left, right = scale(start), scale(end)
        if right - left > 0.008:
            ax.barh(y, right - left, 0.26, left=left, color=SKY, edgecolor=BLUE, hatch="////", linewidth=0.8, zorder=1)
        apart = right - seen > 0.075
        _mark(ax, right, y, event.outcome, event.attempt if apart or right - seen > 0.02 else 0, word=apart)
        seen = right
    if line.due is not None:
        _mark(ax, scale(line.due), y, "due", 0, word=scale(line.due) - seen > 0.075)


def _mark(ax: Axes, x: float, y: float, outcome: str, attempt: int, *, word: bool) -> None:
    name, marker, colour = LOOKS.get(outcome, (outcome, "D", GREY))
    face = "none" if outcome == "due" else colour
    ax.plot([x], [y], marker=marker, markersize=10, color=colour, markerfacecolor=face, markeredgecolor="white" if
            face != "none" else colour, markeredgewidth=0.7 if face != "none" else 1.6, zorder=3)  # fmt: skip
    if attempt:
        ax.text(x, y + 0.2, str(attempt), ha="center", va="bottom", fontsize=SMALL, color=INK, fontweight="bold")
    if word:
        ax.text(x, y - 0.2, name, ha="center", va="top", fontsize=SMALL, color=INK)


def _caption(lines: list[Line]) -> str:
    jobs = ", ".join(f"{line.job.id} ({line.job.task})" for line in lines)
    return f"The attempts of {jobs}: a mark is the end of a run, a line is a wait."


def _told(line: Line) -> str:
    """Tell one job's story in a sentence."""
    runs = [event for _, _, event in line.runs if event.attempt]
    parts = [f"{LOOKS.get(event.outcome, (event.outcome,))[0]} after {about(end)}" for _, end, event in line.runs]
    many = counted(len(runs), "run")
    if runs and runs[0].attempt > 1:
        many = f"the last {many} (older ones are not kept)"
    waits = [words for *_, words in line.waits]
    end = "" if line.due is None else f" It waits, and is due {about(line.due)} after the beginning."
    story = f"{line.job.id}, {many}: {_some(parts) or 'no run yet'}."
    return f"{story} {f'Its waits: {_some(waits)}.' if waits else 'It never waited.'}{end}"


def _some(words: list[str]) -> str:
    if len(words) <= SHORT:
        return ", ".join(words)
    return f"{', '.join(words[:4])}, and so on {len(words) - 8} times, {', '.join(words[-4:])}"


def _table(lines: list[Line]) -> list[Row]:
    rows: list[Row] = [("job", "attempt", "began", "became", "then waited", "why")]
    for line in lines:
        for start, _, event in line.runs:
            why = ": ".join(event.error[part] for part in ("type", "message") if event.error.get(part))
            word = LOOKS.get(event.outcome, (event.outcome,))[0]
            wait = spoken(event.delay_ms) if event.outcome in CHOSE_A_WAIT else "-"
            rows.append((line.job.id, event.attempt or "-", about(start), word, wait, why or "-"))
    return rows
