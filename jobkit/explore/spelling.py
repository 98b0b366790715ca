"""The words of a command: as they are sent, and as a timeline shows them, with the reply.

What is shown is short, on one line, and prints, whatever keys and payloads are made of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Words: TypeAlias = Sequence[bytes | str | float]
"""A command as redis-py is given it; its name may be two words in one: "XINFO STREAM"."""

MANY, LONG, LONGEST = 16, 24, 40
"""Words of a command, characters of a word, characters of a reply: what is more is cut off."""


def as_sent(args: Words) -> list[bytes]:
    """Return the words as the server gets them, the name in capitals."""
    call = [word if isinstance(word, bytes) else str(word).encode() for word in args]
    call[:1] = call[0].upper().split()
    return call


def words(args: Words, names: Mapping[str, str] = {}) -> str:
    """Return a command as a timeline shows it; `names` tells what the script of a sha1 is called.

    The keys of a script that has a name go without saying.
    """
    call = as_sent(args)
    shown = [_text(word) for word in call[:MANY]]
    at = 1 if call[0].startswith(b"EVAL") else 2 if call[:2] == [b"SCRIPT", b"LOAD"] else len(call)
    if at < len(call):
        source = call[at]
        if call[0].startswith(b"EVALSHA"):
            sha = source.decode(errors="replace").lower()
        else:
            sha = hashlib.sha1(source, usedforsecurity=False).hexdigest()
        shown[at] = names.get(sha, f"script {sha[:4]}")
        if sha in names and at == 1 and call[2:] and call[2].isdigit():
            del shown[2 : 3 + int(call[2])]
    more = [f"… {len(call) - MANY} more"] if len(call) > MANY else []
    return " ".join(shown + more)


def answer(reply: Any) -> str:
    """Return a reply as a timeline shows it: `1`, `[j0]`, `nil`, `OK`, `"text"`, `WRONGTYPE Operation against…`."""
    if isinstance(reply, bytes | str) and reply not in {b"OK", b"QUEUED", b"PONG"}:
        return _text(reply, LONGEST - 2, quoted=True)
    return _cut(_item(reply), LONGEST)


def _item(reply: Any) -> str:
    if isinstance(reply, list | tuple):
        return f"[{', '.join(map(_item, reply))}]"
    if isinstance(reply, Exception):
        code = "" if str(reply).partition(" ")[0].isupper() else getattr(reply, "status_code", None) or "ERR"
        return f"{code} {reply}".strip()  # redis-py takes a code that it knows off the text
    return "nil" if reply is None else _text(reply) if isinstance(reply, bytes | str) else str(reply)


def _text(raw: bytes | str, most: int = LONG, *, quoted: bool = False) -> str:
    head = raw[: 4 * (most + 1)]  # that many bytes are more characters than will be shown
    text = head.decode(errors="backslashreplace") if isinstance(head, bytes) else head
    text = _cut("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text), most)
    mark = "'" if '"' in text else '"'
    return f"{mark}{text}{mark}" if quoted or not text or " " in text else text


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
