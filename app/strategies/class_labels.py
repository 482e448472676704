"""A file with the class or the labels of every image of a campaign with classes, according to the
votes and a model. `app/strategies/labels.py` is the same for yes and no."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.strategies.stored_arrays import StoredArrays

# A class with fewer expected images than this has no share of its own in the balanced quality.
LEAST_EXPECTED = 1.0


@dataclass(frozen=True, eq=False)
class ClassLabels(StoredArrays):
    """One row per image, by position, and one column for each of K classes.

    several: (1,) int64: 1 if an image can have several classes, 0 if it has one.
    probability: (N, K) float64 of each class, by model and votes. If an image has one class, the
        probabilities sum to 1.
    prior: by the model alone, which has not seen the image's own votes.
    majority, dawid_skene, glad: by the votes alone; NaN without any votes.
    votes: (N, K) int64 numbers of annotators who chose each class.
    answers: (N,) int64 numbers of annotators who answered about an image.
    unsure: (N,) int64 numbers of annotators who saw an image but did not answer about it.
    """

    contents: ClassVar[str] = "classes"
    several: NDArray[np.int64]
    probability: NDArray[np.float64]
    prior: NDArray[np.float64]
    majority: NDArray[np.float64]
    dawid_skene: NDArray[np.float64]
    glad: NDArray[np.float64]
    votes: NDArray[np.int64]
    answers: NDArray[np.int64]
    unsure: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.probability)

    @property
    def n_classes(self) -> int:
        return int(self.probability.shape[1])

    @property
    def can_have_several(self) -> bool:
        return bool(self.several[0])

    @property
    def n_votes(self) -> NDArray[np.int64]:
        return self.answers

    def chosen(self, probability: NDArray[np.float64] | None = None) -> NDArray[np.bool_]:
        """Return (N, K) whether each image has each class, by (N, K) probabilities."""
        chances = self.probability if probability is None else probability
        if self.can_have_several:
            return np.asarray(chances > 0.5)
        best = chances.argmax(axis=1)
        return np.asarray(best[:, None] == np.arange(self.n_classes))

    @property
    def sureness(self) -> NDArray[np.float64]:
        """Return (N,) the probability of each image's class, or of its least certain label."""
        if self.can_have_several:
            return np.asarray(np.maximum(self.probability, 1 - self.probability).min(axis=1))
        return np.asarray(self.probability.max(axis=1))

    def right(self, truth: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return (N,) the share of each image's labels that are right. truth: (N,) classes, or
        (N, K) labels."""
        if self.can_have_several:
            return np.asarray((self.chosen() == truth).mean(axis=1), np.float64)
        return np.asarray(self.probability.argmax(axis=1) == truth, np.float64)

    def expected_right(self) -> float:
        """Return the share of labels that is expected to be right."""
        if self.can_have_several:
            return float(np.maximum(self.probability, 1 - self.probability).mean())
        return float(self.sureness.mean())

    def expected_by_class(self) -> NDArray[np.float64]:
        """Return (K,) the share of labels that is expected to be right for each class: of the
        images that have it, or, with several labels, the mean of that and of those that don't have
        it. NaN for a class that hardly any image is expected to have."""
        chances, chosen = self.probability, self.chosen()
        has = chances.sum(axis=0)
        recall = (chances * chosen).sum(axis=0) / np.maximum(has, 1e-9)
        if self.can_have_several:
            lacks = (1 - chances).sum(axis=0)
            rejected = ((1 - chances) * ~chosen).sum(axis=0) / np.maximum(lacks, 1e-9)
            recall = np.where(lacks < LEAST_EXPECTED, recall, (recall + rejected) / 2)
        return np.where(has < LEAST_EXPECTED, np.nan, recall)

    def likeliest_first(self, number: int) -> NDArray[np.int64]:
        """Return (N,) positions, those that most certainly have class `number` first."""
        return np.lexsort((np.arange(len(self)), -self.probability[:, number]))

    def surest_first(self) -> NDArray[np.int64]:
        return np.lexsort((np.arange(len(self)), -self.sureness))

    def contested_first(self) -> NDArray[np.int64]:
        """Return (N,) positions, the least certain image first. Among equally certain images, the
        one with most votes is first."""
        return np.lexsort((np.arange(len(self)), -self.answers, self.sureness))

    def _check(self) -> None:
        shape = self.probability.shape
        if len(shape) != 2 or shape[1] < 2:
            raise ValueError(f"probability is of shape {shape}")
        shapes = {"several": (1,), "answers": shape[:1], "unsure": shape[:1]}
        self._check_columns(shape, dict.fromkeys([*shapes, "votes"], "i"), shapes)
