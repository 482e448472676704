"""Two embeddings of the same images, dimension by dimension."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped, unused-ignore]

from learning.arrays import FloatArray, IntArray


def matching_columns(wanted: FloatArray, found: FloatArray) -> tuple[IntArray, FloatArray]:
    """(K,) columns of `found` (N, K) in the order of `wanted` (M, K), and (K,) their signs.

    The matching of largest total |correlation| over the rows that both have.
    """
    rows = min(len(wanted), len(found))
    k = wanted.shape[1]
    one = wanted[:rows] - wanted[:rows].mean(axis=0)
    other = found[:rows] - found[:rows].mean(axis=0)
    norms = np.linalg.norm(one, axis=0)[:, None] * np.linalg.norm(other, axis=0)[None, :]
    correlation = one.T @ other / np.maximum(norms, 1e-12)
    _, order = linear_sum_assignment(-np.abs(correlation))
    sign = np.where(correlation[np.arange(k), order] < 0, -1.0, 1.0)
    return np.asarray(order, np.int64), sign
