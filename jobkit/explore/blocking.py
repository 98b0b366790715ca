"""Commands that wait: how to try one without waiting, again each time that what it waits for was written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jobkit.errors import ConfigError
from jobkit.explore.commands import NOTHING, Footprint, footprint, stream_options
from jobkit.explore.spelling import Words, as_sent


@dataclass(frozen=True, slots=True)
class Unblocked:
    """A blocking command as commands that do not wait: tried in turn, within one step, until one finds something."""

    attempts: tuple[tuple[bytes, ...], ...]
    timeout_ms: int | None
    """None: for ever."""
    keys: frozenset[bytes]
    """What it waits for: it is to be tried again after one of them was written."""

    def tried(self, run: Callable[[tuple[bytes, ...]], tuple[Any, Footprint]]) -> tuple[Any, Footprint]:
        """Try it once, without waiting; return what it found, or None, and what it touched.

        `run` runs a command and returns its reply and what it touched. A try that finds nothing
        only reads, but that of a group, which may learn of a new consumer.
        """
        seen = NOTHING
        for at, attempt in enumerate(self.attempts):
            reply, touched = run(attempt)
            found = self.shape(at, reply)
            seen |= touched if found is not None or attempt[0] == b"XREADGROUP" else Footprint(reads=touched.reads)
            if found is not None:
                return found, seen
        return None, seen

    def shape(self, attempt: int, reply: Any) -> Any:
        """Return an attempt's reply as the blocking command gives it in RESP2; None if nothing was found."""
        name, key = self.attempts[attempt][:2]
        if reply is None or reply == []:
            return None
        if isinstance(reply, Exception) or name not in {b"LPOP", b"RPOP", b"ZPOPMIN", b"ZPOPMAX"}:
            return reply
        return [key, *reply] if name.startswith(b"Z") else [key, reply]


BLOCKING = frozenset(b"BLPOP BRPOP BZPOPMIN BZPOPMAX BLMOVE BRPOPLPUSH BLMPOP BZMPOP XREAD XREADGROUP".split())
"""Commands that may block."""


def unblocked(args: Words, ask: Callable[[tuple[bytes, ...]], Any] | None = None) -> Unblocked | None:
    """Return how to try a blocking command; None for any other, and for one that the server refuses at once.

    XREAD's `$`, "from now on", is settled here: `ask` runs a command within the step in which the
    wait begins, and returns the reply as it came. Raises ConfigError for a `$` without it.
    """
    if isinstance(args[0], bytes) and args[0].upper() not in BLOCKING:
        return None
    call = tuple(as_sent(args))
    try:
        name, first, *_, last = call
        if name in {b"BLPOP", b"BRPOP", b"BZPOPMIN", b"BZPOPMAX"}:
            return Unblocked(tuple((name[1:], key) for key in call[1:-1]), _ms(last), frozenset(call[1:-1]))
        if name in {b"BLMOVE", b"BRPOPLPUSH"}:
            return Unblocked(((name[1:], *call[1:-1]),), _ms(last), frozenset({first}))
        if name in {b"BLMPOP", b"BZMPOP"}:
            return Unblocked(((name[1:], *call[2:]),), _ms(first), footprint(call).writes)
        if name not in {b"XREAD", b"XREADGROUP"} or b"BLOCK" not in (options := stream_options(call)):
            return None
        block, half = options[b"BLOCK"], options[b"IDS"]
        streams, timeout = call[options[b"STREAMS"] + 1 : half], _ms(call[block + 1], unit=1)
        pairs = list(zip(streams, call[half:], strict=True))
    except (LookupError, ValueError, ArithmeticError):
        return None
    ids = [_since(stream, start, ask) if name == b"XREAD" else start for stream, start in pairs]
    return Unblocked(((*call[:block], *call[block + 2 : half], *ids),), timeout, frozenset(streams))


def blocks(args: Words) -> bool:
    """Whether a command waits where it finds nothing."""
    return unblocked(args, lambda _: None) is not None


def _ms(timeout: bytes, unit: int = 1000) -> int | None:
    ms = Decimal(timeout.decode()) * unit
    if not 0 <= ms < 2**63:  # first: a million digits make an int that takes minutes
        raise ValueError
    return math.ceil(ms) or None


def _since(stream: bytes, start: bytes, ask: Callable[[tuple[bytes, ...]], Any] | None) -> bytes:
    """Return the id after which XREAD reads: of `$`, that of the newest entry."""
    if start != b"$":
        return start
    if ask is None:
        raise ConfigError("XREAD with BLOCK and $ depends on when it begins: name an id to read from")
    newest = ask((b"XREVRANGE", stream, b"+", b"-", b"COUNT", b"1"))
    found: bytes = newest[0][0] if newest and not isinstance(newest, Exception) else b"0-0"
    return found
