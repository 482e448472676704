"""Simulated annotators who give each image one of several classes, or any of several labels."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import FloatArray, IntArray, check_count, check_index_range
from learning.class_ballots import NONE, masks_of
from learning.simulation.ballot_crowd import (
    BallotCrowd,
    SkilledCrowd,
    drawn_errors,
    drawn_guessers,
)

# Of an annotator's errors, the share that goes to the class that is most similar.
_TWIN_SHARE = 0.7


class ClassCrowd(BallotCrowd):
    """Annotators who each have a confusion matrix (Dawid and Skene 1979).

    truth: (N,) class; confusion: (W, K, K) probability of each class (last axis) that an annotator
    gives to an image of each class; unsure: share of images to which an annotator gives none, drawn
    for each. Raises ValueError for rows that are not probabilities.
    """

    def __init__(
        self, truth: ArrayLike, confusion: ArrayLike, unsure: float = 0.0, random_state: int = 0
    ) -> None:
        self.truth: IntArray = np.asarray(truth, np.int64)
        self.confusion: FloatArray = np.asarray(confusion, np.float64)
        self.unsure, self.random_state = unsure, random_state
        shape = self.confusion.shape
        if len(shape) != 3 or shape[1] != shape[2]:
            raise ValueError(f"confusion must be (W, K, K), got shape {shape}")
        is_share = (self.confusion >= 0).all()
        if not is_share or not np.allclose(self.confusion.sum(axis=2), 1.0):
            raise ValueError("the rows of confusion must be probabilities that sum to 1")
        check_index_range("truth", self.truth, 0, shape[1])

    @classmethod
    def of_people(
        cls,
        truth: ArrayLike,
        n_classes: int,
        n_annotators: int,
        noise: float = 0.1,
        guessing: float = 0.0,
        random_state: int = 0,
    ) -> Self:
        """A crowd with a mean error of `noise`, which varies between annotators and classes (beta
        distributed), and of which a share `guessing` chooses at random. Classes come in pairs (0
        and 1, 2 and 3, …) whose members are confused most."""
        check_count("n_annotators", n_annotators)
        check_count("n_classes", n_classes, minimum=2)
        rng = np.random.default_rng(random_state)
        wrong = drawn_errors(rng, noise, (n_annotators, n_classes))
        confusion = np.empty((n_annotators, n_classes, n_classes))
        for number in range(n_classes):
            confusion[:, number] = wrong[:, number, None] * _where_errors_go(number, n_classes)
            confusion[:, number, number] = 1 - wrong[:, number]
        confusion[drawn_guessers(rng, guessing, n_annotators)] = 1 / n_classes
        return cls(truth, confusion, random_state=random_state)

    @property
    def n_annotators(self) -> int:
        return len(self.confusion)

    def _group_of(self, annotator: int, image: int, rng: np.random.Generator) -> int:
        if rng.random() < self.unsure:
            return NONE
        chances = self.confusion[annotator, self.truth[image]]
        return int(rng.choice(len(chances), p=chances))


class TagCrowd(SkilledCrowd):
    """Annotators who decide on each label separately, with a sensitivity and a specificity.

    truth: (N, L) bool; sensitivity, specificity: (W, L) share of right decisions on images that
    have a label, and on the rest. Raises ValueError for shares outside 0..1.
    """

    def _group_of(self, annotator: int, image: int, rng: np.random.Generator) -> int:
        shows = self.truth[image]
        right = np.where(shows, self.sensitivity[annotator], self.specificity[annotator])
        has = shows == (rng.random(len(shows)) < right)
        return int(masks_of(has[None])[0])


def _where_errors_go(number: int, n_classes: int) -> FloatArray:
    """(K,) shares of the errors on images of a class. The other class of its pair gets most of
    them; the last of an odd number of classes has no pair."""
    twin = number ^ 1
    shares = np.full(n_classes, 1.0)
    shares[number] = 0.0
    if twin < n_classes and n_classes > 2:
        shares *= (1 - _TWIN_SHARE) / max(n_classes - 2, 1)
        shares[twin] = _TWIN_SHARE
    return np.asarray(shares / shares.sum(), np.float64)
