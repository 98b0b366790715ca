"""A failing schedule as a real HTML table: it reads the same without styles, in the dark, and aloud.

JupyterLab shows an untrusted notebook without scripts and pictures, a code host without styles too.
So all that is said is said in words; the few styles only align the cells and set the verdict apart.
"""

from __future__ import annotations

from html import escape

from jobkit.explore.trace import Coverage, Failure, Kind, Step, Story
from jobkit.explore.verdict import NOT_MODELLED, covered, effort, found, verdict
from jobkit.explore.words import AT_ONCE, changed, lanes, nobodys, plain, role, said, shortened

LONGEST = 240
"""Columns of a command, a reply or a change that are shown."""

ARROW = "→"
"""One letter: a browser breaks a line inside of `->`."""

_LEFT = "text-align:left;vertical-align:top"
"""JupyterLab sets a table's words to the right, and into the middle, unless told otherwise."""
_BREAK = f"{_LEFT};overflow-wrap:anywhere"
"""For a cell with a word of more than 40 letters: it is broken, lest it push the other workers off the page."""
_BROKEN = "background:#b00020;color:#fff;padding:0 .4em"
"""White on red: 7.2 to 1, on a light page and on a dark one."""


def timeline_html(story: Story | None, coverage: Coverage) -> str:
    """Draw a schedule as a table, a column per worker, and say which promise it breaks; or that none broke."""
    if story is None:
        return (
            f"<p><strong>{escape(_sentence(verdict(None, coverage)))}</strong> {escape(covered(coverage))}</p>"
            f"<details><summary>What this does not prove</summary><p>{escape(NOT_MODELLED)}</p></details>"
        )
    if not isinstance(story, Failure):
        return _table(story, f"{escape(_sentence(verdict(None, coverage)))} {escape(effort(story))}")
    failure, again = story, f'explore(..., schedule="{plain(story.schedule)}")'
    words = f"<strong>FAIL</strong> {_cut(failure.what)}; {escape(effort(failure))}"
    return (
        f"{_table(failure, words)}"
        f'<p><strong style="{_BROKEN}">Broken promise:</strong> '
        f"<strong>{_cut(failure.promise)}</strong>: {_cut(failure.what)}.</p>"
        f"<p>See it again: <code>{escape(again)}</code>. {escape(found(failure, coverage))}</p>"
    )


def _table(story: Story, words: str) -> str:
    names, steps = lanes(story), story.steps
    if not steps:
        return f"<p>{words}. {AT_ONCE}</p>"
    timed, noted = len({step.at for step in steps}) > 1, any(step.changes for step in steps)
    heads = ["step", *(["time"] if timed else []), *(f"{role(name)} {plain(name)}" for name in names)]
    heads += [] if names else ["what happened"]
    heads += ["what changed"] if noted else []
    head = "".join(f'<th scope="col" style="{_LEFT}">{escape(word)}</th>' for word in heads)
    rows = "".join(_row(n, step, names, timed=timed, noted=noted) for n, step in enumerate(steps, 1))
    return (
        f'<table><caption style="text-align:left;caption-side:top">{words}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(number: int, step: Step, names: list[str], *, timed: bool, noted: bool) -> str:
    cells = [f'<th scope="row" style="{_LEFT}">{number}</th>']
    if timed:
        cells.append(_cell(f"{step.at / 1000:,.3f}".rstrip("0").rstrip(".") + " s"))
    if not nobodys(step):
        cells += [_cell(_said(step) if name == step.worker else "") for name in names]
    else:
        across = f'<td colspan="{max(len(names), 1)}" align="center" style="text-align:center">'
        cells.append(f"{across}-- {_said(step)} --</td>")
    if noted:
        cells.append(_cell(_cut(changed(step, ARROW))))
    return f"<tr>{''.join(cells)}</tr>"


def _cell(content: str) -> str:
    style = _BREAK if any(len(word) > 40 for word in content.split()) else _LEFT
    return f'<td style="{style}">{content}</td>' if content else "<td></td>"


def _said(step: Step) -> str:
    """Mark up what happened: commands and replies as code, all that is more than a command in bold."""
    lead, what, answer = said(step)
    if step.kind in {Kind.COMMAND, Kind.LOST}:
        words = f"<code>{_cut(what)}</code>"
    else:
        words = f"<strong>{escape(' '.join(filter(None, [lead, shortened(what, LONGEST)])))}</strong>"
    if not answer:
        return words
    # an answer keeps its place beside a key whose letters run from right to left
    shown = f"<strong>{_cut(answer)}</strong>" if step.kind is Kind.LOST else f"<code>{_cut(answer)}</code>"
    return f"{words} {ARROW} <bdi>{shown}</bdi>"


def _cut(text: str) -> str:
    return escape(shortened(plain(text), LONGEST))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
