"""JupyterLab as `jobkit lab` starts it: on loopback, behind its token, on this Python, without questions."""

import json
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from jobkit.cli.notebooks import FOLDER

RUNTIME = FOLDER.parent / ".jupyter" / "runtime"


@pytest.fixture
def lab(course, command, hostile_home, eventually):
    """A running lab: ask(path, token=True, data=None) -> the JSON that it answers."""
    folder = course(_00_start=["1"])
    process = command("lab", "--no-browser", "--notebooks", folder, "--port", "0", HOME=str(hostile_home))
    known = RUNTIME / f"jpserver-{process.pid}.json"
    # The file is there before it is written.
    eventually(lambda: (known.exists() and known.read_text()) or process.poll() is not None, within=60)
    assert process.poll() is None, process.communicate()
    facts = json.loads(known.read_text())

    def ask(path, data=None, *, token=True):
        headers = {"Authorization": f"token {facts['token']}"} if token else {}
        request = urllib.request.Request(facts["url"] + path, headers=headers, data=data)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def answers():
        try:
            return ask("api")
        except urllib.error.URLError:
            return None

    ask.facts, ask.process = facts, process
    eventually(answers, within=30)
    yield ask
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)


def test_lab(lab, eventually):
    assert lab.facts["hostname"] == "127.0.0.1"
    assert lab.facts["token"]
    with pytest.raises(urllib.error.HTTPError, match="403"):
        lab("api/contents", token=False)

    kernel = lab("api/kernels", b'{"name": "python3"}')
    children = eventually(
        lambda: [p for p in psutil.Process(lab.process.pid).children() if "ipykernel" in str(p.cmdline())]
    )
    assert kernel["name"] == "python3"
    assert Path(children[0].cmdline()[0]).parent == Path(sys.executable).parent

    start = lab("api/contents/notebooks/00_start.ipynb")
    assert all(cell["metadata"]["trusted"] for cell in start["content"]["cells"] if cell["cell_type"] == "code")

    settings = lab("lab/api/settings/@jupyterlab/apputils-extension:notification")
    asks = {name: settings["schema"]["properties"][name]["default"] for name in ("fetchNews", "checkForUpdates")}
    assert asks == {"fetchNews": "false", "checkForUpdates": False}

    lab.process.send_signal(signal.SIGINT)
    out, err = lab.process.communicate(timeout=30)
    assert lab.process.returncode == 0
    assert (out + err).startswith("jobkit: the fake Redis")
    assert f"/lab/tree/notebooks/00_start.ipynb?token={lab.facts['token']}" in err
    eventually(lambda: not children[0].is_running() or children[0].status() == psutil.STATUS_ZOMBIE)
