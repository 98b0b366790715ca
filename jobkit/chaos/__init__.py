"""The chaos campaign: workers killed in mid-job, the server killed and restarted, and the books after it.

campaign    run one; returns its Report
Plan        how many of what
Report      what is left: lost must be 0, and so must double_effects
verdict     what to say of it
"""

from jobkit.chaos.campaign import campaign
from jobkit.chaos.plan import Plan, Report, verdict

__all__ = ["Plan", "Report", "campaign", "verdict"]
