"""A timeline calls a script by its first line, whoever was the first to send it."""

from jobkit.explore import explore

SCRIPT = "-- take one\nreturn redis.call('LPOP', KEYS[1])"


def test_a_script_that_the_set_up_has_sent_has_its_name():
    def given(redis):
        redis.eval(SCRIPT, 1, "jobs")

    def work(redis):
        redis.register_script(SCRIPT)(keys=["jobs"])

    report = explore(work, given=given, finally_=lambda world: "so that there is a timeline")
    assert "EVALSHA take one -> nil" in str(report)
