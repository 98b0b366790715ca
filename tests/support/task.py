"""The exercise at the end of a notebook, put to answers that nobody has typed into it."""

import textwrap

from jobkit.cli import notebooks, store
from jobkit.explore import Report, explore


class Task:
    """The exercise of a page: `Task("03_whose_clock", "call_in(redis, room, seconds)")`.

    `given`: how the cells begin that the check needs and that stand before it.
    """

    def __init__(self, page, signature, given=()):
        self.cells = store.load(notebooks.FOLDER / f"{page}.py").cells
        self.page, self.signature, self.given = page, signature, given

    def verdict(self, body, **names):
        """Run the page's check of a function with this body, among these names; return what it says."""
        found = {"explore": explore} | names
        for cell in self.cells:
            if cell.cell_type == "code" and cell.source.startswith(tuple(self.given)):
                exec(cell.source, found)
        name = self.signature.partition("(")[0]
        exec(f"def {self.signature}:\n{textwrap.indent(body, '    ')}\n", found)
        for cell in filter(_checks, self.cells):
            exec(cell.source.replace(f"\ncheck({name})", f"\nsaid = check({name})"), found)
        said = found["said"]
        return f"{said.failure.promise}: {said.verdict}" if isinstance(said, Report) else said

    def solution(self):
        """Return the body of the solution in the fold."""
        prose = next(cell.source for cell in self.cells if "<summary>A solution" in cell.source)
        code = prose.split("```python\n")[1].split("```")[0]
        return textwrap.dedent(code.partition("\n")[2])

    def stored(self, as_stored):
        """Return what the check says of the stub, as it is stored."""
        return str([cell for cell in as_stored(self.page).cells if _checks(cell)][-1].outputs)


def _checks(cell):
    return "check" in cell.metadata.get("tags", [])
