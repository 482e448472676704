"""Conversion of features for the networks: checks, scaling, and a suitable likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

Float32 = NDArray[np.float32]

# Share of the widest feature, so that a nearly constant one is not scaled up to the others.
_NARROWEST = 0.1
# Spread of a feature, relative to its mean, that rounding to float32 can cause.
_ROUNDING, _TINY = 1e-6, 1e-30
# Mean of 4 x (1 - x) below which values in 0..1 count as nearly black or white, and its maximum
# share of what equal values would have, because small numbers are not black and white.
_NEARLY_BINARY, _MOST_SHADE = 0.3, 0.5
# Squares and differences of larger numbers exceed float32. The second number is the maximum
# distance from the centre, in scales, to which later items are clipped.
_LARGEST, _FURTHEST = 1e37, 1e6


@dataclass(frozen=True)
class Scaling:
    """The conversion of features for the networks: (X - centre) / scale, or X itself.

    likelihood: "gaussian" or "bernoulli"; shape: of one item, (D,) or (H, W, C);
    centre: (D,), scale: (D,) float32, D = H W C for images.
    """

    likelihood: str
    shape: tuple[int, ...]
    centre: Float32
    scale: Float32

    @property
    def n_features(self) -> int:
        return int(np.prod(self.shape))

    def apply(self, features: ArrayLike) -> Tensor:
        """(N, D) float32 tensor of features (N, *shape). Raises ValueError if they don't fit."""
        array = as_features(features)
        if array.shape[1:] != self.shape:
            raise ValueError(
                f"the model was fitted on items of shape {self.shape}, got {array.shape[1:]}"
            )
        flat = array.reshape(len(array), -1)
        if self.likelihood == "bernoulli" and (flat.min() < 0 or flat.max() > 1):
            raise ValueError(
                "likelihood 'bernoulli' takes values in 0..1, got "
                f"{flat.min():g}..{flat.max():g}: scale them or choose 'gaussian'"
            )
        with np.errstate(over="ignore"):
            scaled = (flat - self.centre) / self.scale
        return torch.from_numpy(np.clip(scaled, -_FURTHEST, _FURTHEST, out=scaled))


def as_features(features: ArrayLike) -> Float32:
    """Features (N, D) or images (N, H, W[, C]) as float32, images with channels last.

    Raises ValueError for other shapes, no items, or values that are not finite or too large.
    """
    array = np.asarray(features)
    if array.dtype == np.uint8 and array.ndim > 2:
        array = array.astype(np.float32) / 255.0
    if array.dtype.kind not in "biuf":
        raise ValueError(f"X must contain real numbers, got dtype {array.dtype}")
    if array.ndim not in (2, 3, 4) or 0 in array.shape:
        raise ValueError(f"X must be (N, D), (N, H, W) or (N, H, W, C), got shape {array.shape}")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(array, np.float32)
    fits = np.abs(values) <= _LARGEST
    if not fits.all():
        row = int(np.argmin(fits.reshape(len(values), -1).all(axis=1)))
        raise ValueError(
            f"X must be finite and at most {_LARGEST:g}; item {row} has NaN, infinity or more"
        )
    return values[..., None] if values.ndim == 3 else values


def fit_scaling(features: ArrayLike, likelihood: str) -> tuple[Scaling, Tensor]:
    """(scaling, (N, D) scaled features). "auto" takes "bernoulli" for nearly binary values.

    Raises ValueError for features that no model can be fitted to.
    """
    array = as_features(features)
    flat = array.reshape(len(array), -1)
    if likelihood == "auto":
        likelihood = "bernoulli" if _nearly_binary(flat) else "gaussian"
    n_features = flat.shape[1]
    centre, scale = np.zeros(n_features, np.float32), np.ones(n_features, np.float32)
    if likelihood == "gaussian":
        centre = flat.mean(axis=0, dtype=np.float64).astype(np.float32)
        spread = flat.std(axis=0, dtype=np.float64)
        varies = spread > np.maximum(_ROUNDING * np.abs(centre), _TINY)
        widest = float(spread[varies].max(initial=0.0))
        scale = np.maximum(spread, _NARROWEST * widest if widest else 1.0).astype(np.float32)
    scaling = Scaling(likelihood, array.shape[1:], centre, scale)
    return scaling, scaling.apply(array)


def _nearly_binary(flat: Float32) -> bool:
    if flat.min() < 0 or flat.max() > 1 or flat.max() == flat.min():
        return False
    mean = float(flat.mean(dtype=np.float64))
    shade = float((4 * flat * (1 - flat)).mean())
    return shade < min(_NEARLY_BINARY, _MOST_SHADE * 4 * mean * (1 - mean))


def scaling_arrays(scaling: Scaling) -> dict[str, NDArray[Any]]:
    """The arrays of a `Scaling`, without likelihood and shape, to be saved."""
    return {"scaling.centre": scaling.centre, "scaling.scale": scaling.scale}
