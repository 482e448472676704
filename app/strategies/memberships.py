"""The cluster of every image of a campaign according to the model, with its probability."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.strategies.stored_arrays import StoredArrays
from learning.clusters import largest_first

FILE = "memberships.safetensors"


@dataclass(frozen=True, eq=False)
class Memberships(StoredArrays):
    """One row per image, by position. Clusters are numbered from the largest.

    cluster, second: (N,) int64; second is -1 if there is only one cluster.
    probability, second_probability: (N,) float64.
    asked: (N,) bool, whether an answer that was learned from shows the image.
    """

    contents: ClassVar[str] = "memberships"
    cluster: NDArray[np.int64]
    probability: NDArray[np.float64]
    second: NDArray[np.int64]
    second_probability: NDArray[np.float64]
    asked: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.cluster)

    @property
    def n_clusters(self) -> int:
        return int(self.cluster.max(initial=-1)) + 1

    def uncertain_first(self) -> NDArray[np.int64]:
        """Return (N,) positions, the least certain image first."""
        return np.lexsort((np.arange(len(self)), self.probability))

    def _check(self) -> None:
        self._check_columns((len(self),), {"cluster": "i", "second": "i", "asked": "b"})
        if len(self) and (self.cluster.min() < 0 or not np.isfinite(self.probability).all()):
            raise ValueError("clusters must be numbered from 0 and probabilities be finite")


def memberships_of(
    responsibilities: NDArray[np.float64], asked: NDArray[np.bool_]
) -> tuple[Memberships, NDArray[np.int64]]:
    """Return the memberships for (N, K) probabilities, and the K' components that are the most
    likely one of some image, in the order of the clusters' numbers."""
    n = len(responsibilities)
    best = responsibilities.argmax(axis=1)
    cluster = largest_first(best)
    components = np.empty(int(cluster.max()) + 1, np.int64)
    components[cluster] = best
    among: NDArray[Any] = responsibilities[:, components]
    row = np.arange(n)
    second = np.full(n, -1, np.int64)
    second_probability = np.zeros(n)
    if len(components) > 1:
        rest = among.copy()
        rest[row, cluster] = -1.0
        second = rest.argmax(axis=1)
        second_probability = among[row, second]
    memberships = Memberships(
        cluster, among[row, cluster].astype(np.float64), second,
        second_probability.astype(np.float64), asked,
    )  # fmt: skip
    return memberships, components
