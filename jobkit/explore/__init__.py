"""The interleaving explorer: every order of Redis commands, every crash, every lost reply.

    def claim(r, w):
        for job in r.zrange("delayed", "-inf", time.time() * 1000, byscore=True):
            r.zrem("delayed", job)
            w.effect(f"run {job.decode()}")

    explore(claim, claim, given=jobs(1), finally_=each_runs_once)

runs two workers one command at a time, in every order, on a server of its own, and shows the
shortest order that breaks a promise. What it says of a program that breaks none is "no failing
schedule", never "correct".

`Apart` runs workers in processes of their own, for code that is judged. Names are imported when they
are first used: such a process needs neither the search nor the fake.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
