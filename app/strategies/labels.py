"""A file with the label of every image of a select campaign, according to the votes and a model."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.strategies.stored_arrays import StoredArrays

FILE = "labels.safetensors"
# An image is contested if the probability of its label is below this.
SURE = 0.9


@dataclass(frozen=True, eq=False)
class Labels(StoredArrays):
    """One row per image, by position.

    probability: (N,) float64 of yes, by model and votes.
    prior: by the model alone, which has not seen the image's own votes.
    majority, dawid_skene, glad: by the votes alone; NaN without any votes.
    yes, no, unsure: (N,) int64 numbers of votes.
    """

    contents: ClassVar[str] = "labels"
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
        """Return (N,) the probability of each image's label, 0.5 to 1."""
        return np.maximum(self.probability, 1 - self.probability)

    @property
    def n_votes(self) -> NDArray[np.int64]:
        """Return (N,) the number of yes and no votes."""
        return self.yes + self.no

    def right(self, truth: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return (N,) 1 for each right label."""
        return np.asarray((self.probability > 0.5) == truth, np.float64)

    def likeliest_first(self) -> NDArray[np.int64]:
        """Return (N,) positions, the most certain yes first."""
        return np.lexsort((np.arange(len(self)), -self.probability))

    def unlikeliest_first(self) -> NDArray[np.int64]:
        """Return (N,) positions, the most certain no first."""
        return np.lexsort((np.arange(len(self)), self.probability))

    def contested_first(self) -> NDArray[np.int64]:
        """Return (N,) positions, the least certain image first. Among equally certain images, the
        one with most votes is first."""
        doubt = -np.abs(self.probability - 0.5)
        return np.lexsort((np.arange(len(self)), -self.n_votes, -doubt))

    def _check(self) -> None:
        self._check_columns((len(self),), {"yes": "i", "no": "i", "unsure": "i"})
