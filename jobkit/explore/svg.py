"""A failing schedule as a picture for slides: a line per worker, a box per step, time goes down.

Each sort of step has a colour (of Okabe and Ito's), a shape and words of its own, so none is known
by its colour alone. The letters are monospaced: how wide a text will be is then known without the
font, and nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import drawsvg as draw
from rich.cells import cell_len

from jobkit.explore.trace import Coverage, Failure, Kind, Step, Story
from jobkit.explore.verdict import NOT_MODELLED, covered, effort, verdict
from jobkit.explore.words import AT_ONCE, folded, lanes, nobodys, plain, role, said, shortened, told

FONT = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace"
SIZE, LARGE = 14, 17
ADVANCE = 0.615
"""The width of a letter, as a part of its size: a little more than that of any of these fonts."""
FEWEST, MOST, ALL = 14, 34, 100
"""Letters in a lane; in all lanes together, where they are few."""

PAPER, INK, GREY, LINE = "#fcfbf7", "#1f2328", "#59606a", "#b8b5aa"
ORANGE, SKY, GREEN, VERMILION, PURPLE = "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#cc79a7"

NARROWEST, MARGIN, NUMBERS = 720, 24, 44
"""Of the picture; around it; left of the first lane, for the numbers."""
PAD, BETWEEN, LEADING = 10, 18, 1.4
"""Inside a box; between two lanes; from line to line, as a part of the size."""
ONE_LINE, TWO_LINES, ROW = 28, 46, 13
"""Heights of boxes; between two rows."""


class Look(NamedTuple):
    """How a sort of step is drawn."""

    edge: str
    width: float
    dash: str | None = None
    round: int = 3
    bold: bool = False
    last: bool = False
    """The worker's line ends here, with a cross."""


LOOKS = {
    Kind.COMMAND: Look(GREY, 1),
    Kind.LOST: Look(ORANGE, 2.5, "7 4"),
    Kind.EFFECT: Look(GREEN, 3, None, 14, bold=True),
    Kind.SLEEP: Look(GREY, 1, "2 3", 14),
    Kind.CRASH: Look(VERMILION, 3, None, 0, bold=True, last=True),
    Kind.END: Look(PURPLE, 3, None, 0, bold=True, last=True),
    Kind.JUMP: Look(SKY, 2, "2 3", 0),
}


class Place(NamedTuple):
    """Where a step stands, and what is written there."""

    step: Step
    lines: list[str]
    top: float
    bottom: float


class Plan:
    """Where everything stands: made of a failure before anything is drawn."""

    def __init__(self, story: Story, title: str) -> None:
        names = lanes(story)
        count = max(len(names), 1)
        need = max([FEWEST, *(cell_len(str(said(step))) for step in story.steps if not nobodys(step))])
        self.room = min(need, max(MOST, ALL // count))
        lane = _wide(self.room, SIZE) + 2 * PAD + BETWEEN
        self.left = MARGIN + NUMBERS
        self.right = max(self.left + count * lane - BETWEEN, NARROWEST - MARGIN)
        each = (self.right - self.left + BETWEEN) / count
        self.middles = {name: self.left + each * n + (each - BETWEEN) / 2 for n, name in enumerate(names)}
        self.title = folded(title, _letters(self.right - MARGIN, LARGE))
        self.names = MARGIN + _high(self.title, LARGE) + LEADING * SIZE + 10
        self.places: list[Place] = []
        top = self.names + ONE_LINE + ROW
        for step in story.steps:
            lines = self.lines(step)
            bottom = top + (ONE_LINE if len(lines) == 1 else TWO_LINES)
            self.places.append(Place(step, lines, top, bottom))
            top = bottom + ROW
        self.bottom = top

    def lines(self, step: Step) -> list[str]:
        """Write a step in one line, or, with its answer below, in two; what is too long is cut."""
        lead, what, answer = said(step)
        whole = str(said(step))
        if nobodys(step):
            return [shortened(whole, _letters(self.right - self.left - 2 * PAD, SIZE))]
        if not answer or cell_len(whole) <= self.room:
            return [shortened(whole, self.room)]
        return [shortened(" ".join(filter(None, [lead, what])), self.room), shortened(f"-> {answer}", self.room)]


def timeline_svg(story: Story | None, coverage: Coverage) -> str:
    """Draw a schedule, or write down what a search without a failing one has covered; <desc> says it in words."""
    if story is None:
        return _clean(coverage)
    failure = story if isinstance(story, Failure) else None
    plan = Plan(story, f"FAIL  {plain(failure.what)}" if failure else verdict(None, coverage))
    broken = f"Broken promise: {plain(failure.promise)}" if failure else ""
    promise = folded(broken, _letters(plan.right - MARGIN - 2 * PAD, LARGE))
    again = shortened(f"schedule {plain(story.schedule)}", _letters(plan.right - MARGIN, SIZE))
    end = plan.bottom + (_high(promise, LARGE) + PAD if failure else 0)
    words = [told(n, step) for n, step in enumerate(story.steps, 1)] or [AT_ONCE]
    sheet = _paper(plan.right + MARGIN, end + LEADING * SIZE + MARGIN, verdict(failure, coverage), [*words, *promise])

    sheet.extend(_texts(plan.title, MARGIN, MARGIN, LARGE, bold=True))
    sheet.extend(_texts([effort(story)], MARGIN, MARGIN + _high(plan.title, LARGE), SIZE, fill=GREY))
    for name, middle in plan.middles.items():
        sheet.extend(_lane(name, middle, plan))
    for number, place in enumerate(plan.places, 1):
        sheet.append(_step(number, place, plan))
    if not story.steps:
        sheet.extend(_texts([AT_ONCE], plan.left, plan.names, SIZE))
    if failure:
        sheet.append(_box(MARGIN, plan.bottom, plan.right, end, stroke=VERMILION, stroke_width=3))
        sheet.extend(_texts(promise, MARGIN + PAD, plan.bottom + PAD / 2, LARGE, bold=True))
    sheet.extend(_texts([again], MARGIN, end + 8, SIZE, fill=GREY))
    return str(sheet.as_svg(header=""))


def _clean(coverage: Coverage) -> str:
    room = NARROWEST - 2 * MARGIN
    title = folded(verdict(None, coverage), _letters(room, LARGE))
    rest = folded(f"{covered(coverage)} {NOT_MODELLED}", _letters(room, SIZE))
    below = MARGIN + _high(title, LARGE) + 10
    sheet = _paper(NARROWEST, below + _high(rest, SIZE) + MARGIN, verdict(None, coverage), [" ".join(rest)])
    sheet.extend(_texts(title, MARGIN, MARGIN, LARGE, bold=True))
    sheet.extend(_texts(rest, MARGIN, below, SIZE))
    return str(sheet.as_svg(header=""))


def _lane(name: str, middle: float, plan: Plan) -> list[Any]:
    """Draw a worker's name, and its line down to where it ends."""
    words = shortened(f"{role(name)} {plain(name)}", plan.room)
    own = [place for place in plan.places if place.step.worker == name]
    ends = [place.bottom + ROW / 2 for place in own if LOOKS[place.step.kind].last]
    half, top = _wide(cell_len(words), SIZE) / 2 + PAD, plan.names
    begin = own[0].top if role(name) == "recovery" else top  # a recovery is not there before the crash
    return [
        draw.Line(_(middle), _(begin), _(middle), _(min([*ends, plan.bottom - ROW / 2])), stroke=LINE, stroke_width=2),
        _box(middle - half, top, middle + half, top + ONE_LINE, rx=3, fill=INK),
        _text(words, middle, top + ONE_LINE / 2, SIZE, fill=PAPER, anchor="middle", bold=True),
    ]


def _step(number: int, place: Place, plan: Plan) -> Any:
    """Draw a step; the pointer over it shows all of its words, those too that were cut."""
    step, lines, top, bottom = place
    look, across = LOOKS[step.kind], (plan.left + plan.right) / 2
    middle = across if nobodys(step) else plan.middles[step.worker]
    half = max(_wide(cell_len(line), SIZE) for line in lines) / 2 + PAD
    if nobodys(step):
        half = across - plan.left
    group = draw.Group()
    group.append(draw.Title(told(number, step)))
    edge: dict[str, Any] = {"stroke": look.edge, "stroke_width": look.width, "stroke_dasharray": look.dash}
    group.append(_box(middle - half, top, middle + half, bottom, rx=look.round, **edge))
    for n, line in enumerate(lines):
        height = (n - (len(lines) - 1) / 2) * LEADING * SIZE
        group.append(_text(line, middle, (top + bottom) / 2 + height, SIZE, anchor="middle", bold=look.bold))
    group.append(_text(str(number), plan.left - PAD, (top + bottom) / 2, SIZE, fill=GREY, anchor="end"))
    if look.last:
        x, y, arm = middle, bottom + ROW / 2, 4.5
        group.append(draw.Line(_(x - arm), _(y - arm), _(x + arm), _(y + arm), stroke=look.edge, stroke_width=3))
        group.append(draw.Line(_(x - arm), _(y + arm), _(x + arm), _(y - arm), stroke=look.edge, stroke_width=3))
    return group


def _paper(width: float, height: float, title: str, words: Sequence[str]) -> Any:
    """Return an opaque sheet with its title and its text twin."""
    sheet = draw.Drawing(round(width), round(height), role="img", font_family=FONT)
    twin = draw.Title("\n".join(words))
    twin.TAG_NAME = "desc"
    sheet.extend([draw.Title(title), twin, _box(0, 0, round(width), round(height), fill=PAPER)])
    return sheet


def _box(left: float, top: float, right: float, bottom: float, *, fill: str = "#ffffff", **look: Any) -> Any:
    return draw.Rectangle(_(left), _(top), _(right - left), _(bottom - top), fill=fill, **look)


def _texts(
    lines: Sequence[str], x: float, top: float, size: float, *, bold: bool = False, fill: str = INK
) -> list[Any]:
    return [
        _text(line, x, top + (n + 0.5) * LEADING * size, size, bold=bold, fill=fill) for n, line in enumerate(lines)
    ]


def _text(
    words: str, x: float, middle: float, size: float, *, anchor: str = "start", bold: bool = False, fill: str = INK
) -> Any:
    look = {"text_anchor": anchor, "fill": fill, "font_weight": "bold" if bold else None}
    return draw.Text(words, size, _(x), _(middle + 0.35 * size), **look)


def _wide(letters: int, size: float) -> float:
    return letters * size * ADVANCE


def _letters(width: float, size: float) -> int:
    return int(width / (size * ADVANCE))


def _high(lines: Sequence[str], size: float) -> float:
    return len(lines) * size * LEADING


def _(pixels: float) -> float:
    return round(pixels, 1)
