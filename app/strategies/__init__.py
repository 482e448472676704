"""Strategies: how answers become a model and the next grids. One file each.

A new strategy is a new module here that calls `register`; campaigns, forms, jobs and result pages
find it through `get_strategy` / `all_strategies`.
"""

from app.strategies import cen, crowdster, neucrowd, scdc
from app.strategies.base import Learned, LearningData, Strategy, all_strategies, get_strategy

__all__ = [
    "Learned",
    "LearningData",
    "Strategy",
    "all_strategies",
    "cen",
    "crowdster",
    "get_strategy",
    "neucrowd",
    "scdc",
]
