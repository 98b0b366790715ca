"""Files that are not explored to the end: what they do is refused, or takes too long."""

from support.forgeries import RACY, WIRE

REFUSED = {
    # (what is in the file, what the error says)
    "no answer at all": ("", "answer.py has no function claim; it has none"),
    "another function": ("def clam(r, w): pass", "has no function claim; it has ['clam']"),
    "no function": ("claim = 7", "has no function claim"),
    "too many arguments": ("def claim(r, w, x): pass", "a worker is a function f(r) or f(r, w), and claim is none"),
    "a syntax error": ("def claim(r, w):\n    retrun 1 1", "cannot be loaded: answer.py, line 2: SyntaxError"),
    "no Python": ("\0", "cannot be loaded: answer.py"),
    "an import that is not there": ("\nimport nonsense_xyz", "answer.py, line 2: ModuleNotFoundError: No module named"),
    "an error in the file": ("x = 1\ny = x / 0", "answer.py, line 2: ZeroDivisionError: division by zero"),
    "an exit in the file": ("import sys\nsys.exit(0)", "answer.py, line 2: SystemExit: 0"),
    "an interrupt in the file": ("raise KeyboardInterrupt", "answer.py, line 1: KeyboardInterrupt"),
    "os._exit in the file": (
        "import os\nos._exit(0)",
        "answer.py ended its process while it was loaded, with exit code 0",
    ),
    "os._exit": ("import os\ndef claim(r, w): os._exit(0)", "worker A ended its process, with exit code 0"),
    "os._exit, after all": (RACY + "import os\ndef claim(r, w): racy(r, w); os._exit(0)", "ended its process, with"),
    "kill": ("import os\ndef claim(r, w): r.ping(); os.kill(os.getpid(), 9)", "worker A was ended by SIGKILL"),
    "a segmentation fault": ("import ctypes\ndef claim(r, w): ctypes.string_at(0)", "was ended by SIGSEGV"),
    "an exec": ("import os\ndef claim(r, w): os.execv('/bin/true', ['true'])", "ended its process, with exit code 0"),
    "the socket closed": (WIRE + "def claim(r, w): end.close(); racy(r, w)", "worker A ended its process, with exit"),
    # its error ends it, or first the thread that ends a process whose owner is gone
    "all files closed": (
        "import os\ndef claim(r, w): os.closerange(3, 999); r.ping()",
        ("ended its process, with exit", "was ended by SIGKILL"),
    ),
    "the socket shut": (WIRE + "def claim(r, w):\n    end.shutdown(2)\n    while True: pass", "was ended by SIGKILL"),
    "half of it shut": (WIRE + "def claim(r, w):\n    end.shutdown(1)\n    while True: pass", "closed its connection"),
    "garbage": (WIRE + "def claim(r, w): raw(b'hello')", "worker A sent what is no message: b'hello'"),
    "no words": (WIRE + "def claim(r, w): forge([])", "sent what is no message"),
    "words that are none": (WIRE + "def claim(r, w): forge(['call', 1, [[7]]])", "sent what is no message"),
    "a command without a name": (WIRE + "def claim(r, w): forge(['call', 1, [['']]])", "sent what is no message"),
    "sleep that is none": (WIRE + "def claim(r, w): forge(['sleep', -1])", "sent what is no message"),
    "sleep for ever": (WIRE + "def claim(r, w): forge(['sleep', 10 ** 30])", "sent what is no message"),
    "a verdict": (WIRE + "def claim(r, w): forge(['verdict', True])", "sent what is no message"),
    "a pickle": (WIRE + "import pickle\ndef claim(r, w): raw(pickle.dumps(1))", "sent what is no message"),
    "deep words": (WIRE + "def claim(r, w): raw(b'[' * 100_000)", "sent what is no message"),
    "a deep answer": (
        WIRE + "def claim(r, w): raw(b'[\"answer\",' + b'[' * 900 + b']' * 901)",
        "sent what is no message",
    ),
    "a number of a million digits": (
        WIRE + "def claim(r, w): raw(b'[' + b'9' * 10 ** 6 + b']')",
        "sent what is no message",
    ),
    "too long a message": (WIRE + "def claim(r, w): raw(b'x' * (9 << 20))", "where 8388608 are the most"),
    "a message said to be longer": (WIRE + "def claim(r, w): raw(b'', 1 << 31)", "where 8388608 are the most"),
    "a long command": ("def claim(r, w): r.set('x', b'x' * (9 << 20))", "where 8388608 are the most"),
    "too many messages": (
        "def claim(r, w):\n    while True: w.effect('x' * (4 << 20))",
        "worker A sent more than 67108864 bytes in one schedule",
    ),
    "lines of its own in an error": (
        "raise ValueError('no\\n\\x1b[2Jall schedules hold')",
        "line 1: ValueError: no  [2Jall schedules hold",
    ),
    "a global of the process": (
        RACY
        + """
taken = set()
def claim(r, w):
    if w.name == "A":
        taken.clear()  # a new schedule: A begins first
    for job in r.zrange("delayed", "-inf", time.time() * 1000, byscore=True):
        r.zrem("delayed", job)
        if job not in taken:
            taken.add(job)
            w.effect(f"run {job.decode()}")
""",
        "did not do the same twice",
    ),
    "two messages at once": (
        WIRE
        + """
def claim(r, w):
    one = b'["effect","run j0"]'
    end.sendall(2 * (len(one).to_bytes(4, "big") + one))
""",
        "worker A sent a message when it was not its turn",
    ),
    "two commands in one step": (
        WIRE + "def claim(r, w): forge(['call', 1, [['ZREM', 'delayed', 'j0'], ['SET', 'x', '1']]])",
        "worker A sent 2 commands for one step",
    ),
    "commands behind one that is no step": (
        WIRE + "def claim(r, w): forge(['call', 1, [['SCRIPT', 'LOAD', 'return 1'], ['SET', 'x', '1']]])",
        "worker A sent 2 commands for one step",
    ),
    "a greenlet's trick": (
        "import greenlet\ndef claim(r, w): greenlet.getcurrent().parent.switch('holds')",
        "worker A ended its process, with exit code 1",
    ),
    "an error that cannot be said": (
        "class Mute(Exception):\n    def __str__(self): raise ValueError\ndef claim(r, w): raise Mute",
        "worker A ended its process, with exit code 1",
    ),
    "a thread": (
        "import threading\ndef claim(r, w): threading.Thread(target=r.ping).start()",
        "worker A starts a thread",
    ),
    "a thread that was there before": (
        WIRE
        + """
import select, threading
def chatter():
    while True:
        end.sendall(b"\\0\\0\\0\\1x")
        select.select([], [], [], 0.001)
threading.Thread(target=chatter, daemon=True).start()
""",
        "sent",
    ),
    "no plain function": ("async def claim(r, w): await r.ping()", "worker A is a coroutine"),
    "a client of its own": ("import redis\ndef claim(r, w): redis.Redis().ping()", "through a client of its own"),
    "the server ended": ("def claim(r, w): r.shutdown()", "worker A sent SHUTDOWN: that is for the owner"),
    "the server locked": ("def claim(r, w): r.acl_setuser('default', enabled=False)", "worker A sent ACL SETUSER"),
    "the server set up": ("def claim(r, w): r.config_set('maxmemory', 1)", "worker A sent CONFIG SET"),
    "connections killed": ("def claim(r, w): r.client_kill_filter(_id=1)", "worker A sent CLIENT KILL"),
    "in other letters": ("def claim(r, w): r.execute_command('client   kill', 'ID', '1')", "worker A sent CLIENT kill"),
    "spied upon": ("def claim(r, w): r.execute_command('MONITOR')", "worker A sent MONITOR"),
    "subscribed": ("def claim(r, w): r.pubsub().subscribe('x')", "worker A subscribes"),
    "scripts forgotten": ("def claim(r, w): r.script_flush()", "worker A sent SCRIPT FLUSH"),
    "scripts loaded for ever": (
        "def claim(r, w):\n    while True: r.script_load('return 1')",
        "worker A does nothing but load scripts",
    ),
    "steps for ever": ("def claim(r, w):\n    while True: r.ping()", "the schedule goes on after 1000 steps"),
    "sleep in small steps": (
        "import time\ndef claim(r, w):\n    while True: time.sleep(0)",
        "goes on after 1000 steps",
    ),
    "a lock made of scripts": (
        RACY
        + """
import hashlib
schedule = 0
def claim(r, w):
    global schedule
    schedule += 1
    mark = f"-- {schedule}"
    for job in r.zrange("delayed", "-inf", time.time() * 1000, byscore=True):
        taken = r.script_exists(hashlib.sha1(mark.encode()).hexdigest())[0]
        r.script_load(mark)
        if not taken:
            r.zrem("delayed", job)
            w.effect(f"run {job.decode()}")
""",
        "did not do the same twice",
    ),
}
"""Name -> (file, a part of the error): the exploration ends with an ExploreError."""

LATE = {
    "an endless loop": "def claim(r, w):\n    while True: pass",
    "an endless loop after a command": "def claim(r, w):\n    r.ping()\n    while True: pass",
    "an endless loop that catches all": """
def claim(r, w):
    while True:
        try:
            while True: pass
        except BaseException: pass
""",
    "a loop of C": "def claim(r, w): sum(range(10 ** 15))",
    "a regular expression": "import re\ndef claim(r, w): re.match('(a*)*b', 'a' * 99)",
    "a lock that is never free": """
import threading
lock = threading.Lock()
def claim(r, w): lock.acquire(); lock.acquire()
""",
    "stopped": "import os, signal\ndef claim(r, w): os.kill(os.getpid(), signal.SIGSTOP)",
    "a return value that never ends": (
        "class Endless:\n    def __repr__(self):\n        while True: pass\ndef claim(r, w): return Endless()"
    ),
    "half a message": WIRE + "def claim(r, w):\n    end.sendall(b'\\0\\0')\n    while True: pass",
    "a message without its end": WIRE + "def claim(r, w):\n    raw(b'[', 9)\n    while True: pass",
    "a message in drops": (
        WIRE
        + "import select\ndef claim(r, w):\n    end.sendall(b'\\0\\1\\0\\0')\n"
        + "    while True: end.sendall(b'['), select.select([], [], [], 0.01)"
    ),
    "a reply that nobody reads": (
        WIRE
        + """
def claim(r, w):
    r.set("x", b"x" * (2 << 20))
    forge(["call", 1, [["GET", "x"]]])
    while True: pass
"""
    ),
    "a child that has the socket": (
        WIRE + "def claim(r, w):\n    if os.fork() == 0:\n        while True: pass\n    while True: pass"
    ),
}
"""Name -> file: a worker runs without a command until the explorer's patience is at its end."""
