"""Scores on grids that a model has not seen. Their standard errors account for pairs of one grid
being dependent."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from learning.metrics import pair_scores
from learning.resampling import jackknife_error

if TYPE_CHECKING:
    from learning.groupings import Groupings

HELD_OUT_FROM = 20
TEST_SHARE = 0.15
_GRIDS_FOR_ERRORS = 300
# The scores that are shown as curves have errors.
_WITH_ERRORS = ("accuracy", "balanced_accuracy", "auc")


class PairModel(Protocol):
    """An estimator of learning/ that predicts which images are grouped together."""

    def fit(self, groupings: "Groupings", *, progress: Any = None) -> Any: ...

    def predict_same(self, groupings: "Groupings") -> NDArray[np.bool_]: ...

    def pair_distance(self, groupings: "Groupings") -> NDArray[np.float64]: ...


def scores_on_unseen_grids(
    probe: PairModel, answers: "Groupings", seed: int, progress: Callable[[float], None]
) -> dict[str, float]:
    """Train `probe` on 85 % of the grids and return its scores on the others. The result is empty
    if either part has no informative pair."""
    train, test = answers.split(TEST_SHARE, seed)
    labels = test.pair_labels()
    if not train.informative_grids().any() or not (labels >= 0).any():
        return {}
    probe.fit(train, progress=lambda done, total, metrics: progress(done / total))
    return held_out_scores(labels, probe.predict_same(test), probe.pair_distance(test), seed)


def held_out_scores(
    labels: NDArray[np.int8], same: NDArray[np.bool_], distance: NDArray[np.float64], seed: int
) -> dict[str, float]:
    """Return scores of predicted pairs, named held_out_…, with standard errors.

    `labels` is (G, P): 1 same, 0 different, -1 not asked. `same` and `distance` are (G, P)
    predictions of the model. The result is empty if nothing was asked.
    """
    asked = labels >= 0
    if not asked.any():
        return {}

    def scores(grids: NDArray[np.int64]) -> dict[str, float]:
        rows = asked[grids]
        return pair_scores(labels[grids][rows] == 1, same[grids][rows], distance[grids][rows])

    grids_asked = np.flatnonzero(asked.any(axis=1))
    metrics = {**scores(grids_asked), **_errors(scores, grids_asked, seed)}
    return {f"held_out_{name}": value for name, value in metrics.items() if np.isfinite(value)}


def _errors(
    scores: Callable[[NDArray[np.int64]], dict[str, float]], grids: NDArray[np.int64], seed: int
) -> dict[str, float]:
    """Return standard errors. Large sets are sampled. Whole grids are left out, because pairs of
    one grid are dependent."""
    some = np.sort(np.random.default_rng(seed).permutation(grids)[:_GRIDS_FOR_ERRORS])
    shrink = float(np.sqrt(len(some) / len(grids)))

    def error(name: str) -> float:
        return jackknife_error(lambda kept: scores(some[kept])[name], len(some)) * shrink

    return {f"{name}_error": error(name) for name in _WITH_ERRORS}
