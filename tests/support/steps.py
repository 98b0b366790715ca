"""A client whose every command is a moment at which something can happen: a death, or somebody else's turn."""

from jobkit.connect.client import another_pool, make_client

GREETING = {b"HELLO", b"AUTH", b"CLIENT", b"SELECT", b"PING"}


class Death(BaseException):
    """The process is gone: no `except Exception` stops it, and nothing of it reaches the server any more."""


class Steps:
    """Calls `before(n)` before the n-th command reaches the server; a pipeline is one command.

    What a client does between two commands no server sees. So the moments before each of them, and
    the one after the last, are all the moments there are.
    """

    def __init__(self, before=lambda n: None):
        self.before, self.sent = before, 0

    @classmethod
    def death(cls, at):
        """Die before the command number `at`, and stay dead."""

        def before(n):
            if n >= at:
                raise Death

        return cls(before)

    @classmethod
    def turn(cls, at, act):
        """Before the command number `at`, call `act()`."""
        return cls(lambda n: act() if n == at else None)

    def client(self, redis):
        """Return a client of the same server that goes by these steps."""
        pool = another_pool(redis.connection_pool)
        pool.connection_class = self._connection(pool.connection_class)
        return make_client(pool, redis.server, clock=redis.clock, prefix=redis.prefix)

    def _connection(self, base):
        steps = self

        class Connection(base):
            def send_packed_command(self, command, *args, **kwargs):
                if _name(command) not in GREETING:
                    steps.sent += 1
                    steps.before(steps.sent)
                super().send_packed_command(command, *args, **kwargs)

        return Connection


def _name(command):
    """Read the first word of what is sent: *3 $7 EVALSHA ..."""
    return b"".join([command] if isinstance(command, bytes) else command)[:64].split(b"\r\n")[2].upper()
