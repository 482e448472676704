"""One rule for the threshold of every method that predicts pairs by a distance."""

from __future__ import annotations

from collections.abc import Callable

from learning.arrays import FloatArray
from learning.groupings import Groupings
from learning.metrics import best_threshold

# Whole grids that the extra fit does not see. Its cost is that of 80 % of the answers.
HELD_OUT_SHARE = 0.2
# With fewer informative answers, the held-out grids say too little.
MIN_GRIDS = 10

DistanceOfFit = Callable[[Groupings, Groupings], FloatArray]


def held_out_threshold(
    groupings: Groupings, distance: FloatArray, distance_of_fit: DistanceOfFit, seed: int | None
) -> float:
    """The distance below which a pair is predicted the same, chosen on unseen whole grids.

    Distances of training pairs are smaller or larger than those of unseen grids, so a
    threshold chosen on them is biased by as much as the model overfits.

    groupings: the training answers; distance: (G, P) of the model that was fitted on all of
    them, read only when they are too few to hold some out; distance_of_fit(train, test):
    (G', P) distances of `test` to the same estimator fitted on `train`.
    """
    informative = groupings.subset(groupings.informative_grids())
    if len(informative) >= MIN_GRIDS:
        train, test = informative.split(HELD_OUT_SHARE, seed or 0)
        return threshold_of(distance_of_fit(train, test), test)
    return threshold_of(distance, groupings)


def threshold_of(distance: FloatArray, groupings: Groupings) -> float:
    """The distance with the fewest mistakes on the informative pairs. distance: (G, P)."""
    labels = groupings.pair_labels()
    informative = labels >= 0
    return best_threshold(distance[informative], labels[informative] == 1)
