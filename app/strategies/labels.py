"""The label of every image of a select campaign, by the votes and by a model, as a file."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

FILE = "labels.safetensors"
# Contested: less sure than this of its label.
SURE = 0.9


@dataclass(frozen=True, eq=False)
class Labels:
    """One row per image, by position.

    probability: (N,) float64 of yes, by model and votes; prior: by the model alone, which has not
    seen the image's own votes; majority, dawid_skene, glad: by the votes alone, NaN without any.
    yes, no, unsure: (N,) int64 votes.
    """

    probability: NDArray[np.float64]
    prior: NDArray[np.float64]
    majority: NDArray[np.float64]
    dawid_skene: NDArray[np.float64]
    glad: NDArray[np.float64]
    yes: NDArray[np.int64]
    no: NDArray[np.int64]
    unsure: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.probability)

    @property
    def sureness(self) -> NDArray[np.float64]:
        """(N,) probability of the label that each image has, 0.5 to 1."""
        return np.maximum(self.probability, 1 - self.probability)

    @property
    def n_votes(self) -> NDArray[np.int64]:
        """(N,) votes for yes or no."""
        return self.yes + self.no

    def likeliest_first(self) -> NDArray[np.int64]:
        """(N,) positions, the surest yes first."""
        return np.lexsort((np.arange(len(self)), -self.probability))

    def unlikeliest_first(self) -> NDArray[np.int64]:
        """(N,) positions, the surest no first."""
        return np.lexsort((np.arange(len(self)), self.probability))

    def contested_first(self) -> NDArray[np.int64]:
        """(N,) positions, the image that is least sure first; of these, with most votes."""
        doubt = -np.abs(self.probability - 0.5)
        return np.lexsort((np.arange(len(self)), -self.n_votes, -doubt))

    def to_bytes(self) -> bytes:
        return save({one.name: np.ascontiguousarray(getattr(self, one.name)) for one in COLUMNS})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Raises ValueError for what `to_bytes` has not written."""
        try:
            arrays = load(data)
            told = cls(**{one.name: arrays[one.name] for one in COLUMNS})
        except (SafetensorError, KeyError) as error:
            raise ValueError(f"not a file of labels: {error}") from error
        for one in COLUMNS:
            array = getattr(told, one.name)
            kind = "i" if one.name in ("yes", "no", "unsure") else "f"
            if array.shape != (len(told),) or array.dtype.kind != kind:
                raise ValueError(f"{one.name} is {array.dtype} of shape {array.shape}")
        return told


COLUMNS = fields(Labels)
