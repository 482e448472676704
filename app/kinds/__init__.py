"""Kinds of task: each defines what an annotator does with a grid and what an answer means. There is
one file for each.

A new kind is a new module here and one more line below. Campaigns, annotators' pages, simulations,
results and exports find it through `get_kind` and `all_kinds`.
"""

from app.kinds.base import AnswerForm, Ballot, Kind, all_kinds, get_kind, kind_of, register
from app.kinds.bins import BinsKind
from app.kinds.classify import ClassifyKind
from app.kinds.grid import GridKind
from app.kinds.labels import LabelsKind
from app.kinds.nearer import NearerKind
from app.kinds.odd_one_out import OddOneOutKind
from app.kinds.select import SelectKind

__all__ = ["AnswerForm", "Ballot", "Kind", "all_kinds", "get_kind", "kind_of", "register"]

# In the order in which requesters see them.
register(GridKind())
register(BinsKind())
register(OddOneOutKind())
register(NearerKind())
register(SelectKind())
register(ClassifyKind())
register(LabelsKind())
