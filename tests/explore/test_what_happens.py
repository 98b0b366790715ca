"""What a search does to workers: crashes, lost replies, jumps of the clock, and the time and chance that they see."""

import random
import secrets
import time
import uuid

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import LockError
from support.searching import run, searching

from jobkit.connect import without_retries
from jobkit.explore import explore, jobs, none_runs_twice, nothing_lost

MIDNIGHT = 1_767_225_600
"""When a schedule begins, on the fake."""


def endings(*workers, **settings):
    """Return the answers of all workers and the errors, of every schedule there is."""
    found = []

    def look(world):
        found.append((dict(world.answers), {name: ended.kind for name, ended in world.errors.items()}))

    with searching(workers, reduce=False, finally_=[look], may_raise=(Exception,), **settings) as search:
        run(search, None)
    return found


def answers(*workers, **settings):
    """Return what the first worker answered in one schedule or another."""
    return [ended["A"] for ended, _ in endings(*workers, **settings) if "A" in ended]


def pops(r, w):
    for job, _ in r.zpopmin("delayed"):
        w.effect(f"run {job.decode()}")


def counts(r):
    return r.incr("n")


class TestLostReplies:
    def test_redis_py_sends_the_command_again(self):
        report = explore(pops, given=jobs(2), lost_replies=1, finally_=nothing_lost("delayed"))
        assert report.failure.what.startswith("j0 is lost")
        assert [(step.kind, step.text, step.reply) for step in report.failure.steps] == [
            ("lost", "ZPOPMIN delayed", "[j0, 1767225599998]"),
            ("command", "ZPOPMIN delayed", "[j1, 1767225599999]"),
            ("effect", "run j1", ""),
        ]

    def test_after_three_times_it_gives_up(self):
        assert ({}, {"A": "ConnectionError"}) in endings(counts, lost_replies=4)
        assert sorted(answers(counts, lost_replies=4)) == [1, 2, 3, 4]

    def test_one_that_sends_once_gets_the_error(self):
        found = endings(lambda r: without_retries(r).incr("n"), lost_replies=1)
        assert sorted(found, key=str) == [({"A": 1}, {}), ({}, {"A": "ConnectionError"})]

    def test_a_connection_error_after_a_loss_is_no_failure_of_its_own(self):
        assert explore(lambda r: without_retries(r).incr("n"), lost_replies=1)

    def test_a_worker_may_catch_it(self):
        def asks_again(r):
            try:
                return without_retries(r).incr("n")
            except RedisConnectionError:
                return int(r.get("n")) * 10

        assert sorted(answers(asks_again, lost_replies=1)) == [1, 10]

    @pytest.mark.parametrize("transaction", [True, False])
    def test_a_pipeline_is_sent_again_as_a_whole(self, transaction):
        def twice(r):
            return r.pipeline(transaction=transaction).incr("n").incr("n").execute()

        assert {tuple(answer) for answer in answers(twice, lost_replies=1)} == {(1, 2), (3, 4)}

    def test_a_watching_pipeline_is_not(self):
        def watches(r):
            with r.pipeline() as pipe:
                pipe.watch("n")
                pipe.multi()
                return pipe.incr("n").execute()

        assert ({}, {"A": "WatchError"}) in endings(watches, lost_replies=1)

    def test_what_only_waits_has_no_reply_to_lose(self):
        def waits(r):
            return r.blpop("l", 1)

        report = explore(waits, lost_replies=1, schedule="A?A?AA", finally_=lambda w: str([w.losses, w.answers]))
        assert report.failure.what == "[['A'], {'A': None}]"


class TestCrashes:
    def test_before_any_step_but_not_after_the_last(self):
        assert [len(ended) for ended, _ in endings(counts, crashes=1)].count(0) == 1
        two = endings(lambda r: [r.incr("n"), r.incr("n")], crashes=1)
        assert [len(ended) for ended, _ in two].count(0) == 2

    def test_nothing_that_the_dead_sends_arrives(self):
        def tidies(r):
            try:
                r.set("a", 1)
                r.set("b", 1)
            finally:
                r.delete("a", "b")

        def look(world):
            left = {world.redis.exists("a"), world.redis.exists("b")}
            return len(world.crashed) == 1 or left == {0} or f"{left}"

        assert explore(tidies, crashes=1, finally_=look)
        dies = explore(tidies, schedule="AA!", crashes=1, finally_=lambda world: str(world.redis.get("a")))
        assert dies.failure.what == "b'1'"

    def test_a_recovery_starts_after_each_crash(self):
        def recovers(r, w):
            return r.rpush("recovered", w.name)

        def look(world):
            there = sorted(name.decode() for name in world.redis.lrange("recovered", 0, -1))
            return there == ["R", "S"][: len(world.crashed)] or "R" in world.crashed or str(there)

        report = explore(counts, counts, after_crash=recovers, crashes=2, finally_=look, bound=None)
        assert report
        assert (
            explore(counts, crashes=1, after_crash=recovers, finally_=lambda w: not w.crashed).failure.schedule == "A!R"
        )

    def test_its_lock_stays_until_its_time_is_over(self):
        def locks(r, w):
            with r.lock("lock", timeout=5):
                w.effect(f"in at {time.time() - MIDNIGHT:.1f}")

        report = explore(locks, locks, crashes=1, schedule="AA!" + "B" * 120, finally_=lambda w: w.effects[-1].text)
        assert report.failure.what == "in at 5.0"


class TestTime:
    def test_it_stands_still_but_for_sleeps(self):
        def sleeps(r):
            r.set("a", 1, px=2500)
            times = [time.time(), time.monotonic(), time.time_ns() / 1e9, time.perf_counter(), r.time()[0]]
            time.sleep(2.4)
            return [times, r.exists("a"), time.sleep(0.1), r.exists("a"), time.time()]

        assert answers(sleeps) == [[[MIDNIGHT] * 5, 1, None, 0, MIDNIGHT + 2.5]]

    def test_who_sleeps_lets_all_others_go_first(self):
        def late(r):
            time.sleep(0.001)
            return r.get("n")

        assert set(answers(late, counts, counts)) == {b"2"}

    def test_a_jump_comes_once_at_any_moment(self):
        def reads(r):
            return r.exists("a"), r.exists("a"), r.exists("a")

        found = answers(reads, given=lambda r: r.set("a", 1, px=500), clock_jump=1)
        assert sorted(set(found)) == [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]

    def test_a_workers_clock_may_be_wrong(self):
        def tells(r):
            return time.time() - r.time()[0], r.clock.now() / 1000 - r.time()[0]

        report = explore(tells, tells, offsets=[-3, 0.5], finally_=lambda w: str(sorted(w.answers.items())))
        assert report.failure.what == "[('A', (-3.0, -3.0)), ('B', (0.5, 0.5))]"

    def test_a_blocking_command_waits_for_a_push_or_for_its_time(self):
        def waits(r):
            return r.blpop("l", timeout=2), time.time() - MIDNIGHT

        assert sorted(set(answers(waits, lambda r: r.rpush("l", "x")))) == [((b"l", b"x"), 0)]
        assert answers(waits) == [(None, 2)]

    def test_who_waits_for_ever_is_a_failure(self):
        assert explore(lambda r: r.blpop("l")).failure.promise == "nobody waits for ever"
        assert explore(lambda r: r.blpop("l"), counts, crashes=1, bound=0).failure


class TestChance:
    def test_it_is_another_for_each_worker_and_the_same_in_each_schedule(self):
        def draws(r):
            r.incr("n")
            numbers = random.random(), random.choice(range(10**6)), random.Random().random(), random.getrandbits(64)
            return (*numbers, uuid.uuid4(), uuid.uuid1(), secrets.token_hex(), random.SystemRandom().random())

        found = endings(draws, draws)
        assert len(found) > 1
        assert all(ended == found[0][0] for ended, _ in found)
        assert not set(found[0][0]["A"]) & set(found[0][0]["B"])

    def test_outside_chance_is_chance(self):
        assert random.random() != random.random()
        assert endings(counts, given=lambda r: r.set("chance", random.random()))


class TestWholeSteps:
    def test_a_pipeline_is_a_step_per_command_or_one(self):
        def piped(r):
            r.pipeline(transaction=False).incr("n").incr("n").execute()

        def reads(r):
            return int(r.get("n") or 0)

        assert sorted(set(answers(reads, piped))) == [0, 1, 2]
        assert explore(reads, piped, whole_pipelines=True, bound=None, finally_=lambda w: w.answers["A"] != 1)

    def test_a_block_and_a_script_are_one(self):
        def block(r):
            r.pipeline().incr("n").incr("n").execute()

        def script(r):
            r.register_script("redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[1])")(keys=["n"])

        for work in (block, script):
            assert sorted(set(answers(lambda r: int(r.get("n") or 0), work))) == [0, 2]

    def test_to_load_a_script_is_none(self):
        def runs(r):
            return r.register_script("return redis.call('INCR', KEYS[1])")(keys=["n"])

        report = explore(runs, runs, bound=None)
        assert (report.coverage.schedules, report.coverage.longest) == (2, 2)

    def test_a_lock_of_redis_py_holds(self):
        def locks(r, w):
            with r.lock("lock", timeout=5, blocking=False):
                w.effect("run j0")

        report = explore(locks, locks, finally_=none_runs_twice, bound=None, may_raise=(LockError,))
        assert report.failure.what == "run j0 done 2 times (by A, B)"  # one after the other
        overlaps = explore(locks, locks, never=lambda w: len(w.effects) == 2 and not w.answers, may_raise=(LockError,))
        assert overlaps
