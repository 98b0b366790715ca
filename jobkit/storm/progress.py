"""A progress bar for what takes longer than a second; what is quicker shows nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def bar(steps: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Go through `steps`; after the first second a bar on stderr says how far."""
    from tqdm.auto import tqdm  # noqa: PLC0415 - half the import time of this package, seldom needed

    yield from tqdm(steps, desc=what, total=total, delay=1, leave=False)
