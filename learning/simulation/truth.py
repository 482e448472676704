"""The true distances of a simulated crowd, with which embeddings are compared."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import FloatArray
from learning.neighbors import nearest_neighbors
from learning.simulation.answers import Crowd
from learning.simulation.attribute_crowd import AttributeCrowd
from learning.simulation.feature_crowd import FeatureCrowd

# Values that only differ by rounding are ties.
_TIE = 1e-9


def true_distances(crowd: Crowd) -> FloatArray:
    """(N, N) distances of all pairs of images as the crowd sees them, for a few thousand images.

    For a crowd with features this is their Euclidean distance; for one with attributes the share
    of all annotators' answers in which the two would be apart. Raises TypeError for another crowd.
    """
    if isinstance(crowd, FeatureCrowd):
        return np.asarray(scipy.spatial.distance.cdist(crowd.features, crowd.features))
    if isinstance(crowd, AttributeCrowd):
        return _apart(crowd)
    raise TypeError(f"a {type(crowd).__name__} has no known truth")


def _apart(crowd: AttributeCrowd) -> FloatArray:
    share = crowd.preferences.mean(axis=0)
    fine = float(crowd.fineness.mean())
    apart = np.ones((crowd.n_images, crowd.n_images))
    for k, attribute in enumerate(crowd.attributes):
        for is_fine, weight in ((True, fine), (False, 1 - fine)):
            group = np.searchsorted(attribute.levels(is_fine), attribute.positions)
            apart -= share[k] * weight * (group[:, None] == group[None, :])
    return apart


def neighbours_right(embedding: ArrayLike, distances: FloatArray, k: int = 10) -> FloatArray:
    """(N,) share of each image's k nearest in the embedding (N, d) that are truly as near as the
    k-th nearest; ties count equally."""
    points = np.asarray(embedding, np.float64)
    k = min(k, len(points) - 1)
    neighbours = nearest_neighbors(points, k)
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    reach = np.partition(others, k - 1, axis=1)[:, k - 1]
    far = np.take_along_axis(others, neighbours, axis=1)
    return np.asarray((far <= reach[:, None] + _TIE).mean(axis=1))
