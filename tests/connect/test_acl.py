"""docs/running.md lists what each user must be allowed: it is enough for all that a job can meet, and no less is."""

import re
from pathlib import Path

import pytest
import redis as redis_py
from support.roles import ROLES, life

import jobkit as jk
from jobkit.connect import PrivateServer, address_for_others, connect
from jobkit.errors import ConfigError

PAGE = (Path(__file__).parents[2] / "docs" / "running.md").read_text("utf-8")
USERS = {
    rule.split()[2]: rule.split()[3:] for rule in re.findall(r"^ACL SETUSER .*(?:\n  .*)*", PAGE, flags=re.MULTILINE)
}
STORES = (jk.Streams(), jk.Lists(), jk.Leases())
PASSWORD = "PASSWORD"


@pytest.fixture(scope="module")
def server(live_server):
    with PrivateServer(over="loopback") as server:
        for role, rules in USERS.items():
            server.client().execute_command("ACL", "SETUSER", role, *rules)
        yield server


def client(server, role):
    host = address_for_others(server.client()).rpartition("@")[2].removesuffix("?prefix=")
    return connect(f"redis://{role}:{PASSWORD}@{host}", prefix="shop:")


@pytest.fixture(scope="module")
def clients(server):
    return {role: client(server, role) for role in ROLES} | {"admin": server.client()}


def lives(server, clients, stores=STORES):
    for store in stores:
        clients["admin"].flushall()
        clients["admin"].script_flush()  # so that each has to send its scripts in full
        queues = {role: jk.Queue(clients[role], "mail", ready=store) for role in ROLES}
        life(queues | {"admin": clients["admin"]}, server.clock.advance)


def test_the_page_has_a_line_for_each_role():
    assert tuple(USERS) == ROLES
    assert all("-@all" in rules and not any(rule.startswith("+@") for rule in rules) for rules in USERS.values())


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.name)
def test_it_is_enough(server, clients, store):
    lives(server, clients, [store])


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_nothing_less_is_enough(server, clients, role):
    admin, needless = clients["admin"], []
    for command in (rule[1:] for rule in USERS[role] if rule.startswith("+")):
        admin.execute_command("ACL", "SETUSER", role, f"-{command}")
        try:
            lives(server, clients | {role: client(server, role)})
            needless.append(command)
        except Exception:  # noqa: BLE001 - whatever fails, it is missed
            continue
        finally:
            admin.execute_command("ACL", "SETUSER", role, f"+{command}")
    assert needless == []


ASKS = {"submitter": lambda queue: queue.submit("t"), "worker": lambda queue: queue.claim("w"),
        "scheduler": jk.Queue.promote, "monitor": jk.Queue.stats, "operator": jk.Queue.dead}  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("prefix", "name"), [("shop:", "post"), ("", "mail"), ("other:", "mail")])
def test_another_queue_and_another_prefix_are_out_of_reach(server, role, prefix, name):
    redis = client(server, role)
    redis.prefix = prefix
    with pytest.raises(redis_py.ResponseError, match=r"(?i)permission|ACL failure"):
        ASKS[role](jk.Queue(redis, name))


def test_a_user_without_a_part_is_told_so(server):
    server.client().execute_command("ACL", "SETUSER", "nobody", "on", f">{PASSWORD}", "-@all", "+auth")
    with pytest.raises(ConfigError, match=r"permission|NOPERM"):
        client(server, "nobody")
