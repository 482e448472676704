"""Principal components of features, kept so that images that come later are placed the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

# At most so many rows are copied to float64 at once.
_ROWS_AT_ONCE = 4_096
# Directions with less than this share of the largest variance are rounding errors.
_LEAST_VARIANCE = 1e-10


@dataclass(frozen=True)
class Reduction:
    """A linear map of (N, F) features to (N, D): centred, rotated to the D directions of largest
    variance, and scaled so that the rows it was fitted to have a mean squared length of one.

    Rows are first divided by their Euclidean length, because in networks' features this length
    says how strongly something is seen rather than what. mean: (F,); components: (D, F), rows of
    length one, the largest entry of each positive; scale: one number.
    """

    mean: NDArray[np.float32]
    components: NDArray[np.float32]
    scale: float

    @classmethod
    def fit(cls, features: NDArray[np.floating], n_components: int) -> Reduction:
        """Fit to (N, F) features. D is `n_components`, or less if the rows vary in fewer
        directions, and at least 1. The same rows give the same reduction, bit by bit.

        Raises ValueError for an empty table, numbers that are not finite, or `n_components` < 1.
        """
        _check_table(features)
        if n_components < 1:
            raise ValueError(f"n_components must be at least 1; got {n_components}")
        # One thread: the order of sums is then always the same.
        with threadpool_limits(1):
            mean, covariance = _moments(features)
            variances, directions = np.linalg.eigh(covariance)
        n_kept = min(n_components, max(1, len(features) - 1), features.shape[1])
        variances, components = variances[::-1][:n_kept], directions.T[::-1][:n_kept]
        is_real = variances > _LEAST_VARIANCE * max(variances[0], np.finfo(np.float64).tiny)
        is_real[0] = True
        variances, components = variances[is_real], components[is_real]
        largest = np.abs(components).argmax(axis=1)
        signs = np.sign(components[np.arange(len(components)), largest])
        total = float(variances.sum())
        return cls(
            mean.astype(np.float32),
            np.ascontiguousarray((components * signs[:, None]).astype(np.float32)),
            # Rows that are all the same have no spread to scale.
            float(np.float32(1 / np.sqrt(total))) if total > np.finfo(np.float32).eps ** 2 else 1.0,
        )

    def transform(self, features: NDArray[np.floating]) -> NDArray[np.float32]:
        """(N, D) places of (N, F) features. Raises ValueError if F is another one."""
        _check_table(features, self.mean.shape[0])
        parts = [
            (_unit(features[first : first + _ROWS_AT_ONCE]) - self.mean) @ self.components.T
            for first in range(0, len(features), _ROWS_AT_ONCE)
        ]
        return np.asarray(np.concatenate(parts) * self.scale, np.float32)

    def to_arrays(self) -> dict[str, NDArray[np.float32]]:
        """Arrays for a safetensors file."""
        scale = np.array([self.scale], np.float32)
        return {"mean": self.mean, "components": self.components, "scale": scale}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.float32]]) -> Reduction:
        """The reduction of `to_arrays`. Raises ValueError if arrays are missing or do not fit."""
        missing = [name for name in ("mean", "components", "scale") if name not in arrays]
        if missing:
            raise ValueError(f"a reduction needs the arrays {', '.join(missing)}")
        mean, components = arrays["mean"], arrays["components"]
        scale = arrays["scale"]
        if mean.ndim != 1 or components.shape[1:] != mean.shape or scale.shape != (1,):
            raise ValueError(
                "the arrays of a reduction must have the shapes (F,), (D, F) and (1,); got "
                f"{mean.shape}, {components.shape} and {scale.shape}"
            )
        if not all(np.isfinite(array).all() for array in (mean, components, scale)):
            raise ValueError("the arrays of a reduction must have finite numbers only")
        return cls(mean, components, float(scale[0]))


def _check_table(features: NDArray[np.floating], n_columns: int | None = None) -> None:
    if features.ndim != 2 or not features.size:
        raise ValueError(f"features must be a table (N, F); got the shape {features.shape}")
    if n_columns is not None and features.shape[1] != n_columns:
        raise ValueError(
            f"these features have {features.shape[1]} columns, the reduction needs {n_columns}; "
            "compute them with the encoder that it was fitted to"
        )
    if not np.isfinite(features).all():
        row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
        raise ValueError(f"features must be finite; row {row} is not")


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
