"""A crew at work, live in a notebook: one picture, redrawn in place, and left as one that can be read."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

from jobkit.clock import Clock
from jobkit.plot.crew import crew as draw
from jobkit.plot.crew import figure
from jobkit.plot.picture import Picture
from jobkit.plot.shift import Shift
from jobkit.processes import Crew
from jobkit.queue import Queue

FRAME = 0.25
"""Seconds between two frames at least: four in a second are lively, and leave the machine to the workers."""


def watch(crew: Crew, queue: Queue, seconds: float = 30, *, each: Callable[[], object] = lambda: None) -> None:
    """Draw a crew live until its queue is empty, for `seconds` at most; then leave the finished picture.

    `each` is called now and then in between, at least between any two frames: to strike while you
    watch. The picture that stays is that of `plot.crew`, with its words. Outside of a notebook nothing
    is drawn, only waited. Raises ServerUnavailable if a worker ends by itself.
    """
    clock, screen = Clock(), _Screen()
    end, next_frame = clock.monotonic() + seconds, 0.0

    def over() -> bool:
        nonlocal next_frame
        each()
        counts = queue.counts()
        began = clock.monotonic()
        if began >= next_frame:
            screen.show(Shift.of(crew, queue), clock.now())
            next_frame = began + max(FRAME, 3 * (clock.monotonic() - began))  # a slow machine is for the workers first
        return not (counts.scheduled or counts.ready or counts.running) or began >= end

    try:
        crew.wait(over, seconds + 60, "the end of the work")
    finally:
        screen.leave(draw(crew, queue))


class _Screen:
    """One output of a notebook's cell, and what is on it."""

    def __init__(self) -> None:
        self._in_notebook = "ipykernel.kernelapp" in sys.modules
        self._handle: Any = None

    def show(self, shift: Shift, now: int) -> None:
        """Put a frame there: quickly made, so neither sharp nor small."""
        if self._in_notebook:
            frame = io.BytesIO()
            drawn = figure(shift, now)
            drawn.savefig(frame, format="png", dpi=100, pil_kwargs={"compress_level": 1})
            self._put(frame.getvalue(), round(drawn.get_figwidth() * 100), "a crew at work")

    def leave(self, last: Picture) -> None:
        """Put the last picture there, and its words below."""
        if self._in_notebook:
            self._put(last.png, last.width, last.caption)
            self._say({"text/html": last.html(), "text/plain": str(last)})

    def _put(self, png: bytes, width: int, words: str) -> None:
        data = {"image/png": png, "text/plain": words}
        how = {"metadata": {"image/png": {"width": width}}}
        if self._handle is None:
            self._handle = self._say(data, display_id=True, **how)
        else:
            self._handle.update(data, raw=True, **how)

    def _say(self, data: dict[str, Any], **how: Any) -> Any:
        from IPython.display import display  # noqa: PLC0415 - only a notebook comes here

        return display(data, raw=True, **how)  # type: ignore[no-untyped-call]
