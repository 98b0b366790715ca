"""A queue with something in it, and `jobkit ...` called on its server."""

import io
import sys

import pytest

import jobkit as jk
from jobkit.cli.main import main
from jobkit.connect import PrivateServer, address_for_others
from jobkit.connect.fake import FakeRedis


@pytest.fixture
def url(redis):
    """Where another process finds the server: over TCP, if it is the fake."""
    return address_for_others(redis).removesuffix("?prefix=")


@pytest.fixture
def queue(redis):
    return jk.Queue(redis, "mail")


@pytest.fixture
def worker(queue):
    """A worker in this process, whose task `receipt` fails for `to="nobody"`."""
    worker = jk.Worker(queue, name="w1", backoff=jk.Table(5, 30))

    @worker.task
    def receipt(job, to):
        if to == "nobody":
            raise OSError("no route to nobody")

    return worker


@pytest.fixture
def bury(queue, worker):
    """Submit jobs of these ids, and let them fail until they are dead letters."""

    def bury(*ids, **options):
        queue.submit_many([jk.New("receipt", {"to": "nobody"}, id=id, max_attempts=1, **options) for id in ids])
        for _ in ids:
            worker.step()
        assert queue.counts().dead >= len(ids)

    return bury


@pytest.fixture
def call(capsys, monkeypatch, request):
    """Call `jobkit ...` in this process, on the test's server: exit status, stdout, stderr."""

    def call(*arguments, answer="", **env):
        if "url" in request.fixturenames:
            env = {"JOBKIT_REDIS": request.getfixturevalue("url"), **env}
        for name, value in env.items():
            monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(sys, "stdin", None if answer is None else io.StringIO(answer))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        return end.value.code, *capsys.readouterr()

    return call


@pytest.fixture(params=["fake", "live"])
def real(request):
    """A client of a server in real time, for other processes: the fake over TCP, or the real one."""
    if request.param == "live":
        return request.getfixturevalue("live")
    return request.getfixturevalue("fake_in_real_time")


@pytest.fixture
def fake_in_real_time():
    with FakeRedis().client() as client:
        yield client


@pytest.fixture
def own_server(live_server):
    """A real server of the test's own, on loopback and with a password: it may be killed."""
    with PrivateServer(over="loopback") as server:
        yield server
