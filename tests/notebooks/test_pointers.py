"""What a reader is sent to is there, and what is said to come is not there yet."""

import re

import pytest

from jobkit.cli import notebooks, store

KIT = notebooks.FOLDER.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)(?:#[^)]*)?\)")
FIRST_READ = ("jobkit/lua/promote.lua", "jobkit/backoff.py", "jobkit/lua/fail.lua")


def prose(name):
    return "\n\n".join(
        cell.source for cell in store.load(notebooks.FOLDER / f"{name}.py").cells if cell.cell_type == "markdown"
    )


def test_links_of_a_notebook(name):
    for target in LINK.findall(prose(name)):
        if "://" not in target:
            assert (notebooks.FOLDER / target).resolve().exists(), target


def test_links_of_the_readme_and_of_the_documents():
    for page in (KIT / "README.md", *(KIT / "docs").glob("*.md")):
        for target in LINK.findall(page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).resolve().exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", ["README.md", "notebooks/00_start.py"])
def test_four_files_are_read_first(page):
    text = (KIT / page).read_text("utf-8")
    for file in FIRST_READ:
        assert (KIT / file).exists()
        assert file in text, file
    assert "leader.py" in text


def test_the_map_is_honest():
    rows = re.findall(r"^\| (\d\d) \| (.*?) \| (.*?) \|$", prose("00_start"), re.MULTILINE)
    assert [number for number, _, _ in rows] == [f"{n:02}" for n in range(16)]
    present = {path.stem[:2]: path.stem for path in notebooks.find(suffix=".py")}
    for number, title, said in rows:
        if number in present:
            if number == "00":
                assert said == "you are here"
                continue
            minutes = re.search(r"[Aa]bout (\d+) minutes", prose(present[number]))
            assert said == (f"here, {minutes[1]} minutes" if minutes else "here"), title
            assert f"({present[number]}.ipynb)" in title, title
        else:
            assert said == "to come", title


def test_a_notebook_sends_nobody_to_a_notebook_that_is_missing(name):
    """Numbers of notebooks are fine: the map says which are here. Names of files are links."""
    assert not re.search(r"`\d\d_\w+\.(ipynb|py)`", prose(name))
