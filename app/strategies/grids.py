"""The grids that a strategy chooses for the next round, and the purpose of each."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from learning.asked import AskedGrids, without_repeats
from learning.queries import random_grids


@dataclass(frozen=True)
class NextGrids:
    """Grids of the next round.

    images: (n, S) int64.
    purposes: n of "random", "attribute", "uncertain", "local", "focus", "new", "between",
        "covering".
    attributes: n dimensions that "attribute" grids are about, None for the others.
    contents: what the round consists of, for the requester.
    """

    images: NDArray[np.int64]
    purposes: list[str]
    attributes: list[int | None]
    contents: dict[str, Any]

    @classmethod
    def of_purpose(cls, images: NDArray[np.int64], purpose: str) -> Self:
        """Return grids that all have one purpose."""
        n = len(images)
        return cls(images, [purpose] * n, [None] * n, {purpose: n})

    @classmethod
    def mixed(cls, parts: list[tuple[str, int | None, NDArray[np.int64]]], seed: int) -> Self:
        """Return parts of (purpose, attribute, grids) in random order, so that the order reveals
        nothing."""
        kept = [part for part in parts if len(part[2])]
        images = np.concatenate([grids for _, _, grids in kept])
        labels = [(purpose, about) for purpose, about, grids in kept for _ in grids]
        order = np.random.default_rng(seed).permutation(len(images))
        purposes = [labels[index][0] for index in order]
        contents = {purpose: purposes.count(purpose) for purpose in dict.fromkeys(purposes)}
        return cls(images[order], purposes, [labels[index][1] for index in order], contents)

    def first(self, n: int) -> Self:
        """Return the first n grids."""
        return self._part(slice(0, n))

    def after(self, n: int) -> Self:
        """Return all but the first n grids."""
        return self._part(slice(n, None))

    def _part(self, rows: slice) -> Self:
        purposes = self.purposes[rows]
        counts = {purpose: purposes.count(purpose) for purpose in dict.fromkeys(self.purposes)}
        contents = {**self.contents, **counts}
        return type(self)(self.images[rows], purposes, self.attributes[rows], contents)


@dataclass(frozen=True)
class FirstRound:
    """What is known before the first answer.

    seed: the campaign's seed, for what later rounds must be able to reproduce.
    rng: for everything else.
    """

    n_images: int
    grid_size: int
    seed: int
    rng: np.random.Generator


def random_start(n: int, first: FirstRound) -> NextGrids:
    """Return n random grids of all images, all different as long as that is possible."""
    size, n_images = first.grid_size, first.n_images
    nothing = AskedGrids(np.empty((0, size), np.int64), n_images)
    grids = without_repeats(lambda m: random_grids(m, size, n_images, first.rng), n, nothing)
    return NextGrids.of_purpose(grids, "random")
