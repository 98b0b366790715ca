"""A small real Sentinel: a master, its replica, and three Sentinels that watch them, all on loopback."""

import secrets
import signal

from jobkit.connect.private import PrivateServer

PASSWORD = secrets.token_hex(16)


class Watched(PrivateServer):
    """A server whose password the others know."""

    def _login(self):
        self.port, _ = super()._login()
        return self.port, PASSWORD

    def ask(self, *command):
        return self._direct.execute_command(*command)


class OneSentinel(Watched):
    """It writes what it learns into its own configuration: so that is a file, in its folder."""

    arguments = ("redis.conf", "--sentinel")


class SentinelSet:
    """`with SentinelSet() as watched:` - `master`, `replica`, three `sentinels`, and the `url` of the master."""

    def __init__(self):
        auth = f"masterauth {PASSWORD}"
        quick = ["repl-diskless-sync yes", "repl-diskless-sync-delay 0", auth]
        self.servers = []
        self.master = self._start(Watched, quick)
        self.replica = self._start(Watched, [*quick, f"replicaof 127.0.0.1 {self.master.port}"])
        watch = [
            f"sentinel monitor jobs 127.0.0.1 {self.master.port} 2",
            f"sentinel auth-pass jobs {PASSWORD}",
            "sentinel down-after-milliseconds jobs 1000",
            "sentinel failover-timeout jobs 3000",
        ]
        self.sentinels = [self._start(OneSentinel, watch) for _ in range(3)]
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in self.sentinels)
        self.url = f"redis+sentinel://:{PASSWORD}@{hosts}/jobs?sentinel_password={PASSWORD}&prefix="

    def _start(self, kind, settings):
        self.servers.append(kind(over="loopback", settings=settings))
        return self.servers[-1]

    def ready(self):
        """Whether the replica follows, and every Sentinel knows it and the two others."""
        told = self.replica._direct.info("replication")
        views = [one._direct.sentinel_master("jobs") for one in self.sentinels]
        follows = told["role"] == "slave" and told["master_link_status"] == "up"
        return follows and all(view["num-slaves"] == 1 and view["num-other-sentinels"] == 2 for view in views)

    def kill_master(self):
        self.master.send_signal(signal.SIGKILL)

    def failed_over(self):
        return self.replica.ask("ROLE")[0] == b"master"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for server in self.servers:
            server.close()
