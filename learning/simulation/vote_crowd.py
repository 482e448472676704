"""Simulated annotators who vote for each image whether it shows something."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from learning.ballots import NO, UNSURE, YES
from learning.simulation.ballot_crowd import SkilledCrowd, check_shares


class VoteCrowd(SkilledCrowd):
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
        super().__init__(truth, sensitivity, specificity, random_state)
        check_shares("unsure", unsure)
        self.unsure = unsure

    def _group_of(self, annotator: int, image: int, rng: np.random.Generator) -> int:
        if rng.random() < self.unsure:
            return UNSURE
        shows = bool(self.truth[image])
        right = (self.sensitivity if shows else self.specificity)[annotator]
        return YES if shows == (rng.random() < right) else NO
