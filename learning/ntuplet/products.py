"""Products of pairs of features as inputs, which show what sums of features cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import FloatArray
from learning.features import scaling_of

FloatArray32 = NDArray[np.float32]
# The cost of a new item grows with the number of landmarks.
_MOST_LANDMARKS = 300


@dataclass(frozen=True, eq=False)
class Products:
    """The largest principal components of all products x_a x_b of scaled features.

    There are D² products, but with the kernel (x · x')² they need not be computed (Schölkopf,
    Smola and Müller 1998). Only these products separate two groups with the same mean and
    different correlations.

    landmarks: (m, D) items; centre: (m,) mean of the kernel; directions: (m, k).
    """

    landmarks: FloatArray32
    centre: FloatArray32
    directions: FloatArray32

    @classmethod
    def of(cls, scaled: FloatArray, n_components: int, rng: np.random.Generator) -> Products:
        """scaled: (n, D), of mean 0 and deviation 1; at most n_components, of mean variance 1."""
        rows = np.sort(rng.permutation(len(scaled))[:_MOST_LANDMARKS])
        landmarks = scaled[rows].astype(np.float32)
        kernel = _kernel(landmarks, landmarks).astype(np.float64)
        centre = kernel.mean(axis=0)
        centred = kernel - centre - centre[:, None] + centre.mean()
        values, vectors = np.linalg.eigh(centred)
        kept = np.flatnonzero(values > 1e-9 * values[-1])[::-1][:n_components]
        directions = vectors[:, kept] / np.sqrt(values[kept])
        # There is one factor for all, so that larger components stay larger.
        directions /= np.sqrt(values[kept].mean() / len(landmarks))
        directions -= directions.mean(axis=0)
        return cls(landmarks, centre.astype(np.float32), directions.astype(np.float32))

    def __call__(self, scaled: NDArray[np.floating]) -> FloatArray32:
        """(n, D) to (n, k)."""
        similarity = _kernel(scaled.astype(np.float32, copy=False), self.landmarks)
        similarity -= self.centre
        return np.asarray(similarity @ self.directions)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Conversion of features to networks' inputs. mean, scale: (D,) of the training features;
    products: used instead of features, None for the scaled features."""

    mean: FloatArray
    scale: FloatArray
    products: Products | None

    @classmethod
    def of(cls, features: FloatArray, n_products: int, rng: np.random.Generator) -> Prepared:
        """features: (n, D). Raises ValueError if all are constant."""
        mean, scale = scaling_of(features)
        products = Products.of((features - mean) / scale, n_products, rng) if n_products else None
        return cls(mean, scale, products)

    def __call__(self, features: FloatArray) -> FloatArray32:
        """(n, D) to (n, n_inputs)."""
        scaled = ((features - self.mean) / self.scale).astype(np.float32)
        return scaled if self.products is None else self.products(scaled)

    @property
    def n_inputs(self) -> int:
        return len(self.mean) if self.products is None else self.products.directions.shape[1]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save, from which `from_arrays` restores the conversion."""
        products = {} if self.products is None else vars(self.products)
        return {"mean": self.mean, "scale": self.scale, **products}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Prepared:
        remaining = dict(arrays)
        mean, scale = remaining.pop("mean"), remaining.pop("scale")
        return cls(mean, scale, Products(**remaining) if remaining else None)


def _kernel(items: FloatArray32, landmarks: FloatArray32) -> FloatArray32:
    similarity = items @ landmarks.T
    similarity /= landmarks.shape[1]
    return np.asarray(np.square(similarity, out=similarity))
