"""Every picture of the kit: from jobkit import plot.

    picture       the one function behind all: it demands a caption, and a twin in words and figures
    attempts      a job's attempts on a line of time
    delayed       a delayed set, and now
    crew          who ran what: a row per worker process, and what became of the killed one's jobs
    watch         the same, live
    leases        what the length of a lease costs
    leaders       who takes himself for the leader, and when
    sequence      how long retry policies wait, attempt by attempt
    distribution  when jobs come back that failed together
    lines         how one figure grows with another
    storm         when the retries of a storm come, beside what the downstream serves
    waves         the same, retry by retry
    completion    which share of the jobs is served by when
    goodput       an outage of a queue with a timeout: calls that come, requests that are answered
    contention    time and writes against the number of clients
    calls         calls of something that has a limit: all, and those that were answered
    sliders       a storm under sliders

What is better read than drawn is a Table:

    table         rows under headings
    steps         who did what, in which order: a column per worker

Each returns a Picture, which shows itself in a notebook; `.save(path)` writes the PNG. Only this
package imports matplotlib, and nothing imports this package: `import jobkit` stays light.
"""

from jobkit.plot.calls import calls
from jobkit.plot.crew import crew
from jobkit.plot.goodput import contention, goodput
from jobkit.plot.leaders import leaders
from jobkit.plot.leases import leases
from jobkit.plot.lines import lines
from jobkit.plot.picture import Picture, picture
from jobkit.plot.policies import distribution, sequence
from jobkit.plot.sliders import sliders
from jobkit.plot.storms import completion, storm, waves
from jobkit.plot.tables import Table, steps, table
from jobkit.plot.timeline import attempts
from jobkit.plot.waiting import delayed
from jobkit.plot.watch import watch

__all__ = [
    "Picture",
    "Table",
    "attempts",
    "calls",
    "completion",
    "contention",
    "crew",
    "delayed",
    "distribution",
    "goodput",
    "leaders",
    "leases",
    "lines",
    "picture",
    "sequence",
    "sliders",
    "steps",
    "storm",
    "table",
    "watch",
    "waves",
]
