"""The words between worker and scheduler as bytes, for a worker at the other end of a socket pair.

What comes from a child process is JSON, read as what it is: somebody else's. Nothing in it is run or
looked up by name, but for the class of an error among those of Python, redis-py and jobkit. What
goes to the child is pickled, so that it gets an error reply as redis-py would raise it.
"""

from __future__ import annotations

import builtins
import json
import pickle
import socket
from typing import Any, NamedTuple

import redis.exceptions

from jobkit import errors
from jobkit.clock import TEN_YEARS, Clock
from jobkit.errors import ExploreError
from jobkit.explore.calls import LOST, Answer, Args, Call, Effect, Ended, Replies, Request, Sleep

MOST = 8 << 20
"""Bytes of a message at most."""
LONGEST = 1000
"""Characters of an error's text."""
_HEAD, _CHUNK = 4, 1 << 15
_CLASSES = {module.__name__: vars(module) for module in (builtins, redis.exceptions, errors)}

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_read = json.JSONDecoder().decode


class Nonsense(ValueError):
    """What came is no message; the text completes "sent ..."."""


class Channel:
    """One end of a socket pair, over which whole messages go. Without a timeout it waits for ever."""

    def __init__(self, end: socket.socket, seconds: float | None = None) -> None:
        self._socket, self._seconds, self._clock = end, seconds, Clock()
        end.settimeout(seconds)

    def wait(self, seconds: float) -> None:
        """Wait so long for a message, and for one to be taken; TimeoutError follows."""
        if seconds != self._seconds:
            self._seconds = seconds
            self._socket.settimeout(seconds)

    def send(self, message: bytes) -> None:
        """Send a message."""
        self._socket.sendall(len(message).to_bytes(_HEAD, "big") + message)

    def receive(self) -> bytes:
        """Return the next message. Raises Nonsense for one too long, or with more after it; EOFError at the end."""
        got = self._piece()
        if len(got) < _HEAD or len(got) < _end(got):
            got = self._whole(bytearray(got))
        if len(got) > _end(got):
            raise Nonsense("a message when it was not its turn")
        return got[_HEAD:]

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _whole(self, got: bytearray) -> bytes:
        """Wait for the rest of a message, no longer than for one: it may come byte by byte."""
        last = self._clock.monotonic() + (self._seconds or 0)
        while len(got) < _HEAD or len(got) < _end(got):
            if self._seconds is not None:
                left = last - self._clock.monotonic()
                if left <= 0:
                    raise TimeoutError
                self._socket.settimeout(left)
            got += self._piece()
        self._socket.settimeout(self._seconds)
        return bytes(got)

    def _piece(self) -> bytes:
        piece = self._socket.recv(_CHUNK)
        if not piece:
            raise EOFError
        return piece


def _end(got: bytes | bytearray) -> int:
    """Where the message that begins in `got` ends."""
    end = _HEAD + int.from_bytes(got[:_HEAD], "big")
    if end > MOST:
        raise Nonsense(f"a message of {end} bytes, where {MOST} are the most")
    return end


class Start(NamedTuple):
    """A worker begins: which function, under which name, with a clock how far ahead, pipelines in one piece or not."""

    function: str
    name: str
    offset: int
    whole: bool


def answer_bytes(start: Start | None, answer: Answer, now: int) -> bytes:
    """Write what a worker is told at its turn; with `start` it is a new one."""
    said = answer.values if isinstance(answer, Replies) else answer is LOST
    return pickle.dumps((start and tuple(start), said, now), pickle.HIGHEST_PROTOCOL)


def read_answer(message: bytes) -> tuple[Start | None, Answer, int]:
    """Read it, in the child: it trusts its parent."""
    start, said, now = pickle.loads(message)  # noqa: S301 - the parent wrote it
    answer = Replies(said) if isinstance(said, tuple) else LOST if said else None
    return start and Start(*start), answer, now


def request_bytes(request: Request) -> bytes:
    """Write what a worker asks for, in the child."""
    words: list[Any]
    if isinstance(request, Call):
        words = ["call", request.connection, [[word.decode("latin-1") for word in args] for args in request.commands]]
    elif isinstance(request, Effect):
        words = ["effect", request.text]
    elif isinstance(request, Sleep):
        words = ["sleep", request.ms]
    elif request.error is None:
        words = ["answer", _plain(request.answer)]
    elif isinstance(request.error, errors.ExploreError | errors.ConfigError):
        words = ["refuse", str(request.error)[:LONGEST]]
    else:
        bases = [f"{base.__module__}.{base.__qualname__}" for base in type(request.error).__mro__]
        words = ["raise", request.kind, request.text[:LONGEST], bases]
    return _json(words).encode("utf-8", "surrogatepass")


def read_request(message: bytes) -> Request:
    """Read what a worker asks for. Raises Nonsense for what no worker asks."""
    try:
        return _request(_read(message.decode("utf-8", "surrogatepass")))
    except Nonsense:
        raise
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise Nonsense(f"what is no message: {message[:40]!r}") from None


def _request(words: Any) -> Request:
    match words:
        case ["call", int(number), [_, *_] as commands] if 0 <= number < 1 << 31:
            return Call(number, tuple(map(_args, commands)))
        case ["effect", str(text)]:
            return Effect(text)
        case ["sleep", int(ms)] if 0 <= ms <= TEN_YEARS * 1000:
            return Sleep(ms)
        case ["answer", value]:
            return Ended(_unplain(value))
        case ["refuse", str(text)]:
            text = "".join([letter if letter.isprintable() else " " for letter in text[:LONGEST]])
            return Ended(error=ExploreError(text), kind="ExploreError", text=text)
        case ["raise", str(kind), str(text), [*bases]]:
            return Ended(error=_error(bases, text[:LONGEST]), kind=kind[:LONGEST], text=text[:LONGEST])
    raise ValueError


def _args(words: Any) -> Args:
    args = tuple([word.encode("latin-1") for word in words])
    if not args or not args[0].strip():
        raise ValueError
    return args


def _error(bases: list[str], text: str) -> BaseException:
    """Make an error of the nearest class that is known here: of a class of one's own, its nearest base."""
    for name in bases:
        module, _, kind = name.rpartition(".")
        known = _CLASSES.get(module, {}).get(kind)
        if isinstance(known, type) and issubclass(known, Exception | SystemExit) and known is not ExceptionGroup:
            error = known.__new__(known, text)  # not called: some want more than a text
            error.args = (text,)
            return error
    return Exception(text)


def _plain(value: Any) -> Any:
    """Turn a return value into JSON: bytes, tuples and dicts under a mark; of what JSON has no word for, the repr."""
    if value is None or type(value) in {bool, int, float, str}:
        return value
    if type(value) is list:
        return [_plain(one) for one in value]
    if type(value) is tuple:
        return {"tuple": [_plain(one) for one in value]}
    if type(value) is dict:
        return {"dict": [[_plain(key), _plain(one)] for key, one in value.items()]}
    return {"bytes": value.decode("latin-1")} if type(value) is bytes else {"repr": repr(value)[:LONGEST]}


def _unplain(value: Any) -> Any:
    match value:
        case list():
            return [_unplain(one) for one in value]
        case {"tuple": list(items)}:
            return tuple([_unplain(one) for one in items])
        case {"dict": list(items)}:
            return {_unplain(key): _unplain(one) for key, one in items}
        case {"bytes": str(text)}:
            return text.encode("latin-1")
        case {"repr": str(text)}:
            return text
    return value
