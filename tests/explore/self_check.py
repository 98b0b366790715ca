"""Explores the kit's own operations, and faults put into them; prints the tables and writes them into docs/explorer.md.

python tests/explore/self_check.py
"""

import sys
from multiprocessing import Pool
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import page
from support.lane_pairs import LANE_FAULTS
from support.pairs import row, total
from support.parts import OPERATIONS
from support.store_faults import ALL_FAULTS

from jobkit.ready import Leases, Lists


def main():
    """Make the tables."""
    with Pool() as pool:
        rows = list(_told("pairs", pool.imap(row, OPERATIONS)))
        print(total(rows))
        stores = list(_told("stores", (_other(pool, store) for store in (Lists(), Leases()))))
        faults = list(_told("faults", pool.imap(_line, ALL_FAULTS)))
        lanes = list(_told("lanes", pool.imap(_line, LANE_FAULTS)))
    page.write("pairs", [*map(str, rows), str(total(rows))])
    page.write("stores", stores)
    page.write("faults", faults)
    page.write("lanes", lanes)


def _told(name, lines):
    """Print a table as it is made."""
    print(page.HEADS[name])
    for line in lines:
        print(line, flush=True)
        yield line


def _other(pool, store):
    """Explore all meetings with another store."""
    return str(total(pool.starmap(row, [(name, store) for name in OPERATIONS]), store.name))


def _line(name):
    fault = (ALL_FAULTS | LANE_FAULTS)[name]
    with pytest.MonkeyPatch.context() as patch:
        return page.line(name, fault, page.shown(fault, patch))


if __name__ == "__main__":
    main()
