"""The exercise of notebook 09, held against policies that do and that do not keep its promises."""

import pytest

import jobkit as jk
from jobkit.cli import notebooks, store
from jobkit.storm import storm

WAITS = (5, 30, 300, 3600)
ANSWERS = {
    "equal, 300 s": (jk.Table(300, jitter=jk.equal), "Passed"),
    "full, 200 s": (jk.Table(200, jitter=jk.full), "Passed"),
    "a fifth either way, 300 s": (jk.Table(300, jitter=jk.proportional(0.2)), "Passed"),
    "exponential from 100 s": (jk.Exponential(100), "Passed"),
    "document A without its jitter": (jk.Table(*WAITS), "times that the line fell: 3"),
    "document A": (jk.Table(*WAITS, jitter=jk.proportional(0.2)), "times that the line fell: 1"),
    "the stub: document A with full jitter": (jk.Table(*WAITS, jitter=jk.full), "times that the line fell: 1"),
    "document B": (jk.Exponential.counting_retries(2, cap=60), "Not yet"),
    "document C": (jk.Exponential.plus_up_to(0.5), "Not yet"),
    "as wide as N/C": (jk.Table(100, jitter=jk.full), "Not yet"),
    "an hour": (jk.Table(3600, jitter=jk.full), "99 % are served after"),
    "at once": (jk.Table(0), "10,000 guests have no taxi"),
    "many calls": (jk.Table(5, 250, jitter=jk.equal), "calls. ("),
}


def verdict(policy):
    namespace = {"tonight": lambda: policy, "storm": storm, "jk": jk}
    for cell in store.load(notebooks.FOLDER / "09_retry_storm.py").cells:
        if "check" in cell.metadata.get("tags", []):
            *body, last = cell.source.rstrip().split("\n")
            exec("\n".join([*body, f"said = {last}"]), namespace)
    return namespace["said"]


@pytest.mark.parametrize("answer", ANSWERS)
def test_tonight(answer):
    policy, says = ANSWERS[answer]
    assert says in verdict(policy)


def test_the_solution_in_the_fold_is_one_that_passes():
    prose = " ".join(cell.source for cell in store.load(notebooks.FOLDER / "09_retry_storm.py").cells)
    assert "return jk.Table(300, jitter=jk.equal)" in prose
    for named in ("jk.Table(200, jitter=jk.full)", "jk.Table(300, jitter=jk.proportional(0.2))"):
        assert named in prose
