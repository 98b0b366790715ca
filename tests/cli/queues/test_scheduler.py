"""`jobkit scheduler`: a process that promotes and recovers, through whatever Redis does, until a signal."""

import signal

import pytest

import jobkit as jk
from jobkit.connect import address_for_others


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_promotes_and_recovers_until_a_signal(number, real, command, eventually):
    queue = jk.Queue(real, "mail", lease=0.2)
    queue.submit("receipt", id="held")
    assert queue.claim("one that dies")
    queue.submit("receipt", id="later", delay=0.3)
    with command("scheduler", "mail", "--lease", "0.2", "-v", JOBKIT_REDIS=address_for_others(real)) as process:
        eventually(lambda: queue.counts().ready == 2, within=20)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert queue.counts().totals["recovered"] == 1
    first, *_, last = err.splitlines()
    assert first.endswith("scheduler of mail runs")
    assert last.endswith("scheduler of mail has stopped")


def test_redis_may_come_and_go(own_server, command, eventually):
    redis = own_server.client()
    queue = jk.Queue(redis, "mail")
    with command("scheduler", "mail", JOBKIT_REDIS=address_for_others(redis)) as process:
        for again in range(2):
            queue.submit("receipt", id=f"job-{again}", delay=0.1)
            eventually(lambda: queue.counts().ready == 1, within=20)
            own_server.restart()  # it comes back empty
        process.terminate()
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments", [("--floor", "nan"), ("--floor", "0"), ("--floor", "x"), ("--lease", "0"), ("--dead-max", "-1")]
)
def test_settings_that_cannot_be(arguments, url, call):
    status, out, err = call("scheduler", "mail", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
