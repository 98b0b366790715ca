"""The fake over TCP, for several processes. It has no password: every user of the machine can reach it.

It listens on loopback, lives in threads of the process that holds the fake, and ends with it.
"""

from __future__ import annotations

import threading
import weakref

from fakeredis import TcpFakeServer
from fakeredis._clients._tcp_server import TCPFakeRequestHandler

from jobkit.connect.client import PROTOCOL
from jobkit.connect.faketime import ClockConnection, ClockServer

_served: weakref.WeakKeyDictionary[ClockServer, TcpFakeServer] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class _Handler(TCPFakeRequestHandler):
    """Serves one TCP client by the clock of the fake; fakeredis' own handler knows of real time alone."""

    def setup(self) -> None:
        super().setup()
        self.current_client = ClockConnection(server=self.server.fake_server, writer=self.writer, protocol=PROTOCOL)
        self.server.clients[self.client_address] = self.current_client


def serve(fake: ClockServer) -> str:
    """Return the fake's URL; the first call starts to serve it."""
    with _lock:
        if fake not in _served:
            _served[fake] = _start(fake)
        return f"redis://127.0.0.1:{_served[fake].server_address[1]}"


def _start(fake: ClockServer) -> TcpFakeServer:
    tcp = TcpFakeServer(("127.0.0.1", 0))
    tcp.RequestHandlerClass = _Handler
    tcp.fake_server = fake
    tcp.daemon_threads = True  # or a client that is still connected would keep this process alive
    threading.Thread(target=tcp.serve_forever, name="jobkit-fake-over-tcp", daemon=True).start()
    return tcp
