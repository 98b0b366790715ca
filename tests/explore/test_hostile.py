"""Code that wants to pass, or is just broken: no pass, no hang, one clear error, and nothing left of it."""

import pytest
from support.forgeries import CAUGHT
from support.refusals import LATE, REFUSED

from jobkit.errors import ExploreError
from jobkit.explore import each_runs_once, explore, jobs


def judged(code, **settings):
    asked = {"given": jobs(1), "finally_": each_runs_once, "patience": 10} | settings
    return explore(code.worker("claim"), code.worker("claim"), **asked)


@pytest.mark.parametrize("name", CAUGHT)
def test_it_is_caught(apart, name):
    text, verdict = CAUGHT[name]
    report = judged(apart(text, memory=400 << 20))
    assert not report
    assert verdict in report.verdict


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(apart, name):
    text, problem = REFUSED[name]
    with pytest.raises(ExploreError) as caught:
        judged(apart(text))
    assert any(one in str(caught.value) for one in ([problem] if isinstance(problem, str) else problem))
    assert "\n" not in str(caught.value).strip()


@pytest.mark.parametrize("name", LATE)
def test_it_is_not_waited_for(apart, name):
    with pytest.raises(ExploreError, match=r"worker A ran for 0.5 s without a command: an endless loop"):
        judged(apart(LATE[name]), patience=0.5)
