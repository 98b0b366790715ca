"""`jobkit explore FILE.py`: report, exit status, pictures, mistakes."""

import json
import textwrap
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from jobkit.cli.explore import command
from jobkit.cli.main import main

RACY = """
    from jobkit.explore import each_runs_once, jobs

    def claim(r, w):
        for job in r.zrange("delayed", 0, -1):
            if r.zrem("delayed", job) or not CAREFUL:
                w.effect("run " + job.decode())

    CAREFUL = False
    workers, given, finally_ = [claim, claim], jobs(1), each_runs_once
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "race.py"
        path.write_text(textwrap.dedent(text), "utf-8")
        return str(path)

    return write


@pytest.fixture
def explore(file):
    """Run it: (exit status, stdout)."""

    def run(text, *options):
        result = CliRunner().invoke(command, [file(text), *options])
        return result.exit_code, result.stdout

    return run


def test_a_race_is_found_shown_and_said_by_the_exit_status(explore):
    status, out = explore(RACY)
    assert status == 1
    assert "run j0 done 2 times" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_clean_file_ends_with_0(explore):
    status, out = explore(RACY.replace("CAREFUL = False", "CAREFUL = True"))
    assert status == 0
    assert "no failing schedule" in out


def test_an_option_counts_more_than_the_file(explore):
    careful = RACY.replace("CAREFUL = False", "CAREFUL = True")
    status, out = explore(careful, "--crashes", "1")
    assert (status, "never ran" in out) == (1, True)
    assert explore(careful + "    crashes = 1\n")[0] == 1
    assert explore(careful + "    crashes = 1\n", "--crashes", "0")[0] == 0


def test_json(explore):
    status, out = explore(RACY, "--json", "--bound", "all")
    report = json.loads(out)
    assert status == 1
    assert (report["holds"], report["failure"]["schedule"]) == (False, "ABBBAA")
    assert [step["text"] for step in report["failure"]["steps"]][-1] == "run j0"
    assert report["coverage"]["workers"] == 2


def test_the_schedule_of_a_report_is_run_again(explore):
    schedule = json.loads(explore(RACY, "--json")[1])["failure"]["schedule"]
    again = json.loads(explore(RACY, "--json", "--schedule", schedule)[1])
    assert again["failure"]["schedule"] == schedule
    assert again["coverage"]["schedules"] == 1


def test_at_random(explore):
    assert explore(RACY, "--seed", "1", "--schedules", "50") == explore(RACY, "--seed", "1", "--schedules", "50")
    assert explore(RACY, "--seed", "1", "--schedules", "50")[0] == 1


def test_a_picture(explore, tmp_path):
    explore(RACY, "--svg", str(tmp_path / "race.svg"))
    svg = ET.fromstring((tmp_path / "race.svg").read_text("utf-8"))
    assert "run j0" in "".join(svg.itertext())


@pytest.mark.usefixtures("live_server")
def test_on_a_private_server(explore):
    assert explore(RACY, "--live")[0] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "no list `workers`"),
        ("workers = []", "no list `workers`"),
        ("workers = [3]\nfinally_ = bool", "1 to 8 functions"),
        ("workers = [print]\nfinal = bool", "has no promise: name it finally_, always or never"),
        ("def f(r):\n    pass\n1 / 0", "race.py, line 3: ZeroDivisionError"),
        ("def f(:", "race.py, line 1: SyntaxError"),
        ("import sys\nsys.exit(0)", "race.py, line 2"),
        (
            "def f(r):\n    while True: r.get('x')\nworkers, finally_ = [f], bool",
            "a loop that polls cannot be explored",
        ),
        ("def f(r):\n    pass\nworkers, finally_ = [f], bool\ncrashes = -1", "crashes is a whole number from 0"),
    ],
)
def test_mistakes_are_one_line_and_end_with_2(file, text, said, capsys):
    path = file(text)
    with pytest.raises(SystemExit) as ended:
        main(["explore", path])
    err = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1
