"""Principal components of features, kept so that images that come later are placed the same way."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from learning.linear_reduction import LinearReduction

# At most so many rows are copied to float64 at once.
_ROWS_AT_ONCE = 4_096
# Directions with less than this share of the largest variance are rounding errors.
_LEAST_VARIANCE = 1e-10


class UnitComponents:
    """Principal components of rows (N, F): centred, rotated to the D directions of largest
    variance, and scaled so that the rows of `fit` have a mean squared length of one.

    Rows are first divided by their Euclidean length, because in networks' features this length
    says how strongly something is seen rather than what. n_components: D, or less if the rows vary
    in fewer directions, and at least 1. mean_: (F,); components_: (D, F), rows of length one, the
    largest entry of each positive; scale_: one number.
    """

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit(self, X: ArrayLike) -> Self:
        """Learn from (N, F). The same rows give the same components, bit by bit.

        Raises ValueError for an empty table, numbers that are not finite, or `n_components` < 1.
        """
        table = _checked(X)
        if self.n_components < 1:
            raise ValueError(f"n_components must be at least 1; got {self.n_components}")
        # One thread: the order of sums is then always the same.
        with threadpool_limits(1):
            mean, covariance = _moments(table)
            variances, directions = np.linalg.eigh(covariance)
        n_kept = min(self.n_components, max(1, len(table) - 1), table.shape[1])
        variances, components = variances[::-1][:n_kept], directions.T[::-1][:n_kept]
        is_real = variances > _LEAST_VARIANCE * max(variances[0], np.finfo(np.float64).tiny)
        is_real[0] = True
        variances, components = variances[is_real], components[is_real]
        largest = np.abs(components).argmax(axis=1)
        signs = np.sign(components[np.arange(len(components)), largest])
        total = float(variances.sum())
        self.mean_: NDArray[np.float32] = mean.astype(np.float32)
        self.components_: NDArray[np.float32] = np.ascontiguousarray(
            (components * signs[:, None]).astype(np.float32)
        )
        # Rows that are all the same have no spread to scale.
        has_spread = total > np.finfo(np.float32).eps ** 2
        self.scale_ = float(np.float32(1 / np.sqrt(total))) if has_spread else 1.0
        return self

    def fit_transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Learn from (N, F), and return its places (N, D)."""
        table = _checked(X)
        return self.fit(table).transform(table)

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """(M, D) places of rows (M, F). Raises ValueError if F is another one."""
        table = _checked(X, self.mean_.shape[0])
        parts = [
            (_unit(table[first : first + _ROWS_AT_ONCE]) - self.mean_) @ self.components_.T
            for first in range(0, len(table), _ROWS_AT_ONCE)
        ]
        return np.asarray(np.concatenate(parts) * self.scale_, np.float32)

    def as_linear(self) -> LinearReduction:
        """The same reduction as arrays."""
        components = self.components_.T * np.float32(self.scale_)
        return LinearReduction.of_matrix(self.mean_, components, by_length=True)


def _checked(X: ArrayLike, n_columns: int | None = None) -> NDArray[np.floating]:
    features = np.asarray(X)
    if features.ndim != 2 or not features.size:
        raise ValueError(f"features must be a table (N, F); got the shape {features.shape}")
    if n_columns is not None and features.shape[1] != n_columns:
        raise ValueError(
            f"these features have {features.shape[1]} columns, but those of `fit` had {n_columns}; "
            "compute them with the same encoder"
        )
    if not np.isfinite(features).all():
        row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
        raise ValueError(f"features must be finite; row {row} is not")
    return features


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    rows = rows.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))


def _moments(features: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean (F,) and covariance (F, F) of the rows, each divided by its length."""
    starts = range(0, len(features), _ROWS_AT_ONCE)
    n_columns = features.shape[1]
    mean, covariance = np.zeros(n_columns), np.zeros((n_columns, n_columns))
    for first in starts:
        mean += _unit(features[first : first + _ROWS_AT_ONCE]).sum(axis=0)
    mean /= len(features)
    for first in starts:
        centred = _unit(features[first : first + _ROWS_AT_ONCE]) - mean
        covariance += centred.T @ centred
    return mean, covariance / len(features)
