"""The start of a fit: correspondence analysis of images and their bins."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.extmath import (
    randomized_svd,
)

from learning.answers import Answers
from learning.arrays import FloatArray

_POWER_ITERATIONS = 12
# Images seen once or twice can be far out and would set the scale for all.
_TAIL = 0.005


def spectral_start(answers: Answers, n_dimensions: int, seed: int) -> FloatArray:
    """(N, d) positions in which images that share bins with the same others are close.

    They are the leading singular vectors of the images x bins table, with each entry divided by
    the root of its row's and column's totals (Greenacre, 1984). This first guess is cheap and
    has no local minima. Images in no bin are at the origin.
    """
    table, views = _standardised_table(answers)
    wide = np.zeros((answers.n_images, n_dimensions))
    rank = min(n_dimensions + 1, min(table.shape) - 1)
    if rank < 2:
        return wide
    vectors, values, _ = randomized_svd(table, rank, n_iter=_POWER_ITERATIONS, random_state=seed)
    # The first vector is trivial: it is the same for all images.
    places = vectors[:, 1:] * values[1:] / np.sqrt(views)[:, None]
    low, high = np.quantile(places, [_TAIL, 1 - _TAIL], axis=0)
    wide[:, : rank - 1] = np.clip(places, low, high)
    return wide


def _standardised_table(answers: Answers) -> tuple[csr_array, FloatArray]:
    """(N, used bins) sparse table, and (N,) how often each image was placed, at least 1."""
    groups = answers.groups.cpu().numpy()
    grids, places = np.nonzero(groups >= 0)
    images = answers.images.cpu().numpy()[grids, places]
    _, bins = np.unique(grids * groups.shape[1] + groups[grids, places], return_inverse=True)
    sizes = np.bincount(bins)
    views = np.maximum(np.bincount(images, minlength=answers.n_images), 1).astype(np.float64)
    entries = 1.0 / np.sqrt(views[images] * sizes[bins])
    return csr_array((entries, (images, bins)), shape=(answers.n_images, len(sizes))), views
