"""A fault put into the kit on purpose: a piece of a source, replaced."""

from importlib import resources
from types import SimpleNamespace

from support.acts import names

from jobkit.scripts import load


def mutated(text, before, after, file):
    """Return a source with the fault."""
    assert before in text, f"{file} has changed: give this mutant its new place"
    return text.replace(before, after)


def seed_lua(monkeypatch, file, before, after):
    """Put a fault into a Lua file (`lua/ack.lua`) of this process, until `forget_lua`."""

    def files(package):
        def joinpath(name):
            def read_text(encoding):
                text = resources.files(package).joinpath(name).read_text(encoding)
                here = f"{package.removeprefix('jobkit.').replace('.', '/')}/{name}"
                return mutated(text, before, after, file) if here == file else text

            return SimpleNamespace(read_text=read_text)

        return SimpleNamespace(joinpath=joinpath)

    monkeypatch.setattr("jobkit.scripts.resources", SimpleNamespace(files=files))
    _read_anew()


def forget_lua(monkeypatch):
    """Take all faults out again."""
    monkeypatch.undo()
    _read_anew()


def _read_anew():
    load.cache_clear()
    names.cache_clear()
