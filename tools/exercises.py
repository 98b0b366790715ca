"""Make exercises/ from solutions/: python tools/exercises.py.

A solution is a .py file that holds its answer between `### BEGIN SOLUTION` and `### END SOLUTION`.
In the exercise, such a part of a function becomes `raise NotImplementedError`, and such a part of a
module is left out. Hints go along as they are; folders of other answers (right, wrong) do not.

exercises/.made.json says what was made last. A file that is something else by now is somebody's work:
it is left alone here, and by the tests.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

KIT = Path(__file__).resolve().parents[1]
PART = re.compile(r"^([ ]*)### BEGIN SOLUTION\n.*?^\1### END SOLUTION\n", re.MULTILINE | re.DOTALL)


def stub(text: str) -> str:
    """Turn a solution into its exercise. Raises ValueError without a marked part in a function."""
    made = PART.sub(lambda part: f"{part[1]}raise NotImplementedError\n" if part[1] else "", text)
    if "raise NotImplementedError" not in made or "SOLUTION" in made:
        raise ValueError("a solution marks its answer with ### BEGIN SOLUTION and ### END SOLUTION")
    return re.sub(r"\n{3,}(?=def |class )", "\n\n\n", made)


def exercises(solutions: Path = KIT / "solutions") -> dict[str, str]:
    """Return all that exercises/ should hold: path in there -> text."""
    made = {}
    for path in sorted(solutions.glob("*/*")):
        if path.suffix == ".py":
            made[path.relative_to(solutions).as_posix()] = stub(path.read_text("utf-8"))
        elif path.name == "hints.md":
            made[path.relative_to(solutions).as_posix()] = path.read_text("utf-8")
    return made


def record(made: dict[str, str]) -> str:
    """Say what was made, as .made.json holds it: path -> fingerprint."""
    return json.dumps({name: digest(text) for name, text in sorted(made.items())}, indent=1) + "\n"


def digest(text: str) -> str:
    """A fingerprint."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main(made: dict[str, str] | None = None, folder: Path = KIT / "exercises") -> None:
    """Write exercises/, and say which files changed, and which are somebody's own and stay as they are."""
    made = exercises() if made is None else made
    told = folder / ".made.json"
    before = json.loads(told.read_text("utf-8")) if told.exists() else {}
    for name, text in made.items():
        path = folder / name
        old = path.read_text("utf-8") if path.exists() else None
        if old == text:
            continue
        if old is not None and digest(old) != before.get(name):
            print(f"exercises/{name} is left alone: somebody worked in it. To have it anew, move it away")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        print(f"exercises/{name}")
    told.write_text(record(made), "utf-8", newline="\n")


if __name__ == "__main__":
    main()
