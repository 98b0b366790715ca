import pytest
from support.fixtures import make_queue, make_ticking, queue, ticking

from jobkit.ready import Streams

__all__ = ["make_queue", "make_ticking", "queue", "ticking"]


@pytest.fixture
def store():
    """One of them: what is tested here is the same with each (see test_stores.py)."""
    return Streams()
