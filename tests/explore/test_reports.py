"""What a report can do again: a random walk by its seed, a schedule by its text, all of it on a real server."""

import time

from jobkit.explore import each_runs_once, explore, jobs


def pops(r, w):
    for job, _ in r.zpopmin("delayed"):
        w.effect(f"run {job.decode()}")


def test_a_random_walk_is_the_same_for_a_seed():
    def walk(seed):
        return explore(pops, pops, given=jobs(1), crashes=1, finally_=each_runs_once, seed=seed, schedules=30)

    assert walk(1).to_dict() == walk(1).to_dict()
    assert walk(1).coverage.schedules == 30
    assert walk(1).coverage.random
    assert len({walk(seed).broken for seed in range(5)}) > 1


def test_never_and_always_look_at_every_moment():
    def both(r):
        r.set("a", 1)
        r.delete("a")

    assert explore(both, finally_=lambda w: not w.redis.exists("a"))
    for settings in ({"never": lambda w: w.redis.exists("a") == 1}, {"always": lambda w: w.redis.exists("a") == 0}):
        report = explore(both, **settings)
        assert report.failure.schedule == "A"


def test_a_report_replays_on_a_real_server(live):
    report = explore(pops, pops, given=jobs(1), crashes=1, finally_=each_runs_once)
    replayed = report.replay(live)
    assert replayed.failure.what == report.failure.what == "j0 never ran"
    assert [(step.worker, step.kind) for step in replayed.failure.steps] == [
        (step.worker, step.kind) for step in report.failure.steps
    ]


def test_sleeps_and_jumps_take_no_time_on_a_real_server(live):
    def sleeps(r):
        r.set("a", 1, ex=500)
        time.sleep(400)
        r.set("b", r.ttl("a"))

    start = time.monotonic()
    report = explore(sleeps, redis=live, clock_jump=300, finally_=lambda w: w.redis.get("b") in {b"100", b"-2"})
    assert report, str(report)
    assert time.monotonic() - start < 100


def test_one_schedule_that_breaks_no_promise_is_drawn_all_the_same():
    report = explore(pops, pops, given=jobs(1), finally_=each_runs_once, schedule="AB")
    assert report
    assert str(report) == STORY
    assert report.verdict == "no broken promise in this one schedule of 2 workers"
    for picture in (report._repr_html_(), report.svg()):
        assert "ZPOPMIN delayed" in picture
        assert "run j0" in picture
        assert "Broken promise" not in picture
    assert explore(pops, given=jobs(1)).story is None


STORY = """\
no broken promise in this one schedule of 2 workers: 3 steps, 1 forced switch

    A                                        B
 1  ZPOPMIN delayed -> [j0, 1767225599999]
      changed delayed: {j0} -> (none)
 2                                           ZPOPMIN delayed -> []
 3  ** run j0 **"""
