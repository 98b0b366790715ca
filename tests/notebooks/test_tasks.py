"""The exercises at the ends of the pages: the solution in the fold passes, and the stub does not."""

import pytest
from support.task import TASKS

every = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


@every
def test_the_solution_in_the_fold_passes(redis, task):
    assert task.verdict(redis, task.solution()).startswith("Passed")


@every
def test_the_stub_does_not_pass(as_stored, task):
    assert "Not yet" in task.stored(as_stored)
