"""What import-linter cannot say: who asks for time and chance, who draws, who knows of Redis."""

import ast
from pathlib import Path

import jobkit

PACKAGE = Path(jobkit.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
DISGUISE = "explore/disguise.py"
"""Gives workers under exploration a time and a chance of their own."""
DISPLAY = ("cli", "processes.py", "chaos")
"""Parts that live in real time: a command line, real processes, a campaign against them."""


def imports(path):
    """Yield (module, name or None) for every import in a file, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def part(path):
    return path.relative_to(PACKAGE).parts[0]


def calls(path):
    """Yield the dotted name of every call in a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_there_is_something_to_look_at():
    assert len(FILES) > 30


def test_time_is_asked_in_clock_alone():
    """Besides clock.py: the parts that display, and those two that give the fake, and explored code, another clock."""
    allowed = {"clock.py", "connect/faketime.py", DISGUISE}
    guilty = [
        str(path.relative_to(PACKAGE))
        for path in FILES
        if part(path) not in DISPLAY
        and str(path.relative_to(PACKAGE)) not in allowed
        and any(module == "time" for module, _ in imports(path))
    ]
    assert guilty == []


def test_nobody_asks_for_the_date():
    asking = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "datetime.datetime.now"}
    guilty = [path.name for path in FILES if part(path) not in DISPLAY and asking & set(calls(path))]
    assert guilty == []


def test_chance_is_made_in_clock_alone():
    """`Random` may be named as a type; nobody but clock.py makes one, or uses the one of the module."""
    for path in FILES:
        if path.name == "clock.py" or part(path) in DISPLAY or path == PACKAGE / DISGUISE:
            continue
        text = path.read_text("utf-8")
        made = {"Random", "random.Random", "random.SystemRandom", "random.random", "random.seed", "np.random.seed"}
        assert not made & set(calls(path)), path
        assert "np.random.rand(" not in text, path
        assert ("random", None) not in set(imports(path)), path


def test_matplotlib_is_for_plot_alone():
    others = [path for path in FILES if part(path) != "plot"]
    assert [path.name for path in others for module, _ in imports(path) if module.startswith("matplotlib")] == []


def test_the_simulator_knows_nothing_of_redis():
    for path in FILES:
        if part(path) == "storm":
            modules = {module for module, _ in imports(path)}
            assert not any(module.split(".")[0] in {"redis", "fakeredis"} for module in modules), path
            assert not any(module.startswith("jobkit.connect") for module in modules), path


def test_the_pure_layer_imports_nothing_but_itself():
    for name in ("errors", "clock", "keys", "backoff"):
        modules = {
            m for m, _ in imports(PACKAGE / f"{name}.py") if m.startswith("jobkit") or m.split(".")[0] == "redis"
        }
        assert modules <= {"jobkit.errors", "jobkit.clock"}, (name, modules)


def test_scripts_are_called_from_one_place():
    """No EVAL beside the loader, except where the kit ages a server of its own."""
    for path in FILES:
        if path.name in {"scripts.py", "liveclock.py", "once.py"} or part(path) in {"explore", "cli", "chaos"}:
            continue
        names = {name.rpartition(".")[2] for name in calls(path)}
        assert not names & {"eval", "evalsha", "register_script"}, path
