"""Nearest neighbours: exact if that is fast, otherwise approximate (HNSW)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from learning.arrays import FloatArray, IntArray, check_count

# Above both, a k-d tree visits nearly all points, and HNSW is faster.
_DIMENSIONS_OF_TREES = 8
POINTS_OF_TREES = 20_000
_LINKS, _BREADTH = 32, 80
_LOOKS_FOR_SEVERAL_CORES = 5_000
# (M, d) points and k to (M, k) indices.
Search = Callable[[FloatArray, int], NDArray[np.integer]]


class NearestPoints:
    """An index of points (N, d), to find the nearest of them many times.

    It is approximate (Malkov & Yashunin, 2018) above 20,000 points in more than 8 dimensions.
    """

    def __init__(self, points: FloatArray) -> None:
        self._points = points
        few = points.shape[1] <= _DIMENSIONS_OF_TREES or len(points) <= POINTS_OF_TREES
        self._search = _in_tree(points) if few else _in_graph(points)

    def query(self, k: int, of: FloatArray | None = None) -> IntArray:
        """(M, k) indices of the points nearest to each of `of` (M, d), nearest first.

        of: by default the points themselves; a point is then its own neighbour. Raises
        ValueError if there are fewer than k points.
        """
        check_count("k", k)
        if k > len(self._points):
            raise ValueError(
                f"k must be at most the number of points ({len(self._points)}), got {k}"
            )
        asked = self._points if of is None else of
        return np.asarray(self._search(asked, k), np.int64).reshape(len(asked), k)


def nearest_points(points: FloatArray, k: int, of: FloatArray | None = None) -> IntArray:
    """(M, k) indices as by `NearestPoints`, for points that are needed only once."""
    return NearestPoints(points).query(k, of)


def nearest_neighbors(points: FloatArray, k: int) -> IntArray:
    """(N, k) indices of the nearest other points, nearest first. points: (N, D)."""
    check_count("k", k)
    if k >= len(points):
        raise ValueError(f"k must be below the number of points ({len(points)}), got {k}")
    nearest = nearest_points(points, k + 1)
    # A point with an exact duplicate may not come first in its own list.
    own = nearest == np.arange(len(points))[:, None]
    own[~own.any(axis=1), -1] = True
    others: IntArray = nearest[~own].reshape(len(points), k)
    return others


def _in_tree(points: FloatArray) -> Search:
    tree = scipy.spatial.cKDTree(points)

    def search(asked: FloatArray, k: int) -> NDArray[np.integer]:
        # This takes a moment on one core, so other work on the machine should not wait for it.
        n_cores = -1 if len(asked) > _LOOKS_FOR_SEVERAL_CORES else 1
        nearest: NDArray[np.integer] = tree.query(asked, k=k, workers=n_cores)[1]
        return nearest

    return search


def _in_graph(points: FloatArray) -> Search:
    # Imported here because few collections are so large, and it takes a while to load.
    import faiss

    n_threads = faiss.omp_get_max_threads()
    index = faiss.IndexHNSWFlat(points.shape[1], _LINKS)
    index.hnsw.efConstruction = _BREADTH
    try:
        # Several threads would link the points in a different order every time.
        faiss.omp_set_num_threads(1)
        index.add(np.ascontiguousarray(points, np.float32))
    finally:
        faiss.omp_set_num_threads(n_threads)

    def search(asked: FloatArray, k: int) -> NDArray[np.integer]:
        index.hnsw.efSearch = max(_BREADTH, 2 * k)
        nearest: NDArray[np.integer] = index.search(np.ascontiguousarray(asked, np.float32), k)[1]
        return nearest

    return search
