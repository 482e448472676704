"""The value of more votes on an item: by how much they reduce its expected error."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from learning.arrays import FloatArray

# One vote seldom changes a label, but a few may.
MOST_AHEAD = 3
_ROWS = 4_096


def expected_error(
    probability: ArrayLike, sensitivity: float, specificity: float, n_votes: int
) -> FloatArray:
    """(n,) probability of a wrong label after `n_votes` more votes of average annotators.

    probability: (n,) of yes now. Without a vote the result is min(p, 1 - p).
    """
    chance = np.asarray(probability, np.float64)[:, None]
    n_yes = np.arange(n_votes + 1)
    shown = binom.pmf(n_yes, n_votes, sensitivity)
    hidden = binom.pmf(n_yes, n_votes, 1 - specificity)
    error: FloatArray = np.minimum(chance * shown, (1 - chance) * hidden).sum(axis=1)
    return error


def gain_per_vote(probability: ArrayLike, sensitivity: float, specificity: float) -> FloatArray:
    """(n,) decrease of that probability per vote, the best over one to `MOST_AHEAD` votes."""
    now = expected_error(probability, sensitivity, specificity, 0)
    after = [
        (now - expected_error(probability, sensitivity, specificity, n)) / n
        for n in range(1, MOST_AHEAD + 1)
    ]
    gain: FloatArray = np.maximum(np.max(after, axis=0), 0.0)
    return gain


def expected_class_error(probability: ArrayLike, confusion: ArrayLike, n_votes: int) -> FloatArray:
    """(n,) probability of a wrong class after `n_votes` more votes of average annotators.

    probability: (n, K) now; confusion: (K, K) probability of each vote (last axis) on an item of
    each class. For two classes, this is `expected_error`.
    """
    chance, rates = np.asarray(probability, np.float64), np.asarray(confusion, np.float64)
    likely = _likelihood_of_counts(rates, n_votes)
    error = np.empty(len(chance))
    # Blocks keep (n, K, outcomes) small.
    for start in range(0, len(chance), _ROWS):
        part = chance[start : start + _ROWS, :, None] * likely
        error[start : start + _ROWS] = 1 - part.max(axis=1).sum(axis=1)
    return np.maximum(error, 0.0)


def gain_per_class_vote(probability: ArrayLike, confusion: ArrayLike) -> FloatArray:
    """(n,) decrease of that probability per vote, the best over one to `MOST_AHEAD` votes."""
    now = expected_class_error(probability, confusion, 0)
    after = [
        (now - expected_class_error(probability, confusion, n)) / n
        for n in range(1, MOST_AHEAD + 1)
    ]
    gain: FloatArray = np.maximum(np.max(after, axis=0), 0.0)
    return gain


def _likelihood_of_counts(rates: FloatArray, n_votes: int) -> FloatArray:
    """(K, outcomes) probability, given each class, of each way in which `n_votes` votes can be
    divided among the classes."""
    n_classes = len(rates)
    outcomes = []
    for votes in combinations_with_replacement(range(n_classes), n_votes):
        counts = np.bincount(np.array(votes, np.int64), minlength=n_classes)
        orders = factorial(n_votes) / np.prod([factorial(int(count)) for count in counts])
        outcomes.append(orders * np.prod(rates**counts, axis=1))
    return np.stack(outcomes, axis=1)
