"""rediss://: a certificate that is trusted is taken, any other is refused in one clear sentence."""

import socket
import ssl
import threading

import pytest
import trustme

import jobkit as jk
from jobkit.connect import PrivateServer, address_for_others, connect
from jobkit.errors import ServerUnavailable


class Endpoint:
    """TLS before a server that speaks none: takes what comes, and carries it on, byte for byte."""

    def __init__(self, certificate, target):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self._context)
        self._target, self._open = target, []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                plain, _ = self._door.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(plain,), daemon=True).start()

    def _carry(self, plain):
        try:
            outside = self._context.wrap_socket(plain, server_side=True)
        except OSError:  # the client does not trust us
            plain.close()
            return
        inside = socket.create_connection(self._target)
        self._open += [outside, inside]
        threading.Thread(target=_pump, args=(inside, outside), daemon=True).start()
        _pump(outside, inside)

    def close(self):
        for one in (self._door, *self._open):
            one.close()


def _pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except (OSError, ValueError):
        pass
    for end in (source, target):
        end.close()


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def served(live_server, authority, tmp_path):
    """Serve with a certificate for these names; return the URL, which trusts the authority, and one without."""
    with PrivateServer(over="loopback") as server:
        ends = []

        def serve(*names, **options):
            address = address_for_others(server.client()).removesuffix("?prefix=")
            login, _, host = address.removeprefix("redis://").rpartition("@")
            end = Endpoint(authority.issue_cert(*names, **options), ("127.0.0.1", int(host.rpartition(":")[2])))
            ends.append(end)
            authority.cert_pem.write_to_path(tmp_path / "ca.pem")
            bare = f"rediss://{login}@127.0.0.1:{end.port}"
            return f"{bare}?ssl_ca_certs={tmp_path / 'ca.pem'}", bare

        yield serve
        for end in ends:
            end.close()


def refused(url, why):
    with pytest.raises(ServerUnavailable, match=why) as caught:
        connect(url)
    told = str(caught.value)
    assert told.startswith("nothing answers at rediss://127.0.0.1:")
    assert "\n" not in told
    assert url.partition("@")[0].rpartition(":")[2] not in told, "no password"


def test_a_certificate_that_is_trusted(served):
    trusted, _ = served("127.0.0.1")
    queue = jk.Queue(connect(trusted, prefix=""), "mail")
    queue.submit("t", {"to": "größe"})
    (claim,) = queue.claim("w")
    queue.ack(claim)
    assert (claim.args, queue.stats().totals["done"]) == ({"to": "größe"}, 1)


def test_an_authority_that_nobody_knows(served):
    refused(served("127.0.0.1")[1], "certificate verify failed")


def test_a_certificate_for_another_name(served):
    refused(served("redis.example.org")[0], "certificate verify failed: IP address mismatch")


def test_a_server_that_speaks_no_tls(live_server):
    with PrivateServer(over="loopback") as server:
        url = address_for_others(server.client()).removesuffix("?prefix=").replace("redis://", "rediss://")
        refused(f"{url}?socket_timeout=0.5&socket_connect_timeout=0.5", r"(?i)timeout|SSL")


def test_a_server_that_speaks_tls_alone(served):
    url = served("127.0.0.1")[1].replace("rediss://", "redis://")
    with pytest.raises(ServerUnavailable, match=r"nothing answers at redis://127\.0\.0\.1"):
        connect(url)
