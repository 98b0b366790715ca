"""The figures, each taken several times, next to a bare Python loop that does the same work; medians are shown."""

import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime

import redis as redis_py

import jobkit as jk
from benchmarks import bare
from benchmarks.explore import found, schedules
from benchmarks.lab import Lab
from benchmarks.line import Line, seconds
from jobkit.connect.servers import usable_servers

DAY = 86_400
CHUNK = 50_000
"""Jobs that one call of submit_many is given: it checks all of them before it writes the first."""


def new(n):
    return [jk.New("note", {"i": i}) for i in range(n)]


def tomorrow(n):
    return [jk.New("note", b"x" * 16, delay=DAY) for _ in range(n)]


def moment(at):
    return datetime.fromtimestamp(at, UTC)


def rate(effects):
    times = sorted(at for _, at in effects)
    return (len(times) - 1) / (times[-1] - times[0])


def submit(lab, n, runs, span):
    """Ready jobs, submitted by submit_many; the bare loop: HSET + XADD in pipelines of 500."""
    pairs = []
    for _ in range(runs):
        lab.fresh()
        by_hand = n / seconds(bare.submit, lab.redis, n)
        lab.fresh()
        pairs.append((n / seconds(lab.queue.submit_many, new(n)), by_hand))
    yield Line.of("submit_many, jobs/s", pairs, ">= 50,000")


def drain(lab, n, runs, batch, threads=1):
    """A worker process empties the queue; rates from its jobs' own times, reads from the server."""
    rates, reads = [], []
    for _ in range(runs):
        lab.fresh()
        bare.submit(lab.redis, n)
        before = lab.reads()
        bare.drain(lab.redis, batch, lab.effects)
        by_hand = rate(lab.effects.read()), (lab.reads() - before) / n
        lab.fresh()
        lab.queue.submit_many(new(n))
        before = lab.reads()
        with lab.worker(batch, threads):
            effects = lab.wait_for(n)
            lab.until(lambda: lab.queue.counts().totals.get("done") == n)
            rates.append((rate(effects), by_hand[0]))
            reads.append(((lab.reads() - before) / n, by_hand[1]))
    return rates, reads


def batch(lab, n, runs, span):
    rates, reads = drain(lab, n, runs, 100)
    yield Line.of("drain, batch=100, jobs/s", rates, ">= 25,000")
    yield Line.of("  socket reads per job", reads, "<= 0.05")
    yield Line.of("  with two threads, jobs/s", drain(lab, n, runs, 100, threads=2)[0])


def single(lab, n, runs, span):
    rates, reads = drain(lab, n // 5, runs, 1)
    yield Line.of("drain, each acked before the next, jobs/s", rates, ">= 5,000")
    yield Line.of("  socket reads per job", reads, "<= 1.1")
    yield Line.of("  with two threads, jobs/s", drain(lab, n // 5, runs, 1, threads=2)[0])


def burst(lab, n, runs, span):
    """Half of n jobs due at one instant, a worker waiting; the rate counts from that instant."""
    n, pairs = n // 2, []
    for _ in range(runs):
        lab.fresh()
        due = time.time() + 0.1 + n / 20_000
        bare.submit(lab.redis, n, due)
        bare.drain(lab.redis, 100, lab.effects, n)
        by_hand = n / (lab.effects.last() - due)
        lab.fresh()
        with lab.worker(batch=100):
            lab.warm_up()
            due = time.time() + 0.5 + n / 4000
            lab.queue.submit_many(job._replace(at=moment(due)) for job in new(n))
            lab.wait_for(n)
        pairs.append((n / (lab.effects.last() - due), by_hand))
    yield Line.of(f"{n:,} due at one instant, batch=100, jobs/s", pairs, ">= 10,000")


def light(lab, n, runs, span):
    """200 delayed jobs, spread over a while, for one process that schedules and works; then nothing to do."""
    lateness, idle, commands, reads = [], 0, 0, 0
    with lab.worker():
        lab.warm_up()
        for _ in range(runs):
            lab.effects.clear()
            start = time.time() + span / 10
            due = [start + i * span / 200 for i in range(200)]
            lab.queue.submit_many(job._replace(at=moment(at)) for job, at in zip(new(200), due, strict=True))
            lateness += [(done - due[i]) * 1000 for i, done in lab.wait_for(200)]
            before, begun = lab.traffic(), time.perf_counter()
            time.sleep(span)
            after, took = lab.traffic(), time.perf_counter() - begun
            idle += took
            commands += after[0] - before[0] - 1  # one INFO of the two is ours
            reads += after[1] - before[1] - 1
    late = statistics.quantiles(lateness, n=100)
    yield Line("lateness at light load, median, ms", late[49], goal="<= 3")
    yield Line("lateness at light load, p99, ms", late[98], goal="<= 10")
    yield Line("commands/s when idle, those inside scripts too", commands / idle, goal="<= 5")
    yield Line("socket reads/s when idle", reads / idle)


def memory(lab, n, runs, span):
    """used_memory per delayed job with a payload of 16 bytes, on every server there is here."""
    for program in usable_servers():
        with Lab(program) as own:
            empty = own.memory()
            bare.submit(own.redis, n, time.time() + DAY)
            by_hand = (own.memory() - empty) / n
            own.queue.submit_many(tomorrow(500))  # the server keeps the script and the client's buffers
            own.redis.flushall()
            empty = own.memory()
            own.queue.submit_many(tomorrow(n))
            pair = (own.memory() - empty) / n, by_hand
            yield Line.of(f"bytes per delayed job, Redis {program.version}", [pair], "<= 300")


def imports(lab, n, runs, span):
    """A new interpreter imports jobkit, and another one redis, which stands for the bare loop."""

    def ms(what):
        code = f"import time; start = time.perf_counter(); {what}; print(time.perf_counter() - start)"
        return 1000 * float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)

    kit, plain = "from jobkit import Queue, Worker, connect", "import redis"
    ms(kit)  # its bytecode is there from now on
    yield Line.of(f"{kit}, ms", [(ms(kit), ms(plain)) for _ in range(2 * runs)], "<= x 1.3")


def backlog(lab, n, runs, span):
    """What a step costs when ever more jobs wait."""
    for waiting in (n // 20, n, 50 * n):
        lab.fresh()
        for start in range(0, waiting, CHUNK):
            lab.queue.submit_many(tomorrow(min(CHUNK, waiting - start)))
        steps = [lambda: lab.queue.submit_many(tomorrow(500)), lambda: lab.queue.promote(500)]
        costs = [[], []]
        for _ in range(runs):
            lab.queue.submit_many(job._replace(delay=0.001) for job in new(500))
            time.sleep(0.002)
            for cost, step in zip(costs, steps, strict=True):
                cost.append(seconds(step) * 1000)
        for what, cost in zip(("submit_many of 500", "promote of 500 due"), costs, strict=True):
            yield Line(f"{what}, {waiting:,} waiting, ms", statistics.median(cost))


FIGURES = {f.__name__: f for f in (submit, batch, single, burst, memory, light, imports, backlog, schedules, found)}


def table(n, runs, span, only):
    with Lab() as lab:
        print(
            f"Redis {lab.redis.server.version}, Python {platform.python_version()}, redis-py {redis_py.__version__}, "
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {n:,} jobs, medians of {runs} runs"
        )
        print(f"{'':48}{'jobkit':>10}{'bare loop':>12}{'ratio':>8}  goal")
        for name in only:
            for line in FIGURES[name](lab, n, runs, span):
                cells = (f"{number(line.kit):>10}", f"{number(line.bare):>12}", f"{number(line.ratio):>8}")
                print(f"{line.what:48}{''.join(cells)}  {line.goal}", flush=True)


def number(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
