"""What a scheduler process of a campaign does: it ticks for the workers, and fires the schedule if it leads."""

from __future__ import annotations

import os
import signal
import sys
import threading

from jobkit.chaos.plan import leader_of, pulse_of, queue_of
from jobkit.connect import connect
from jobkit.recurring import Schedules
from jobkit.scheduler import Scheduler
from jobkit.sidebyside import side_by_side


def main(name: str) -> None:
    """Run a scheduler until SIGTERM, or until the campaign is gone."""
    redis = connect()
    pulse = pulse_of(redis)
    both = (Scheduler(queue_of(redis)), Scheduler(pulse, recurring=Schedules(pulse), leader=leader_of(pulse, name)))

    def stop(*_: object) -> None:
        for scheduler in both:
            scheduler.stop()

    signal.signal(signal.SIGTERM, stop)
    threading.Thread(target=end_with_parent, daemon=True).start()
    side_by_side([scheduler.run for scheduler in both], stop)


def end_with_parent() -> None:
    """End at the end of standard input, a pipe that only the campaign holds."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
