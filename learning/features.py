"""Checks and scaling of the features of items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from learning.arrays import FloatArray, IntArray, check_positive

Float32 = NDArray[np.float32]

# The interquartile range of a normal distribution, in standard deviations.
_NORMAL_IQR = 1.349
# Spread of a column, relative to its values, that rounding to float32 can cause.
_ROUNDING = 1e-6
# Columns are scaled in blocks of so many values, because quantiles need a copy.
_BLOCK_VALUES = 2**23


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


class RobustScaling:
    """Scales every column by its median and interquartile range, and limits what is left.

    Standard deviations follow the outliers and ranges follow a single value; quartiles follow
    neither (Huber and Ronchetti 2009, section 5.1). A column in other units than the rest, or with
    a few wild values, counts as much as any other. A column that is the same for most items, such
    as a rare yes among noes, is scaled by its standard deviation. Constant columns are dropped.

    limit: largest absolute value after scaling; 1 is a standard deviation of normal values.
    columns_: (K,) indices of the columns that vary; centre_, scale_: (K,) float64.
    """

    def __init__(self, limit: float = 10.0) -> None:
        self.limit = limit

    def fit(self, X: ArrayLike) -> Self:
        """Learn from X (n, D), finite. Raises ValueError if it is not, or no column varies."""
        check_positive("limit", self.limit)
        table = _as_table(X)
        parts = [_centre_and_scale(table[:, block]) for block in _blocks(table)]
        centre, scale = (np.concatenate(part) for part in zip(*parts, strict=True))
        varies: IntArray = np.flatnonzero(scale > 0)
        if not len(varies):
            raise ValueError("all features of X are constant, so the items cannot be distinguished")
        self.columns_, self.centre_, self.scale_ = varies, centre[varies], scale[varies]
        self.n_features_in_ = table.shape[1]
        return self

    def transform(self, X: ArrayLike) -> Float32:
        """(n, K) float32 scaled columns of X (n, D). Raises ValueError if X does not fit."""
        if not hasattr(self, "columns_"):
            raise NotFittedError("Call fit before transform.")
        table = _as_table(X)
        if table.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} features, got {table.shape[1]}")
        scaled = np.empty((len(table), len(self.columns_)), np.float32)
        rows = max(1, _BLOCK_VALUES // max(1, len(self.columns_)))
        for start in range(0, len(table), rows):
            part = table[start : start + rows, self.columns_].astype(np.float64)
            part = (part - self.centre_) / self.scale_
            scaled[start : start + rows] = np.clip(part, -self.limit, self.limit)
        return scaled

    def fit_transform(self, X: ArrayLike) -> Float32:
        return self.fit(X).transform(X)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The learned arrays by name, to be saved."""
        return {
            "columns": self.columns_,
            "centre": self.centre_,
            "scale": self.scale_,
            "limit": np.array(self.limit),
            "n_features_in": np.array(self.n_features_in_),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The scaling that `to_arrays` described; raises KeyError for a missing array."""
        scaling = cls(float(arrays["limit"]))
        scaling.columns_ = arrays["columns"].astype(np.int64)
        scaling.centre_ = arrays["centre"].astype(np.float64)
        scaling.scale_ = arrays["scale"].astype(np.float64)
        scaling.n_features_in_ = int(arrays["n_features_in"])
        return scaling


def _as_table(values: ArrayLike) -> NDArray[np.floating[Any]]:
    """(n, D) without a copy of float32; raises the errors of `as_features`."""
    table = np.asarray(values)
    if table.dtype != np.float32:
        return as_features(table)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        as_features(table)
    return table


def _blocks(table: NDArray[np.floating[Any]]) -> Iterator[slice]:
    width = max(1, _BLOCK_VALUES // len(table))
    for start in range(0, table.shape[1], width):
        yield slice(start, start + width)


def _centre_and_scale(block: NDArray[np.floating[Any]]) -> tuple[FloatArray, FloatArray]:
    """(D,) median and scale of columns; a constant column has the scale 0."""
    values = block.astype(np.float64)
    low, centre, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    smallest, largest = values.min(axis=0), values.max(axis=0)
    size = np.maximum(np.abs(smallest), np.abs(largest))
    quartiles = (high - low) / _NORMAL_IQR
    # Half of the values are the same, up to rounding.
    sparse = high - low <= _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    scale = np.where(sparse, values.std(axis=0), quartiles)
    return centre, np.where(largest - smallest <= _ROUNDING * size, 0.0, scale)
