"""An id is shown so that it can be pasted into a shell, and means the same there."""

import random
import shutil
import subprocess
import unicodedata

import pytest

from jobkit.cli.text import masked, moment, shown, table

CHARS = [chr(n) for n in range(1, 0x250)] + list("\u202e\u200b\u2028日本語🎈😀\U000e0001\ue000")


@pytest.mark.parametrize(
    ("id", "as_shown"),
    [
        ("order:17", "order:17"),
        ("größe:日本語", "größe:日本語"),
        ("a b", "'a b'"),
        ("a'b", """'a'"'"'b'"""),
        ("a\nb", r"$'a\nb'"),
        ("a\\\n'b", r"$'a\\\n\'b'"),
        ("\x1b[31m", r"$'\x1b[31m'"),
        ("\u202eevil", r"$'\u202eevil'"),
        ("$HOME", "'$HOME'"),
        ("", "''"),
    ],
)
def test_shown(id, as_shown):
    assert shown(id) == as_shown


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash to paste it into")
def test_a_shell_reads_what_is_shown_as_the_id_that_it_is():
    rng = random.Random(7)
    ids = ["".join(rng.choices(CHARS, k=rng.randint(1, 12))) for _ in range(500)]
    script = "".join(f"printf '%s\\0' {shown(id)}\n" for id in ids)
    told = subprocess.run(["bash", "-c", script], env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=True).stdout
    assert told.decode().split("\0")[:-1] == ids
    assert all(unicodedata.category(char)[0] != "C" for char in "".join(map(shown, ids)))


def test_cells_are_taken_as_they_are():
    lines = table(("id", "why"), [(":heart:", "[red]not markup[/]"), ("b", "[/]")]).splitlines()
    assert lines == ["id       why", ":heart:  [red]not markup[/]", "b        [/]"]


def test_numbers_stand_under_each_other():
    assert table(("state", "jobs"), [("ready", "7"), ("dead", "1,234")], right=("jobs",)).splitlines() == [
        "state   jobs",
        "ready      7",
        "dead   1,234",
    ]


def test_moment_is_utc():
    assert moment(1_767_225_600_123) == "2026-01-01T00:00:00.123Z"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no redis://ada:s3cret@h:1/0 here", "no redis://h:1/0 here"),
        ("rediss://:s3cret@h", "rediss://h"),
        ("mail ada@example.org // a@b", "mail ada@example.org // a@b"),
        ("http://h/@x", "http://h/@x"),
    ],
)
def test_masked(text, left):
    assert masked(text) == left
