"""Checks of CrowdSter's parameters and features, which raise ValueError."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import BoolArray, FloatArray, check_count, check_positive

if TYPE_CHECKING:
    from learning.crowdster import CrowdSter

ALGORITHMS = ("likelihood", "paper")
# The sum of larger numbers' squares would exceed the range of floats.
_LARGEST_FEATURE = 1e100


def check_parameters(model: CrowdSter) -> None:
    """Raise ValueError for an invalid parameter."""
    if model.algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {ALGORITHMS}, got {model.algorithm!r}")
    check_count("n_images", model.n_images, minimum=2)
    check_count("grid_size", model.grid_size, minimum=2)
    for name in ("n_bins", "n_phases", "n_iterations"):
        check_count(name, getattr(model, name))
    if model.n_dimensions is not None:
        check_count("n_dimensions", model.n_dimensions)
    for name in ("random_state", "n_excluded"):
        value = getattr(model, name)
        if value is not None:
            check_count(name, value, minimum=0)
    check_positive("beta", model.beta, minimum=1.0)
    check_positive("epsilon", model.epsilon, strict=False)
    check_positive("neighbors_start", model.neighbors_start)
    check_positive("neighbors_end", model.neighbors_end)
    check_positive("random_share", model.random_share, strict=False)
    if model.random_share > 1:
        raise ValueError(f"random_share must be at most 1, got {model.random_share!r}")
    if model.grid_size > model.n_images:
        raise ValueError(f"grid_size must be at most n_images, got {model.grid_size}")


def checked_features(features: ArrayLike | None, n_images: int) -> FloatArray | None:
    """(n_images, F) float64. Raises ValueError for another shape or numbers that are not finite."""
    if features is None:
        return None
    given = np.asarray(features, np.float64)
    if given.ndim != 2 or not given.shape[1] or len(given) != n_images:
        raise ValueError(f"features must be ({n_images}, F), got shape {given.shape}")
    if not (np.abs(given) < _LARGEST_FEATURE).all():
        raise ValueError(f"features must be finite numbers below {_LARGEST_FEATURE:g}")
    return given


def checked_known(known: ArrayLike | None, n_images: int) -> BoolArray | None:
    """(n_images,) bool. Raises ValueError for another shape or type."""
    if known is None:
        return None
    mask = np.asarray(known)
    if mask.dtype != np.bool_ or mask.shape != (n_images,):
        raise ValueError(f"known must be ({n_images},) bool, got {mask.dtype} of {mask.shape}")
    return mask
