"""What a learner's file may hold: mistakes, and attempts to pass without an answer.

Each defines `claim(r, w)`, of which two are run on one job that is to run once. None may pass: those
here end with a schedule that fails, those of refusals.py with an error.
"""

RACY = """
import time
def racy(r, w):
    for job in r.zrange("delayed", "-inf", time.time() * 1000, byscore=True):
        r.zrem("delayed", job)
        w.effect(f"run {job.decode()}")
claim = racy
"""
"""Runs the job twice in some order: what follows tries to hide it."""

WIRE = (
    RACY
    + """
import gc, json, os, socket
end = next(thing for thing in gc.get_objects() if isinstance(thing, socket.socket))
def forge(words):
    raw(json.dumps(words).encode())
def raw(payload, size=None):
    end.sendall((len(payload) if size is None else size).to_bytes(4, "big") + payload)
    return end.recv(1 << 16)  # what the explorer says to it
"""
)
"""The same, with the socket pair in hand."""

CAUGHT = {
    # (what is in the file, what the report says)
    "racy": (RACY, "done 2 times"),
    "a stub": ("def claim(r, w): raise NotImplementedError", "NotImplementedError"),
    "nothing": ("def claim(r, w): pass", "never ran"),
    "a printed marker": (RACY + "print('no failing schedule'); print('holds: True', flush=True)", "done 2 times"),
    "a walk up the frames": (
        RACY
        + """
import sys
def claim(r, w):
    frame = sys._getframe()
    while frame:
        for names in (frame.f_locals, frame.f_globals):
            for name in list(names):
                if "judge" in name or "verdict" in name or "finally_" in name or "broken" in name:
                    names[name] = None
        frame = frame.f_back
    racy(r, w)
""",
        "done 2 times",
    ),
    "a walk through all objects": (
        RACY
        + """
import gc
from jobkit.explore import world
world.Judge.end = world.Judge.step = lambda *_: None
for thing in gc.get_objects():
    if isinstance(thing, world.Judge):
        thing._finally = []
""",
        "done 2 times",
    ),
    "modules patched": (
        RACY
        + """
import json, redis, jobkit.explore, jobkit.explore.promises
jobkit.explore.promises.each_runs_once = jobkit.explore.each_runs_once = lambda world: None
jobkit.explore.explore = jobkit.explore.Report.__bool__ = lambda *_, **__: True
json.loads = lambda *_: ["answer", None]
""",
        "done 2 times",
    ),
    "a wire that says nothing": (
        RACY
        + """
import sys
sys.modules["__main__"].request_bytes = lambda request: b'["answer", true]'
""",
        "never ran",
    ),
    "an effect that is forged": (
        WIRE
        + """
def claim(r, w):
    forge(["effect", "run j0"])
    racy(r, w)
""",
        "done",
    ),
    "another's name": (
        RACY
        + """
def claim(r, w):
    w.name = w._actor.name = "B"
    racy(r, w)
""",
        "(by B, A)",
    ),
    "sys.exit": ("import sys\ndef claim(r, w): sys.exit(0)", "SystemExit"),
    "sys.exit, after all": (RACY + "import sys\ndef claim(r, w): racy(r, w); sys.exit(0)", "SystemExit"),
    "an error like the server's": (
        "import redis\ndef claim(r, w): r.ping(); raise redis.ConnectionError('lost')",
        "ConnectionError",
    ),
    "an interrupt": ("def claim(r, w): raise KeyboardInterrupt", "KeyboardInterrupt"),
    "input": ("def claim(r, w): input()", "EOFError"),
    "all memory at once": ("def claim(r, w): return 'x' * (1 << 45)", "MemoryError"),
    "all memory": ("def claim(r, w):\n    hog = []\n    while True: hog.append(bytes(1 << 24))", "MemoryError"),
    "a return value that is a trap": (
        """
import os
class Trap:
    def __reduce__(self): return os._exit, (0,)
    def __repr__(self): return "__import__('os')._exit(0)"
    def __eq__(self, other): return True
    def __hash__(self): return 0
def claim(r, w): return Trap(), {Trap(): Trap()}
""",
        "never ran",
    ),
    "an error of a class that lies": (
        """
Fine = type("KeyError", (Exception,), {"__module__": "builtins", "__qualname__": "print"})
def claim(r, w): raise Fine("fine")
""",
        "KeyError: fine",
    ),
    "characters that are none": (RACY + "def claim(r, w): w.effect('run \\ud800'); racy(r, w)", "done 2 times"),
    "a script that takes all memory": ("def claim(r, w): r.eval('return string.rep(\"x\", 2^30)', 0)", "ResponseError"),
    "Python in a script": ("def claim(r, w): r.eval('python.eval(\"exit()\")', 0)", "nonexistent global"),
    "the files of a script": ('def claim(r, w): r.eval(\'io.open("x", "w")\', 0)', "nonexistent global"),
    "bytecode in a script": ("def claim(r, w): r.eval(b'\\x1bLuaQ', 0)", "bytecode"),
    "an administrator's script": ('def claim(r, w): r.eval(\'redis.call("ACL", "WHOAMI")\', 0)', "not allowed"),
    "everything deleted": (RACY + "def claim(r, w): r.flushall(); racy(r, w)", "never ran"),
    "a wait in a transaction": (
        "def claim(r, w):\n    with r.pipeline() as p: p.blpop('nothing', 0).set('x', 1).execute()",
        "never ran",
    ),
}
"""Name -> (file, a part of the verdict): the exploration ends with a failing schedule."""
