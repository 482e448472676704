"""Assigns people to types by which type's view predicts their answers better.

A view is a set of positions that the people of a type agree on. Nobody is judged by a view that was
learned from their own answers: people are divided into folds, and a view is that of the other
folds' people of the type.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from learning.annotator_scores import learned_positions, person_folds, person_sums
from learning.arrays import BoolArray, FloatArray, IntArray
from learning.groupings import Groupings

_N_ROUNDS = 6
_FEWEST_PEOPLE = 2
# In standard errors of a sum over people.
_CLEAR_GAIN = 3.0


@dataclass(frozen=True, eq=False)
class Assignment:
    """type: (W,) of each annotator; clarity: (W,) in [0, 1], the probability that the mean
    difference between the errors of the best and the second-best view, answer by answer, is above
    0; error: (W,) sum of the errors of the best view."""

    type: IntArray
    clarity: FloatArray
    error: FloatArray

    def predicts_better(self, other: Assignment) -> bool:
        """Whether people's answers are predicted better than by another assignment, clearly."""
        gain = other.error - self.error
        return bool(gain.sum() > _CLEAR_GAIN * np.sqrt((gain**2).sum()))


def assign_types(groupings: Groupings, start: IntArray, n_types: int, seed: int) -> Assignment:
    """Types from a start (W,), in which people without a type have -1."""
    fold = person_folds(groupings, seed)
    types = start
    for _ in range(_N_ROUNDS):
        errors = np.stack(
            [_errors(groupings, types == kind, fold, seed) for kind in range(n_types)], axis=1
        )
        totals = person_sums(errors, groupings.annotators, groupings.n_annotators)
        order = np.argsort(totals, axis=1)
        is_settled = bool((order[:, 0] == types).all())
        types = order[:, 0]
        if is_settled:
            break
    clarity = _clarity(errors, order, groupings.annotators)
    return Assignment(types, clarity, totals.min(axis=1))


def _errors(groupings: Groupings, members: BoolArray, fold: IntArray, seed: int) -> FloatArray:
    """(G,) squared errors of each answer around a line of its annotator through the view of the
    members (W,) in other folds."""
    errors = np.zeros(len(groupings))
    for number in np.unique(fold[groupings.annotators]):
        own = fold[groupings.annotators] == number
        others = members[groupings.annotators] & ~own
        enough = len(np.unique(groupings.annotators[others])) >= _FEWEST_PEOPLE
        errors[own] = _line_errors(
            groupings.subset(own), groupings.subset(others) if enough else None, seed
        )
    return errors


def _line_errors(own: Groupings, others: Groupings | None, seed: int) -> FloatArray:
    """Without others, the line is flat. The slope of a line is never negative."""
    pairs = own.pairs()
    expected = np.zeros(len(pairs))
    if others is not None:
        places, bias = learned_positions(others, seed)
        expected = scipy.special.expit(bias + (places[pairs.i] * places[pairs.j]).sum(axis=1))
    label = pairs.same.astype(np.float64)
    each = np.stack([np.ones(len(pairs)), expected, label, expected**2, expected * label], axis=1)
    n, x, y, xx, xy = person_sums(each, pairs.annotator, own.n_annotators).T
    n = np.maximum(n, 1)
    slope = np.maximum(0.0, xy - x * y / n) / np.maximum(xx - x * x / n, 1e-9)
    constant = (y - slope * x) / n
    left = label - constant[pairs.annotator] - slope[pairs.annotator] * expected
    assert pairs.grid is not None
    return np.asarray(np.bincount(pairs.grid, left**2, len(own)), np.float64)


def _clarity(errors: FloatArray, order: IntArray, annotator: IntArray) -> FloatArray:
    best, second = order[annotator, 0], order[annotator, 1]
    rows = np.arange(len(annotator))
    gap = errors[rows, second] - errors[rows, best]
    total = np.bincount(annotator, gap, len(order))
    squares = np.bincount(annotator, gap**2, len(order))
    return np.asarray(scipy.special.ndtr(total / np.sqrt(np.maximum(squares, 1e-12))))
