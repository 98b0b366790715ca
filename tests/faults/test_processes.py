"""Real processes: killed in mid-job, orphaned, interrupted."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

import jobkit as jk
from jobkit.errors import ServerUnavailable
from jobkit.processes import Crew

HERE = Path(__file__).parent
pytestmark = pytest.mark.live_only(reason="processes meet on a real server")


@pytest.fixture
def queue(live):
    return jk.Queue(live, "shop", lease=1)


def test_a_job_that_kills_its_worker_is_run_by_another_and_pays_once(queue, eventually):
    with Crew(queue.redis, "shop:worker", 2, folder=HERE) as crew:
        queue.submit("pay", {"amount": 5}, id="order")
        eventually(lambda: queue.counts().totals.get("done") == 1, within=20)
        runs = [mark.attempt for mark in crew.marks() if mark.what == "start"]
    assert runs == [1, 2]
    assert [event.outcome for event in queue.history("order")] == ["recovered", "done"]
    assert queue.redis.get(jk.effect_key(queue, "till")) == b"5"


def test_three_workers_one_killed_in_mid_job_and_all_jobs_complete(queue):
    jobs = [f"job-{n}" for n in range(3)]
    with Crew(queue.redis, "shop:worker", 3, folder=HERE) as crew:
        queue.submit_many(jk.New("wait_for_gate", id=job) for job in jobs)
        crew.wait(lambda: queue.redis.exists(*(f"at-work:{job}" for job in jobs)) == 3, 20, "the start of all three")
        victim = next(mark for mark in crew.marks() if mark.id == "job-1")
        crew.kill(victim.worker)
        crew.wait(lambda: [event.outcome for event in queue.history("job-1")] == ["recovered"], 20, "the recovery")
        queue.redis.set("gate", "open")
        crew.wait(lambda: queue.counts().totals.get("done") == 3, 20, "the end of all three")
        by = {mark.id: mark.worker for mark in crew.marks() if mark.what == "end"}
    assert by["job-1"] != victim.worker
    assert sorted(by) == jobs


def test_stop_lets_what_runs_come_to_its_end(queue):
    with Crew(queue.redis, "shop:worker", 1, folder=HERE) as crew:
        queue.submit("wait_for_gate", id="j")
        crew.wait(lambda: queue.redis.exists("at-work:j"), 20)
        queue.redis.set("gate", "open")
        crew.stop()
    assert queue.get("j").state == "done"


def test_a_crew_ignores_the_stop_button_of_a_notebook(queue, eventually):
    with Crew(queue.redis, "shop:worker", 1, folder=HERE) as crew:
        queue.submit("wait_for_gate", id="j")
        crew.wait(lambda: queue.redis.exists("at-work:j"), 20)
        (process,) = crew.running.values()
        process.send_signal(signal.SIGINT)
        queue.redis.set("gate", "open")
        crew.wait(lambda: queue.get("j").state == "done", 20)
        assert process.poll() is None


def test_what_a_process_said_last_when_it_ended_by_itself(queue):
    message = pytest.raises(ServerUnavailable, match="no module no_such_module")
    with Crew(queue.redis, "no_such_module:worker", 1, folder=HERE) as crew, message:
        crew.wait(lambda: False, 20)


def test_the_processes_and_their_files_are_gone_when_their_owner_is_killed(queue, eventually, tmp_path):
    owner = textwrap.dedent(f"""
        import sys
        import jobkit as jk
        from jobkit.processes import Crew
        crew = Crew(jk.connect(), "shop:worker", 2, folder={str(HERE)!r})
        crew.wait(lambda: "runs" in crew.log("w1") and "runs" in crew.log("w2"), 20)
        print(*(p.pid for p in crew.running.values()), flush=True)
        sys.stdin.read()
    """)
    env = {**os.environ, "JOBKIT_REDIS": "private", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", owner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2
        assert list(tmp_path.glob("jobkit-crew-*"))
        process.kill()
    eventually(lambda: not any(_alive(pid) for pid in pids), within=20)
    eventually(lambda: not list(tmp_path.glob("jobkit-crew-*")), within=20)


def test_the_files_go_though_nobody_of_the_crew_is_left(queue, eventually, tmp_path):
    owner = textwrap.dedent(f"""
        import os, signal
        import jobkit as jk
        from jobkit.processes import Crew
        crew = Crew(jk.connect(), "shop:worker", 1, folder={str(HERE)!r})
        crew.kill("w1")
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    env = {**os.environ, "JOBKIT_REDIS": "private", "TMPDIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", owner], env=env, check=False)
    assert ran.returncode == -signal.SIGKILL
    eventually(lambda: not list(tmp_path.iterdir()), within=20)


def test_the_files_go_with_an_orderly_end(queue, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Crew(queue.redis, "shop:worker", 1, folder=HERE):
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_who_ended_by_itself_is_replaced(queue, eventually):
    with Crew(queue.redis, "shop:worker", 2, folder=HERE) as crew:
        assert crew.replace() == []
        crew.running["w1"].kill()  # nobody told the crew
        assert eventually(crew.replace) == ["w1"]
        assert sorted(crew.running) == ["w2", "w3"]


def _alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
