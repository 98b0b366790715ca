"""What the steps of a schedule are called in words: said once, for text, HTML and SVG.

Everything here returns text that prints: what does not (line ends, control and direction
characters, halves of a surrogate pair) is escaped, so that no key or payload can draw its own lines.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from jobkit.explore.trace import Kind, Step, Story

RECOVERIES = "RSTUVWXYZ"
"""What a recovery is called: that of the first crash, of the second, ..."""
NOTHING = "(none)"
"""A key that is not there."""
AT_ONCE = "It is broken before the first step."


class Said(NamedTuple):
    """A step in words, in the parts that a view may set apart: `effect:` `run j0`, or `ZREM delayed j0` and `1`."""

    lead: str
    """What sort of thing happened; "" for a command, which speaks for itself."""
    what: str
    """The command, the effect, the error: whose it is to say."""
    answer: str = ""

    def __str__(self) -> str:
        said = " ".join(filter(None, [self.lead, self.what]))
        return f"{said} -> {self.answer}" if self.answer else said


_LEADS = {Kind.EFFECT: "effect:", Kind.CRASH: "dies", Kind.END: "raises"}
_UNSAID = {Kind.SLEEP: "wakes up", Kind.END: "an error"}
"""What stands for the text of a step that has none."""


def said(step: Step) -> Said:
    """Say what happened in a step, without the worker's name."""
    what, reply = plain(step.text) or _UNSAID.get(step.kind, ""), plain(step.reply)
    if step.kind is Kind.JUMP:
        what = f"{what or 'time'} {'passes' if what in {'', '1 s'} else 'pass'}"
    if step.kind is Kind.LOST:
        reply = f"(reply lost: {reply})" if reply else "(reply lost)"
    return Said(_LEADS.get(step.kind, ""), what, reply)


def told(number: int, step: Step) -> str:
    """Say a step in one line, who and what: `3. B: ZREM delayed j0 -> 1`."""
    who = f"{plain(step.worker)}: " if step.worker else ""
    return f"{number}. {who}{said(step)}"


def changed(step: Step, arrow: str = "->") -> str:
    """Say what a step did to the keys: `delayed: {j0} -> {}; ready: [] -> [j0]`."""
    return "; ".join(
        f"{plain(key)}: {plain(before) or NOTHING} {arrow} {plain(after) or NOTHING}"
        for key, before, after in ((change.key, change.before, change.after) for change in step.changes)
    )


def lanes(story: Story) -> list[str]:
    """Return the workers that took a step, in order; recoveries come last, as their letters do."""
    return sorted({step.worker for step in story.steps if not nobodys(step)})


def nobodys(step: Step) -> bool:
    """Whether no worker took this step: it stands across all lanes."""
    return step.kind is Kind.JUMP or not step.worker


def role(worker: str) -> str:
    """Say what a worker is: `worker` or `recovery`."""
    return "recovery" if worker in RECOVERIES else "worker"


def counted(number: int, one: str, many: str = "") -> str:
    """Count things: `1 step`, `20,000 steps`, `2 crashes`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def plain(text: str) -> str:
    """Escape what does not print; the rest stays as it is."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shortened(text: str, room: int) -> str:
    """Cut a text to `room` columns, of a terminal or of a monospaced font; an ellipsis says so."""
    if cell_len(text) <= room:
        return text
    return set_cell_size(text, room - 1).rstrip() + "…" if room > 1 else "…"


def folded(text: str, room: int) -> list[str]:
    """Break a text into lines of at most `room` columns, between words where that can be done."""
    lines: list[str] = []
    for piece in [piece for word in text.split() for piece in chop_cells(word, room) or [word]]:
        if lines and cell_len(lines[-1]) + 1 + cell_len(piece) <= room:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return lines
