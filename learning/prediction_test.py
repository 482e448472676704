"""Whether distances between images predict groupings that they were not learned from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learning.arrays import BoolArray, FloatArray
from learning.groupings import Groupings
from learning.metrics import pair_auc

# So many grids suffice, and take a moment.
_MOST_GRIDS = 2_000
_TAIL = 0.00135


class Prediction(NamedTuple):
    """auc: mean over grids of the probability that two images put together are nearer than two put
    apart; 0.5 without such grids. error: its standard error, so large for few grids that three of
    them are exceeded by chance as rarely as three of a normal distribution."""

    auc: float
    error: float


def prediction_of(positions: FloatArray, answers: Groupings, known: BoolArray) -> Prediction:
    """Return how positions (N, d) predict the answers, for pairs of the known (N,) images."""
    values = _by_grid(positions, _some(answers), known)
    if len(values) < 2:
        return Prediction(float(np.mean(values)) if values else 0.5, 0.5)
    # Imported here so that servers start a second faster.
    from scipy.stats import t

    few = float(-t.ppf(_TAIL, len(values) - 1)) / 3
    return Prediction(
        float(np.mean(values)), few * float(np.std(values, ddof=1)) / len(values) ** 0.5
    )


def _some(answers: Groupings) -> Groupings:
    if len(answers) <= _MOST_GRIDS:
        return answers
    rows = np.random.default_rng(0).choice(len(answers), _MOST_GRIDS, replace=False)
    return answers.subset(np.sort(rows))


def _by_grid(positions: FloatArray, answers: Groupings, known: BoolArray) -> list[float]:
    """AUC of every grid with a pair of either kind."""
    first, second = np.triu_indices(answers.grid_size, 1)
    values = []
    for images, labels in zip(answers.images, answers.pair_labels(), strict=True):
        i, j = images[first], images[second]
        # Padding has no label.
        usable = (labels >= 0) & known[i] & known[j]
        same = labels[usable] == 1
        if same.any() and not same.all():
            apart = positions[i[usable]] - positions[j[usable]]
            values.append(pair_auc(same, np.sqrt((apart**2).sum(axis=1))))
    return values
