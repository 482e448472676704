"""Checks, robust scaling and principal components of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import BoolArray, FloatArray, IntArray

# Scaled values beyond this are clipped, so that single wrong numbers have limited effect.
LIMIT = 8.0
MAX_COMPONENTS = 512
# Above this number of columns, a randomised decomposition is faster than an exact one.
_EXACT_COLUMNS = 1_024
# Rows that scaling and components are computed from.
_MAX_ROWS = 5_000
# Rows of one block of a transformation, which limits the memory; fewer of a wide table.
_BLOCK, _BLOCK_VALUES = 4_096, 2**22
# The interquartile range of a normal variable of standard deviation 1.
_NORMAL_RANGE = 1.349


@dataclass(frozen=True, eq=False)
class Inputs:
    """A fitted transformation of features (n, F) to inputs (n, R).

    inputs = clip((features - centre) * inverse_scale, -LIMIT, LIMIT) @ components - offset,
    with a mean square length of 1 over the images that it was fitted to.

    centre, inverse_scale: (F,), 0 for a constant column; components: (F, R); offset: (R,)
    """

    centre: FloatArray
    inverse_scale: FloatArray
    components: FloatArray
    offset: FloatArray

    @classmethod
    def fit(
        cls, features: NDArray[np.floating], random_state: int, rows: IntArray | None = None
    ) -> Inputs:
        """Learn from these rows of features (n, F), by default all. Of many rows, a random part is
        copied. Raises ValueError if all columns are constant."""
        used = np.arange(len(features)) if rows is None else rows
        if len(used) > _MAX_ROWS:
            some = np.random.default_rng(random_state).permutation(len(used))[:_MAX_ROWS]
            used = used[np.sort(some)]
        sample = np.asarray(features[used], np.float64)
        centre, inverse = _robust_scaling(sample)
        scaled = _scaled(sample, centre, inverse)
        del sample
        mean = scaled.mean(axis=0)
        scaled -= mean
        components = _components(scaled, random_state)
        spread = np.sqrt(((scaled @ components) ** 2).sum(axis=1).mean())
        components = components / spread
        return cls(centre, inverse, components, mean @ components)

    @property
    def n_features(self) -> int:
        """F."""
        return len(self.centre)

    @property
    def n_components(self) -> int:
        """R."""
        return int(self.components.shape[1])

    def transform(
        self, features: NDArray[np.floating], rows: IntArray | None = None
    ) -> NDArray[np.float32]:
        """(m, R) inputs of these m rows of features (n, F), by default all, block by block."""
        used = np.arange(len(features)) if rows is None else rows
        result = np.empty((len(used), self.components.shape[1]), np.float32)
        components = self.components.astype(np.float32)
        for start, stop in in_blocks(len(used), self.n_features):
            block = np.asarray(features[used[start:stop]], np.float64)
            scaled = _scaled(block, self.centre, self.inverse_scale).astype(np.float32)
            result[start:stop] = scaled @ components - self.offset.astype(np.float32)
        return result

    def scaled(self, features: FloatArray) -> FloatArray:
        """(n, F) scaled and clipped columns, for distances by the features alone."""
        return _scaled(features, self.centre, self.inverse_scale)


def in_blocks(n: int, n_columns: int) -> Iterator[tuple[int, int]]:
    """Start and end of the blocks of n rows that are in memory at once."""
    step = max(1, min(_BLOCK, _BLOCK_VALUES // n_columns))
    for start in range(0, n, step):
        yield start, min(n, start + step)


def checked_features(
    features: ArrayLike, known: ArrayLike | None, n_images: int | None = None
) -> tuple[NDArray[np.floating], BoolArray]:
    """(N, F) features and (N,) which images have them; other rows can contain anything.

    Raises ValueError for wrong shapes, no image with features, and the first number that is
    not finite, with its place.
    """
    table = _as_table(features, "features")
    if n_images is not None and len(table) != n_images:
        raise ValueError(f"features of {len(table)} images, but the answers are about {n_images}")
    mask = np.ones(len(table), np.bool_) if known is None else np.asarray(known)
    if mask.dtype != np.bool_ or mask.shape != (len(table),):
        raise ValueError(
            f"known must be ({len(table)},) bool, got {mask.dtype} of shape {mask.shape}"
        )
    if not mask.any():
        raise ValueError("no image has features: known is False for all of them")
    _check_finite(table, mask)
    return table, mask


def checked_rows(features: ArrayLike, n_features: int) -> NDArray[np.floating]:
    """(M, F) features of new images. Raises ValueError for another F or numbers not finite."""
    table = _as_table(features, "features")
    if table.shape[1] != n_features:
        raise ValueError(f"features must have {n_features} columns, got {table.shape[1]}")
    _check_finite(table, np.ones(len(table), np.bool_))
    return table


def _as_table(features: ArrayLike, name: str) -> NDArray[np.floating]:
    table = np.asarray(features)
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"{name} must be (N, F) with F > 0, got shape {table.shape}")
    if not np.issubdtype(table.dtype, np.floating):
        if not np.issubdtype(table.dtype, np.number) and table.dtype != np.bool_:
            raise ValueError(f"{name} must be numbers, got dtype {table.dtype}")
        table = table.astype(np.float64)
    return table


def _check_finite(table: NDArray[np.floating], mask: BoolArray) -> None:
    for start, stop in in_blocks(*table.shape):
        block = table[start:stop]
        wrong = ~np.isfinite(block) & mask[start:stop, None]
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ValueError(
                f"features must be finite, got {block[row, column]} in row {start + row}, "
                f"column {column}"
            )


def _robust_scaling(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(F,) medians, and one divided by the interquartile range in units of a deviation.

    A column that is mostly one value has a range of 0 and is scaled by its deviation.
    """
    width = max(1, _BLOCK_VALUES // len(table))
    starts = range(0, table.shape[1], width)
    parts = [_scaling_of(table[:, start : start + width]) for start in starts]
    centre, scale, is_constant = (np.concatenate(part) for part in zip(*parts, strict=True))
    constant = np.asarray(is_constant, np.bool_)
    if constant.all():
        raise ValueError("all columns of the features are constant, so they say nothing")
    return centre, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, scale))


def _scaling_of(table: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """(B,) medians, scales, and which of these columns are constant."""
    low, centre, high = np.quantile(table, [0.25, 0.5, 0.75], axis=0)
    scale = (high - low) / _NORMAL_RANGE
    # Dividing by the largest value first keeps the squares in the range of floats.
    largest = np.maximum(np.abs(table - centre).max(axis=0), np.finfo(np.float64).tiny)
    deviation = largest * ((table - centre) / largest).std(axis=0)
    scale = np.where(scale > 0.01 * deviation, scale, deviation)
    constant = deviation <= 1e-12 * np.maximum(np.abs(centre), np.finfo(np.float64).tiny)
    return centre, scale, constant


def _scaled(features: FloatArray, centre: FloatArray, inverse: FloatArray) -> FloatArray:
    scaled = (features - centre) * inverse
    return np.clip(scaled, -LIMIT, LIMIT, out=scaled)


def _components(centred: FloatArray, random_state: int) -> FloatArray:
    """(F, R) principal axes, largest variance first, R at most MAX_COMPONENTS.

    Fewer columns are kept as they are, so that a sparse map can leave columns out.
    """
    n, n_columns = centred.shape
    if n_columns <= MAX_COMPONENTS:
        return np.eye(n_columns)
    wanted = max(1, min(n - 1, MAX_COMPONENTS))
    if n_columns > _EXACT_COLUMNS:
        # Imported here so that servers and commands start a second faster.
        from sklearn.utils.extmath import randomized_svd

        _, size, axes = randomized_svd(centred, wanted, random_state=random_state)
        values, axes = size**2, axes.T
    else:
        values, axes = np.linalg.eigh(centred.T @ centred)
        values, axes = values[::-1][:wanted], axes[:, ::-1][:, :wanted]
    kept = values > 1e-10 * values[0]
    # The sign of an axis is arbitrary; a fixed rule makes fits repeatable.
    sign = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return np.ascontiguousarray((axes * sign)[:, kept])
