"""Every notebook runs on the fake and on a live server, and says there what is stored."""

import re

import pytest
from support.own import must_be_unsolved

from jobkit.cli.store import WIDGET, tidy

TEXT = ("text/plain", "text/html", "text/markdown", "text/latex")


def outputs(cell):
    """What a cell put on the page, as text; of a picture, that it is there."""
    found = []
    for output in map(tidy, cell.outputs):
        data = output.get("data", {})
        if WIDGET in data:
            continue
        kind = output.get("name", output.output_type)
        parts = {mime: data[mime] if mime in TEXT else "" for mime in sorted(data)}
        found.append((kind, output.get("text", parts)))
    return found


def kinds(cell):
    """The same, without what it says."""
    return [(kind, sorted(said) if isinstance(said, dict) else "") for kind, said in outputs(cell)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", ["fake", "private"])
def test_it_says_what_is_stored(name, stored, run, server, request):
    if server == "private":
        request.getfixturevalue("live_server")
    for exercise in re.findall(r"exercises/(\w+/\w+\.py)", str([cell.source for cell in stored.cells])):
        must_be_unsolved(exercise)
    executed = run(name, server)
    assert len(executed.cells) == len(stored.cells)
    for fresh, old in zip(executed.cells, stored.cells, strict=True):
        if old.cell_type != "code":
            continue
        compare = kinds if "varies" in old.metadata.get("tags", []) else outputs
        assert compare(fresh) == compare(old), old.source
