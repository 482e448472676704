"""Votes of a crowd on yes-or-no questions, and the labels and certainty that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import BoolArray, FloatArray, IntArray

MISSING = -1
Votes = NDArray[np.int8]


def as_votes(values: ArrayLike) -> Votes:
    """(n, d) int8: 1 yes, 0 no, -1 no vote by that annotator. Raises ValueError with the first
    value that is not one of these."""
    votes = np.asarray(values)
    if votes.ndim != 2:
        raise ValueError(f"votes must be (n, d), got shape {votes.shape}")
    wrong = ~np.isin(votes, (0, 1, MISSING))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"votes must be 0, 1 or -1 (none), got {votes[row, column]} in row {row}, "
            f"column {column}"
        )
    return votes.astype(np.int8)


def count_votes(votes: Votes) -> tuple[IntArray, IntArray]:
    """(n,) votes for yes, and (n,) all votes."""
    return (votes == 1).sum(axis=1).astype(np.int64), (votes != MISSING).sum(axis=1).astype(
        np.int64
    )


@dataclass(frozen=True, eq=False)
class Assured:
    """label: (n,) 0 or 1; assurance: (n,) in 0..1, 0 for an item without votes or with a tie."""

    label: IntArray
    assurance: FloatArray

    @property
    def known(self) -> BoolArray:
        """(n,) whether the votes decide an item."""
        return np.asarray(self.assurance > 0)


def assured_by_votes(votes: Votes) -> Assured:
    """Majority and label assurance |1 - 2/d ||y||_1| (NeuCrowd, definition 2).

    d is the number of an item's own votes. The assurance of an item with fewer votes than others
    has the factor (m / (m + 1)) / (d / (d + 1)), with m its own number and d the largest. If all
    items have the same number of votes, this is the paper's.
    """
    yes, given = count_votes(votes)
    most = max(int(given.max(initial=0)), 1)
    share = np.where(given > 0, yes / np.maximum(given, 1), 0.5)
    fewer = (given / (given + 1)) / (most / (most + 1))
    return Assured((share > 0.5).astype(np.int64), np.abs(1 - 2 * share) * fewer)


def assured_by_probability(probability: ArrayLike) -> Assured:
    """Labels and assurance from (n,) probabilities of yes by an aggregation of the votes."""
    chance = np.asarray(probability, np.float64)
    return Assured((chance > 0.5).astype(np.int64), np.abs(1 - 2 * chance))
