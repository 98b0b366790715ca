"""What a step did to the keys, as a timeline says it, and what a worker's error is called."""

from jobkit.explore import explore
from jobkit.explore.words import changed


def steps(worker):
    return [changed(step) for step in explore(worker, finally_=lambda _: False).failure.steps]


def test_of_a_sorted_set_a_score_is_shown_where_it_changed():
    def worker(r):
        r.zadd("due", {"a": 1, "b": 2})
        r.zadd("due", {"a": 3})
        r.zincrby("due", 0.5, "b")
        r.zrem("due", "b")

    assert steps(worker) == [
        "due: (none) -> {a, b}",
        "due: {a=1, b} -> {b, a=3}",
        "due: {b=2, a} -> {b=2.5, a}",
        "due: {b, a} -> {a}",
    ]


def test_of_a_hash_the_fields_that_changed():
    def worker(r):
        r.hset("card", mapping={"state": "new", "to": "ada"})
        r.hset("card", "state", "old")

    assert steps(worker) == ["card: (none) -> {state=new, to=ada}", "card: {state=new} -> {state=old}"]


def test_an_error_is_told_without_the_stops_that_the_sentence_has_anyway():
    def silent(_r):
        raise NotImplementedError

    def spoken(_r):
        raise OSError("no route.")

    assert explore(silent).failure.what == "A raised NotImplementedError"
    assert explore(spoken).failure.what == "A raised OSError: no route"
