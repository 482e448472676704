"""What simulated annotators have in common who answer about each image separately."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import BoolArray, FloatArray, IntArray, check_count
from learning.simulation.answers import MOST_GROUPS, SimulatedAnswer, check_request


class BallotCrowd(ABC):
    """Annotators who always give an image the same group, whatever else the grid shows.

    truth: (N, …) the right answer about each image.
    """

    truth: NDArray[Any]
    random_state: int

    @property
    def n_images(self) -> int:
        return len(self.truth)

    @property
    @abstractmethod
    def n_annotators(self) -> int: ...

    def answer(
        self,
        annotator: int,
        images: ArrayLike,
        max_groups: int = MOST_GROUPS,
        n_bins: int | None = None,
    ) -> SimulatedAnswer:
        """Groups of one grid, whatever `max_groups` and `n_bins` are. Raises ValueError for an
        unknown annotator or image."""
        shown = check_request(self, annotator, images, max_groups)
        groups = [
            self._group_of(
                annotator, image, np.random.default_rng([self.random_state, annotator, image])
            )
            for image in shown.tolist()
        ]
        return SimulatedAnswer(np.array(groups, np.int64), [], None)

    @abstractmethod
    def _group_of(self, annotator: int, image: int, rng: np.random.Generator) -> int:
        """The group that an annotator gives to an image."""


class SkilledCrowd(BallotCrowd):
    """Annotators who say yes or no, about each image or to each label of it.

    truth: (N,) or (N, L) bool; sensitivity, specificity: (W,) or (W, L) share of right answers
    where it is true, and where it isn't. Raises ValueError for shares outside 0..1.
    """

    def __init__(
        self,
        truth: ArrayLike,
        sensitivity: ArrayLike,
        specificity: ArrayLike,
        random_state: int = 0,
    ) -> None:
        self.truth: BoolArray = np.asarray(truth, np.bool_)
        self.sensitivity: FloatArray = np.asarray(sensitivity, np.float64)
        self.specificity: FloatArray = np.asarray(specificity, np.float64)
        self.random_state = random_state
        of_each = self.truth.shape[1:]
        for name in ("sensitivity", "specificity"):
            share = getattr(self, name)
            check_shares(name, share)
            if share.ndim != self.truth.ndim or share.shape[1:] != of_each:
                expected = ", ".join(map(str, ("W", *of_each)))
                raise ValueError(f"{name} must be of shape ({expected}), got {share.shape}")
        if len(self.sensitivity) != len(self.specificity):
            raise ValueError("sensitivity and specificity must be of the same shape")

    @classmethod
    def of_people(
        cls,
        truth: ArrayLike,
        n_annotators: int,
        noise: float = 0.1,
        guessing: float = 0.0,
        random_state: int = 0,
    ) -> Self:
        """A crowd with a mean error of `noise`, which varies between annotators and labels (beta
        distributed), and of which a share `guessing` answers at random."""
        check_count("n_annotators", n_annotators)
        shows = np.asarray(truth, np.bool_)
        rng = np.random.default_rng(random_state)
        wrong = drawn_errors(rng, noise, (2, n_annotators, *shows.shape[1:]))
        wrong[:, drawn_guessers(rng, guessing, n_annotators)] = 0.5
        return cls(shows, 1 - wrong[0], 1 - wrong[1], random_state=random_state)

    @property
    def n_annotators(self) -> int:
        return len(self.sensitivity)


def drawn_errors(rng: np.random.Generator, noise: float, shape: Sequence[int]) -> FloatArray:
    """Shares of errors with mean `noise`."""
    return np.asarray(rng.beta(6 * noise + 1e-9, 6 * (1 - noise) + 1e-9, shape), np.float64)


def drawn_guessers(rng: np.random.Generator, guessing: float, n_annotators: int) -> IntArray:
    """The numbers of the annotators who guess."""
    return np.asarray(rng.permutation(n_annotators)[: round(guessing * n_annotators)], np.int64)


def check_shares(name: str, share: ArrayLike) -> None:
    """Raise ValueError for a share outside 0..1."""
    given = np.asarray(share)
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError(f"{name} must be in 0..1, got {given}")
