"""The page that Prometheus reads: its names and figures, by the official library's own parser."""

import builtins
import importlib
import math
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
import redis as redis_py
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import jobkit as jk
from jobkit.connect import address_for_others, without_retries
from jobkit.errors import ConfigError
from jobkit.metrics import Collector, serve
from jobkit.stats import TOTALS


@pytest.fixture
def page():
    """Write the page of some sources, and read it back: {(sample, queue, state or le): value}, and the families."""

    def read(sources):
        registry = CollectorRegistry()
        registry.register(sources if isinstance(sources, Collector) else Collector(sources))
        return parsed(generate_latest(registry).decode())

    return read


def parsed(text):
    families = list(text_string_to_metric_families(text))
    samples = {}
    for sample in (sample for family in families for sample in family.samples):
        key = (sample.name, sample.labels["queue"], sample.labels.get("state", sample.labels.get("le")))
        assert key not in samples, "a sample stands once"
        samples[key] = sample.value
    return samples, families


@pytest.fixture
def busy(queue, worker, bury):
    """One overdue for two minutes, one ready, one running, one dead for ten minutes and one done."""
    bury("buried")
    queue.submit("receipt", {"to": "ada"})
    worker.step()
    queue.clock.advance(480)
    queue.submit("receipt", delay=1)
    queue.clock.advance(121)
    queue.submit_many([jk.New("receipt")] * 2)
    queue.claim("w2")
    return queue


def test_levels_ages_totals_and_lateness(busy, page):
    samples, _ = page({"mail": busy.stats})
    assert samples["jobkit_up", "mail", None] == 1
    jobs = {state: n for (name, _, state), n in samples.items() if name == "jobkit_jobs"}
    assert jobs == {"scheduled": 1, "waiting": 0, "ready": 1, "running": 1, "dead": 1, "lost": 0}
    ages = {state: age for (name, _, state), age in samples.items() if name == "jobkit_oldest_seconds"}
    assert ages == {
        "scheduled": pytest.approx(120, abs=5),
        "ready": pytest.approx(0, abs=5),
        "dead": pytest.approx(601, abs=5),
    }
    totals = {name: samples[f"jobkit_{name}_total", "mail", None] for name in TOTALS}
    assert totals == dict.fromkeys(TOTALS, 0) | {"submitted": 5, "done": 1, "dead": 1}
    assert samples["jobkit_lateness_seconds_count", "mail", None] == 3
    assert samples["jobkit_lateness_seconds_bucket", "mail", "+Inf"] == 3


def test_a_histogram_grows_from_bound_to_bound(fake, page):
    queue = jk.Queue(fake, "mail")
    for late in (0, 0.02, 7, 86_400):
        queue.submit("receipt")
        queue.clock.advance(late)
        queue.claim("w")
    samples, _ = page({"mail": queue.stats})
    buckets = [(float(le), n) for (name, _, le), n in samples.items() if name == "jobkit_lateness_seconds_bucket"]
    assert buckets == sorted(buckets)
    assert [dict(buckets)[le] for le in (0.005, 0.01, 0.025, 5, 10, 3600, math.inf)] == [1, 1, 2, 2, 3, 3, 4]
    assert samples["jobkit_lateness_seconds_sum", "mail", None] == 86_407.02


def test_names_are_as_prometheus_wants_them(busy, page):
    _, families = page({"mail": busy.stats})
    for family in families:
        assert re.fullmatch(r"jobkit_[a-z]+(_[a-z]+)*", family.name)
        assert family.documentation.endswith(".")
        assert not re.search(r"_(ms|milliseconds|minutes|count|sum|bucket|gauge|counter)$", family.name)
        for sample in family.samples:
            assert sample.name.endswith("_total") is (family.type == "counter")
    assert {family.type for family in families} == {"gauge", "counter", "histogram"}
    assert {family.name for family in families if family.type == "histogram"} == {"jobkit_lateness_seconds"}


def test_an_empty_queue_has_all_its_samples(queue, page):
    """So that a rate is 0, not unknown, from the first scrape on."""
    samples, _ = page({"mail": queue.stats})
    assert samples.pop(("jobkit_up", "mail", None)) == 1
    assert set(samples.values()) == {0}
    assert len([name for name, *_ in samples if name.endswith("_total")]) == len(TOTALS)
    assert queue.redis.dbsize() == 0


def test_a_label_may_be_any_text(fake, page):
    name = 'post "&\\ parcel\n größe'
    assert page({name: jk.Queue(fake, "mail").stats})[0]["jobkit_up", name, None] == 1


def test_a_redis_that_is_away_is_up_0_and_hides_no_other_queue(own_server, fake, page, caplog):
    away = jk.Queue(without_retries(own_server.client()), "mail")
    collector = Collector({"mail": away.stats, "post": jk.Queue(fake, "post").stats})
    assert page(collector)[0]["jobkit_up", "mail", None] == 1
    own_server.close()
    for _ in range(2):
        samples, _ = page(collector)
        assert {key: value for key, value in samples.items() if key[1] == "mail"} == {("jobkit_up", "mail", None): 0}
        assert samples["jobkit_jobs", "post", "ready"] == 0
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == ["mail cannot be read"]


@pytest.mark.parametrize("error", [redis_py.TimeoutError("x"), ConfigError("x"), OSError("x")])
def test_it_is_up_again_as_soon_as_it_can_be_read(fake, page, caplog, error):
    queue = jk.Queue(fake, "mail")
    answers = iter([error, None])

    def source():
        answer = next(answers)
        if answer:
            raise answer
        return queue.stats()

    collector = Collector({"mail": source})
    caplog.set_level("INFO", "jobkit.metrics")
    assert [page(collector)[0]["jobkit_up", "mail", None] for _ in range(2)] == [0, 1]
    assert caplog.messages[-1] == "mail can be read again"


def test_without_the_library_it_says_what_to_install(monkeypatch, call, url):
    real_import = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("prometheus_client"):
            raise ImportError(name)
        return real_import(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "jobkit.metrics")
    monkeypatch.setattr(builtins, "__import__", without)
    assert call("metrics", "mail") == (
        2,
        "",
        "jobkit: metrics need prometheus-client: install jobkit[prometheus]\n",
    )
    with pytest.raises(ConfigError, match="prometheus-client"):
        importlib.import_module("jobkit.metrics")


def test_a_port_that_is_taken_is_one_line(queue, call, url):
    endpoint = serve(Collector({"mail": queue.stats}), 0)
    port = endpoint.url.rpartition(":")[2].partition("/")[0]
    status, out, err = call("metrics", "mail", "--port", port)
    endpoint.close()
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"jobkit: cannot listen on 127.0.0.1, port {port} (")


@pytest.mark.parametrize("bad", ["redis://:s3cret@{host}", "redis://ada:s3cret@{host}", "http://ada:s3cret@{host}"])
def test_what_waiting_cannot_mend_ends_it_at_once(bad, own_server, call):
    host = address_for_others(own_server.client()).rpartition("@")[2].removesuffix("?prefix=")
    status, out, err = call("metrics", "mail", "--url", bad.format(host=host))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "s3cret" not in err


@pytest.fixture
def metrics(tmp_path):
    """Start `jobkit metrics mail` on a free port: the process, and its address once it serves."""
    processes = []

    def start(url):
        command = [sys.executable, "-m", "jobkit", "metrics", "mail", "--port", "0", "--url", url]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        processes.append(process)
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"serves (http://127\.0\.0\.1:\d+/metrics)", line):
                return process, found[1], "".join(said)
        raise AssertionError("".join(said))

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def get(address):
    with urllib.request.urlopen(address, timeout=10) as answer:
        return parsed(answer.read().decode())[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_on_loopback_and_outlives_its_redis(metrics, own_server, eventually, number):
    client = own_server.client()
    process, address, _ = metrics(address_for_others(client).removesuffix("?prefix="))
    assert get(address)["jobkit_jobs", "mail", "ready"] == 0
    jk.Queue(client, "mail", ready=jk.Leases()).submit("receipt")  # a store of which nobody could know at the start
    eventually(lambda: get(address)["jobkit_up", "mail", None])  # a scrape opens the queue anew
    assert get(address)["jobkit_jobs", "mail", "ready"] == 1
    own_server.restart()
    assert get(address)["jobkit_jobs", "mail", "ready"] == 0, "this server keeps nothing on disk"
    own_server.close()
    assert get(address) == {("jobkit_up", "mail", None): 0}
    process.send_signal(number)
    assert process.wait(10) == 0


def test_a_redis_that_starts_later(metrics, own_server):
    address = address_for_others(own_server.client()).removesuffix("?prefix=")
    own_server.close()
    process, page, said = metrics(address)
    assert "nothing answers at redis://127.0.0.1" in said
    assert get(page) == {("jobkit_up", "mail", None): 0}
    assert process.poll() is None
