"""A connection outlives a schedule, but nothing of one schedule reaches the next."""

from jobkit.explore import explore


def test_a_crash_inside_a_pipeline_leaves_no_reply_behind():
    def work(redis, w):
        pipe = redis.pipeline(transaction=False)
        pipe.incr("n").get("name")
        for answer in pipe.execute():
            w.effect(str(answer))

    def other(redis):
        redis.get("n")

    def told_its_own(world):
        told = [done.text for done in world.effects]
        return None if told in ([], ["1"], ["1", "None"]) else f"the worker was told {told}"

    report = explore(other, work, crashes=1, finally_=told_its_own, reduce=False)
    assert report, str(report)
    assert report.coverage.crashes == 1
