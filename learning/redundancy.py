"""The value of more votes on an item: by how much they reduce its expected error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from learning.arrays import FloatArray

# One vote seldom changes a label, but a few may.
MOST_AHEAD = 3


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
