"""A job's attempts along a line of time, from its history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes

from jobkit.clock import spoken
from jobkit.history import Event
from jobkit.job import Job, State
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
"""A picture of less than this shows single ms, a longer one tenths of a second."""


@dataclass(frozen=True)
class Line:
    """One job: its events, and until when it waits if it does; times in ms since the picture's beginning."""

    job: Job
    begin: int
    events: list[Event]
    due: int | None
    fine: bool
    """Whether single ms are drawn; else tenths of a second, which a live server's own few ms do not change."""

    def at(self, moment: int) -> int:
        """Return a moment of the history on the picture's own clock."""
        ms = max(0, moment - self.begin)
        return ms if self.fine else round(ms, -2)

    @property
    def waits(self) -> list[tuple[int, int, str]]:
        """From, until, and how long in words: each wait that somebody chose."""
        born, found = self.at(self.job.created), []
        first = self.at(self.events[0].started) if self.events else self.due
        if first is not None and first > born and (not self.events or self.events[0].attempt == 1):
            found.append((born, first, about(first - born)))
        for event in self.events:
            if event.outcome in CHOSE_A_WAIT and event.delay_ms:
                end = self.at(event.ended)
                found.append((end, end + event.delay_ms, spoken(event.delay_ms)))
        return found

    @property
    def end(self) -> int:
        """The last moment that is drawn."""
        return max([self.due or 0, self.at(self.job.created), *(self.at(e.ended) for e in self.events)])


def attempts(queue: Queue, *ids: str, caption: str | None = None) -> Picture:
    """Draw the attempts of one or several jobs, each job a line: `attempts(queue, "mail-1", "mail-2")`.

    A mark is the end of a run, numbered; its shape and its word say how it ended. A line between two
    marks is a wait, with its length. A run long enough to be seen is a bar. Time counts
    from the first submit; where the waits differ much, its scale is logarithmic, and says so.
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
    together = len({line.job.created for line in lines}) == 1
    scale.draw(ax, f"time since {_WHO[len(lines) > 1, together]} submitted")
    twin = "\n\n".join(_told(line) for line in lines)
    return picture(figure, caption=caption or _caption(lines), twin=twin, rows=_table(lines))


def _read(queue: Queue, ids: Iterable[str]) -> list[Line]:
    jobs = [(queue.get(id), queue.history(id)) for id in ids]
    if not jobs:
        raise TypeError("attempts() draws at least one job: attempts(queue, id)")
    begin = min(job.created for job, _ in jobs)
    end = max(max([job.run_at, *(event.ended for event in events)]) for job, events in jobs)
    lines = []
    for job, events in jobs:
        due = job.run_at - begin if job.state == State.SCHEDULED else None
        lines.append(Line(job, begin, events, due, fine=end - begin < FINE_MS))
    return lines


def _draw(ax: Axes, y: float, line: Line, scale: Timescale) -> None:
    """Draw one job: waits first, then runs, then the marks."""
    ax.plot([scale(line.at(line.job.created))], [y], marker="|", markersize=15, color=GREY)
    for start, end, words in line.waits:
        left, right = scale(start), scale(end)
        ax.plot([left, right], [y, y], color=GREY, linewidth=1.6, solid_capstyle="butt", zorder=2)
        if right - left > 0.012 * len(words) + 0.02:
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
    for event in line.events:
        left, right = scale(line.at(event.started)), scale(line.at(event.ended))
        if right - left > 0.008:
            ax.barh(y, right - left, 0.26, left=left, color=SKY, edgecolor=BLUE, hatch="////", linewidth=0.8, zorder=1)
        _mark(ax, right, y, event.outcome, event.attempt, word=right - seen > 0.075)
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
    runs = [event for event in line.events if event.attempt]
    parts = [f"{LOOKS.get(e.outcome, (e.outcome,))[0]} after {about(line.at(e.ended))}" for e in line.events]
    story = ", ".join(parts) or "no run yet"
    many = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    if runs and runs[0].attempt > 1:
        many = f"the last {many} (older ones are not kept)"
    waits = ", ".join(words for *_, words in line.waits)
    end = "" if line.due is None else f" It waits, and is due {about(line.due)} after the beginning."
    return f"{line.job.id}, {many}: {story}. {f'Its waits: {waits}.' if waits else 'It never waited.'}{end}"


def _table(lines: list[Line]) -> list[Row]:
    rows: list[Row] = [("job", "attempt", "began", "became", "then waited", "why")]
    for line in lines:
        for event in line.events:
            why = ": ".join(event.error[part] for part in ("type", "message") if event.error.get(part))
            word = LOOKS.get(event.outcome, (event.outcome,))[0]
            wait = spoken(event.delay_ms) if event.outcome in CHOSE_A_WAIT else "-"
            rows.append((line.job.id, event.attempt or "-", about(line.at(event.started)), word, wait, why or "-"))
    return rows
