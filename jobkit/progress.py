"""A progress bar for what takes longer than a second; what is quicker shows nothing, and costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from jobkit.clock import Clock

T = TypeVar("T")

PATIENCE_S = 1.0


def bar(steps: Iterable[T], what: str, clock: Clock | None = None) -> Iterator[T]:
    """Go through `steps`; after the first second a bar says how far, on stderr or in the notebook."""
    clock = clock or Clock()
    total = len(steps) if isinstance(steps, Sized) else None
    rest = iter(steps)
    begin = clock.monotonic()
    for done, step in enumerate(rest, 1):
        yield step
        if clock.monotonic() - begin > PATIENCE_S:
            # Only now: in a notebook each bar is a widget, and hundreds of quick storms would be as many.
            from tqdm.auto import tqdm  # noqa: PLC0415

            yield from tqdm(rest, desc=what, total=total, initial=done, leave=False)
