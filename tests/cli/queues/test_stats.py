"""Where the jobs are, for a person and for a program; and which Redis is asked."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

import jobkit as jk
from jobkit.connect import address_for_others


@pytest.fixture
def busy(queue, worker, bury):
    """Two scheduled, one ready, one running, two dead, one done; the oldest dead for two hours."""
    bury("first")
    queue.clock.advance(7200)
    bury("second")
    queue.submit("receipt", {"to": "ada"})
    worker.step()
    queue.submit("receipt", {"to": "ada"}, delay=90)
    queue.submit("receipt", {"to": "ada"}, delay=55)
    queue.submit_many([jk.New("receipt")] * 2)
    assert len(queue.claim("w2")) == 1


TABLE = """\
now        jobs
scheduled     2  the next is due in 55 s
ready         1  the next has been due for SOON
running       1
dead          2  the oldest for 2 h

ever       jobs
submitted     7
done          1
dead          2

4 starts, late by SOON in the mean; half by SOON at most, 99 % by SOON
"""
SOON = r"\b(for|by) [\d.]+ m?s\b"


def test_a_table_of_what_is_where(busy, url, call):
    status, out, err = call("stats", "mail")
    assert (status, err) == (0, "")
    assert (
        re.sub(SOON, r"\1 SOON", re.sub(r"in 5\d\.\d s", "in 55 s", out)) == TABLE
    )  # real time passes on the real server


def test_json_is_one_object(busy, queue, url, call):
    status, out, err = call("stats", "mail", "--json")
    told = json.loads(out)
    assert (status, err) == (0, "")
    assert 50 < told.pop("next_due_in") <= 55
    assert 7200 <= told.pop("oldest_dead_for") < 7210
    assert 0 <= told.pop("oldest_ready_for") < 10
    lateness = told.pop("lateness")
    assert (lateness["starts"], sum(lateness["by"].values())) == (4, 4)
    assert 0 <= lateness["seconds"] < 10
    assert told == {
        "queue": "mail",
        "prefix": "",
        "store": "streams",
        "scheduled": 2,
        "waiting": 0,
        "ready": 1,
        "running": 1,
        "dead": 2,
        "lost": 0,
        "overdue_for": None,
        "totals": {"submitted": 7, "done": 1, "dead": 2},
    }


def test_what_is_lost_is_said(busy, queue, redis, url, call):
    redis.delete(queue.keys.ready)
    assert "lost          2  a key of the queue is gone: Queue.repair() looks for them" in call("stats", "mail")[1]
    assert json.loads(call("stats", "mail", "--json")[1])["lost"] == 2


def test_an_empty_queue_has_no_times(queue, worker, url, call):
    queue.submit("receipt", {"to": "ada"})
    worker.step()
    told = json.loads(call("stats", "mail", "--json")[1])
    assert told["next_due_in"] is told["oldest_dead_for"] is None


def test_what_is_due_waits_for_a_scheduler(queue, url, call):
    queue.submit("receipt", delay=5)
    queue.clock.advance(6)
    out = call("stats", "mail")[1]
    assert re.search(r"scheduled     1  due for 1(\.\d+)? s: a scheduler will move them", out)
    assert 1 <= json.loads(call("stats", "mail", "--json")[1])["overdue_for"] < 10


def test_many_queues_have_a_line_each_and_a_sum(busy, redis, url, call):
    jk.Queue(redis, "post", ready=jk.Leases()).submit("receipt", delay=60)
    lines = call("stats", "mail", "post")[1].splitlines()
    assert [line.split()[:6] for line in lines] == [
        ["queue", "scheduled", "ready", "running", "dead", "lost"],
        ["mail", "2", "1", "1", "2", "0"],
        ["post", "1", "0", "0", "0", "0"],
        ["all", "3", "1", "1", "2", "0"],
    ]
    told = json.loads(call("stats", "mail", "post", "--json")[1])
    assert [(part["queue"], part["store"], part["scheduled"]) for part in told["queues"]] == [
        ("mail", "streams", 2),
        ("post", "leases", 1),
    ]
    assert (told["sum"]["queue"], told["sum"]["scheduled"], told["sum"]["totals"]["submitted"]) == (None, 3, 8)


def test_no_such_queue_yet_is_no_error_and_writes_nothing(redis, url, call):
    assert call("stats", "mail")[0] == 0
    assert call("stats", "mail")[2] == "no queue mail here yet\n"
    redis.prefix = "lab:7f3a9c:"
    jk.Queue(redis, "mail").submit("receipt")
    jk.Queue(redis, "post & parcel").submit("receipt")
    before = sorted(redis.keys())
    status, out, err = call("stats", "mail")
    assert (status, out.splitlines()[4]) == (0, "dead          0")
    assert err == (
        "no queue mail here yet; this Redis has 'post & parcel' with --prefix lab:7f3a9c:, "
        "mail with --prefix lab:7f3a9c:\n"
    )
    assert json.loads(call("stats", "mail", "--json")[1])["totals"] == {}
    assert sorted(redis.keys()) == before


def test_the_prefix_is_the_options_or_the_urls(redis, url, call):
    redis.prefix = "lab:ada:"
    jk.Queue(redis, "mail").submit("receipt")

    def ready(*options, **env):
        return json.loads(call("stats", "mail", "--json", *options, **env)[1])["ready"]

    assert ready() == 0
    assert ready("--prefix", "lab:ada:") == 1
    assert ready(JOBKIT_REDIS=f"{url}?prefix=lab:ada:") == 1
    assert ready("--prefix", "", JOBKIT_REDIS=f"{url}?prefix=lab:ada:") == 0
    assert ready("--url", f"{url}?prefix=lab:ada:", JOBKIT_REDIS="fake") == 1
    assert ready("--url", url, "--prefix", "lab:ada:", JOBKIT_REDIS=None) == 1
    assert call("stats", "mail", "--url", f"{url}?prefix=a:", "--prefix", "b:") == (
        2,
        "",
        "jobkit: two prefixes: --prefix b: and ?prefix=a: in the URL; give one\n",
    )


@pytest.mark.parametrize("setting", [None, "", "fake", "private", "fake?prefix=lab:"])
@pytest.mark.parametrize("arguments", [("stats", "mail"), ("scheduler", "mail"), ("dead", "purge", "mail", "--all")])
def test_a_server_of_another_process_needs_its_url(arguments, setting, call):
    status, out, err = call(*arguments, JOBKIT_REDIS=setting)
    assert (status, out) == (2, "")
    assert err.startswith("jobkit: which Redis? Give --url, or set JOBKIT_REDIS to a URL: a private server,")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("redis://ada:s3cret@127.0.0.1:1", "nothing answers at redis://127.0.0.1:1 (Connection refused)"),
        ("redis://ada:s3cret@127.0.0.1:x", "that redis-py can read"),
        ("redis://ada:s3cret@[::1", "that is not a URL: give one such as redis://localhost:6379/0"),
        ("redis://ada:s3cret@127.0.0.1:1?nonsense=1", "has an option that redis-py does not know"),
        ("http://ada:s3cret@127.0.0.1", "got http://"),
        ("unix://ada:s3cret@/nowhere/redis.sock", "nothing answers at the Unix socket of the URL"),
        ("redsi", "that is not a URL: give one such as redis://localhost:6379/0; got 'redsi'"),
        ("ada:s3cret@127.0.0.1", "that is not a URL: give one such as redis://localhost:6379/0"),
    ],
)
@pytest.mark.parametrize("arguments", [("stats", "mail"), ("dead", "show", "mail", "x"), ("scheduler", "mail")])
def test_a_url_that_cannot_work_is_one_line_without_its_password(bad, says, arguments, call):
    status, out, err = call(*arguments, "--url", bad)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("jobkit: ")
    assert says in err
    assert "s3cret" not in err
    assert "ada" not in err


def test_a_wrong_password_is_one_line_and_not_shown(own_server, call):
    host = address_for_others(own_server.client()).rpartition("@")[2].removesuffix("?prefix=")
    for wrong in (f"redis://:s3cret@{host}", f"redis://ada:s3cret@{host}", f"redis://{host}"):
        assert call("stats", "mail", "--url", wrong) == (
            2,
            "",
            f"jobkit: redis://{host} refuses the user or password of the URL, or asks for one\n",
        )


@pytest.mark.parametrize("arguments", [("stats", "mail"), ("dead", "list", "mail")])
def test_a_server_that_dies_in_between_is_one_line(arguments, own_server, call, monkeypatch):
    address = address_for_others(own_server.client())
    reads = {name: getattr(jk.Queue, name) for name in ("counts", "stats")}

    def too_late(name):
        def read(queue):
            own_server.close()
            return reads[name](queue)

        return read

    for name in reads:
        monkeypatch.setattr(jk.Queue, name, too_late(name))
    status, out, err = call(*arguments, "--url", address)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "does not answer any more" in err
    assert address.split("@", maxsplit=1)[0].rpartition(":")[2] not in err


def test_a_server_that_refuses_is_one_line(redis, url, call):
    redis.set("{mail}:delayed", "no sorted set")
    status, out, err = call("stats", "mail")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "answers with an error: " in err
    assert "WRONGTYPE" in err


def test_a_server_that_may_lose_jobs_is_a_line_and_no_more(own_server, call):
    with own_server.client() as redis:
        redis.config_set("maxmemory", "100mb")
        redis.config_set("maxmemory-policy", "allkeys-lru")
        status, out, err = call("stats", "mail", "--url", address_for_others(redis))
    assert (status, out.splitlines()[0]) == (0, "now        jobs")
    assert err.startswith("jobkit: this server evicts keys when its memory is full (allkeys-lru)")
    assert err.splitlines()[1:] == ["no queue mail here yet"]


@pytest.mark.parametrize("name", ["", "a{b}", "n" * 201, "redis://ada:s3cret@127.0.0.1:1"])
def test_a_name_that_cannot_be_is_one_line(name, url, call):
    status, out, err = call("stats", name)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "name" in err
    assert "s3cret" not in err


@pytest.mark.parametrize(("setting", "bold"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_a_terminal_of_80_columns(setting, bold, live, bury_live, tmp_path):
    long = "i" * 100
    bury_live(long, "größe:日本語:1", error="an error that says a lot, " * 10)
    keyboard, screen = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS", "LINES"}}
    env |= {"TERM": "xterm-256color", **setting}
    command = [sys.executable, "-m", "jobkit", "dead", "list", "mail", "--url", address_for_others(live)]
    with subprocess.Popen(command, stdout=screen, stderr=subprocess.PIPE, cwd=tmp_path, env=env) as process:
        os.close(screen)
        shown = _read_all(keyboard)
        assert process.wait() == 0
        assert process.stderr.read() == b""
    assert ("\x1b[1m" in shown) is bold
    assert ("\x1b" in shown) is bold
    lines = shown.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "".join(line.split()[0] for line in lines if line.startswith("iiii")) == long, "an id is never cut"
    assert lines[1].startswith("größe:日本語:1") or lines[-1].startswith("größe:日本語:1")
    assert sum("…" in line for line in lines) == 2, "an error is cut where its line ends"


@pytest.fixture
def bury_live(live):
    def bury(*ids, error):
        queue = jk.Queue(live, "mail", max_attempts=1)
        for id in ids:
            queue.submit("receipt", id=id)
            queue.fail(*queue.claim("w"), error)

    return bury


def _read_all(terminal):
    parts = []
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode()
