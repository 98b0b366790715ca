"""What the kit promises, each promise a function of its own, held against every step of a schedule.

Each looks at one moment: what there was before the step and after it, what was asked and answered,
and the ledger, which knows from the answers alone who holds what. It returns what is broken.
"""

import functools

from support.acts import SETTLES

BY_TOKEN = {"ack", "fail", "extend", "release", "once"}


def promise(check):
    """Make a promise of the explorer of a function that looks at one moment."""

    @functools.wraps(check)
    def holds(world):
        return next(filter(None, map(check, world.moments)), None)

    return holds


@promise
def no_job_is_lost(moment):
    """An accepted job that is not over has a place from which it goes on; and in the end all are over."""
    for id, job in moment.after.jobs.items():
        before = moment.before.job(id)
        if job.live and not job.home and (before.home if before.live else moment.acts):
            return f"{id} is {job.state}, and stands nowhere that it could go on from"
        if moment.last and job.state not in {"done", "dead", "cancelled"}:
            return f"{id} stays {job.state} for ever"
    purged = any(act.verb in {"purge", "tidy"} for act in moment.acts)
    for id, job in moment.before.jobs.items():
        if job.live and not moment.after.job(id).record and not (job.state == "dead" and purged):
            return f"{id} was {job.state}, and its record is gone"
    return None


@promise
def no_job_stands_twice(moment):
    """A job has one place at most; one that is over has none, but for the entry that a claim skips."""
    for id, job in moment.after.jobs.items():
        most = 1 if job.live else 0
        places = [place for place in job.places if job.state != "cancelled" or place in {"delayed", "dead", "waiting"}]
        if len(places) > most:
            return f"{id} is {job.state or 'gone'}, and stands in {' and '.join(places)}"
    return None


@promise
def one_of_an_entity_at_a_time(moment):
    """Of the live jobs of an entity all but one wait: its head, which a lane that lost it has again in the end.

    A repair first puts all back into the lane, and then sets it going: else a later one might be first.
    """
    before, after = _lanes(moment.before), _lanes(moment.after)
    puts_back = any(act.verb == "adopt" for act in moment.acts)
    for entity, jobs in after.items():
        heads = [id for id, state in jobs.items() if state != "waiting"]
        earlier = before.get(entity, {"": ""}).values()
        had = moment.last or (not puts_back and any(state != "waiting" for state in earlier))
        if len(heads) > 1 or (had and not heads):
            told = ", ".join(map(" ".join, jobs.items()))
            return f"{' and '.join(heads) or 'nobody'} of {entity.decode()} at once, of {told}"
    return None


def _lanes(seen):
    """Return the states of the jobs of each entity that are not over, as far as they stand in its lane."""
    lanes = {}
    for id, job in seen.jobs.items():
        if job.entity and job.live and job.state != "dead" and (job.state != "waiting" or job.home):
            lanes.setdefault(job.entity, {})[id] = job.state
    return lanes


@promise
def a_lane_keeps_its_order(moment):
    """Who waits goes on in the order of the places, and who comes takes a place behind all others."""
    before, after = moment.before.jobs, moment.after.jobs
    for id, job in after.items():
        waited, waits = moment.before.job(id).state == "waiting", job.state == "waiting"
        others = [other for other, one in before.items() if one.entity == job.entity and one.state == "waiting"]
        if waited and not waits and job.state != "cancelled":
            passed = [other for other in others if before[other].turn < before[id].turn]
            passed = [other for other in passed if moment.after.job(other).state == "waiting"]
            if passed:
                return f"{id} is {job.state}, and {', '.join(passed)} came before it and waits"
        if waits and not waited and any(after[other].turn >= job.turn for other in others if other in after):
            return f"{id} comes to its lane, and stands before others"
        if waits and waited and job.turn != before[id].turn:
            return f"{id} has another place than before"
    return None


@promise
def none_is_handed_out_twice(moment):
    """While a claim's lease runs, no other claim of its job is valid."""
    taken = [(act.id, act.token) for act in moment.acts if act.verb == "claim"]
    for id, token in taken:
        for other, until in moment.now.holds.items():
            if other[0] == id and other[1] != token and until > moment.after.at:
                return f"{id} is handed out with token {token}, while token {other[1]} holds it"
    return None


@promise
def a_lease_holds(moment):
    """While its lease runs, a job is its holder's: nobody else changes its state, no call of the holder is refused."""
    by = {(act.id, act.token): act for act in moment.acts}
    for (id, token), until in moment.was.holds.items():
        if until <= moment.before.at or (id, token) not in moment.now.holds:
            continue
        act, job = by.get((id, token)), moment.after.job(id)
        if act and act.answer == "stale":
            return f"{act.verb} of {id} with token {token} is refused, though its lease runs"
        if (job.state, job.token) != ("running", token) and until > moment.after.at:
            return f"{id} is {job.state or 'gone'}, though token {token} holds it"
    for id, token in [(a.id, a.token) for a in moment.acts if a.verb == "extend" and a.answer in {"ok", "cancel"}]:
        if (id, token) in moment.was.holds and not any(age == 0 for *_, age in moment.after.job(id).leases):
            return f"extend of {id} said yes, and its lease is as old as before"
    return None


@promise
def no_stale_token_has_an_effect(moment):
    """A call with a token that is not the newest, or settled, changes nothing and is told so."""
    handed_out = {act.id for act in moment.acts if act.verb == "claim"}
    for act in moment.acts:
        claim = (act.id, act.token)
        if act.verb not in BY_TOKEN or claim in moment.was.holds:
            continue
        if act.answer not in {"stale", "before", moment.was.told.get((act.verb, *claim))}:
            return f"{act.verb} of {act.id} with the stale token {act.token} is answered {act.answer!r}"
        if act.id not in handed_out and moment.before.job(act.id) != moment.after.job(act.id):
            return f"{act.verb} of {act.id} with the stale token {act.token} changes it"
    return None


@promise
def a_call_sent_again_gets_its_answer(moment):
    """A settling call whose reply was lost is answered as before, unless somebody claimed the job since."""
    for first, again in zip(moment.answered, moment.acts, strict=False):
        settled = first.verb in SETTLES and first.token == moment.before.job(first.id).token
        made = first.verb in {"submit", "requeue"} and first.answer.startswith(("created", "requeued"))
        if (settled or made) and first.answer.split()[0] != again.answer.split()[0]:
            return f"{first.verb} of {first.id} was answered {first.answer!r}, and sent again {again.answer!r}"
    return None


@promise
def none_runs_after_its_cancel(moment):
    """A job that was cancelled, or of which it was said that it will be, is not handed out again."""
    for act in moment.acts:
        if act.verb == "claim" and act.id in moment.was.cancelled:
            return f"{act.id} is handed out, though it was cancelled"
    for id in moment.was.cancelled:
        before, after = moment.before.job(id).state, moment.after.job(id).state
        if before in {"running", "cancelled"} and after in {"scheduled", "ready"}:
            return f"{id} is {after} again, though it was cancelled"
    return None


@promise
def attempts_are_counted_and_bounded(moment):
    """A job is handed out max_attempts times at most, and each time but the uncharged ones is counted."""
    for id in moment.after.jobs:
        job, runs = moment.after.job(id), moment.now.runs.get(id, 0)
        if runs > job.limit and job.record:
            return f"{id} runs for the {runs}th time, of {job.limit}"
        if job.live and job.attempt != runs:
            return f"{id} ran {runs} times, and its record says {job.attempt}"
    return None


@promise
def no_effect_comes_twice(moment):
    """What `once` applies is applied once in a job's life, and if it says so, it is."""
    for id, job in moment.after.jobs.items():
        if job.effects > 1:
            return f"the effect of {id} is applied {job.effects} times"
    for act in moment.acts:
        if act.verb == "once" and act.answer != "stale" and not moment.after.job(act.id).effects:
            return f"the effect of {act.id} is said to be applied, and is not"
    return None


@promise
def none_runs_before_its_time(moment):
    """A job waits in the delayed set for the moment that its record names, and is not ready before."""
    for id, job in moment.after.jobs.items():
        run_at = int(job.record.get(b"run_at", 0))
        if job.state == "scheduled" and job.due != run_at:
            return f"{id} is due at {run_at}, and waits until {job.due:.0f}"
        if job.state == "ready" and run_at > moment.after.at:
            return f"{id} is ready {run_at - moment.after.at} ms before its time"
    return None


@promise
def a_record_stays_as_long_as_it_is_needed(moment):
    """A live job's record is kept; a finished one's goes after a while, but not before an entry that names it.

    One that was lost, and then cancelled, is kept until a repair finds it.
    """
    for id, job in moment.after.jobs.items():
        before, needed = moment.before.job(id), _needed(job)
        if needed and job.record and job.ttl >= 0:
            return f"{id} is {job.state}, and its record would vanish"
        found = moment.last or (before.home if before.live else _needed(before) or before.ttl >= 0)
        if job.record and not needed and job.ttl < 0 and found:
            return f"{id} is {job.state}, and its record is kept for ever"
    return None


def _needed(job):
    return job.live or (job.state == "cancelled" and bool(job.places))


@promise
def the_books_balance(moment):
    """Totals, records and structures tell the same story."""
    jobs, sums = moment.after.jobs.values(), moment.after.totals
    states = [job.state for job in jobs]
    live, dead = sum(job.live and job.state != "dead" for job in jobs), states.count("dead")
    pending = sum(len(job.leases) for job in jobs)
    if sums["submitted"] + sums["requeued"] != live + sums["done"] + sums["cancelled"] + sums["dead"]:
        return f"{dict(sums)} do not add up with {states}"
    if sums["dead"] != dead + sums["requeued"] + sums["dropped"]:
        return f"{dict(sums)} do not add up with {dead} dead letters"
    if pending != states.count("running"):
        return f"{pending} entries are pending, and {states.count('running')} jobs run"
    return None


PROMISES = [
    a_call_sent_again_gets_its_answer,
    no_stale_token_has_an_effect,
    a_lease_holds,
    none_is_handed_out_twice,
    one_of_an_entity_at_a_time,
    a_lane_keeps_its_order,
    none_runs_after_its_cancel,
    attempts_are_counted_and_bounded,
    no_effect_comes_twice,
    no_job_is_lost,
    no_job_stands_twice,
    none_runs_before_its_time,
    the_books_balance,
    a_record_stays_as_long_as_it_is_needed,
]
"""In this order: the first that is broken names a failure, so what says most stands first."""
