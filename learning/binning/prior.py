"""A prior of images' positions from their features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.kernel_approximation import (
    Nystroem,
)
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import (
    KFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    StandardScaler,
)
from torch import Tensor

from learning.arrays import FloatArray, IntArray

_COMPONENTS, _FOLDS = 150, 5
# A regression gains little from more images.
_MOST_IMAGES = 4_000
_RIDGES = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
# At least this share of an embedding's deviation from the features' prediction is real.
_LEAST_PART = 0.1


@dataclass(frozen=True)
class Prior:
    """Each coordinate of each image is normal around `mean` (N, d) with `precision` (d,)."""

    mean: Tensor
    precision: Tensor

    def times(self, strength: float) -> Prior:
        """The prior with its precision multiplied."""
        return replace(self, precision=strength * self.precision)

    def loss(self, embedding: Tensor) -> Tensor:
        """Negative log density of all images, without constants."""
        return 0.5 * ((embedding - self.mean) ** 2 * self.precision).sum()


@dataclass(frozen=True)
class Described:
    """The inputs of a regression, the same for every embedding that it predicts.

    basis: (N, B) features and their radial similarities; known: (M,) images to learn from
    """

    basis: FloatArray
    known: IntArray


def describe(features: FloatArray, placed: Tensor, seed: int) -> Described:
    """Inputs from features (N, F); placed: (N,) bool, images that answers have placed."""
    known = np.flatnonzero(placed.cpu().numpy())
    known = np.random.default_rng(seed).permutation(known)[:_MOST_IMAGES]
    scaled = StandardScaler().fit_transform(features)
    # The mean squared distance of two images is twice the number of standardised features.
    gamma = 0.5 / scaled.shape[1]
    components = min(_COMPONENTS, len(known) // 2)
    similar = Nystroem(gamma=gamma, n_components=components, random_state=seed)
    basis = np.concatenate([scaled, similar.fit(scaled[known]).transform(scaled)], axis=1)
    return Described(basis, known)


def prior_of(described: Described, embedding: Tensor, variance: float, seed: int) -> Prior:
    """A prior of an embedding (N, d) from the features.

    It is a ridge regression on features and their radial similarities, judged on held-out
    images: if it predicts nothing, the prior is flat. variance: variance that the embedding's
    own error adds to a coordinate.
    """
    basis, known = described.basis, described.known
    wanted = embedding.double().cpu().numpy()
    ridge = make_pipeline(StandardScaler(), RidgeCV(_RIDGES, alpha_per_target=True))
    folds = KFold(_FOLDS, shuffle=True, random_state=seed)
    left_out = cross_val_predict(ridge, basis[known], wanted[known], cv=folds)
    total = wanted[known].var(axis=0)
    missed = ((wanted[known] - left_out) ** 2).mean(axis=0)
    mean = ridge.fit(basis[known], wanted[known]).predict(basis)
    # The regression would predict its own training images too well.
    mean[known] = left_out
    real = np.clip(missed - variance, _LEAST_PART * missed, None)
    precision = np.where(missed < total, 1 / np.maximum(real, 1e-6), 0.0)
    device = embedding.device
    return Prior(
        torch.as_tensor(mean, dtype=embedding.dtype).to(device),
        torch.as_tensor(precision, dtype=embedding.dtype).to(device),
    )
