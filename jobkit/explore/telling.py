"""A schedule run once more, to be told: each step in words, with what it changed on the server."""

from __future__ import annotations

from collections.abc import Sequence

from jobkit.explore.calls import Call, Effect
from jobkit.explore.events import Event
from jobkit.explore.ground import Ground
from jobkit.explore.run import Run
from jobkit.explore.schedule import Choice
from jobkit.explore.snapshot import changes, snapshot
from jobkit.explore.spelling import answer, words
from jobkit.explore.trace import Change, Kind, Step
from jobkit.explore.turn import Program
from jobkit.explore.watchdog import Watchdog


def told(program: Program, ground: Ground, watchdog: Watchdog, schedule: Sequence[Choice]) -> tuple[Step, ...]:
    """Run a schedule and return its steps."""
    run = Run(program, ground, watchdog)
    steps: list[Step] = []
    try:
        shots = [snapshot(ground.client)] * (len(run.events) + 1)
        run.noted = lambda: shots.append(snapshot(ground.client))
        for choice in schedule:
            seen, failed = len(run.events), set(run.world.errors)
            run.take(choice)
            for at, event in enumerate(run.events[seen:], seen):
                steps.append(_step(event, ground.names, changes(shots[at], shots[at + 1])))
            for name in run.world.errors.keys() - failed:
                error = run.world.errors[name]
                steps.append(Step(Kind.END, name, f"{error.kind}: {error.text}", at=steps[-1].at))
    finally:
        run.close()
    return tuple(steps)


def _step(event: Event, names: dict[str, str], changed: tuple[Change, ...]) -> Step:
    request, worker = event.request, event.choice.worker
    text, reply, kind = "", "", Kind.COMMAND
    if isinstance(request, Call):
        text, reply = _call(request, names), _reply(request, event)
    elif isinstance(request, Effect):
        kind, text = Kind.EFFECT, request.text
    elif request is not None:
        kind, text = Kind.SLEEP, "wakes up"
    if event.choice.what == "+":
        kind, text = Kind.JUMP, f"{event.ms / 1000:g} s"
    elif event.choice.what == "!":
        kind, reply = Kind.CRASH, ""
        text = f"before {text}" if text else "before it goes on"
    elif event.choice.what == "?":
        kind = Kind.LOST
    return Step(kind, worker, text, reply, changed, event.at)


def _call(call: Call, names: dict[str, str]) -> str:
    said = [words(args, names) for args in call.commands]
    if len(said) == 1:
        return said[0]
    return f"MULTI {'; '.join(said[1:-1])} EXEC" if said[0] == "MULTI" else "; ".join(said)


def _reply(call: Call, event: Event) -> str:
    if event.waits:
        return "(waits)"
    if not event.replies:
        return ""
    whole = len(call.commands) > 1 and call.commands[0] != (b"MULTI",)
    return answer(list(event.replies) if whole else event.replies[-1])
