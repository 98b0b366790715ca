"""What a campaign counts as a beat that is missing, or one too many: by hand."""

import pytest

from jobkit.chaos.pulse import off_beat

CASES = {
    "each slot once": ([1, 2, 3], [3, 1, 2], (0, 0)),
    "one is missing": ([1, 2, 3], [1, 3], (1, 0)),
    "one is there twice": ([1, 2, 3], [1, 2, 2, 3], (0, 1)),
    "one of no slot": ([1, 2, 3], [1, 2, 3, 4], (0, 1)),
    "nothing was made": ([1, 2], [], (2, 0)),
    "one twice and one missing": ([1, 2], [1, 1], (1, 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_beats(case):
    due, made, wrong = CASES[case]
    assert off_beat(due, made) == wrong
