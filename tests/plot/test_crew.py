"""Who ran what: the words say what the journal says, whatever befell the crew."""

from dataclasses import dataclass, field

import pytest

import jobkit as jk
from jobkit import plot
from jobkit.errors import ConfigError, JobkitError
from jobkit.journal import Mark
from jobkit.plot.crew import figure
from jobkit.plot.shift import Shift
from jobkit.plot.watch import watch

T = 1_767_225_600_000
HEAD = ("worker", "job", "run", "began", "ended", "how")


def run(worker, job, start, end=None, attempt=1):
    marks = [Mark(T + start, "start", worker, 1, job, attempt)]
    return marks if end is None else [*marks, Mark(T + end, "end", worker, 1, job, attempt)]


def marks(*runs):
    return sorted([mark for each in runs for mark in each], key=lambda mark: mark.at)


@pytest.fixture
def fall():
    """w2 is killed in mid-job; w1 runs the job again."""
    done = marks(run("w1", "room 7", 0, 900), run("w2", "room 412", 100), run("w1", "room 412", 2300, 3300, attempt=2))
    return Shift(done, [(T + 600, "w2")], {("room 412", 1): 2100})


def test_a_job_that_two_workers_ran_though_nobody_was_killed_is_told():
    twin = plot.crew(Shift(marks(run("w1", "room 7", 0, 900), run("w2", "room 7", 600, 950, attempt=2)), [])).twin
    assert twin.endswith("room 7 was begun more than once.")
    assert "other job" not in twin


@dataclass
class Crew:
    """A stand-in for the processes."""

    done: list = field(default_factory=list)
    killed: list = field(default_factory=list)
    running: dict = field(default_factory=dict)
    looked: int = 0

    def marks(self):
        return self.done

    def wait(self, condition, _seconds, what):
        for _ in range(50):
            self.looked += 1
            if condition():
                return
        raise JobkitError(f"{what} did not happen")


def test_a_kill_is_told_with_its_lease_and_who_ran_the_job_again(fall):
    drawn = plot.crew(fall)
    assert drawn.caption == "w2 is killed while it runs room 412; w1 runs room 412 again."
    ran, fell, rest = drawn.twin.split("\n\n")
    assert ran == "2 workers ran 2 jobs in 3 runs, within 3.3 s."
    assert fell.startswith("w2 was killed at 0.6 s, 0.5 s into room 412. The lease on room 412 was over 1.6 s later.")
    assert fell.endswith(" w1 ran it again (run 2) from 2.3 s on.")
    assert rest == "Every other job was begun once."
    assert drawn.rows == (
        HEAD,
        ("w1", "room 7", "1", "0.0 s", "0.9 s", "to its end"),
        ("w2", "room 412", "1", "0.1 s", "0.6 s", "killed"),
        ("w1", "room 412", "2", "2.3 s", "3.3 s", "to its end"),
    )


def test_what_is_on_the_picture(fall):
    (ax,) = figure(fall).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["w1", "w2"]
    words = {text.get_text() for text in ax.texts}
    assert {"room 7", "killed", "held by the lease, 1.6 s", "room 412, run 2"} <= words
    hatches = [patch.get_hatch() for patch in ax.patches]
    assert "////" in hatches
    assert "...." in hatches, (
        "a shade is never alone: the run that was cut off, and the one that came after, are hatched"
    )


def test_without_its_queue_the_lease_is_not_known(fall):
    drawn = plot.crew(Shift(fall.marks, fall.killed))
    assert "lease" not in drawn.twin
    assert "w1 ran it again" in drawn.twin


def test_equal_shifts_are_equal_pictures(fall):
    assert plot.crew(fall).png == plot.crew(fall).png


def test_a_shift_is_kept_in_a_file(fall, tmp_path):
    fall.save(tmp_path / "shift.json")
    assert plot.crew(Shift.load(tmp_path / "shift.json")) == plot.crew(fall)


def test_nobody_did_anything():
    drawn = plot.crew(Crew(running={"w1": None, "w2": None}))
    assert drawn.twin == "No handler has begun."
    assert [label.get_text() for label in figure(Shift([], [], staff=["w1"])).axes[0].get_yticklabels()] == ["w1"]


def test_killed_with_nothing_in_hand():
    drawn = plot.crew(Crew(run("w1", "a", 0, 100), [(T + 500, "w2")]))
    assert "w2 was killed at 0.5 s, with nothing in hand." in drawn.twin
    assert "Every job was begun once." in drawn.twin


def test_what_still_runs_and_what_nobody_took_up():
    drawn = plot.crew(Crew(marks(run("w1", "a", 0), run("w2", "b", 10)), [(T + 500, "w2")]))
    assert ("w1", "a", "1", "0.0 s", "-", "still at work") in drawn.rows
    assert "Nobody has begun b again." in drawn.twin


def test_a_lease_that_ended_before_the_run_did():
    """A zombie: nobody killed it, and somebody else has the job."""
    shift = Shift(marks(run("w1", "a", 0, 3000), run("w2", "a", 1100, 1500, attempt=2)), [], {("a", 1): 1000})
    drawn = plot.crew(shift)
    assert ("w1", "a", "1", "0.0 s", "3.0 s", "to its end, its lease over before") in drawn.rows


def test_killed_between_the_end_of_a_run_and_its_ack():
    """The handler came to its end, the ack did not come: the job runs again all the same."""
    runs = marks(run("w1", "a", 0, 500), run("w2", "a", 2000, 2500, attempt=2))
    (ax,) = figure(Shift(runs, [(T + 501, "w1")], {("a", 1): 2000})).axes
    assert "held by the lease, 1.5 s" in {text.get_text() for text in ax.texts}


def test_two_hundred_kills_are_still_a_picture():
    runs, killed = [], []
    for n in range(1, 201):
        runs.append(run(f"w{n}", f"order-{n}", 10 * n))
        killed.append((T + 10 * n + 5, f"w{n}"))
    drawn = plot.crew(Shift(marks(*runs), killed))
    assert "And 194 more were killed." in drawn.twin
    assert "Only the first 24 workers are drawn." in drawn.twin
    assert [name for name, *_ in drawn.rows] == ["worker", *(f"w{n}" for n in range(1, 25))]


def test_names_that_are_no_plain_words():
    drawn = plot.crew(Crew(marks(run("<b>", "$x$", 0, 900), run("$\\frac{$", "a {$y_{$", 0, 900))))
    assert "<b>" not in drawn.html()
    assert "$x$" in drawn.html()


def test_leases_are_read_from_the_histories(redis):
    """Also where Redis has another time than the journal."""
    queue = jk.Queue(redis, "desk", lease=2)
    queue.submit("ring", id="room 412")
    claim = queue.claim("w2")[0]
    redis.clock.advance(2.5)
    assert queue.recover().ready == 1
    crew = Crew(run("w2", claim.id, 100), [(T + 600, "w2")])
    (found,) = Shift.of(crew, queue).leases.items()
    assert found[0] == ("room 412", 1)
    assert found[1] == pytest.approx(2500, abs=300)


def test_a_job_whose_record_is_gone(redis):
    crew = Crew(run("w2", "gone", 100), [(T + 600, "w2")])
    assert Shift.of(crew, jk.Queue(redis, "desk")).leases == {}


@pytest.fixture
def shown(monkeypatch):
    """What a notebook would show: each output, and each new version of one."""
    seen = []

    class Handle:
        def update(self, data, **_how):
            seen.append(("again", data))

    def display(data, **how):
        seen.append(("new", data))
        return Handle() if how.get("display_id") else None

    monkeypatch.setitem(__import__("sys").modules, "ipykernel.kernelapp", object())
    monkeypatch.setattr("IPython.display.display", display)
    return seen


def test_live_the_lease_of_the_dead_grows_until_it_is_over(fall):
    begun = Shift([mark for mark in fall.marks if mark.attempt == 1], fall.killed)
    (ax,) = figure(begun, now=T + 2200).axes
    assert "held by the lease, 1.6 s" in {text.get_text() for text in ax.texts}


def test_live_it_is_one_picture_redrawn_and_left_with_its_words(shown, redis):
    queue = jk.Queue(redis, "desk")
    queue.submit("ring", id="room 7")
    crew = Crew(running={"w1": None})

    def work():
        if crew.looked == 2:
            crew.done = run("w1", "room 7", 0, 500)
            queue.ack(queue.claim("w1")[0])

    watch(crew, queue, each=work)
    assert [how for how, _ in shown] == ["new", "again", "new"]
    assert shown[-2][1]["image/png"] == plot.crew(crew).png
    assert "<details>" in shown[-1][1]["text/html"]
    assert crew.looked == 2, "it stops when nothing is left"


def test_live_it_ends_when_its_time_is_over_and_leaves_what_it_has(shown, redis):
    queue = jk.Queue(redis, "desk")
    queue.submit("ring", delay=3600)
    watch(Crew(), queue, seconds=0)
    assert [how for how, _ in shown] == ["new", "again", "new"]


def test_stopped_by_hand_it_leaves_a_picture_that_can_be_read(shown, redis):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch(Crew(run("w1", "a", 0, 500)), jk.Queue(redis, "desk"), each=stop)
    assert [how for how, _ in shown] == ["new", "new"]
    assert "<details>" in shown[-1][1]["text/html"]


def test_outside_of_a_notebook_it_only_waits(redis, capsys):
    watch(Crew(), jk.Queue(redis, "desk"))
    assert capsys.readouterr().out == ""


def test_what_a_lease_costs_at_both_ends():
    drawn = plot.leases({1: (1, 152), 30: (30, 0)}, 200, caption="Slow, or twice.")
    assert drawn.twin == "Per lease: 1 s: back after 1 s, 152 run twice; 30 s: back after 30 s, 0 run twice."
    assert drawn.rows[1:] == (("1 s", "1 s", "152 of 200"), ("30 s", "30 s", "0 of 200"))
    with pytest.raises(ConfigError):
        plot.leases({}, 200, caption="Nothing.")
