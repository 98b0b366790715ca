"""The client that a worker is given: plain redis-py, whose connections ask instead of sending.

Everything above the connection is redis-py's own: pipelines, WATCH, registered scripts, locks,
retries. A connection hands each command to the worker's `ask` and keeps the reply until it is read.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import redis
from redis.exceptions import ConnectionError as RedisConnectionError

from jobkit.clock import Clock
from jobkit.connect.client import Client, QuietPool, make_client, options
from jobkit.connect.safety import ServerInfo
from jobkit.explore.blocking import blocks
from jobkit.explore.calls import LOST, Answer, Args, Call, Request

Ask = Callable[[Request], Answer]


class WireConnection(redis.Connection):
    """A connection of a worker under exploration; it has no socket."""

    def __init__(self, *, whose: Callable[[], Ask], numbers: Iterable[int], whole: bool, **settings: Any) -> None:
        super().__init__(**settings)  # type: ignore[no-untyped-call]
        self._whose, self._numbers, self._whole = whose, iter(numbers), whole
        self._ask = whose()
        self._number = next(self._numbers)
        self._replies: deque[Any] = deque()

    def connect(self) -> None:
        """Do nothing: there is nobody to greet."""

    def renew(self) -> None:
        """Belong to the worker of this schedule. What one of an earlier schedule kept, asks in vain."""
        self._ask = self._whose()

    def disconnect(self, *_args: Any, **_kwargs: Any) -> None:
        """Forget what was not read; what comes next comes over another connection."""
        self._number = next(self._numbers)
        self._replies.clear()

    def can_read(self, timeout: float | None = 0) -> bool:  # noqa: ARG002 - redis-py's signature
        """Whether a reply was left unread."""
        return bool(self._replies)

    def send_command(self, *args: Any, **_kwargs: Any) -> None:
        """Take one command."""
        self._send([self._encoded(args)])

    def pack_command(self, *args: Any) -> list[Any]:
        """Keep a command as it is: nothing is packed."""
        return [self._encoded(args)]

    def pack_commands(self, commands: Iterable[Iterable[Any]]) -> list[Any]:
        """Keep commands as they are."""
        return [self._encoded(tuple(args)) for args in commands]

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002 - redis-py's signature
        """Take the commands of a pipeline."""
        self._send(command)

    def read_response(self, *_args: Any, **_kwargs: Any) -> Any:
        """Return the next reply; raise it where it is an error."""
        if not self._replies:
            raise RedisConnectionError("nothing was asked: a subscription cannot be explored")
        reply = self._replies.popleft()
        if reply is LOST:
            self.disconnect()
            raise RedisConnectionError("the reply was lost with the connection")
        if isinstance(reply, Exception):
            raise reply
        return _copy(reply)  # redis-py builds its answer within the reply, and the report shows what came

    def _encoded(self, args: Sequence[Any]) -> Args:
        words = args[0].encode().split() if isinstance(args[0], str) else [args[0]]
        return (*words, *map(self.encoder.encode, args[1:]))

    def _send(self, commands: list[Args]) -> None:
        together = len(commands) > 2 and commands[0] == (b"MULTI",)
        together = together or (self._whole and not any(map(blocks, commands)))
        for call in [commands] if together else [[command] for command in commands]:
            try:
                answer = self._ask(Call(self._number, tuple(call)))
            except BaseException:  # it dies here: the next schedule finds no reply that was not read
                self.disconnect()
                raise
            self._replies.extend([LOST] * len(call) if answer is LOST else answer.values)  # type: ignore[union-attr]


def _copy(reply: Any) -> Any:
    return [_copy(one) for one in reply] if isinstance(reply, list) else reply


class WirePool(QuietPool):
    """Connections that are always ready, and cost nothing to keep: they outlive a schedule, and its crashes."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._spare: list[Any] = []

    def get_connection(self, *_args: Any, **_options: Any) -> Any:
        """Return a spare connection, or a new one."""
        connection: Any = self._spare.pop() if self._spare else self.make_connection()
        connection.renew()
        return connection

    def release(self, connection: Any) -> None:
        """Keep a connection for the next command."""
        self._spare.append(connection)


def worker_client(whose: Callable[[], Ask], server: ServerInfo, *, clock: Clock, whole: bool = False) -> Client:
    """Make the client that a worker is given; `whole`: a plain pipeline is one step, if nothing in it blocks."""
    settings: dict[str, Any] = options(fake=True) | {"whose": whose, "numbers": itertools.count(1), "whole": whole}
    return make_client(WirePool(connection_class=WireConnection, **settings), server, clock=clock)
