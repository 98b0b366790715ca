"""A job, and what it can be.

                    +------- retry -------+
                    v                     |
    submit --> scheduled --> ready --> running --> done
     |            |  ^         |  ^       |  |
     |            |  |         |  +-------+  +---> dead ---> (requeue: scheduled, or waiting)
     |            |  |         |  released,  |
     |            |  |         |  recovered  |
     |            +--|---------+-------------+---> cancelled
     |               +--- requeue
     +--> waiting, behind another job of its entity ---> scheduled, ready or cancelled

A record is a hash, with the fields

    task args created run_at            from the start
    max priority entity lease nonce     of a job that asks for it (without `max`, its limit is 5)
    attempt token entry started worker  from the first claim on
    ended settled events history:<n>    from the first end on
    cancel, replays replay              where it happened
    place                               while it waits behind another job of its entity
    state                               waiting, running, done, dead or cancelled

Without `state`, the job is scheduled if the delayed set holds it, else ready: what a structure
says is not written down a second time. Nor is what can be left out: a byte in each record is a
megabyte in a million.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobkit.errors import Cancelled, JobError, LeaseLost, RunTooLong, Stop

_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

ID_BYTES = 200
PAYLOAD_BYTES = 1 << 20


class State(StrEnum):
    """Where a job is in its life."""

    SCHEDULED = "scheduled"
    WAITING = "waiting"
    """Behind another job of its entity."""
    READY = "ready"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class Job:
    """A job as its record tells it; all times in ms since the epoch, by Redis TIME."""

    id: str
    task: str
    payload: bytes
    attempt: int
    """Runs begun so far, the present one included."""
    max_attempts: int
    created: int
    run_at: int
    priority: int = 0
    entity: str | None = None
    state: State = State.RUNNING
    nonce: str = ""
    """What tells a job with an id of the caller's own from an earlier one with that id, in hex."""
    lease_ms: int | None = None
    """A lease of its own, where the store keeps one per job; None: the queue's."""

    @classmethod
    def of_record(cls, id: str, record: Mapping[bytes, bytes], place: bytes) -> Job:
        """Read a record; `place` is the state of a job whose record has none."""
        return Job(
            id=id,
            task=record[b"task"].decode(),
            payload=record[b"args"],
            attempt=int(record.get(b"attempt", 0)),
            max_attempts=int(record.get(b"max", 5)),
            created=int(record[b"created"]),
            run_at=int(record[b"run_at"]),
            priority=int(record.get(b"priority", 0)),
            entity=record[b"entity"].decode() if b"entity" in record else None,
            state=State(record.get(b"state", place).decode()),
            nonce=record.get(b"nonce", b"").hex(),
            lease_ms=int(record[b"lease"]) if b"lease" in record else None,
        )

    @property
    def idempotency_key(self) -> str:
        """The same for every run of this job, and of no other: hand it to the API that the handler calls."""
        return f"{self.id}-{self.nonce}" if self.nonce else self.id

    @property
    def args(self) -> dict[str, Any]:
        """The payload as the keyword arguments that were submitted. Raises JobError if it is no JSON object."""
        return decode(self.payload)


@dataclass(slots=True)
class Claim(Job):
    """A job in the hands of a worker: what its handler is given.

    `token` is the fencing token, larger with each claim; a resource that keeps the largest token
    it has seen can refuse an older holder.
    """

    token: int = 0
    worker: str = ""
    stop: type[Stop] | None = None
    """Why the handler should end, once there is a reason; `check` raises it."""

    @classmethod
    def of_reply(cls, fields: list[Any], worker: str) -> Claim:
        """Read one job of `claim.lua`'s answer."""
        job_id, token, attempt, task, payload, limit, created, run_at, priority, entity, nonce, lease = fields
        return Claim(
            job_id.decode(),
            task.decode(),
            payload,
            attempt,
            int(limit),
            int(created),
            int(run_at),
            int(priority or 0),
            entity.decode() if entity else None,
            nonce=nonce.hex() if nonce else "",
            lease_ms=int(lease) if lease else None,
            token=token,
            worker=worker,
        )

    @property
    def cancelled(self) -> bool:
        """Whether somebody cancelled the job; known from the next heartbeat on."""
        return self.stop is Cancelled

    @property
    def lost(self) -> bool:
        """Whether the lease is gone, so that another worker may be running the job."""
        return self.stop is LeaseLost

    def check(self) -> None:
        """Raise Cancelled, LeaseLost or RunTooLong if the run should end: call it now and then in a long handler."""
        if self.stop is not None:
            raise self.stop(f"{self.id}: {_REASONS[self.stop]}")


_REASONS: dict[type[Stop], str] = {
    Cancelled: "it was cancelled",
    LeaseLost: "the lease is gone",
    RunTooLong: "its maximum run time is over",
}


def encode(args: Mapping[str, Any] | bytes | None) -> bytes:
    """Turn the arguments of a task into a payload: JSON, or bytes as they are.

    Raises JobError for what JSON cannot say, and for more than 1 MiB.
    """
    if args is None:
        payload = b""
    elif isinstance(args, (bytes, bytearray, memoryview)):
        payload = bytes(args)
    elif isinstance(args, Mapping):
        try:
            _check_keys(args)
            payload = _to_json(dict(args)).encode()
        except JobError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise JobError(f"a payload is what JSON can say, or bytes: {error}") from None
    else:
        raise JobError(f"a payload is a dict of the handler's arguments, bytes, or None; got {args!r}")
    if len(payload) > PAYLOAD_BYTES:
        raise JobError(f"a payload has at most {PAYLOAD_BYTES} bytes, got {len(payload)}: submit a name for it")
    return payload


def _check_keys(value: object) -> None:
    """JSON would turn the key 1 into "1", and {1: a, "1": b} into one of the two, without a word."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise JobError(f"a payload's keys are text, so that JSON keeps them as they are; got {list(value)!r:.300}")
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for part in value:
        if isinstance(part, (Mapping, list, tuple)):
            _check_keys(part)


def decode(payload: bytes) -> dict[str, Any]:
    """Turn a payload back into the arguments of a task. Raises JobError if it is no JSON object."""
    if not payload:
        return {}
    try:
        args = json.loads(payload.decode())
    except ValueError as error:
        raise JobError(f"the payload is not JSON ({error}); a handler of raw bytes says raw=True") from None
    if not isinstance(args, dict):
        raise JobError(f"the payload is no JSON object but {type(args).__name__}; a handler of raw bytes says raw=True")
    return args


def check_text(value: str, what: str) -> str:
    """Return a name, or raise JobError: text of 1 to 200 bytes in UTF-8, any characters."""
    try:
        if isinstance(value, str) and 1 <= len(value.encode()) <= ID_BYTES:
            return value
    except UnicodeEncodeError:
        pass
    raise JobError(f"{what} is text of 1 to {ID_BYTES} bytes in UTF-8, got {value!r:.300}")


def check_id(value: str) -> str:
    """Return the id of a job, or raise JobError, as `check_text`."""
    return check_text(value, "an id")
