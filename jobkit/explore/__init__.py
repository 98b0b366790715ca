"""The interleaving explorer: every order of Redis commands, every crash, every lost reply.

    def claim(r, w):
        for job in r.zrange("delayed", "-inf", time.time() * 1000, byscore=True):
            r.zrem("delayed", job)
            w.effect(f"run {job.decode()}")

    explore(claim, claim, given=jobs(1), finally_=each_runs_once)

runs two workers one command at a time, in every order, on a server of its own, and shows the
shortest order that breaks a promise. What it says of a program that breaks none is "no failing
schedule", never "correct".
"""

from jobkit.explore.api import explore
from jobkit.explore.promises import each_runs_once, jobs, none_runs_twice, nothing_lost
from jobkit.explore.report import Report
from jobkit.explore.world import World

__all__ = ["Report", "World", "each_runs_once", "explore", "jobs", "none_runs_twice", "nothing_lost"]
