"""Features of what images look like: colours and the directions of edges.

CrowdSter section 4 compares the crowd with these simple features.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from skimage.color import rgb2gray, rgb2lab
from skimage.feature import hog
from skimage.transform import resize
from sklearn.decomposition import PCA

from learning.arrays import FloatArray
from learning.linear_reduction import LinearReduction

_SIDE, _CELL, _DIRECTIONS = 64, 16, 8
# Lightness ranges over 100, the colour axes over about as much around zero.
_LAB_LOW, _LAB_HIGH, _LEVELS = (0, -50, -50), (100, 50, 50), 8
_MOST_FEATURES = 40
# Columns of the colours, the histograms and the edges.
_BLOCKS = (slice(0, 48), slice(48, 72), slice(72, 200))


def appearance_vectors(images: Iterable[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """(N, 200) descriptions of images (H, W, 3) uint8, each independent of the others.

    Mean Lab colours of a 4 x 4 raster, histograms of the Lab axes, and histograms of oriented
    gradients (Dalal & Triggs 2005). Raises ValueError without an image.
    """
    return np.asarray(_vectors(images), np.float32)


class AppearanceReduction:
    """Reduces the descriptions of `appearance_vectors` to at most 40 principal components, in
    which the colours, their histograms and the edges have equal weight."""

    def fit(self, X: ArrayLike) -> Self:
        """Learn from the descriptions (N, 200) of a collection. Raises ValueError for others."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: ArrayLike) -> FloatArray:
        """(N, F) components of the descriptions; zeros for a single image."""
        table = _checked(X)
        self.mean_ = table.mean(axis=0)
        self.spread_ = np.ones(table.shape[1])
        for block in _BLOCKS:
            spread = np.sqrt(((table - self.mean_)[:, block] ** 2).sum(axis=1).mean())
            self.spread_[block] = spread if spread > 0 else 1.0
        self.pca_: PCA | None = None
        if len(table) == 1:
            return np.zeros((1, 1))
        self.pca_ = PCA(min(_MOST_FEATURES, *table.shape), random_state=0)
        return np.asarray(self.pca_.fit_transform(self._scaled(table)))

    def transform(self, X: ArrayLike) -> FloatArray:
        """(M, F) components of other images' descriptions (M, 200)."""
        table = _checked(X)
        if self.pca_ is None:
            return np.zeros((len(table), 1))
        return np.asarray(self.pca_.transform(self._scaled(table)))

    def as_linear(self) -> LinearReduction:
        """The same reduction as arrays."""
        if self.pca_ is None:
            return LinearReduction.of_matrix(self.mean_, np.zeros((len(self.mean_), 1)))
        centre = self.mean_ + self.spread_ * self.pca_.mean_
        return LinearReduction.of_matrix(centre, self.pca_.components_.T, 1.0 / self.spread_)

    def _scaled(self, table: FloatArray) -> FloatArray:
        return np.asarray((table - self.mean_) / self.spread_)


def appearance_features(images: Iterable[NDArray[np.uint8]]) -> FloatArray:
    """(N, F) features of images (H, W, 3) uint8, F at most 40: the descriptions of
    `appearance_vectors`, reduced by `AppearanceReduction`. Raises ValueError without an image."""
    return AppearanceReduction().fit_transform(_vectors(images))


def _vectors(images: Iterable[NDArray[np.uint8]]) -> FloatArray:
    rows = [np.concatenate(_parts(image)) for image in images]
    if not rows:
        raise ValueError("at least one image is needed")
    return np.stack(rows)


def _checked(values: ArrayLike) -> FloatArray:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or table.shape[1] != _BLOCKS[-1].stop or not len(table):
        raise ValueError(f"X must be (n, {_BLOCKS[-1].stop}), got shape {table.shape}")
    return table


def _parts(image: NDArray[np.uint8]) -> tuple[FloatArray, FloatArray, FloatArray]:
    small: FloatArray = resize(image, (_SIDE, _SIDE), anti_aliasing=True)
    lab = rgb2lab(small)
    cells = lab.reshape(4, _SIDE // 4, 4, _SIDE // 4, 3).mean(axis=(1, 3))
    levels = [
        np.histogram(lab[..., k], _LEVELS, (_LAB_LOW[k], _LAB_HIGH[k]))[0] / _SIDE**2
        for k in range(3)
    ]
    edges = hog(
        rgb2gray(small),
        orientations=_DIRECTIONS,
        pixels_per_cell=(_CELL, _CELL),
        cells_per_block=(1, 1),
    )
    return cells.ravel(), np.concatenate(levels), edges
