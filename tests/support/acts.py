"""What a step asked of a queue and what the server answered: scripts by their names, jobs by their ids."""

import hashlib
from functools import cache
from typing import NamedTuple

from redis.exceptions import NoScriptError
from support.stores import STORES

from jobkit.explore.calls import Call
from jobkit.keys import Keys
from jobkit.scripts import Scripts, load

VERBS = ("submit", "promote", "claim", "ack", "fail", "extend", "release", "cancel", "recover", "requeue", "purge")
VERBS += ("tidy", "adopt", "resume")
SETTLES = {"ack": {"done"}, "fail": {"retry", "dead", "cancelled"}, "release": {"ready", "cancelled"}}
"""Verbs that end a claim -> the answers that say so."""


class Act(NamedTuple):
    """One verb, done to one job (`id` is "" where it was to any), and the answer."""

    verb: str
    id: str = ""
    token: int = 0
    answer: str = ""
    number: int = 0
    """Of a claim: the attempt. Of a fail: the delay in ms."""


def acts_of(event):
    """Return the acts of a step; what is no script of the kit has none."""
    if not isinstance(event.request, Call) or not event.replies or isinstance(event.replies[-1], Exception):
        return []
    name, *words = event.request.commands[-1]
    if name not in {b"EVAL", b"EVALSHA"}:
        return []
    sha = hashlib.sha1(words[0]).hexdigest() if name == b"EVAL" else words[0].decode()
    at = 2 + int(words[1])
    return _decoded(names().get(sha, ()), words[2:at], words[at:], event.replies[-1])


@cache
def names():
    """sha1 of each script that a queue calls -> its verbs. It depends on the sources: clear it if they change."""
    verbs, ear = [("once",)], _Ear([load("once").text])
    ack, claim = (dict.fromkeys(load(verb).args, 0) for verb in ("ack", "claim"))
    for store in (make() for make in STORES):
        scripts = Scripts(Keys("q"), store.source, store.kind, {})
        for verb in VERBS:
            scripts.call(ear, verb, **dict.fromkeys(load(verb).args, 0))
        scripts.together(ear, ("ack", (), ack), ("claim", (), claim))
        verbs += [(verb,) for verb in VERBS] + [("ack", "claim")]
    return {hashlib.sha1(text.encode()).hexdigest(): names for text, names in zip(ear.heard, verbs, strict=True)}


class _Ear:
    """A client that runs nothing, and hears each script in full."""

    def __init__(self, heard):
        self.heard = heard

    def execute_command(self, command, *words):
        if command == "EVALSHA":
            raise NoScriptError
        self.heard.append(words[0])
        return []


def _decoded(verbs, keys, words, reply):
    if len(verbs) < 2:
        return _acts(verbs[0], keys, words, reply) if verbs else []
    acts = []
    for verb, part in zip(verbs, reply, strict=True):
        own = int(words[0])
        acts += _acts(verb, keys, words[1 : own + 1], part)
        words = words[own + 1 :]
    return acts


def _acts(verb, keys, words, reply):
    """Decode one call; `words` are its arguments in the order of the file's header."""
    args = load(verb).args
    named, rest = dict(zip(args, words, strict=False)), words[len(args) :]
    if verb == "claim":
        return [Act(verb, job[0].decode(), int(job[1]), "running", int(job[2])) for job in reply[1:]]
    if verb in {"ack", "extend", "release"}:
        pairs = zip(rest[::2], rest[1::2], reply, strict=True)
        return [Act(verb, id.decode(), int(token), answer.decode()) for id, token, answer in pairs]
    if verb == "fail":
        delay = int(named["delay_ms"])
        return [Act(verb, named["id"].decode(), int(named["token"]), reply.decode(), delay)]
    if verb == "once":
        return [Act(verb, keys[0].rpartition(b":")[2].decode(), int(named["token"]), reply.decode())]
    if verb in {"submit", "requeue"}:
        ids = rest[:: 8 if verb == "submit" else 2]
        return [Act(verb, id.decode(), 0, answer.decode()) for id, answer in zip(ids, reply, strict=True)]
    if verb in {"cancel", "adopt"}:
        return [Act(verb, named["id"].decode(), 0, reply.decode())]
    if verb == "purge":
        return [Act(verb, id.decode()) for id in rest] or [Act(verb)]
    return [Act(verb)]
