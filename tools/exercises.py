"""Make exercises/ from solutions/: python tools/exercises.py.

A solution is a .py file that holds its answer between `### BEGIN SOLUTION` and `### END SOLUTION`.
In the exercise, such a part of a function becomes `raise NotImplementedError`, and such a part of a
module is left out. Hints go along as they are; folders of other answers (right, wrong) do not.
"""

from __future__ import annotations

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


def main() -> None:
    """Write exercises/, and say which files changed."""
    for name, text in exercises().items():
        path = KIT / "exercises" / name
        if path.exists() and path.read_text("utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        print(f"exercises/{name}")


if __name__ == "__main__":
    main()
