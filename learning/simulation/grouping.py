"""How one simulated annotator groups the images of one grid: pure functions on arrays."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans  # type: ignore[import-untyped, unused-ignore]
from sklearn.exceptions import (  # type: ignore[import-untyped, unused-ignore]
    ConvergenceWarning,
)

from learning.arrays import FloatArray, IntArray


def group_by_values(values: ArrayLike, max_groups: int) -> tuple[IntArray, list[str]]:
    """One group per attribute value, in order of appearance.

    values: (S,) of any hashable kind. Returns groups (S,) and the word of each group.
    When there are more values than `max_groups`, the rarest ones are left out (-1).
    """
    words = np.asarray(values).astype(np.str_)
    kinds, first, position, counts = np.unique(
        words, return_index=True, return_inverse=True, return_counts=True
    )
    kept = np.argsort(-counts, kind="stable")[:max_groups]
    kept = kept[np.argsort(first[kept])]
    number = np.full(len(kinds), -1, np.int64)
    number[kept] = np.arange(len(kept))
    return number[position], [str(kinds[kind]) for kind in kept]


def group_by_features(features: FloatArray, n_bins: int, seed: int) -> IntArray:
    """(S,) bins of a seeded k-means over the grid's features (S, D).

    Every image has a bin; with fewer distinct images than bins, some bins stay empty.
    """
    n_clusters = min(n_bins, len(features))
    with warnings.catch_warnings():
        # Fewer distinct images than bins is an ordinary grid, not a failed clustering.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(n_clusters, n_init=3, random_state=seed).fit_predict(features)
    _, groups = np.unique(found, return_inverse=True)
    return groups.astype(np.int64)


def scatter_some(groups: IntArray, noise: float, rng: np.random.Generator) -> IntArray:
    """`groups` with each image sent, with probability `noise`, to a random used group."""
    used: NDArray[np.int64] = np.unique(groups[groups >= 0])
    if not len(used) or noise == 0.0:
        return groups
    stray = rng.random(len(groups)) < noise
    return np.where(stray, rng.choice(used, len(groups)), groups)
