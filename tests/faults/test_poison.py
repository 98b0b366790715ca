"""A job that kills its process, first in a batch of a hundred: it ends, and the other 99 are done."""

from pathlib import Path

import pytest
from support.operations import check_copies

import jobkit as jk
from jobkit.processes import Crew

HERE = Path(__file__).parent


@pytest.mark.live_only(reason="processes meet on a real server")
def test_real_processes_die_of_it(live, eventually):
    queue = jk.Queue(live, "q")
    others = [f"j{n}" for n in range(99)]
    queue.submit_many(jk.New("work", id=id, max_attempts=3) for id in ["poison", *others])
    kills = 0
    with Crew(live, "poison:worker", 0, folder=HERE) as crew:
        while not queue.counts().dead:
            name = crew.start()
            process = crew.running[name]
            eventually(lambda process=process: process.poll() is not None or queue.get("poison").state == "dead", 20)
            if process.poll() is None:
                break
            kills += 1
            assert kills <= 3
            crew.kill(name)  # it is dead: this takes it off the list
            live.clock.advance(31)
        eventually(lambda: queue.counts().totals.get("done") == 99, within=20)
    assert kills == 3
    assert [(letter.id, letter.last.attempt) for letter in queue.dead()] == [("poison", 3)]
    assert all(live.get(jk.effect_key(queue, id)) == b"1" for id in others)
    assert {queue.get(id).attempt for id in others} <= {2, 3}
    check_copies(queue)
