"""Whether two groups of annotators see the images in different ways: a permutation test."""

from __future__ import annotations

import numpy as np

from learning.arrays import BoolArray, FloatArray, IntArray

_N_PERMUTATIONS = 1_999
FEWEST_PEOPLE = 3


def group_difference_p(
    scores: FloatArray, n_answers: IntArray, first: BoolArray, second: BoolArray
) -> float | None:
    """P value of the distance between the mean scores of two disjoint groups, people exchanged.

    scores: (W, D) of `AnnotatorTypes`, in which carelessness leaves nothing; n_answers: (W,) the
    weights; first, second: (W,). None if a group has fewer than FEWEST_PEOPLE with answers.
    """
    used = (first | second) & (n_answers > 0)
    members, weights = first[used], n_answers[used].astype(np.float64)
    if min(int(members.sum()), int((~members).sum())) < FEWEST_PEOPLE:
        return None
    weighted = scores[used] * weights[:, None]

    def distance(chosen: BoolArray) -> float:
        share = chosen / weights[chosen].sum() - ~chosen / weights[~chosen].sum()
        return float(((share @ weighted) ** 2).sum())

    rng = np.random.default_rng(0)
    observed = distance(members) * (1 - 1e-9)
    larger = sum(distance(rng.permutation(members)) >= observed for _ in range(_N_PERMUTATIONS))
    return (1 + larger) / (1 + _N_PERMUTATIONS)
