"""Checks and scaling of the features of items."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import FloatArray


def as_features(values: ArrayLike, n_features: int | None = None) -> FloatArray:
    """(n, D) float64. Raises ValueError for another shape, no item, a D other than `n_features`,
    and the first value that is not finite."""
    features = np.asarray(values, np.float64)
    if features.ndim != 2 or not features.size:
        raise ValueError(f"X must be (n, D) and not empty, got shape {features.shape}")
    if n_features is not None and features.shape[1] != n_features:
        raise ValueError(f"X must have {n_features} features, got {features.shape[1]}")
    wrong = ~np.isfinite(features)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"X must be finite, got {features[row, column]} in row {row}, feature {column}"
        )
    return features


def scaling_of(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(D,) mean and standard deviation; 1 for a constant feature.

    Raises ValueError if all features are constant.
    """
    mean, scale = features.mean(axis=0), features.std(axis=0)
    # Because of rounding errors, many equal numbers have a deviation that is not exactly zero.
    constant = scale <= 1e-12 * np.maximum(np.abs(mean), 1.0)
    if constant.all():
        raise ValueError("all features of X are constant, so the items cannot be distinguished")
    return mean, np.where(constant, 1.0, scale)
