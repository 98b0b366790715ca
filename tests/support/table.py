"""Seed a state, act, compare the whole state."""

from typing import NamedTuple

import pytest
from support.keyspace import dump
from support.seeds import ROWS, seed
from support.world import check_books, row, totals

from jobkit.errors import JobkitError


class Change(NamedTuple):
    """What a verb answers, the job's row after it, and the totals that have grown by one."""

    answer: object
    after: str
    grown: tuple[str, ...] = ()


def complete(table, otherwise):
    """Return (state, expected) for all states: those that the table has, and `otherwise` for the rest.

    What is expected is a Change, or, where nothing at all may change, an answer. `otherwise` may
    be a function of the state.
    """
    unknown = table.keys() - ROWS.keys()
    assert not unknown, unknown
    rest = otherwise if callable(otherwise) else lambda _: otherwise
    return [pytest.param(state, table[state] if state in table else rest(state), id=state) for state in ROWS]


def check(queue, state, act, expected):
    """Seed the state, act on the job `j` with its first claim, compare the whole state with what is expected."""
    claim = seed(queue, state)
    assert row(queue) == ROWS[state]
    before, books = dump(queue.redis), totals(queue)
    answer = answer_of(act, queue, claim)
    if isinstance(expected, Change):
        assert (answer, row(queue)) == (expected.answer, expected.after)
        assert totals(queue) - books == dict.fromkeys(expected.grown, 1)
    else:
        assert answer == expected
        assert dump(queue.redis) == before
        assert row(queue) == ROWS[state]
    check_books(queue)


def answer_of(act, queue, claim):
    """Return what the act returns, or the name of what it raises on purpose."""
    try:
        return act(queue, claim)
    except JobkitError as error:
        return type(error).__name__
