"""How certain the positions of a campaign's images are."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.strategies.stored_arrays import StoredArrays

FILE = "uncertainty.safetensors"


@dataclass(frozen=True, eq=False)
class Uncertainty(StoredArrays):
    """One row per image, by position.

    deviation: (N, d) float32, the standard deviation of each coordinate.
    by_features: (N,) bool, whether no answer shows the image, and features alone place it.
    """

    contents: ClassVar[str] = "uncertainties"
    deviation: NDArray[np.float32]
    by_features: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.by_features)

    def of_distances(
        self, vectors: NDArray[np.float64], centre: int, others: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return (k,) standard deviations of the distances from one image to others (k,), for
        independent coordinates; vectors: (N, d)."""
        gaps = vectors[others] - vectors[centre]
        far = np.linalg.norm(gaps, axis=1)
        variance = self.deviation[others].astype(np.float64) ** 2
        variance += self.deviation[centre].astype(np.float64) ** 2
        # Two images in one place are as far apart as their coordinates are uncertain.
        along = np.where(far[:, None] > 0, gaps**2, 1.0) / np.where(far > 0, far**2, 1.0)[:, None]
        return np.asarray(np.sqrt((along * variance).sum(axis=1)), np.float64)

    def _check(self) -> None:
        width = self.deviation.shape[1] if self.deviation.ndim == 2 else 0
        self._check_columns((len(self),), {"by_features": "b"}, {"deviation": (len(self), width)})
        if not (np.isfinite(self.deviation) & (self.deviation >= 0)).all():
            raise ValueError("deviations must be finite and at least 0")
