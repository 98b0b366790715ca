"""However the owner of a private server ends: two seconds later no server and no folder is left."""

import os
import random
import signal

import pytest

from jobkit.clock import Clock

SOON = 2.0


def ready(process):
    assert process.stdout.readline() == "ready\n"
    return process


def test_killed(owner, temp, eventually):
    process = ready(owner())
    assert len(temp.folders()) == 1
    assert len(temp.processes()) == 2  # the server and its guard
    process.kill()
    eventually(temp.empty, within=SOON)


def test_its_whole_group_killed(owner, temp, eventually):
    process = ready(owner())
    os.killpg(process.pid, signal.SIGKILL)
    eventually(temp.empty, within=SOON)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signalled(owner, temp, eventually, number):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("this run ignores the signal (nohup, say), and so would its children")
    process = ready(owner())
    os.killpg(process.pid, number)
    eventually(temp.empty, within=SOON)


@pytest.mark.parametrize(
    "code", ["", "raise SystemExit(3)", "1 / 0", "import os; os._exit(0)", "import os; os.abort()"]
)
def test_ended_by_itself(owner, temp, eventually, code):
    process = owner(f"from jobkit.connect import connect; connect()\n{code or 'raise SystemExit'}")
    process.wait(20)
    eventually(temp.empty, within=SOON)


def test_gone_before_a_normal_exit_is_over(owner, temp):
    process = owner("from jobkit.connect import connect; connect(); raise SystemExit")
    process.wait(20)
    assert temp.empty()


def test_replaced_by_another_program(owner, temp, eventually):
    code = "import os; from jobkit.connect import connect; connect()"
    process = owner(f"{code}; os.execvp('sh', ['sh', '-c', 'echo ready; exec sleep 60'])")
    ready(process)  # the server was there before: connect had its answer
    eventually(temp.empty, within=SOON)
    assert process.poll() is None


def test_two_owners_at_once(owner, temp, eventually):
    first, second = owner(), owner()
    ready(first)
    ready(second)
    assert len(temp.folders()) == 2
    first.kill()
    eventually(lambda: len(temp.folders()) == 1 and len(temp.processes()) == 2, within=SOON)
    second.kill()
    eventually(temp.empty, within=SOON)


@pytest.mark.parametrize(
    "child",
    [
        "import os\nif os.fork() == 0:\n    import time; time.sleep(60)",
        "import multiprocessing as m, time; m.get_context('fork').Process(target=time.sleep, args=[60]).start()",
        "import subprocess; subprocess.Popen(['sleep', '60'])",
        "import subprocess; subprocess.Popen(['sleep', '5'], close_fds=False, start_new_session=True)",
    ],
    ids=["fork", "multiprocessing", "subprocess", "subprocess that keeps files open"],
)
def test_a_child_does_not_keep_it_alive(owner, temp, eventually, child):
    process = ready(owner(f"from jobkit.connect import connect; connect()\n{child}"))
    process.kill()
    eventually(temp.empty, within=SOON)


def test_a_child_that_ends_does_not_end_it(owner, temp):
    code = """
import os
from jobkit.connect import connect
client = connect()
client.set("k", "from the parent")
child = os.fork()
if child == 0:
    ok = connect().get("k") == b"from the parent"
    raise SystemExit(0 if ok else 1)
assert os.waitpid(child, 0)[1] == 0
assert client.get("k") == b"from the parent"
"""
    ready(owner(code))
    assert len(temp.processes()) == 2


def test_killed_at_any_moment_of_the_start(owner, temp, eventually):
    """Also while the folder, the guard and the server are being made."""
    clock, chance = Clock(), random.Random(5)
    for _ in range(20):
        process = owner("from jobkit.connect import connect; print('go', flush=True); connect()")
        process.stdout.readline()
        clock.sleep(chance.uniform(0, 0.04))
        process.kill()
        eventually(temp.empty, within=SOON)


def test_the_guard_outlives_signals(owner, temp, eventually):
    process = ready(owner())
    for guard in temp.processes():
        if "guard.py" in " ".join(guard.cmdline()):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                guard.send_signal(number)
    assert len(temp.processes()) == 2
    process.kill()
    eventually(temp.empty, within=SOON)


@pytest.mark.parametrize("now", [True, False], ids=["killed", "asked to end"])
def test_a_kernel_restarted(temp, eventually, now, server_program):
    manager = pytest.importorskip("jupyter_client").KernelManager(kernel_name="python3")
    manager.start_kernel(env={**os.environ, "TMPDIR": str(temp.path)})
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        reply = client.execute_interactive("from jobkit.connect import connect; connect()", timeout=60, output_hook=str)
        assert reply["content"]["status"] == "ok"
        assert len(temp.folders()) == 1
        manager.restart_kernel(now=now)
        eventually(temp.empty, within=SOON)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
