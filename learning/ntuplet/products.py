"""Products of pairs of features in the place of the features: what no sum of them can tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learning.arrays import FloatArray

FloatArray32 = NDArray[np.float32]
# The cost of a new item grows with them.
_MOST_LANDMARKS = 300


@dataclass(frozen=True, eq=False)
class Products:
    """The largest principal components of all products x_a x_b of scaled features.

    There are D² of them, but with the kernel (x · x')² they need not be written out (Schölkopf,
    Smola and Müller 1998). Two groups with the same mean and other correlations lie apart in
    them, and only in them.

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
        # One factor for all: the larger components are to stay the larger ones.
        directions /= np.sqrt(values[kept].mean() / len(landmarks))
        directions -= directions.mean(axis=0)
        return cls(landmarks, centre.astype(np.float32), directions.astype(np.float32))

    def __call__(self, scaled: NDArray[np.floating]) -> FloatArray32:
        """(n, D) to (n, k)."""
        told = _kernel(scaled.astype(np.float32, copy=False), self.landmarks)
        told -= self.centre
        return np.asarray(told @ self.directions)


def _kernel(items: FloatArray32, landmarks: FloatArray32) -> FloatArray32:
    likeness = items @ landmarks.T
    likeness /= landmarks.shape[1]
    return np.asarray(np.square(likeness, out=likeness))
