from .apart import Apart
from .api import explore
from .promises import each_runs_once, jobs, none_runs_twice, nothing_lost
from .report import Report
from .world import World

__all__ = ["Apart", "Report", "World", "each_runs_once", "explore", "jobs", "none_runs_twice", "nothing_lost"]
