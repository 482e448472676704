"""Scores on grids that a model has not seen, with errors that know that pairs hang together."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from learning.metrics import pair_scores
from learning.resampling import jackknife_error

HELD_OUT_FROM = 20
TEST_SHARE = 0.15
_GRIDS_FOR_ERRORS = 300
# Those that are read as curves.
_WITH_ERRORS = ("accuracy", "balanced_accuracy", "auc")


def held_out_scores(
    labels: NDArray[np.int8], same: NDArray[np.bool_], distance: NDArray[np.float64], seed: int
) -> dict[str, float]:
    """Scores of pairs foretold, named held_out_…, with standard errors.

    labels: (G, P) 1 same, 0 different, -1 not asked; same, distance: (G, P) what the model
    says. Empty when nothing was asked.
    """
    asked = labels >= 0
    if not asked.any():
        return {}

    def scores(grids: NDArray[np.int64]) -> dict[str, float]:
        rows = asked[grids]
        return pair_scores(labels[grids][rows] == 1, same[grids][rows], distance[grids][rows])

    told = np.flatnonzero(asked.any(axis=1))
    found = {**scores(told), **_errors(scores, told, seed)}
    return {f"held_out_{name}": value for name, value in found.items() if np.isfinite(value)}


def _errors(
    scores: Callable[[NDArray[np.int64]], dict[str, float]], grids: NDArray[np.int64], seed: int
) -> dict[str, float]:
    """Standard errors; of many grids, from some of them. Pairs of one grid hang together, so
    whole grids are left out."""
    some = np.sort(np.random.default_rng(seed).permutation(grids)[:_GRIDS_FOR_ERRORS])
    shrink = float(np.sqrt(len(some) / len(grids)))

    def error(name: str) -> float:
        return jackknife_error(lambda kept: scores(some[kept])[name], len(some)) * shrink

    return {f"{name}_error": error(name) for name in _WITH_ERRORS}
