"""A real TCP proxy before a Redis, which can lose a reply: the server has run the command, and the line breaks."""

import contextlib
import re
import select
import socket
import threading

SCRIPT = re.compile(rb"\*\d+\r\n\$(?:7\r\nEVALSHA|4\r\nEVAL)\r\n")


class Proxy:
    """Listens on a port of loopback for clients of the server on another; counts the scripts that pass.

    `lose = n` loses the reply to the n-th script from now on.
    """

    def __init__(self, port):
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.lose = self.lost = self.scripts = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        with client, socket.create_connection(self._server) as server, contextlib.suppress(OSError):
            losing = False
            while True:
                ready, _, _ = select.select([client, server], [], [])
                if client in ready:
                    sent = client.recv(1 << 16)
                    losing = self._counted(sent) or losing
                    server.sendall(sent)
                    if not sent:
                        return
                if server in ready:
                    reply = server.recv(1 << 16)
                    self.lost += losing
                    if losing or not reply:
                        return
                    client.sendall(reply)

    def _counted(self, sent):
        """Count the scripts in what a client sends; say whether the one is among them whose reply is to be lost."""
        n = len(SCRIPT.findall(sent))
        self.scripts += n
        before, self.lose = self.lose, max(0, self.lose - n)
        return before > 0 and self.lose == 0

    def close(self):
        """Take no more clients."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
