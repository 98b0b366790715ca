"""A failing schedule as swim lanes in a terminal: a column per worker, time goes down."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from jobkit.explore.trace import Coverage, Failure, Kind, Step, Story
from jobkit.explore.verdict import NOT_MODELLED, covered, effort, verdict
from jobkit.explore.words import AT_ONCE, changed, folded, lanes, nobodys, plain, role, said, shortened

NARROWEST = 40
"""Columns; a narrower terminal breaks the lines itself."""

_GAP = 3
"""Columns between two lanes that lie side by side."""
_STAIR = 8
"""Columns from one lane to the next where they overlap, at least."""

_MARKS = {Kind.EFFECT: ("** ", " **"), Kind.CRASH: ("xx ", " xx"), Kind.END: ("!! ", " !!"), Kind.SLEEP: ("( ", " )")}


def timeline_text(failure: Failure, width: int = 80) -> str:
    """Draw a failing schedule in at most `width` columns (40 or more), and say which promise it breaks.

    Lanes that do not fit side by side overlap like the steps of a stair, since in a row only one of
    them is used; what is still too long is cut, and an ellipsis says so. What the steps did to the
    keys stands beside them if there is room, else below each.
    """
    width = max(width, NARROWEST)
    end = [
        *_hanging("Broken promise: ", plain(failure.promise), width),
        *_hanging("See it again:   ", f'explore(..., schedule="{plain(failure.schedule)}")', width),
    ]
    return "\n".join([*_head(failure, width), "", *_rows(failure, width), "", *end])


def story_text(story: Story, coverage: Coverage, width: int = 80) -> str:
    """Draw one schedule on which no promise broke, like a failing one."""
    width = max(width, NARROWEST)
    head = folded(f"{verdict(None, coverage)}: {effort(story)}", width)
    return "\n".join([*head, "", *_rows(story, width)])


def clean_text(coverage: Coverage, width: int = 80) -> str:
    """Say that nothing failed, what was looked at, and what was not, in at most `width` columns (40 or more)."""
    width = max(width, NARROWEST)
    words = [verdict(None, coverage), covered(coverage), NOT_MODELLED]
    return "\n".join(line for part in words for line in folded(part, width))


def _head(failure: Failure, width: int) -> list[str]:
    lines = _hanging("FAIL  ", plain(failure.what), width)
    cost = effort(failure)
    if len(lines) == 1 and cell_len(lines[0]) + _GAP + cell_len(cost) <= width:
        return [lines[0] + " " * (width - cell_len(lines[0]) - cell_len(cost)) + cost]
    return lines + _hanging("      ", cost, width)


def _hanging(head: str, text: str, width: int) -> list[str]:
    lines = folded(text, width - len(head)) or [""]
    return [((head if n == 0 else " " * len(head)) + line).rstrip() for n, line in enumerate(lines)]


def _rows(story: Story, width: int) -> list[str]:
    """Return the headings, and a line per step."""
    names, steps = lanes(story), story.steps
    if not steps:
        return [AT_ONCE]
    digits = max(2, len(str(len(steps))))
    start = digits + 2
    needs = [max(cell_len(_heading(name)), *_lengths(steps, name)) for name in names]
    right = start + sum(needs) + _GAP * (len(needs) - 1)  # where the lanes end
    overlap = right > width and len(names) > 1
    notes = ["what changed", *map(changed, steps)]
    bands = [start + cell_len(_band(str(said(step)))) for step in steps if nobodys(step)]
    beside = max([right, *bands]) + _GAP
    noted = any(notes[1:]) and beside + max(map(cell_len, notes)) <= width
    places = _stairs(names, needs, start, width) if overlap else _side_by_side(needs, start)
    at = dict(zip(names, places, strict=True))
    end = beside - _GAP if noted else width

    lines = [""]
    for name, place, after in zip(names, places, [*places[1:], width + 1], strict=False):
        lines[0] = set_cell_size(lines[0], place) + shortened(_heading(name), after - place - 1)
    for number, step in enumerate(steps, 1):
        place = start if nobodys(step) else at[step.worker]
        who = f"{plain(step.worker)}: " if overlap else ""
        entry = _band(str(said(step)), end - place) if nobodys(step) else _fitted(step, who, end - place)
        lines.append(set_cell_size(f"{number:>{digits}}", place) + entry)
    if noted:
        return [(set_cell_size(line, beside) + note).rstrip() for line, note in zip(lines, notes, strict=True)]
    below = [[], *([_below(note, start, width)] if note else [] for note in notes[1:])]
    return [part.rstrip() for line, note in zip(lines, below, strict=True) for part in (line, *note)]


def _below(note: str, start: int, width: int) -> str:
    """Write what a step changed into a line of its own."""
    head = " " * start + "  changed "
    return head + shortened(note, width - len(head))


def _heading(name: str) -> str:
    return f"{name} (recovery)" if role(name) == "recovery" else plain(name)


def _lengths(steps: Sequence[Step], name: str) -> list[int]:
    return [sum(map(cell_len, _parts(step))) for step in steps if step.worker == name]


def _side_by_side(needs: Sequence[int], start: int) -> list[int]:
    return [start + sum(needs[:n]) + _GAP * n for n in range(len(needs))]


def _stairs(names: Sequence[str], needs: Sequence[int], start: int, width: int) -> list[int]:
    """Let the lanes begin as far apart as their longest entries allow, but each a stair after the one before."""
    last = max(len(needs) - 1, 1)
    stair = min(_STAIR, (width - start) // (2 * last))
    rooms = [width - need - cell_len(f"{name}: ") for name, need in zip(names, needs, strict=True)]
    far = max(start + stair * last, rooms[-1])
    places, limit = [], width
    for n, room in reversed(list(enumerate(rooms))):
        even = start + (far - start) * n // last
        places.append(max(start + stair * n, min(even, room, limit)))
        limit = places[-1] - stair
    return places[::-1]


def _parts(step: Step) -> tuple[str, str, str]:
    """Return what comes before a step's own words, these words, and what comes after."""
    lead, what, answer = said(step)
    before, after = _MARKS.get(step.kind, ("", ""))
    if step.kind is not Kind.EFFECT:  # the stars say that it is one
        before += f"{lead} " if lead and what else lead
    return before, what, f"{after} -> {answer}" if answer else after


def _fitted(step: Step, who: str, room: int) -> str:
    """Write a step into `room` columns: the answer keeps up to half of them, the command has the rest."""
    before, what, after = _parts(step)
    before = shortened(who + before, room // 2)
    rest = room - cell_len(before)
    after = shortened(after, max(rest // 2, rest - cell_len(what)))
    return before + shortened(what, rest - cell_len(after)) + after


def _band(text: str, room: int = 0) -> str:
    words = f"-- {shortened(text, room - len('--  --')) if room else text} --"
    return words + "-" * (room - cell_len(words))
