"""Faults put into the kit on purpose: each must be caught by the test that is named beside it.

A test that cannot fail proves nothing. Each mutant runs in a copy of the package, in a process of
its own; a mutant that survives means that a promise is not tested.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.mutants import mutated

import jobkit

PACKAGE = Path(jobkit.__file__).parent
TESTS = Path(__file__).parent.parent
CORE = "core/test_"

MUTANTS = {
    "ack by anybody": ("lua/ack.lua", "if yes and", "if", f"{CORE}stale_claims.py"),
    "fail by anybody": ("lua/fail.lua", "if not mine then return answer end", "", f"{CORE}stale_claims.py"),
    "extend by anybody": ("lua/extend.lua", "if held(f, ARGV[i + 1]) then", "if true then", f"{CORE}stale_claims.py"),
    "release by anybody": ("lua/release.lua", "if mine then", "if true then", f"{CORE}stale_claims.py"),
    "once by anybody": ("lua/once.lua", "or now[2] ~= token", "", "faults/test_once.py -k zombie"),
    "acked entries stay": (
        "ready/streams.lua",
        "redis.call('XDEL', STREAMS[letter], unpack(ids[letter]))",
        "",
        f"{CORE}growth.py",
    ),
    "acked entries stay pending": (
        "ready/streams.lua",
        "redis.pcall('XACK', STREAMS[letter], GROUP, unpack(ids[letter]))",
        "",
        f"{CORE}settling.py",
    ),
    "a crash does not count": ("lua/claim.lua", "(f[9] or 0) + 1", "(f[9] or 1)", f"{CORE}recovering.py"),
    "one attempt too many": ("lua/fail.lua", ">= tonumber(f.max or 5)", "> tonumber(f.max or 5)", f"{CORE}settling.py"),
    "a release is charged": (
        "lua/release.lua",
        "redis.call('HINCRBY', record, 'attempt', -1)",
        "",
        f"{CORE}settling.py -k release",
    ),
    "suspects among the others": ("lua/shared.lua", "push(id, true)", "push(id)", f"{CORE}recovering.py"),
    "promoted and still delayed": (
        "lua/promote.lua",
        "redis.call('ZREM', KEYS[1], id)",
        "",
        f"{CORE}promoting.py",
    ),
    "a limit that is none": ("lua/promote.lua", "'LIMIT', 0, ARGV[1]", "'LIMIT', 0, -1", f"{CORE}promoting.py"),
    "an id taken twice": (
        "lua/shared.lua",
        "redis.call('EXISTS', to.job .. id) == 0",
        "true",
        f"{CORE}submitting.py",
    ),
    "a cancelled id is free too early": (
        "lua/cancel.lua",
        "redis.call('PERSIST', record)",
        "",
        f"{CORE}cancelling.py",
    ),
    "dead letters without end": (
        "lua/shared.lua",
        "prune(dead, totals, job, max, age_ms, 10)",
        "",
        f"{CORE}dead_letters.py",
    ),
    "old attempts in a new life": (
        "lua/requeue.lua",
        "'state', 'attempt', 'cancel'",
        "'state'",
        f"{CORE}requeueing.py",
    ),
    "another verb gets this one's answer": ("lua/shared.lua", "and by == verb", "", f"{CORE}stale_claims.py"),
    "a token comes twice": (
        "lua/claim.lua",
        "if tonumber(f[11] or 0) >= token then",
        "if false then",
        f"{CORE}server_forgets.py",
    ),
    "an earlier job does not ring": (
        "lua/lanes.lua",
        "redis.call('PUBLISH', BELL, 'due')",
        "",
        "worker/test_bell.py",
    ),
    "a claim is sent again": (
        "queue.py",
        "self._once = without_retries(redis)",
        "self._once = redis",
        f"{CORE}lost_replies.py -k claim_is_never_sent_twice",
    ),
    "every call has the same nonce": (
        "queue.py",
        'return self._rng.getrandbits(64).to_bytes(8, "big") if own else b""',
        'return b"12345678" if own else b""',
        f"{CORE}lost_replies.py -k second_call",
    ),
    "the least urgent first": (
        "ready/lists.lua",
        "for priority = TOP, 0, -1 do",
        "for priority = 0, TOP do",
        f"{CORE}lists.py",
    ),
    "a fair share for nobody": ("ready/lists.lua", "n % FAIR == 0 and", "false and", f"{CORE}lists.py"),
    "a turn for an empty list": ("ready/lists.lua", "for step = 0, TOP do", "for step = 0, 0 do", f"{CORE}lists.py"),
    "suspects among the others, in a list": (
        "ready/leases.lua",
        "alone and ALONE or READY",
        "READY",
        f"{CORE}recovering.py -k leases",
    ),
    "one lease for all": (
        "ready/deadlines.lua",
        "(redis.call('HGET', JOB .. id, 'lease') or lease_ms)",
        "lease_ms",
        f"{CORE}leases.py",
    ),
    "some of what is late": (
        "ready/deadlines.lua",
        "return out, #late == limit and 'more' or ''",
        "return out, ''",
        f"{CORE}recovering.py",
    ),
    "a heartbeat without a lease": (
        "ready/deadlines.lua",
        "LEASES, ends(entry, lease_ms), entry)",
        "LEASES, now(), entry)",
        f"{CORE}recovering.py",
    ),
    "two stores of one queue": (
        "lua/opening.lua",
        "return kind and kind ~= KIND and",
        "return false and",
        f"{CORE}other_store.py",
    ),
    "all of an entity at once": (
        "lua/lanes.lua",
        "not last and redis.call('HSETNX', LANES, f.entity, id) == 1",
        "true",
        f"{CORE}lane_machine.py -k hours",
    ),
    "the newest of a lane goes first": (
        "lua/lanes.lua",
        "WAITING, '[' .. before, '(' .. #f.entity .. ':' .. f.entity .. ';', 'BYLEX',",
        "WAITING, '(' .. #f.entity .. ':' .. f.entity .. ';', '[' .. before, 'BYLEX', 'REV',",
        f"{CORE}lane_machine.py -k hours",
    ),
    "a burial frees no lane": (
        "lua/shared.lua",
        "'dead', 'ended', at)\n  leave(id, f)",
        "'dead', 'ended', at)",
        f"{CORE}lane_machine.py -k hours",
    ),
    "what recover ends frees no lane": (
        "lua/recover.lua",
        ",\n    'entity')",
        ")",
        f"{CORE}lane_machine.py -k hours",
    ),
    "who waits is cancelled and stays": (
        "lua/lanes.lua",
        "redis.call('ZREM', WAITING, lane(f.entity) .. f.place .. ':' .. id)",
        "",
        f"{CORE}lane_machine.py -k hours",
    ),
    "the next of a lane before its time": (
        "lua/lanes.lua",
        "if tonumber(run_at) > now() then return schedule(id, run_at) end",
        "",
        f"{CORE}lanes.py",
    ),
    "whoever ends frees the lane": (
        "lua/lanes.lua",
        "if head and head ~= id then return end",
        "",
        f"{CORE}lanes_lost.py",
    ),
    "a newcomer passes those who wait": (
        "lua/lanes.lua",
        "not last and redis.call('HSETNX'",
        "redis.call('HSETNX'",
        f"{CORE}lanes_lost.py",
    ),
    "an id in two shards": (
        "shards.py",
        "route(job.id) != job.entity",
        "False",
        f"{CORE}shards.py",
    ),
    "two layouts at once": ("shards.py", "self._open()", "pass", f"{CORE}shards.py"),
    "a shard is closed with jobs in it": (
        "lua/close.lua",
        "if left > 0 then return left end",
        "",
        f"{CORE}shards.py",
    ),
    "one shard that is away stops the step": (
        "sidebyside.py",
        "            failed = error",
        "            raise",
        "worker/test_shards.py -k step",
    ),
    "a lead is renewed by anybody": (
        "lua/elect.lua",
        "if holder and holder ~= me then return {0, redis.call('PTTL', leader)} end",
        "",
        "recurring/test_leader.py -k owner",
    ),
    "a lead is given up by anybody": (
        "lua/resign.lua",
        "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end",
        "",
        "recurring/test_leader.py -k owner",
    ),
    "an old leader fires": (
        "lua/occur.lua",
        "if number ~= '0' and redis.call('GET', terms) ~= number then return 'fenced' end",
        "",
        "recurring/test_firing.py -k leader",
    ),
    "an occurrence is made by two": (
        "lua/occur.lua",
        "if f.version ~= seen then return 'changed' end",
        "",
        "recurring/test_firing.py -k leader",
    ),
    "one bad schedule stops all": (
        "firing.py",
        "except Exception as error:",
        "except KeyError as error:",
        "recurring/test_firing.py -k cron",
    ),
    "news do not reach the handler": (
        "heartbeat.py",
        "claim.stop = LeaseLost",
        "pass",
        "worker/test_heartbeat.py -k lost_lease",
    ),
}


def run(copy, where):
    """Run tests against a copy of the package; returns the finished process."""
    path, *options = where.split(" ", 1)
    select = ["-k", options[0].removeprefix("-k ")] if options else []
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", str(TESTS / path), *select],
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "jobkit", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_is_caught(copy, name):
    file, before, after, where = MUTANTS[name]
    mutant = copy / "jobkit" / file
    mutant.write_text(mutated(mutant.read_text("utf-8"), before, after, file), "utf-8")
    done = run(copy, where)
    assert done.returncode == 1, f"survived, or did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


@pytest.mark.slow
def test_a_copy_without_a_fault_passes(copy):
    done = run(copy, f"{CORE}settling.py")
    assert done.returncode == 0, done.stdout[-2000:]
