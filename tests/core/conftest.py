from support.fixtures import make_queue, queue, store

__all__ = ["make_queue", "queue", "store"]
