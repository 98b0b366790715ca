"""Lua in the fake: scripts see what a server shows them, and no more.

fakeredis runs scripts in an interpreter that knows of Python: `EVAL "return python.eval(...)"` does
anything at all in this process. Here a script has the names that a server gives it, which it can't
change, so many bytes and so many seconds. The explorer runs scripts of people who want to pass.

Not stopped is a function of C that takes hours by itself: `string.find` with a pattern made for it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

from fakeredis.commands_mixins import scripting_mixin
from redis.exceptions import TimeoutError as RedisTimeoutError

from jobkit.clock import Clock

COLLECT_EVERY = 200
"""Script calls between two collections of Lua's garbage; fakeredis collects after every one."""
MEMORY = 64 << 20
"""Bytes that the scripts of one server may hold."""
PATIENCE = 5.0
"""Seconds that a script may run: after as many a server says that it is busy."""
BYTECODE = b"\x1b"
_ODD = (TypeError, AttributeError, ValueError, RecursionError)
"""What Python says to a table where a text is wanted, and the like: to the script it is an error as any other."""


def _no_attributes(_thing: object, name: object, _setting: object) -> object:
    raise AttributeError(f"a script has no access to {name!r} of Python's objects")


@functools.cache
def install() -> None:
    """Give fakeredis a Lua that is limited and cannot look into Python's objects. Once is enough."""
    module = scripting_mixin.LUA_MODULE
    limited = SimpleNamespace(**vars(module))
    limited.LuaRuntime = functools.partial(
        module.LuaRuntime,
        register_eval=False,
        register_builtins=False,
        attribute_filter=_no_attributes,
        max_memory=MEMORY,
    )
    scripting_mixin.LUA_MODULE = limited  # type: ignore[assignment]  # a module's names, without being one


class KeptLua:
    """A Lua runtime that compiles a script once and runs it in a sandbox; all else it leaves to the real one."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self.inside = SimpleNamespace(table_from=runtime.table_from, globals=dict)
        """What `redis.call` gets: no global names to look through each time, once after the script is enough."""
        self._compiled: dict[bytes | str, Callable[[], Any]] = {}
        self._calls, self._clock, self._end = 0, Clock(), math.inf
        self._halt: BaseException | None = None
        """Why the script that runs now must end."""
        fence = (files("jobkit.connect") / "lua" / "sandbox.lua").read_bytes()
        self._inside, self.set_keys_argv, self._rearm = runtime.execute(fence, self._over, self._said)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def execute(self, source: bytes | str) -> Any:
        """Run a script, compiled now or earlier. Raises redis-py's TimeoutError for one that does not end."""
        if source == "collectgarbage()":
            self._calls += 1
            return self._runtime.execute(source) if self._calls % COLLECT_EVERY == 0 else None
        call = self._compiled.get(source)
        if call is None:
            text = b"error('bytecode is not run')" if source[:1] == BYTECODE else source
            call = self._compiled[source] = self._inside(self._runtime.compile(text))
        self._end = self._clock.monotonic() + PATIENCE
        try:
            return call()
        except BaseException as error:
            halt, self._halt, self._end = self._halt, None, math.inf
            if halt is not None:
                self._rearm()
                raise halt from None
            if isinstance(error, _ODD):
                raise scripting_mixin.LUA_MODULE.LuaError(str(error)) from None
            raise
        finally:
            self._end = math.inf

    def _over(self) -> bool:
        """Whether the script must end. It is asked every thousand steps, and cannot be caught by a pcall."""
        if self._halt is None and self._clock.monotonic() > self._end:
            self._halt = RedisTimeoutError(f"a script did not end within {PATIENCE:g} s")
        return self._halt is not None

    def _said(self, error: object) -> bytes:
        """Return what an error says that a pcall has caught; one that ends all code ends the script, too."""
        if isinstance(error, BaseException) and not isinstance(error, Exception):
            self._halt = error
        return str(getattr(error, "value", error)).encode("utf-8", "replace")
