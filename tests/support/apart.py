"""Code in processes of its own, of which nothing is left."""

import psutil
import pytest

from jobkit.explore.apart import Apart


@pytest.fixture
def apart(tmp_path):
    """Write a file and open it apart; afterwards no process of it is left."""
    opened = []

    def write(text, **settings):
        path = tmp_path / "answer.py"
        path.write_text(text, "utf-8")
        opened.append(Apart(path, **settings))
        return opened[-1]

    yield write
    for code in opened:
        code.close()
    assert_none_left(tmp_path)


def none_left(folder):
    """Whether no process has to do with a folder."""

    def its(process):
        try:
            return str(folder) in " ".join(process.cmdline())
        except psutil.Error:
            return False

    return not any(map(its, psutil.process_iter()))


def assert_none_left(folder):
    assert none_left(folder)
    zombies = [child for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE]
    assert zombies == []
