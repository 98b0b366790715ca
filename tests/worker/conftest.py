import threading

import pytest
from support.fixtures import make_queue, make_ticking, queue, store, ticking

__all__ = ["background", "make_queue", "make_ticking", "queue", "store", "ticking"]


@pytest.fixture
def background():
    """Run something that has `run` and `stop` in a thread; it is stopped, and must end, with the test."""
    started = []

    def start(looper, **settings):
        thread = threading.Thread(target=looper.run, kwargs=settings)
        thread.start()
        started.append((looper, thread))
        return thread

    yield start
    for looper, _ in started:
        looper.stop()
    for looper, thread in started:
        thread.join(20)
        assert not thread.is_alive(), f"{looper} does not end"
