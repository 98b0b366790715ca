"""Doing the same with every shard, so that one that is slow or away does not stop the others."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

from redis.exceptions import RedisError

Part = TypeVar("Part")
Answer = TypeVar("Answer")


def side_by_side(works: Iterable[Callable[[], None]], stop: Callable[[], None]) -> None:
    """Run each in a thread of its own; when one ends, or raises, tell all to stop, and wait for them.

    Raises what the first of them raised. Ctrl-C in the main thread stops them, too.
    """
    errors: list[BaseException] = []
    ended = threading.Event()

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised in the caller's thread
            errors.append(error)
        finally:
            ended.set()

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    try:
        for thread in threads:
            thread.start()
        ended.wait()
    finally:
        stop()
        for thread in threads:
            if thread.ident is not None:  # else the interrupt came before its start
                thread.join()
    if errors:
        raise errors[0]


def one_by_one(parts: Iterable[Part], act: Callable[[Part], Answer], log: logging.Logger) -> list[Answer]:
    """Do something with each, and return the answers of those that Redis could be reached for.

    Raises the last RedisError if there is none.
    """
    answers, failed = list[Answer](), None
    for part in parts:
        try:
            answers.append(act(part))
        except RedisError as error:
            log.warning("cannot reach %r (%s); the other shards go on", part, error)
            failed = error
    if failed is not None and not answers:
        raise failed
    return answers
