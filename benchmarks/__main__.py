"""`make bench`: one table of what the queue, and the explorer, cost here, each rate beside a bare Python loop."""

import argparse

from benchmarks.core import FIGURES, table

parser = argparse.ArgumentParser(prog="make bench ARGS=...", description=__doc__)
parser.add_argument("--jobs", type=int, default=20_000, help="jobs per run [20000]")
parser.add_argument("--runs", type=int, default=5, help="runs per figure [5]")
parser.add_argument("--seconds", type=float, default=10.0, help="how long the light load lasts, and idleness [10]")
parser.add_argument("only", nargs="*", metavar="FIGURE", help=f"some of: {' '.join(FIGURES)}")
asked = parser.parse_args()
if unknown := set(asked.only) - set(FIGURES):
    parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
table(asked.jobs, asked.runs, asked.seconds, asked.only or list(FIGURES))
