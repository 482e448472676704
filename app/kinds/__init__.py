"""Kinds of task: each defines what an annotator does with a grid and what an answer means. There is
one file for each.

A new kind is a new module here that calls `register`. Campaigns, annotators' pages, simulations,
results and exports find it through `get_kind` and `all_kinds`.
"""

from app.kinds import bins, grid, select
from app.kinds.base import AnswerForm, Kind, all_kinds, get_kind

__all__ = ["AnswerForm", "Kind", "all_kinds", "bins", "get_kind", "grid", "select"]
