"""The picture of the README, drawn from a run of the kit itself: `python -m jobkit.plot.readme FILE.png`.

Two jobs under one policy, on the fake and its own clock: one gets through at its fourth run, one never
does. Equal bytes each time, with one version of matplotlib; the picture in words goes to stdout.
"""

from __future__ import annotations

import logging
import sys

from jobkit import plot
from jobkit.backoff import Table, proportional
from jobkit.clock import VirtualClock, new_rng
from jobkit.connect import connect
from jobkit.job import Claim
from jobkit.queue import Queue
from jobkit.worker import Worker


def draw() -> plot.Picture:
    """Run both jobs to their end, and draw them."""
    queue = Queue(connect("fake", clock=VirtualClock()), "mail", retention=86_400, rng=new_rng(1))
    worker = Worker(queue, backoff=Table(5, 30, 300, 3600, jitter=proportional(0.2)), rng=new_rng(7))

    @worker.task
    def receipt(job: Claim) -> None:
        if job.attempt < 4:
            raise TimeoutError("the mail server did not answer")

    @worker.task
    def invoice(job: Claim) -> None:  # noqa: ARG001 - a handler is given its job
        raise ConnectionRefusedError("no mail server there")

    for task in ("receipt", "invoice"):
        queue.submit(task, id=task)
    worker.drain()
    return plot.attempts(
        queue,
        "receipt",
        "invoice",
        caption="Two jobs on a timeline: one fails three times and then succeeds, one is buried after five runs.",
    )


def main() -> None:
    """Draw it into the file that the command line names."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m jobkit.plot.readme FILE.png")
    logging.getLogger("jobkit").setLevel(logging.CRITICAL)  # that the jobs fail is the point
    drawn = draw()
    drawn.save(sys.argv[1])
    sys.stdout.write(f"{drawn}\n")


if __name__ == "__main__":
    main()
