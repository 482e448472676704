"""The cluster of every image of a campaign according to the model, with its probability."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from learning.clusters import largest_first

FILE = "memberships.safetensors"


@dataclass(frozen=True, eq=False)
class Memberships:
    """One row per image, by position. Clusters are numbered from the largest.

    cluster, second: (N,) int64; second is -1 if there is only one cluster.
    probability, second_probability: (N,) float64.
    asked: (N,) bool, whether an answer that was learned from shows the image.
    """

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

    def to_bytes(self) -> bytes:
        return save(
            {column.name: np.ascontiguousarray(getattr(self, column.name)) for column in COLUMNS}
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote. Raises ValueError for anything else."""
        try:
            arrays = load(data)
            memberships = cls(**{column.name: arrays[column.name] for column in COLUMNS})
        except (SafetensorError, KeyError) as error:
            raise ValueError(f"not a file of memberships: {error}") from error
        memberships._check()
        return memberships

    def _check(self) -> None:
        kinds = {"cluster": "i", "second": "i", "asked": "b"}
        for column in COLUMNS:
            array = getattr(self, column.name)
            if array.shape != (len(self),) or array.dtype.kind != kinds.get(column.name, "f"):
                raise ValueError(f"{column.name} is {array.dtype} of shape {array.shape}")
        if len(self) and (self.cluster.min() < 0 or not np.isfinite(self.probability).all()):
            raise ValueError("clusters must be numbered from 0 and probabilities be finite")


COLUMNS = fields(Memberships)


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
