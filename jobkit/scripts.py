"""Lua files, called by name.

The header comment of a file is its signature: `-- KEYS[1] delayed ...`, `-- ARGV[2] limit ...`,
`-- ARGV[3..] ids ...` for a rest of any length. A wrong or missing name raises TypeError, as it
would for a Python function. Before each verb the loader puts `opening.lua`, the prelude of the
ready store, `lanes.lua` and `shared.lua`, so that a verb is written once for all stores.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from redis.exceptions import NoScriptError, ResponseError

from jobkit.connect import AnyRedis
from jobkit.errors import ConfigError
from jobkit.keys import Keys

_PARAMETER = re.compile(r"\b(KEYS|ARGV|STORE|LANE)\[(\d+)(\.\.)?\]\s+(\w+)")

Arg = str | bytes | int | float


@dataclass(frozen=True)
class Source:
    """A Lua file and the signature that its header states."""

    name: str
    text: str
    keys: tuple[str, ...]
    args: tuple[str, ...]
    rest: str | None
    """The name of what follows the fixed arguments, any number of them; None if nothing may."""

    def after(self, text: str) -> Source:
        """Return the same source with another text before it."""
        return replace(self, text=f"{text}\n{self.text}")


@cache
def load(name: str, package: str = "jobkit.lua") -> Source:
    """Read `name`.lua and its header. Raises ValueError if the header does not count from 1."""
    text = resources.files(package).joinpath(f"{name}.lua").read_text("utf-8")
    header = "\n".join(line for line in text.splitlines() if line.startswith("--"))
    found: dict[str, list[str]] = {"KEYS": [], "ARGV": [], "STORE": [], "LANE": []}
    rest = None
    for table, position, dots, parameter in _PARAMETER.findall(header):
        if int(position) != len(found[table]) + 1:
            raise ValueError(f"{name}.lua: {table}[{position}] {parameter} is out of order in the header")
        if dots:
            rest = parameter
        else:
            found[table].append(parameter)
    return Source(name, text, tuple(found["KEYS"] or found["STORE"] or found["LANE"]), tuple(found["ARGV"]), rest)


def sha(text: str) -> str:
    """Return the name by which a server knows a script that it has run before."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def evaluate(client: AnyRedis, text: str, sha: str, arguments: list[Arg]) -> Any:
    """Run a script; the arguments are the number of its keys, the keys, and the rest."""
    try:
        return client.execute_command("EVALSHA", sha, *arguments)  # type: ignore[no-untyped-call]
    except NoScriptError:  # a new server, a failover or SCRIPT FLUSH: it learns the script by this call
        return client.execute_command("EVAL", text, *arguments)  # type: ignore[no-untyped-call]


class Scripts:
    """The scripts of one queue, bound to its keys, its store and its constants."""

    def __init__(self, keys: Keys, store: Source, kind: str, constants: Mapping[str, Arg]) -> None:
        self._keys, self._store, self._kind, self._constants = keys, store, kind, constants
        self._bound: dict[tuple[str, ...], _Bound] = {}

    def call(self, client: AnyRedis, name: str, /, *rest: Arg, **named: Arg) -> Any:
        """Run one script: its named arguments, then the rest. Constants of the queue are filled in."""
        return self._bind((name,)).run(client, self._arguments(name, rest, named))

    def together(self, client: AnyRedis, *calls: tuple[str, Iterable[Arg], Mapping[str, Arg]]) -> list[Any]:
        """Run several scripts as one step: (name, rest, named) each; returns their answers in order."""
        arguments: list[Arg] = []
        for name, rest, named in calls:
            own = self._arguments(name, tuple(rest), named)
            arguments += [len(own), *own]
        answers: list[Any] = self._bind(tuple(name for name, _, _ in calls)).run(client, arguments)
        return answers

    def _arguments(self, name: str, rest: tuple[Arg, ...], named: Mapping[str, Arg]) -> list[Arg]:
        source = load(name)
        unknown = named.keys() - set(source.args)
        missing = [a for a in source.args if a not in named and a not in self._constants]
        if unknown or missing or (rest and source.rest is None):
            signature = ", ".join([*source.args, *([f"*{source.rest}"] if source.rest else [])])
            raise TypeError(f"{name}.lua takes ({signature}), got {sorted(named)} and {len(rest)} more")
        return [*(named[a] if a in named else self._constants[a] for a in source.args), *rest]

    def _bind(self, names: tuple[str, ...]) -> _Bound:
        bound = self._bound.get(names)
        if bound is None:
            bound = self._bound[names] = _Bound(names, self._keys, self._store, self._kind)
        return bound


class _Bound:
    """One program, of one verb or of several, and the keys that it is called with."""

    def __init__(self, names: tuple[str, ...], keys: Keys, store: Source, kind: str) -> None:
        self._queue, self._kind, self._several = keys.queue, kind, len(names) > 1
        sources = [load(name) for name in names]
        lanes = load("lanes")
        named = [key for source in sources for key in source.keys] + [*store.keys, *lanes.keys, "store"]
        wanted = list(dict.fromkeys(named))
        at = {key: position for position, key in enumerate(wanted, 1)}

        def table(keys: tuple[str, ...]) -> str:
            return "{" + ", ".join(f"KEYS[{at[key]}]" for key in keys) + "}"

        lines = [f"-- {', '.join(names)}", f"local KIND, KIND_KEY = '{kind}', KEYS[{at['store']}]"]
        lines += [load("opening").text, f"local STORE, LANE = {table(store.keys)}, {table(lanes.keys)}"]
        lines += [store.text, lanes.text, load("shared").text]
        if len(sources) == 1:
            lines.append(sources[0].text)
        else:
            lines.append("local done, from = {}, 1")
            for source in sources:
                lines += [
                    f"local function {source.name}(KEYS, ARGV)\n{source.text}\nend",
                    "local upto = from + ARGV[from]",
                    f"done[#done + 1] = {source.name}({table(source.keys)}, {{unpack(ARGV, from + 1, upto)}})",
                    "from = upto + 1",
                ]
            lines.append("return done")
        self._text = "\n".join(lines)
        self._keys = (len(wanted), *(getattr(keys, key) for key in wanted))
        self._sha = sha(self._text)

    def run(self, client: Any, arguments: list[Arg]) -> Any:
        try:
            answer = evaluate(client, self._text, self._sha, [*self._keys, *arguments])
            if self._several and (refused := next((a for a in answer if isinstance(a, ResponseError)), None)):
                raise refused  # one of several verbs answers with an error: it comes as an answer among others
        except ResponseError as error:
            mark, _, other = str(error).partition(" ")
            if mark != "WRONGSTORE":
                raise
            if other == "closed":
                raise ConfigError(f"queue {self._queue!r} is closed: it is a shard, and was resized") from None
            raise ConfigError(
                f"the ready store of queue {self._queue!r} is {other}, and not {self._kind}: "
                "all its processes must name the same"
            ) from None
        return answer
