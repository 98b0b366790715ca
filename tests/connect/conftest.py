"""Owners of private servers, in processes of their own, to be killed."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from jobkit.connect.servers import usable_servers

needs_server = pytest.mark.usefixtures("server_program")


@pytest.fixture
def server_program(live_server):
    """Some real server can be started here."""
    return next(usable_servers())


class Temp:
    """A short folder for temporary files, and what lives in it."""

    def __init__(self, path):
        self.path = path

    def folders(self):
        return list(self.path.glob("jobkit-*"))

    def processes(self):
        """Servers and guards whose files are here (zombies aside: only their parent can end those)."""
        found = []
        for process in psutil.process_iter():
            try:
                told = [*process.cmdline(), process.cwd()]
                if process.status() != psutil.STATUS_ZOMBIE and any(f"{self.path}/jobkit-" in text for text in told):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
                continue
        return found

    def empty(self):
        return not self.folders() and not self.processes()


@pytest.fixture
def temp():
    path = Path(tempfile.mkdtemp(prefix="jk", dir="/tmp"))
    temp = Temp(path)
    yield temp
    for process in temp.processes():
        with contextlib.suppress(psutil.NoSuchProcess):  # it is just ending by itself
            process.kill()
    shutil.rmtree(path)


@pytest.fixture
def owner(temp, server_program):
    """Start a process that runs this code, which must print a line when it is ready, and then waits."""
    started = []

    def start(code="from jobkit.connect import connect; connect()", **settings):
        program = f"{code}\nprint('ready', flush=True)\nimport sys; sys.stdin.read()"
        env = {**os.environ, "TMPDIR": str(temp.path), **settings.pop("env", {})}
        env.pop("JOBKIT_REDIS", None)
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
            start_new_session=True,
            **settings,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()
