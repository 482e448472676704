"""The images that a campaign asks about, if these are a part of its images.

All grids of a campaign come through `first_grids` and `next_grids`, so no strategy can show other
images.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.strategies.base import Learned, LearningData, Strategy
from app.strategies.grids import FirstRound, NextGrids
from learning.part_queries import PartOfCollection

# Purposes of grids about images that are near each other, and of those about images that nobody or
# hardly anybody was asked about.
_LOCAL, _LITTLE_KNOWN = ("local", "new"), ("uncertain", "covering")


def first_grids(
    strategy: Strategy,
    n: int,
    first: FirstRound,
    settings: dict[str, Any],
    asked: NDArray[np.int64] | None,
) -> NextGrids:
    """Return n grids for the first round. asked: (M,) the images that may be shown, ascending;
    None for all."""
    if asked is None:
        return strategy.first_grids(n, first, settings)
    grids = strategy.first_grids(n, replace(first, n_images=len(asked)), settings)
    return replace(grids, images=asked[grids.images])


def next_grids(learned: Learned, data: LearningData, n: int, number: int) -> NextGrids:
    """Return n grids for round `number`, with images of `data.asked` only.

    Strategies that choose from these images themselves keep their grids. In the grids of others,
    images are exchanged for asked ones according to the purpose of the grid.
    """
    grids = learned.select_grids(n, number)
    if data.asked is None or not len(grids.images):
        return grids
    begun = np.empty((0, data.grid_size), np.int64) if data.begun is None else data.begun
    part = PartOfCollection(data.asked, data.n_images, data.grid_size, begun)
    outside = part.outside(grids.images)
    return _exchanged(grids, outside, part, learned, data, number) if len(outside) else grids


def _exchanged(
    grids: NextGrids,
    outside: NDArray[np.int64],
    part: PartOfCollection,
    learned: Learned,
    data: LearningData,
    number: int,
) -> NextGrids:
    """Return the grids with other images in the rows `outside`."""
    rng = np.random.default_rng([data.seed, number])
    images, purposes = grids.images.copy(), list(grids.purposes)
    part.note(np.delete(images, outside, axis=0))

    def rows(*of: str) -> NDArray[np.int64]:
        return np.array([row for row in outside if grids.purposes[row] in of], np.int64)

    random, little_known = rows("random"), rows(*_LITTLE_KNOWN)
    images[random] = part.random(len(random), rng)
    images[little_known] = part.least_shown(len(little_known), rng)
    near = rows(*_LOCAL)
    introducing = part.introducing(len(near), rng)
    images[near[: len(introducing)]] = introducing
    local = near[len(introducing) :]
    images[local] = part.local(len(local), learned.embedding, _progress(data, number), rng)
    for row in near:
        purposes[row] = "local" if row in local else "new"
    others = np.setdiff1d(outside, np.concatenate([random, little_known, near]))
    images[others] = part.nearest(grids.images[others], learned.embedding)
    named = dict.fromkeys([*grids.purposes, *purposes])
    counts = {purpose: purposes.count(purpose) for purpose in named}
    return replace(grids, images=images, purposes=purposes, contents={**grids.contents, **counts})


def _progress(data: LearningData, number: int) -> float:
    """Return how far a round is between the second and the last, in 0..1."""
    n_steps = data.n_rounds - 2
    return min(1.0, max(0.0, (number - 2) / n_steps)) if n_steps > 0 else 1.0
