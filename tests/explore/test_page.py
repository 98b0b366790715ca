"""docs/explorer.md keeps its word: the example prints what it says, and every option is in the table."""

import inspect
import re

from support.page import FILE

from jobkit.explore import World, explore

PAGE = FILE.read_text("utf-8")


def test_the_example_prints_what_the_page_shows(capsys):
    (example, output) = re.findall(r"```(?:python)?\n(.*?)```", PAGE, re.DOTALL)[:2]
    exec(compile(example, "explorer.md", "exec"), {})
    assert capsys.readouterr().out == output
    assert sum(bool(line.strip()) for line in example.splitlines()) <= 10


def test_every_option_is_in_the_table():
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", PAGE, re.MULTILINE))))
    taken = {name for name, one in inspect.signature(explore).parameters.items() if one.kind is one.KEYWORD_ONLY}
    assert named == taken


def test_what_a_promise_can_look_at():
    given = set(re.findall(r"`world\.(\w+)`", PAGE))
    assert given <= set(vars(World(None, None)))
