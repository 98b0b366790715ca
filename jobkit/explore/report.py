"""What came out: a verdict in one sentence, and the shortest failing schedule as a timeline."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from jobkit.explore.html import timeline_html
from jobkit.explore.svg import timeline_svg
from jobkit.explore.text import clean_text, story_text, timeline_text
from jobkit.explore.trace import Coverage, Failure, Story
from jobkit.explore.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobkit.connect.client import Client


@dataclass(frozen=True, repr=False)
class Report:
    """The result of `explore`. Truthy where no promise broke."""

    failure: Failure | None
    coverage: Coverage
    broken: int
    """How many of the schedules that were run broke a promise."""
    again: Callable[[str, Client | None], Report] = field(repr=False, compare=False)
    """Runs the same program by one schedule, on a server or on a new fake."""
    story: Story | None = None
    """What happened, where one schedule was asked for and nothing failed."""

    def __bool__(self) -> bool:
        return self.failure is None

    @property
    def verdict(self) -> str:
        """One sentence."""
        return verdict(self.failure, self.coverage)

    def replay(self, redis: Client) -> Report:
        """Run the failing schedule on a real server that the kit started, command by command."""
        if self.failure is None:
            raise ValueError("nothing failed: there is no schedule to replay")
        return self.again(self.failure.schedule, redis)

    def svg(self) -> str:
        """Return the timeline as a picture for slides."""
        return timeline_svg(self.failure or self.story, self.coverage)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        failure = asdict(self.failure) if self.failure else None
        coverage = asdict(self.coverage)
        return {
            "holds": bool(self),
            "verdict": self.verdict,
            "failure": failure,
            "broken": self.broken,
            "coverage": coverage,
        }

    def __str__(self) -> str:
        if self.failure:
            return timeline_text(self.failure)
        return story_text(self.story, self.coverage) if self.story else clean_text(self.coverage)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return timeline_html(self.failure or self.story, self.coverage)
