"""Alignment of two embeddings of the same images."""

from __future__ import annotations

import numpy as np
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import linear_sum_assignment

from learning.arrays import FloatArray, IntArray


def matching_columns(
    wanted: FloatArray, embedding: FloatArray, shared: FloatArray | None = None
) -> tuple[IntArray, FloatArray]:
    """(K,) columns of `embedding` (N, K) in the order of `wanted` (M, K), and (K,) their signs.

    They are matched by the largest total |correlation| over the rows that both have. With
    `shared`, (K, K) numbers of answers that are about both columns, the most shared answers win:
    an attribute with many values can have another order on its dimension after every fit, so
    that positions correlate little while the answers about it are the same.
    """
    rows = min(len(wanted), len(embedding))
    k = wanted.shape[1]
    reference = wanted[:rows] - wanted[:rows].mean(axis=0)
    candidate = embedding[:rows] - embedding[:rows].mean(axis=0)
    norms = np.linalg.norm(reference, axis=0)[:, None] * np.linalg.norm(candidate, axis=0)[None, :]
    correlation = reference.T @ candidate / np.maximum(norms, 1e-12)
    similarity = np.abs(correlation)
    if shared is not None:
        # Without shared answers, positions decide.
        similarity = shared / max(float(shared.sum()), 1e-12) + 1e-3 * similarity / k
    _, order = linear_sum_assignment(-similarity)
    sign = np.where(correlation[np.arange(k), order] < 0, -1.0, 1.0)
    return np.asarray(order, np.int64), sign


def column_signs(wanted: FloatArray, embedding: FloatArray) -> FloatArray:
    """(K,) -1 where a column of `embedding` (N, K) runs against that of `wanted` (M, K), else 1."""
    rows = min(len(wanted), len(embedding))
    reference = wanted[:rows] - wanted[:rows].mean(axis=0)
    candidate = embedding[:rows] - embedding[:rows].mean(axis=0)
    return np.where((reference * candidate).sum(axis=0) < 0, -1.0, 1.0)


def turned_onto(wanted: FloatArray, embedding: FloatArray) -> FloatArray:
    """`embedding` (N, d), rotated and mirrored about its centre to match `wanted` (M, d) as well as
    possible (orthogonal Procrustes over the rows that both have); distances do not change.
    """
    rows = min(len(wanted), len(embedding))
    centre = embedding.mean(axis=0)
    here = embedding[:rows] - embedding[:rows].mean(axis=0)
    there = wanted[:rows] - wanted[:rows].mean(axis=0)
    turn, _ = orthogonal_procrustes(here, there)
    return np.asarray((embedding - centre) @ turn, np.float64)
