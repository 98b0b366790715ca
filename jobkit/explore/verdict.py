"""What a search may claim: what failed and how little it takes, or what was looked at; never "correct"."""

from __future__ import annotations

from jobkit.explore.trace import Coverage, Failure, Story
from jobkit.explore.words import counted, plain

NOT_MODELLED = (
    "Not modelled: network partitions, several servers, a failover, a server that forgets; more workers, crashes "
    "or lost replies than were given; time that passes while a worker can go on (but for one jump, if it was given), "
    "so that its lease runs out; anything inside a script or a MULTI/EXEC block, which is one step."
)
"""What no search of this kind has seen, whatever its verdict."""


def verdict(failure: Failure | None, coverage: Coverage) -> str:
    """Say in one sentence what a search has found, and no more."""
    if failure is not None:
        return f"FAIL  {plain(failure.what)}   {effort(failure)}"
    limit, workers = _limit(coverage), counted(coverage.workers, "worker")
    within = f"of {workers}, {limit}" if limit else f"of {workers}"
    number = counted(coverage.schedules, "schedule")
    if coverage.random:
        return f"no failing schedule in {number.replace(' ', ' random ')} {within}"
    if coverage.complete:
        return f"no failing schedule: all schedules {within} ({coverage.schedules:,} run)"
    if coverage.schedules == 1:
        return f"no broken promise in this one schedule of {workers}"
    if _completed(coverage) is None:
        return f"no failing schedule in the first {number} {within} (the search was cut)"
    return f"no failing schedule in the first {number} of {workers} (the search was cut; it was complete {limit})"


def effort(story: Story) -> str:
    """Say what a schedule takes: `6 steps, 1 forced switch`, `4 steps, 1 crash`."""
    crashes, lost, jumps = map(story.schedule.count, "!?+")  # the steps hold jumps too that nobody forced
    switches = max(0, story.forced - crashes - lost - jumps)
    forced = [counted(switches, "forced switch", "forced switches")] if switches else []
    faults = _faults(crashes, lost, jumps)
    return ", ".join([counted(len(story.steps), "step"), *(forced + faults or ["no forced switch"])])


def found(failure: Failure, coverage: Coverage) -> str:
    """Say how a failure was found, and whether a simpler one may be there: with less that is forced, or fewer steps."""
    completed = _completed(coverage)
    ended = coverage.complete if completed is None else completed >= failure.forced
    simplest = "a simpler one may fail too" if coverage.random or not ended else "this is the simplest that fails"
    return f"{counted(coverage.schedules, 'schedule')} of {counted(coverage.workers, 'worker')} run; {simplest}."


def covered(coverage: Coverage) -> str:
    """Say how far a search without a failure went, and which faults it did not try."""
    tries = {"crashes": coverage.crashes, "lost replies": coverage.lost_replies, "jumps of time": coverage.jumps}
    untried = ", ".join(name for name, number in tries.items() if not number)
    longest = f"The longest schedule has {counted(coverage.longest, 'step')}." if coverage.longest else ""
    nothing = "" if coverage.promises else "No promise was given, so only errors and endless waits were looked for."
    return " ".join(filter(None, [nothing, longest, f"Not tried: {untried}." if untried else ""]))


def _completed(coverage: Coverage) -> int | None:
    """Return the bound that was completed, if there was one and it was."""
    bounded = coverage.bound is not None and coverage.bound >= 0 and not coverage.random
    return coverage.bound if bounded else None


def _limit(coverage: Coverage) -> str:
    """How much bad luck was let in: all of it together, and each sort; "" for any amount of switches alone."""
    faults = ", ".join(_faults(coverage.crashes, coverage.lost_replies, coverage.jumps))
    bound = _completed(coverage)
    if bound is None:
        return f"up to {faults}" if faults else ""
    if not faults:
        return f"up to {counted(bound, 'forced switch', 'forced switches')}"
    return f"up to {counted(bound, 'forced event')}: switches, at most {faults}"


def _faults(crashes: int, lost: int, jumps: int) -> list[str]:
    counts = (
        (crashes, "crash", "crashes"),
        (lost, "lost reply", "lost replies"),
        (jumps, "jump of time", "jumps of time"),
    )
    return [counted(number, one, many) for number, one, many in counts if number]
