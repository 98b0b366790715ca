"""Servers for the tests: the fake on a VirtualClock, and one private real server per session.

Where no real server can be had, the tests that need one are skipped, unless JOBKIT_REQUIRE_LIVE=1.
"""

import os
import sys
import time
from pathlib import Path

import pytest
import redis as redis_py
from hypothesis import settings

from jobkit.clock import VirtualClock
from jobkit.connect import PrivateCluster, PrivateServer
from jobkit.connect.fake import FakeRedis
from jobkit.connect.servers import usable_servers, why_none
from jobkit.errors import ServerUnavailable

sys.path.insert(0, str(Path(__file__).parent))  # for tests/support
pytest.register_assert_rewrite("support")

# The machine may be busy: no deadlines. `make test` is the same each time; look further with
# ARGS="--hypothesis-profile=explore".
settings.register_profile("repeat", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("repeat")

ON_CLUSTER = os.environ.get("JOBKIT_TESTS_ON") == "cluster"
"""`make versions ARGS="--cluster"` says so: the real server of the tests of behaviour is a Redis Cluster."""


def pytest_report_header():
    """Say what the tests run on, for who runs them on several (`make versions`)."""
    live = next((f"live on {found}" for found in usable_servers()), f"not live: {why_none()}")
    return f"jobkit: redis-py {redis_py.__version__}, {live}"


def pytest_collection_modifyitems(items):
    """Leave out what makes no sense on a cluster, where that is what the tests run on."""
    for item in items if ON_CLUSTER else ():
        if marker := item.get_closest_marker("one_server"):
            item.add_marker(pytest.mark.skip(reason=f"one server only: {marker.args[0]}"))


@pytest.fixture(scope="session")
def live_server():
    try:
        server = PrivateCluster() if ON_CLUSTER else PrivateServer()
    except ServerUnavailable as error:
        if os.environ.get("JOBKIT_REQUIRE_LIVE") == "1":
            pytest.fail(f"JOBKIT_REQUIRE_LIVE=1, but {error}")
        pytest.skip(str(error))
    with server:
        yield server


@pytest.fixture
def live(live_server):
    """A client of the real server, which is empty."""
    with live_server.client() as client:
        client.flushall()
        yield client


@pytest.fixture
def fake():
    """A client of a fake of its own, on a VirtualClock."""
    with FakeRedis(VirtualClock()).client() as client:
        yield client


@pytest.fixture(params=["fake", "live"])
def redis(request):
    """The test runs twice: on the fake, and on the real server."""
    marker = request.node.get_closest_marker("live_only")
    if request.param == "fake" and marker:
        pytest.skip(f"live only: {marker.kwargs.get('reason') or marker.args[0]}")
    return request.getfixturevalue(request.param)


@pytest.fixture
def eventually():
    """Wait for a condition, with a deadline: `eventually(lambda: not folder.exists(), within=2)`."""

    def wait(condition, within=5.0):
        deadline = time.monotonic() + within
        while True:
            answer = condition()
            if answer:
                return answer
            assert time.monotonic() < deadline, f"not within {within} s"
            time.sleep(0.002)  # between two looks, never instead of one

    return wait
