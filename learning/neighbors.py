"""Nearest neighbours: exact where that is fast, else approximate (HNSW)."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from learning.arrays import FloatArray, IntArray, check_count

# Beyond both, a k-d tree looks at nearly all points, and HNSW is faster.
_DIMENSIONS_OF_TREES = 8
_POINTS_OF_TREES = 20_000
_LINKS, _BREADTH = 32, 80


def nearest_points(points: FloatArray, k: int, of: FloatArray | None = None) -> IntArray:
    """(M, k) indices of the points (N, d) nearest to each of `of` (M, d), nearest first.

    of: the points themselves unless told; a point is then among its own. Approximate
    (Malkov & Yashunin, 2018) beyond 20,000 points in more than 8 dimensions. Raises
    ValueError when there are fewer than k points.
    """
    check_count("k", k)
    if k > len(points):
        raise ValueError(f"k must be at most {len(points)} points, got {k}")
    asked = points if of is None else of
    if points.shape[1] <= _DIMENSIONS_OF_TREES or len(points) <= _POINTS_OF_TREES:
        _, found = cKDTree(points).query(asked, k=k, workers=-1)
        return np.asarray(found, np.int64).reshape(len(asked), k)
    return _approximate(points, k, asked)


def nearest_neighbors(points: FloatArray, k: int) -> IntArray:
    """(N, k) indices of the nearest other points, nearest first. points: (N, D)."""
    check_count("k", k)
    if k >= len(points):
        raise ValueError(f"k must be below {len(points)} points, got {k}")
    found = nearest_points(points, k + 1)
    # A point with an exact double need not come first in its own list.
    own = found == np.arange(len(points))[:, None]
    own[~own.any(axis=1), -1] = True
    others: IntArray = found[~own].reshape(len(points), k)
    return others


def _approximate(points: FloatArray, k: int, asked: FloatArray) -> IntArray:
    # Imported here: few collections are so large, and it takes a while to load.
    import faiss

    n_threads = faiss.omp_get_max_threads()
    index = faiss.IndexHNSWFlat(points.shape[1], _LINKS)
    index.hnsw.efConstruction = _BREADTH
    index.hnsw.efSearch = max(_BREADTH, 2 * k)
    try:
        # Several threads would link the points in another order every time.
        faiss.omp_set_num_threads(1)
        index.add(np.ascontiguousarray(points, np.float32))
    finally:
        faiss.omp_set_num_threads(n_threads)
    _, found = index.search(np.ascontiguousarray(asked, np.float32), k)
    return np.asarray(found, np.int64)
