"""Every picture of the kit: from jobkit import plot.

    picture       the one function behind all: it demands a caption, and a twin in words and figures
    attempts      a job's attempts on a line of time
    delayed       a delayed set, and now
    sequence      how long retry policies wait, attempt by attempt
    distribution  when jobs come back that failed together
    lines         how one figure grows with another

What is better read than drawn is a Table:

    table         rows under headings
    steps         who did what, in which order: a column per worker

Each returns a Picture, which shows itself in a notebook; `.save(path)` writes the PNG. Only this
package imports matplotlib, and nothing imports this package: `import jobkit` stays light.
"""

from jobkit.plot.lines import lines
from jobkit.plot.picture import Picture, picture
from jobkit.plot.policies import distribution, sequence
from jobkit.plot.tables import Table, steps, table
from jobkit.plot.timeline import attempts
from jobkit.plot.waiting import delayed

__all__ = ["Picture", "Table", "attempts", "delayed", "distribution", "lines", "picture", "sequence", "steps", "table"]
