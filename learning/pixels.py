"""Images reduced to few pixels, and principal components of these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from learning.linear_reduction import LinearReduction

_COMPONENTS = 50


def small_pixels(
    images: Iterable[NDArray[np.uint8]], side: int = 16, colour: bool = True
) -> NDArray[np.float32]:
    """(N, side, side, 3) or, without colour, (N, side, side) pixels in 0..1.

    images: (H, W, 3) uint8 each, squeezed into a square; a small pixel is the mean of those
    it replaces. Raises ValueError without an image.
    """
    rows = [_small(image, side, colour) for image in images]
    if not rows:
        raise ValueError("at least one image is needed")
    return np.asarray(np.stack(rows) / np.float32(255), np.float32)


class ComponentReduction:
    """Reduces rows of numbers to principal components, whose scale is that of the numbers."""

    def __init__(self, n_components: int = _COMPONENTS) -> None:
        self.n_components = n_components

    def fit(self, X: ArrayLike) -> Self:
        """Learn from the rows (N, D) of a collection."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """(N, F) components, F at most `n_components`; zeros for a single row."""
        table = np.asarray(X)
        self.n_features_in_ = table.shape[1]
        self.pca_: PCA | None = None
        if len(table) == 1:
            return np.zeros((1, 1))
        self.pca_ = PCA(min(self.n_components, *table.shape), random_state=0)
        with threadpool_limits(1):
            return np.asarray(self.pca_.fit_transform(table), np.float64)

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """(M, F) components of other rows (M, D)."""
        table = np.asarray(X)
        if self.pca_ is None:
            return np.zeros((len(table), 1))
        with threadpool_limits(1):
            return np.asarray(self.pca_.transform(table), np.float64)

    def as_linear(self) -> LinearReduction:
        """The same reduction as arrays."""
        if self.pca_ is None:
            zeros = np.zeros((self.n_features_in_, 1))
            return LinearReduction.of_matrix(zeros[:, 0], zeros)
        return LinearReduction.of_matrix(self.pca_.mean_, self.pca_.components_.T)


def pixel_components(
    images: Iterable[NDArray[np.uint8]], side: int = 16, n_components: int = _COMPONENTS
) -> NDArray[np.float64]:
    """(N, F) principal components of the small colour pixels of images, F at most
    `n_components`; their scale is that of the pixels. Raises ValueError without an image."""
    small = small_pixels(images, side)
    return ComponentReduction(n_components).fit_transform(small.reshape(len(small), -1))


def _small(image: NDArray[np.uint8], side: int, colour: bool) -> NDArray[np.uint8]:
    whole = Image.fromarray(image)
    shrunk = whole.resize((side, side), Image.Resampling.BOX)
    return np.asarray(shrunk if colour else shrunk.convert("L"))
