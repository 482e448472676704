"""The rule by which every method that predicts pairs by a distance chooses its threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learning.arrays import BoolArray, FloatArray, IntArray
from learning.base import Progress
from learning.groupings import Groupings
from learning.metrics import best_threshold

# The share of the grids that the extra fit does not see; it costs as much as 80 % of a fit.
HELD_OUT_SHARE = 0.2
# With fewer informative answers, the held-out grids carry too little information.
MIN_GRIDS = 10

# (rows to fit on, other rows, progress) -> (G', P) distances of the pairs of the other rows.
DistanceOfFit = Callable[[IntArray, IntArray, Progress | None], FloatArray]


@dataclass(frozen=True, eq=False)
class ThresholdPairs:
    """The pairs that choose a threshold.

    rows:     (G',) rows of the training answers
    distance: (G', P) by a model that was fitted on other answers
    labels:   (G', P) as `Groupings.pair_labels`
    """

    rows: IntArray
    distance: FloatArray
    labels: NDArray[np.int8]

    def threshold(self) -> float:
        """The distance below which a pair is predicted the same, with the fewest errors on
        these pairs, of which at least one must be informative."""
        informative = self.labels >= 0
        return best_threshold(self.distance[informative], self.labels[informative] == 1)

    def of_answers(self, chosen: BoolArray) -> ThresholdPairs | None:
        """The pairs of some of the answers (G',); None without an informative pair."""
        if not (self.labels[chosen] >= 0).any():
            return None
        return ThresholdPairs(self.rows[chosen], self.distance[chosen], self.labels[chosen])


def held_out_pairs(
    groupings: Groupings,
    seed: int | None,
    distance_of_fit: DistanceOfFit,
    training_distance: Callable[[], FloatArray],
    progress: Progress | None,
) -> ThresholdPairs:
    """Pairs of 20 % of the grids, with distances by one more fit on the other grids.

    Distances of training pairs differ from those of unseen grids: a threshold chosen on them is
    biased by as much as the model overfits. Only with too few answers are the training pairs
    used, with `training_distance()` (G, P).
    """
    informative = _informative_rows(groupings)
    if len(informative) < MIN_GRIDS:
        return ThresholdPairs(
            np.arange(len(groupings)), training_distance(), groupings.pair_labels()
        )
    fitted, held_out = groupings.subset(informative).split_rows(HELD_OUT_SHARE, seed or 0)
    fitted, held_out = informative[fitted], informative[held_out]
    distance = distance_of_fit(fitted, held_out, progress)
    return ThresholdPairs(held_out, distance, groupings.subset(held_out).pair_labels())


def two_fits(
    groupings: Groupings, progress: Progress | None
) -> tuple[Progress | None, Progress | None]:
    """Progress functions of a fit and of the extra one after it, if any, as halves of one."""
    if progress is None or len(_informative_rows(groupings)) < MIN_GRIDS:
        return progress, None

    def listener(already_done: int) -> Progress:
        def listen(done: int, total: int, metrics: Mapping[str, float]) -> None:
            progress(already_done * total + done, 2 * total, metrics)

        return listen

    return listener(0), listener(1)


def _informative_rows(groupings: Groupings) -> IntArray:
    return np.flatnonzero(groupings.informative_grids())
