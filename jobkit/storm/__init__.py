"""What does this retry policy do to a downstream that failed? The simulator.

It takes the very policies that the queue uses, and knows nothing of Redis.
"""

from jobkit.storm.capacity import Plan, capacity, erlang_c, workers_for
from jobkit.storm.compare import Comparison, compare
from jobkit.storm.contention import Contention, occ, strategies
from jobkit.storm.guards import Breaker, Budget
from jobkit.storm.queueing import Outage, coin_flip, metastable
from jobkit.storm.result import Storm, Summary
from jobkit.storm.retry import storm

__all__ = [
    "Breaker",
    "Budget",
    "Comparison",
    "Contention",
    "Outage",
    "Plan",
    "Storm",
    "Summary",
    "capacity",
    "coin_flip",
    "compare",
    "erlang_c",
    "metastable",
    "occ",
    "storm",
    "strategies",
    "workers_for",
]
