"""Simulated annotators who vote for each image whether it shows something."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import BoolArray, FloatArray, check_count
from learning.ballots import NO, UNSURE, YES
from learning.simulation.answers import MOST_GROUPS, SimulatedAnswer, check_request


class VoteCrowd:
    """Annotators who each have a sensitivity and a specificity (Dawid and Skene 1979).

    truth: (N,) bool; sensitivity, specificity: (W,) share of right votes on images that show it,
    and on the rest; unsure: share of images of which an annotator is unsure, drawn for each.
    Raises ValueError for shares outside 0..1.
    """

    def __init__(
        self,
        truth: ArrayLike,
        sensitivity: ArrayLike,
        specificity: ArrayLike,
        unsure: float = 0.0,
        random_state: int = 0,
    ) -> None:
        self.truth: BoolArray = np.asarray(truth, np.bool_)
        self.sensitivity: FloatArray = np.asarray(sensitivity, np.float64)
        self.specificity: FloatArray = np.asarray(specificity, np.float64)
        self.unsure, self.random_state = unsure, random_state
        for name in ("sensitivity", "specificity", "unsure"):
            share = np.asarray(getattr(self, name))
            if not ((share >= 0) & (share <= 1)).all():
                raise ValueError(f"{name} must be in 0..1, got {share}")
        if self.sensitivity.shape != self.specificity.shape or self.sensitivity.ndim != 1:
            raise ValueError("sensitivity and specificity must both have shape (W,)")

    @classmethod
    def of_people(
        cls,
        truth: ArrayLike,
        n_annotators: int,
        noise: float = 0.1,
        guessing: float = 0.0,
        random_state: int = 0,
    ) -> Self:
        """A crowd with a mean error of `noise`, which varies between annotators (beta distributed),
        and of which a share `guessing` votes at random."""
        check_count("n_annotators", n_annotators)
        rng = np.random.default_rng(random_state)
        wrong = rng.beta(6 * noise + 1e-9, 6 * (1 - noise) + 1e-9, (2, n_annotators))
        wrong[:, rng.permutation(n_annotators)[: round(guessing * n_annotators)]] = 0.5
        return cls(truth, 1 - wrong[0], 1 - wrong[1], random_state=random_state)

    @property
    def n_images(self) -> int:
        return len(self.truth)

    @property
    def n_annotators(self) -> int:
        return len(self.sensitivity)

    def answer(
        self,
        annotator: int,
        images: ArrayLike,
        max_groups: int = MOST_GROUPS,
        n_bins: int | None = None,
    ) -> SimulatedAnswer:
        """Votes on one grid, whatever `max_groups` and `n_bins` are; an annotator always votes the
        same on an image. Raises ValueError for an unknown annotator or image."""
        shown = check_request(self, annotator, images, max_groups)
        votes = [self._vote(annotator, int(image)) for image in shown]
        return SimulatedAnswer(np.array(votes, np.int64), [], None)

    def _vote(self, annotator: int, image: int) -> int:
        rng = np.random.default_rng([self.random_state, annotator, image])
        if rng.random() < self.unsure:
            return UNSURE
        shows = bool(self.truth[image])
        right = (self.sensitivity if shows else self.specificity)[annotator]
        return YES if shows == (rng.random() < right) else NO
