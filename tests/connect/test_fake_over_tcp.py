"""The fake, served to other processes."""

import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest
import redis as redis_py
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobkit.clock import VirtualClock
from jobkit.connect import address_for_others, connect
from jobkit.errors import ConfigError


@pytest.fixture
def served():
    client = connect("fake", clock=VirtualClock(), prefix="lab:")
    return client, address_for_others(client)


def test_two_processes_meet(served):
    client, address = served
    code = (
        "import sys; from jobkit.connect import connect; r = connect(sys.argv[1]); r.set(r.prefix + 'k', r.eval(%r, 0))"
    )
    time = "return redis.call('TIME')[1]"
    subprocess.run([sys.executable, "-c", code % time, address], check=True)
    assert client.get("lab:k") == str(client.clock.now() // 1000).encode()


def test_its_time_is_the_clocks(served):
    client, address = served
    with connect(address) as other:
        assert other.time() == client.time()
        client.clock.advance(100)
        assert other.time() == client.time() == (client.clock.now() // 1000, 0)
        other.set("k", "v", px=5000)
        client.clock.advance(5)
        assert other.get("k") is None


def test_streams_scripts_and_the_bell_work_over_it(served):
    client, address = served
    with connect(address) as other:
        other.xgroup_create("s", "g", id="0", mkstream=True)
        script = other.register_script(
            "redis.call('XADD', KEYS[1], '*', 'id', ARGV[1]) "
            "return redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', 1, 'STREAMS', KEYS[1], '>')"
        )
        payload = bytes(range(256)) + b"\r\n$5\r\n"
        assert script(keys=["s"], args=[payload])[0][1][0][1] == [b"id", payload]
        bell = other.pubsub()
        bell.subscribe("bell")
        assert bell.get_message(timeout=5)["type"] == "subscribe"
        client.publish("bell", "ring")
        assert bell.get_message(timeout=5)["data"] == b"ring"
        bell.close()


def test_several_clients_at_once(served):
    client, address = served

    def count():
        with connect(address) as other:
            for _ in range(100):
                other.incr("n")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.get("n") == b"400"


def test_it_is_served_once_on_loopback_and_has_no_password(served):
    client, address = served
    assert address_for_others(client) == address
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1"
    assert parts.password is None
    assert parts.query == "prefix=lab%3A"
    with redis_py.Redis(port=parts.port, protocol=2) as anybody:
        assert anybody.ping()


def test_it_ends_with_its_owner(owner, eventually):
    code = (
        "from jobkit.connect import connect, address_for_others; print(address_for_others(connect('fake')), flush=True)"
    )
    process = owner(code)
    port = urlsplit(process.stdout.readline().strip()).port
    with redis_py.Redis(port=port, protocol=2, retry=Retry(NoBackoff(), 0)) as client:
        assert client.ping()
        process.kill()

        def refused():
            try:
                client.ping()
            except redis_py.ConnectionError:
                return True
            return False

        eventually(refused, within=2)


def test_a_client_that_stays_connected_does_not_keep_its_owner(owner):
    code = (
        "from jobkit.connect import connect, address_for_others; print(address_for_others(connect('fake')), flush=True)"
    )
    process = owner(code)
    port = urlsplit(process.stdout.readline().strip()).port
    with redis_py.Redis(port=port, protocol=2) as client:
        client.ping()
        process.stdin.close()
        assert process.wait(10) == 0


def test_strangers_have_no_address():
    with redis_py.Redis(port=1) as stranger, pytest.raises(ConfigError, match="knows its server's address"):
        address_for_others(stranger)
