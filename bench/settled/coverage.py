"""Whether intervals have what they state with the probability that they state.

From one half of the answers alone come the intervals. What they are about is the share of the
neighbours, in the model of that half, that are neighbours in the model of the other half too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.settled.fits import fit_of
from bench.settled.worlds import World
from learning.arrays import BoolArray, FloatArray, IntArray
from learning.neighbors import nearest_neighbors
from learning.split_half import SplitHalf, split_half

LEVEL = 0.8


@dataclass(frozen=True, eq=False)
class Outcome:
    """look: what the first half says; kept: (n,) number of each image's neighbours that the model
    of the second half has as well; seen: (n,) images that the second half shows."""

    world: World
    look: SplitHalf
    kept: FloatArray
    seen: BoolArray

    @property
    def share(self) -> float:
        return float(self.kept[self.seen].mean()) / self.look.n_neighbors

    @property
    def total_is_inside(self) -> bool:
        low, high = self.look.settled_interval(LEVEL)
        return low <= self.share <= high

    @property
    def counts_inside(self) -> float:
        """Share of the images whose number of kept neighbours is in its interval."""
        _, low, high = self.look.kept_by_image(LEVEL).T
        inside = (low <= self.kept) & (self.kept <= high)
        return float(inside[self.seen].mean())


def outcome(strategy: str, world: World, n_splits: int, cache: Path) -> Outcome | None:
    """Return None if too few images are in all halves of the first half."""
    fit = fit_of(strategy, world.features, world.seed, cache)
    look = split_half(fit, world.first, n_splits)
    if look is None:
        return None
    first, second = (
        nearest_neighbors(fit(answers)[look.images], look.n_neighbors)
        for answers in (world.first, world.second)
    )
    return Outcome(world, look, _shared(first, second), np.isin(look.images, world.second.images))


def _shared(first: IntArray, second: IntArray) -> FloatArray:
    both = (first[:, :, None] == second[:, None, :]).any(axis=2)
    return np.asarray(both.sum(axis=1), np.float64)
