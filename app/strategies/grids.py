"""The grids a strategy wants asked next, and what each of them is for."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class NextGrids:
    """Grids of the next round.

    images:     (n, S) int64
    purposes:   n of "random", "attribute", "uncertain", "local", "focus", "new"
    attributes: n dimensions that "attribute" grids are about, None for the others
    contents:   what the round consists of, for the requester
    """

    images: NDArray[np.int64]
    purposes: list[str]
    attributes: list[int | None]
    contents: dict[str, Any]

    @classmethod
    def alike(cls, images: NDArray[np.int64], purpose: str) -> Self:
        """Grids that are all for one purpose."""
        n = len(images)
        return cls(images, [purpose] * n, [None] * n, {purpose: n})

    @classmethod
    def mixed(cls, parts: list[tuple[str, int | None, NDArray[np.int64]]], seed: int) -> Self:
        """Parts of (purpose, attribute, grids), shuffled, so that time tells nothing."""
        kept = [part for part in parts if len(part[2])]
        images = np.concatenate([grids for _, _, grids in kept])
        labels = [(purpose, about) for purpose, about, grids in kept for _ in grids]
        order = np.random.default_rng(seed).permutation(len(images))
        purposes = [labels[index][0] for index in order]
        contents = {purpose: purposes.count(purpose) for purpose in dict.fromkeys(purposes)}
        return cls(images[order], purposes, [labels[index][1] for index in order], contents)

    def first(self, n: int) -> Self:
        """The first n of them."""
        purposes = self.purposes[:n]
        counts = {purpose: purposes.count(purpose) for purpose in dict.fromkeys(self.purposes)}
        contents = {**self.contents, **counts}
        return type(self)(self.images[:n], purposes, self.attributes[:n], contents)
