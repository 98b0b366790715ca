"""Whatever is public says what it is; every error stands in the tree that errors.py draws."""

import importlib
import inspect
import pkgutil
import re

import pytest

import jobkit
from jobkit import errors

NAMES = sorted(name for name in dir(jobkit) if not name.startswith("_"))
CORE = [
    "answers", "backoff", "bell", "clock", "deadletters", "errors", "firing", "heartbeat", "history", "job", "keys",
    "leader", "loop", "outcome", "queue", "ready.streams", "recurring", "repair", "runner", "schedule", "scheduler",
    "scripts", "submission", "timetable", "worker",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_public_names(name):
    thing = getattr(jobkit, name)
    if inspect.isclass(thing) or inspect.isfunction(thing) or inspect.ismodule(thing):
        assert inspect.getdoc(thing), name


@pytest.mark.parametrize("module", CORE)
def test_public_parts_of_the_core(module):
    module = importlib.import_module(f"jobkit.{module}")
    assert module.__doc__
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__, name
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    assert inspect.getdoc(function), f"{name}.{method}"


def test_a_docstring_begins_with_one_sentence():
    for module in CORE:
        for name, thing in vars(importlib.import_module(f"jobkit.{module}")).items():
            if inspect.isfunction(thing) and not name.startswith("_"):
                first = inspect.getdoc(thing).partition("\n\n")[0]
                assert first.rstrip().endswith((".", ":", "?")), f"{module}.{name}: {first!r}"


def test_every_error_stands_in_the_tree_with_its_builtin():
    tree = errors.__doc__
    for name, error in vars(errors).items():
        if not (inspect.isclass(error) and issubclass(error, Exception)):
            continue
        line = next((line for line in tree.splitlines() if re.search(rf"\b{name}\b", line)), None)
        assert line, f"{name} is not in the tree"
        builtin = re.search(r"\((\w+)\)", line)
        if builtin:
            assert issubclass(error, vars(__import__("builtins"))[builtin[1]]), name
            assert issubclass(error, errors.JobkitError), name


def test_the_tree_names_no_error_that_is_gone():
    for name in re.findall(r"[├└]── (\w+)", errors.__doc__):
        assert hasattr(errors, name), name


def test_every_error_of_the_kit_is_caught_by_its_root():
    for module in pkgutil.iter_modules(jobkit.__path__):
        if module.name in {"__main__", "cli", "chaos", "plot"}:
            continue
        for thing in vars(importlib.import_module(f"jobkit.{module.name}")).values():
            ours = inspect.isclass(thing) and issubclass(thing, Exception) and thing.__module__.startswith("jobkit")
            verdict = ours and thing.__name__ in {"Permanent", "RetryAfter"}
            assert not ours or verdict or issubclass(thing, errors.JobkitError), thing


def test_the_kit_is_silent_until_asked():
    import logging

    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("jobkit").handlers)
