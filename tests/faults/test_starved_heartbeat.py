"""A handler that holds the GIL starves its heartbeat. Its lease ends, and its token keeps the peace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jobkit as jk
from jobkit.connect import address_for_others


@pytest.mark.live_only(reason="processes meet on a real server")
def test_another_takes_the_job_and_the_late_ack_is_refused(live, eventually):
    queue = jk.Queue(live, "q", lease=0.3)
    queue.submit("crunch", {"seconds": 1.5}, id="j")
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("starved.py"))],
        env={**os.environ, "JOBKIT_REDIS": address_for_others(live)},
        stdout=subprocess.PIPE,
        text=True,
    ) as starved:
        eventually(lambda: live.exists("at-work"), within=20)
        eventually(lambda: queue.recover() == (1, 0), within=20)
        assert not live.exists("awake"), "it was not starved"
        (claim,) = queue.claim("other")
        assert claim.attempt == 2
        assert jk.once(queue, claim, ("INCR", jk.effect_key(queue, "j")))
        queue.ack(claim)
        said, _ = starved.communicate(timeout=30)
    assert said.split() == ["stale"]
    assert live.get(jk.effect_key(queue, "j")) == b"1"
    assert [event.outcome for event in queue.history("j")] == ["recovered", "done"]
    assert queue.counts().totals == {"submitted": 1, "recovered": 1, "done": 1}
