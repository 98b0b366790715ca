"""What the commands of a queue have in common: which Redis, how loud, and errors in one line."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from jobkit.cli.text import note, shown
from jobkit.connect.choose import VARIABLE
from jobkit.connect.given import connect_url, hidden, prefixes, repeated, split_prefix, with_prefix
from jobkit.connect.safety import server_of
from jobkit.errors import ConfigError, ServerUnavailable
from jobkit.keys import Keys
from jobkit.logs import logger, show_log
from jobkit.ready import STORES, store_of

if TYPE_CHECKING:
    from redis import Redis

    from jobkit.answers import Counts
    from jobkit.connect import AnyRedis, Client, ClusterClient
    from jobkit.queue import Queue
    from jobkit.ready import Store

F = TypeVar("F", bound=Callable[..., Any])

LOCAL = {"", "fake", "private"}
"""What does not name a server that another process can reach."""

DESIGNS = tuple(STORES)
"""The names of the ready stores."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for a program to read.")


def loudness(command: F) -> F:
    """Give a command the options -v and -q, as one parameter `level`."""
    verbose = click.option("-v", "--verbose", "level", flag_value="DEBUG", help="Log more.")
    quiet = click.option("-q", "--quiet", "level", flag_value="WARNING", help="Log only what went wrong.")
    return verbose(quiet(command))


def listen(level: str | None, who: str) -> None:
    """Show the kit's log on stderr, unless the program has set up the root logger: then it knows better where to."""
    if logging.getLogger().handlers:
        logger.setLevel(level or "INFO")
    else:
        show_log(level or "INFO", who=who)


def server(command: F) -> F:
    """Give a command the options --url and --prefix."""
    url = click.option("--url", metavar="URL", help=f"The Redis of the queue [default: the URL in {VARIABLE}].")
    prefix = click.option("--prefix", help="What its keys begin with [default: the URL's ?prefix=, or nothing].")
    return url(prefix(command))


def meant(url: str | None, prefix: str | None) -> tuple[str, str | None]:
    """The URL of the Redis that is meant, and the prefix of its keys, or None if nothing says it.

    Raises ConfigError where none is meant that another process can reach. The URL may hold a
    password: never print it.
    """
    given = os.environ.get(VARIABLE, "") if url is None else url
    if given.partition("?")[0] in LOCAL:
        raise ConfigError(
            f"which Redis? Give --url, or set {VARIABLE} to a URL: "
            "a private server, or the fake, is reached only by the process that started it"
        )
    try:
        known = "://" in given and urlsplit(given).scheme
    except ValueError:
        known = False
    if not known:
        said = f"{VARIABLE} is" if url is None else "got"
        raise ConfigError(f"that is not a URL: give one such as redis://localhost:6379/0; {said} {repeated(given)}")
    where, in_url = split_prefix(given)
    if url is not None and None not in {prefix, in_url} and prefix != in_url:
        raise ConfigError(f"two prefixes: --prefix {prefix} and ?prefix={in_url} in the URL; give one")
    return where, in_url if prefix is None else prefix


def promise(url: str | None, prefix: str | None) -> None:
    """Let the `jobkit.connect()` of a module that is about to be imported find the Redis that is meant.

    A prefix that the module itself asks for holds, unless another is given here; if nobody asks
    for any, there is none, as with all commands.
    """
    if url is None and prefix is None and os.environ.get(VARIABLE, "").partition("?")[0] in LOCAL:
        return  # the module may name a Redis of its own
    where, chosen = meant(url, prefix)
    if chosen is None:
        prefixes[where] = ""
    os.environ[VARIABLE] = where if chosen is None else with_prefix(where, chosen)


def reachable(redis: Redis, *, asked: bool) -> None:
    """Refuse a Redis where nobody else could submit a job, and one that is not the `asked` one."""
    found = server_of(redis)
    if found.kind != "url":
        raise ConfigError(
            f"the worker is on {found}: no other process can submit to it. Give --url, or set {VARIABLE} to a URL"
        )
    if asked and found.origin != VARIABLE:
        raise ConfigError("the module names a Redis of its own: let it call jobkit.connect(), or leave --url out")


@contextlib.contextmanager
def opened(
    name: str, url: str | None, prefix: str | None, *, store: str | None = None, **settings: Any
) -> Iterator[Queue]:
    """Open a queue for a command; whatever Redis answers in the meantime is one line for the user.

    Its ready store is the one that it has. `store` names the design for a queue that has no job yet,
    and must agree with one that has.
    """
    from redis.exceptions import ConnectionError as LostConnection
    from redis.exceptions import RedisError
    from redis.exceptions import TimeoutError as TooLate

    where, _ = meant(url, prefix)
    try:
        with gently(), contextlib.closing(open_redis(name, url, prefix)) as redis:
            yield queue_on(redis, name, store, **settings)
    except (LostConnection, TooLate) as error:
        raise ServerUnavailable(f"{hidden(where)} does not answer any more ({error})") from None
    except RedisError as error:
        raise ConfigError(f"{hidden(where)} answers with an error: {error}") from None


def open_redis(name: str, url: str | None, prefix: str | None) -> Client | ClusterClient:
    """Connect to the Redis of a queue. Raises ConfigError, and ServerUnavailable where nothing answers."""
    if "://" in name:
        raise ConfigError("the argument is a queue's name; its Redis is said with --url")
    where, chosen = meant(url, prefix)
    return connect_url(where, prefix=chosen or "", origin="URL")


def queue_on(redis: AnyRedis, name: str, store: str | None = None, **settings: Any) -> Queue:
    """The queue of this name, with the ready store that it has there."""
    from jobkit.queue import Queue

    return Queue(redis, name, ready=store_there(redis, name, store), **settings)


def parts_of(queue: Queue) -> list[Queue]:
    """The shards of a queue that has some, else the queue itself."""
    layout: Any = queue.redis.get(Keys(f"{queue.name}:shard-0", queue.keys.prefix).store)
    shards = re.search(rb" in (\d+) shards$", layout or b"")
    names = [f"{queue.name}:shard-{k}" for k in range(int(shards[1]) if shards else 0)]
    return [queue_on(queue.redis, name) for name in names] or [queue]


def store_there(redis: AnyRedis, name: str, wanted: str | None) -> Store:
    """The ready store of a queue: what its server remembers, or the design that is wanted, or streams.

    Raises ConfigError if a queue that is there has another design than the wanted.
    """
    answer: Any = redis.get(Keys(name, getattr(redis, "prefix", "")).store)
    there = None if answer is None else store_of(answer.decode("utf-8", "replace"))
    if there is not None and wanted not in {None, there.name}:
        raise ConfigError(f"the ready store of {shown(name)} is {there.kind}, and not {wanted}: leave --store out")
    return there or store_of(wanted or DESIGNS[0])


@contextlib.contextmanager
def gently() -> Iterator[None]:
    """Say Python's warnings as a command would: a line on stderr, without a place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: click.echo(f"jobkit: {message}", err=True)
        yield


def now(queue: Queue) -> int:
    """The server's time, in ms: what the moments of its jobs are compared with."""
    seconds, micros = queue.redis.time()
    return int(seconds) * 1000 + int(micros) // 1000


def missed(queue: Queue, counts: Counts) -> None:
    """If nothing was ever submitted here, say so, and name some queues that are there: a prefix is easily forgotten.

    A bounded look, on anybody's server.
    """
    from redis import RedisCluster

    if counts.totals:
        return
    redis, found, cursor = queue.redis, set[str](), 0
    for _ in range(0 if isinstance(redis, RedisCluster) else 10):  # on a cluster each node would have to be asked
        cursor, keys = redis.scan(cursor, match="*{*}:totals", count=1000)
        for key in keys:
            text = key if isinstance(key, str) else key.decode("utf-8", "replace")
            prefix, _, name = text.removesuffix("}:totals").rpartition("{")
            found.add(shown(name) + (f" with --prefix {shown(prefix)}" if prefix else ""))
        if not cursor:
            break
    names = ", ".join(islice(sorted(found), 5)) + (", ..." if len(found) > 5 else "")
    note(f"no queue {shown(queue.name)} here yet" + (f"; this Redis has {names}" if found else ""))
