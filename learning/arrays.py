"""Array types and the checks that all estimators use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def as_index_array(name: str, values: ArrayLike, n_axes: int) -> IntArray:
    """`values` as a read-only int64 array with `n_axes` axes.

    Raises ValueError if the values are not integers or the number of axes differs. An empty
    list has no type and is accepted.
    """
    array = np.asarray(values)
    if array.ndim != n_axes:
        raise ValueError(f"{name} must have {n_axes} axes, got shape {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must contain integers, got dtype {array.dtype}")
    # This is a view, so that making it read-only does not affect the caller's array.
    indices = array.astype(np.int64, copy=False).view()
    indices.flags.writeable = False
    return indices


def check_index_range(name: str, indices: IntArray, low: int, high: int) -> None:
    """Raise ValueError unless every index is in low..high-1."""
    if indices.size == 0:
        return
    smallest, largest = int(indices.min()), int(indices.max())
    if smallest < low or largest >= high:
        offender = smallest if smallest < low else largest
        raise ValueError(f"{name} must be in {low}..{high - 1}, got {offender}")


def check_positive(name: str, value: Any, minimum: float = 0.0, strict: bool = True) -> None:
    """Raise ValueError unless `value` is a finite number above `minimum` (or at it)."""
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or not np.isfinite(value) or value < minimum or (strict and value == minimum):
        raise ValueError(f"{name} must be {'>' if strict else '>='} {minimum:g}, got {value!r}")


def check_count(name: str, value: Any, minimum: int = 1) -> None:
    """Raise ValueError unless `value` is a whole number of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise ValueError(f"{name} must be a whole number >= {minimum}, got {value!r}")
