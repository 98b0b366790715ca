"""A client that tells after each of its commands, so that something can happen there.

The checks of the notebooks watch a learner's function with it: after command n the power is cut, or
somebody else has a turn.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any, TypeVar

import redis as redis_py

C = TypeVar("C", bound=redis_py.Redis)


def client_that_tells(redis: C, happens: Callable[[int], object]) -> C:
    """Return a client like `redis` that calls `happens(n)` when its n-th command is answered; a pipeline is one.

    What `happens` raises, the caller of the command gets. Use it in one thread.
    """
    client, count = copy.copy(redis), itertools.count(1)
    client.auto_close_connection_pool = False  # shared: its end must not close it

    def then(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            answer = method(*args, **options)
            happens(next(count))
            return answer

        return call

    def pipeline(*args: Any, **options: Any) -> Any:
        pipe = redis.pipeline(*args, **options)
        for sends in ("execute", "immediate_execute_command"):
            setattr(pipe, sends, then(getattr(pipe, sends)))
        return pipe

    client.execute_command, client.pipeline = then(redis.execute_command), pipeline  # type: ignore[method-assign]
    return client
