"""Reductions of features that are a scaling and a matrix, as arrays that other programs can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import FloatArray
from learning.features import RobustScaling

# Of single-precision numbers.
NO_LIMIT = 3e38
MAX_COMPONENTS = 512
_BLOCK_VALUES = 2**22
_ARRAYS = ("raw_length", "raw_centre", "raw_inverse", "raw_limit", "raw_components")
# Directions with a smaller share of the largest variance are rounding errors.
_LEAST_VARIANCE = 1e-10


@dataclass(frozen=True, eq=False)
class LinearReduction:
    """reduced = clip((rows - centre) * inverse_scale, -limit, limit) @ components

    by_length: whether rows are first divided by their Euclidean length; centre, inverse_scale:
    (F,); components: (F, R)
    """

    by_length: bool
    centre: FloatArray
    inverse_scale: FloatArray
    limit: float
    components: NDArray[np.float32]

    @classmethod
    def of_matrix(
        cls,
        centre: ArrayLike,
        components: ArrayLike,
        inverse_scale: ArrayLike | None = None,
        *,
        by_length: bool = False,
    ) -> Self:
        """Without a limit. centre: (F,); components: (F, R); inverse_scale: (F,), by default 1."""
        middle = np.asarray(centre, np.float64)
        scale = np.ones_like(middle) if inverse_scale is None else np.asarray(inverse_scale)
        matrix = np.ascontiguousarray(components, np.float32)
        return cls(by_length, middle, scale.astype(np.float64), NO_LIMIT, matrix)

    @classmethod
    def of_sample(cls, sample: NDArray[np.float32]) -> Self:
        """Principal components of robustly scaled columns, for tables too wide to be in memory.

        sample: (n, F) with n < F, whose Gram matrix is decomposed. Raises ValueError if all columns
        are constant.
        """
        scaling = RobustScaling().fit(sample)
        scaled = scaling.transform(sample)
        scaled -= scaled.mean(axis=0)
        values, vectors = np.linalg.eigh((scaled @ scaled.T).astype(np.float64))
        order = np.argsort(-values)[:MAX_COMPONENTS]
        order = order[values[order] > _LEAST_VARIANCE * values.max()]
        width = sample.shape[1]
        components = np.zeros((width, len(order)), np.float32)
        components[scaling.columns_] = scaled.T @ (vectors[:, order] / np.sqrt(values[order]))
        centre, inverse = np.zeros(width), np.zeros(width)
        centre[scaling.columns_] = scaling.centre_
        inverse[scaling.columns_] = 1.0 / scaling.scale_
        return cls(False, centre, inverse, scaling.limit, components)

    @property
    def n_features(self) -> int:
        """F."""
        return len(self.centre)

    def transform(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """(n, R) reduced rows (n, F), block by block."""
        result = np.empty((len(rows), self.components.shape[1]), np.float32)
        step = max(1, _BLOCK_VALUES // self.n_features)
        for start in range(0, len(rows), step):
            block = np.asarray(rows[start : start + step], np.float64)
            if self.by_length:
                lengths = np.linalg.norm(block, axis=1, keepdims=True)
                block = block / np.where(lengths > 0, lengths, 1.0)
            scaled = np.clip((block - self.centre) * self.inverse_scale, -self.limit, self.limit)
            result[start : start + step] = scaled @ self.components
        return result

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by the names that the loader in docs/learned_alignment.md uses."""
        values = (
            np.array(self.by_length),
            self.centre,
            self.inverse_scale,
            np.array(self.limit),
            self.components,
        )
        return {
            name: np.ascontiguousarray(value) for name, value in zip(_ARRAYS, values, strict=True)
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self | None:
        """The reduction among other arrays, None if there is none. Raises ValueError for arrays
        that do not fit together."""
        given = [name for name in _ARRAYS if name in arrays]
        if not given:
            return None
        if len(given) < len(_ARRAYS):
            raise ValueError(f"there is {given[0]!r} but not all of {', '.join(_ARRAYS)}")
        length, centre, inverse, limit, components = (arrays[name] for name in _ARRAYS)
        fits = centre.ndim == 1 and centre.shape == inverse.shape and components.ndim == 2
        if not fits or len(components) != len(centre) or length.size != 1 or limit.size != 1:
            raise ValueError("the arrays of the reduction do not fit together")
        if not all(np.isfinite(array).all() for array in (centre, inverse, limit, components)):
            raise ValueError("the reduction contains numbers that are not finite")
        return cls(bool(length.item()), centre, inverse, float(limit.item()), components)
