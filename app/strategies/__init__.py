"""Strategies: each defines how answers become a model and the next grids. There is one file for
each.

A new strategy is a new module here that calls `register`. Campaigns, forms, jobs and result pages
find it through `get_strategy` and `all_strategies`.
"""

from app.strategies import cen, crowdster, neucrowd, scdc
from app.strategies.base import (
    Learned,
    LearningData,
    Strategy,
    all_strategies,
    get_strategy,
    kinds_of,
)

__all__ = [
    "Learned",
    "LearningData",
    "Strategy",
    "all_strategies",
    "cen",
    "crowdster",
    "get_strategy",
    "kinds_of",
    "neucrowd",
    "scdc",
]
