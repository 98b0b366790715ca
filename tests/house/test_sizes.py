"""Files up to about 250 lines, functions up to about 40."""

import ast
from pathlib import Path

import pytest

import jobkit

PACKAGE = Path(jobkit.__file__).parent
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if "__pycache__" not in path.parts]
TESTS = sorted(Path(__file__).parents[1].rglob("*.py"))
LONGER = {"queue.py": "the table of all verbs: one method each"}
"""A longer file needs a reason that a reader accepts."""


def lines(path):
    return len(path.read_text("utf-8").splitlines())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_are_short(path):
    assert lines(path) <= (420 if path.name in LONGER else 300)


def test_the_typical_file_is_much_shorter():
    lengths = sorted(lines(path) for path in FILES)
    assert lengths[len(lengths) // 2] <= 150
    assert sum(length > 260 for length in lengths) <= 3


def test_test_files_are_short():
    assert [path.name for path in TESTS if lines(path) > 320] == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.lua")), ids=lambda path: path.stem)
def test_scripts_are_short(path):
    assert lines(path) <= 150


def functions(path):
    """Yield (name, lines of code) of each function: without its docstring."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            first = node.body[0]
            said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            yield node.name, node.end_lineno - (first.end_lineno if said else node.lineno)


def test_functions_are_short():
    long = [(path.name, name, n) for path in FILES for name, n in functions(path) if n > 48]
    assert long == []
