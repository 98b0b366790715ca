"""jobkit: delayed jobs, retries and distributed scheduling on Redis, to learn, practise and teach.

import jobkit as jk

redis = jk.connect()                  # a real Redis of your own, or the fake
queue = jk.Queue(redis, "mail")
worker = jk.Worker(queue)

@worker.task
def receipt(job, to):
    print("a receipt for", to)

queue.submit("receipt", {"to": "ada@example.org"}, delay=5)
worker.drain()

The names that it offers stand in `__init__.pyi`: its table of contents. Each is imported when it is
first used, so that `jobkit --help` does not load Redis, nor a queue matplotlib.
"""

import logging

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

logging.getLogger("jobkit").addHandler(logging.NullHandler())  # silent until asked: see show_log
