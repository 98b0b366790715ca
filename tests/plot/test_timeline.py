"""A job's attempts on a line of time, and a delayed set: the words say what happened, on any server."""

import pytest

from jobkit import Permanent, Queue, Table, UnknownJob, Worker, new_rng, plot, proportional
from jobkit.errors import ConfigError
from jobkit.plot.style import sheet
from jobkit.plot.timescale import STEPS, Timescale, about, round_words


@pytest.fixture
def mail(redis):
    """A queue whose task fails so often as its argument says, then succeeds; and its worker."""
    queue = Queue(redis, "mail", lease=30, retention=86_400)
    worker = Worker(queue, backoff=Table(5, 30, 300, 3600, jitter=proportional(0.2)), rng=new_rng(7))

    @worker.task
    def send(job, failures=0):
        if job.attempt <= failures:
            raise TimeoutError("no answer")

    @worker.task
    def hopeless(job):
        raise Permanent("no such address")

    return queue, worker


def test_a_job_that_gets_through_at_last(mail):
    queue, worker = mail
    queue.submit("send", {"failures": 2}, id="a", delay=2)
    worker.drain()
    drawn = plot.attempts(queue, "a")
    assert drawn.rows == (
        ("job", "attempt", "began", "became", "then waited", "why"),
        ("a", "1", "2 s", "failed", "5.89 s", "TimeoutError: no answer"),
        ("a", "2", "7.9 s", "failed", "28.7 s", "TimeoutError: no answer"),
        ("a", "3", "37 s", "done", "-", "-"),
    )
    assert (
        drawn.twin
        == "a, 3 runs: failed after 2 s, failed after 7.9 s, done after 37 s. Its waits: 2 s, 5.89 s, 28.7 s."
    )


def test_a_job_that_waits(mail):
    queue, _ = mail
    queue.submit("send", id="a", delay=60)
    assert plot.attempts(queue, "a").twin == (
        "a, 0 runs: no run yet. Its waits: 60 s. It waits, and is due 60 s after the beginning."
    )


def test_a_job_that_was_buried_and_requeued(mail):
    queue, worker = mail
    queue.submit("hopeless", id="a")
    worker.drain()
    queue.redis.clock.advance(100)
    queue.requeue("a", over=0)
    worker.drain()
    became = [row[3] for row in plot.attempts(queue, "a").rows[1:]]
    assert became == ["dead", "requeued", "dead"]


def test_a_job_whose_worker_was_lost(mail):
    queue, worker = mail
    queue.submit("send", id="a")
    queue.promote()
    queue.claim("somebody who dies")
    assert plot.attempts(queue, "a").rows[1][3] == "running"
    worker.drain()
    drawn = plot.attempts(queue, "a")
    assert [row[3] for row in drawn.rows[1:]] == ["worker lost", "done"]
    assert drawn.rows[1][5] == "lease expired, held by somebody who dies"


def test_a_history_that_lost_its_beginning_says_so(redis):
    queue = Queue(redis, "mail", history_max=2, retention=86_400)
    worker = Worker(queue, backoff=Table(5))

    @worker.task
    def send(job):
        raise OSError

    queue.submit("send", id="a")
    worker.drain()
    drawn = plot.attempts(queue, "a")
    assert drawn.twin.startswith("a, the last 2 runs (older ones are not kept): failed after ")


def test_attempts_of_nobody(mail):
    queue, _ = mail
    with pytest.raises(TypeError, match="at least one job"):
        plot.attempts(queue)
    with pytest.raises(UnknownJob):
        plot.attempts(queue, "nobody")


def test_a_delayed_set(mail):
    queue, _ = mail
    for name, delay in [("late", 500), ("soon", 100), ("past", 10)]:
        queue.submit("send", id=name, delay=delay)
    queue.redis.clock.advance(30)
    drawn = plot.delayed(queue)
    assert drawn.rows == (("job", "due"), ("past", "20 s ago"), ("soon", "in 70 s"), ("late", "in 470 s"))
    assert "3 jobs wait in {mail}:delayed: 1 due, 2 later. The earliest is past, 20 s ago." in drawn.twin


def test_a_delayed_set_of_many_is_counted(mail):
    queue, _ = mail
    queue.redis.zadd("board", {f"j{n}": queue.clock.now() + 60_000 * n - 30_000 for n in range(20)})
    drawn = plot.delayed(queue.redis, "board", limit=19)
    assert drawn.rows[0] == ("due from now, after", "until", "jobs")
    assert sum(int(row[2]) for row in drawn.rows[1:]) == 19
    assert drawn.rows[1][1:] == ("0 s", "1"), "no bar holds both what is due and what is not"
    assert "Only the first 19 of 20 are drawn." in drawn.twin


def test_an_empty_delayed_set(mail):
    queue, _ = mail
    assert plot.delayed(queue).twin == "0 jobs wait in {mail}:delayed: 0 due, 0 later."


def test_one_job_waits_and_two_wait(mail):
    queue, _ = mail
    queue.submit("send", id="a", delay=60)
    assert "1 job waits in {mail}:delayed: 0 due, 1 later." in plot.delayed(queue).twin
    queue.submit("send", delay=60)
    assert "2 jobs wait in " in plot.delayed(queue).twin


def test_a_client_needs_a_key(redis):
    with pytest.raises(ConfigError, match="the key of a sorted set"):
        plot.delayed(redis)


def test_a_scale_keeps_order_and_begins_and_ends_where_it_should():
    for scale in (Timescale(3600_000, [5000, 30_000]), Timescale(10_000, [5000]), Timescale(10_000, begin=-5000)):
        places = [scale(ms) for ms in range(int(scale.begin), int(scale.end) + 1, 500)]
        assert places == sorted(places)
        assert (places[0], places[-1]) == (0, pytest.approx(1))


def test_a_scale_is_logarithmic_only_where_waits_differ_much():
    assert not Timescale(11_000, [1000]).log
    assert Timescale(13_000, [1000]).log
    assert not Timescale(3600_000, [5]).log, "a wait of 5 ms cannot be seen beside an hour"


@pytest.mark.parametrize(
    ("minutes", "ticks"),
    [
        (3 * 60, "0, 0.5 h, 1 h, 1.5 h, 2 h, 2.5 h, 3 h"),
        (100, "0, 10 min, 20 min, 30 min, 40 min, 50 min, 60 min, 70 min, 80 min, 90 min, 100 min"),
        (12 * 60, "0, 2 h, 4 h, 6 h, 8 h, 10 h, 12 h"),
        (4 * 24 * 60, "0, 0.5 d, 1 d, 1.5 d, 2 d, 2.5 d, 3 d, 3.5 d, 4 d"),
        (0.5, "0, 5 s, 10 s, 15 s, 20 s, 25 s, 30 s"),
        (2 / 60, "0, 0.2 s, 0.4 s, 0.6 s, 0.8 s, 1 s, 1.2 s, 1.4 s, 1.6 s, 1.8 s, 2 s"),
        (0.6 / 60, "0, 100 ms, 200 ms, 300 ms, 400 ms, 500 ms, 600 ms"),
    ],
)
def test_ticks_in_the_unit_that_is_meant(minutes, ticks):
    figure, (ax,) = sheet(1)
    Timescale(minutes * 60_000).draw(ax, "time")
    assert ", ".join(label.get_text() for label in ax.get_xticklabels()) == ticks
    figure.clear()


@pytest.mark.parametrize(
    ("ms", "words"), [(0, "0 s"), (4793, "4.8 s"), (4_185_000, "70 min"), (-9000, "-9 s"), (310_444, "310 s")]
)
def test_durations_to_two_digits(ms, words):
    assert about(ms) == words


def test_round_durations_are_whole():
    words = [round_words(step) for step in STEPS]
    assert len(set(words)) == len(words)
    assert not any("." in word for word in words)
    assert (round_words(60_000), round_words(-86_400_000), round_words(0)) == ("1 min", "-1 d", "0 s")
