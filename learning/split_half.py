"""How reliable the nearest neighbours of a model are, from models of two halves of its answers.

The share of neighbours that two models of disjoint halves have in common, beyond chance, is a
split-half reliability. The Spearman-Brown formula (Spearman 1910, Brown 1910) predicts it for any
other number of answers: r_m = m r / (1 + (m - 1) r) for m times as many. So one pair of halves
tells how far the neighbours would be the same with as many other answers, and how many answers it
takes until a share of them is. It holds for every model that places images, and assumes nothing
about how it learns. Both halves are by the same annotators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from learning.arrays import FloatArray, IntArray, check_count
from learning.groupings import Groupings
from learning.neighbors import nearest_neighbors

# Positions (N, d) from answers.
Fit = Callable[[Groupings], FloatArray]
# Chance is at most about a tenth.
_IMAGES_PER_NEIGHBOR, _MOST_NEIGHBORS = 10, 10


def neighbors_compared(n_images: int) -> int:
    """Return the number of nearest neighbours that are compared: a tenth of the images, at most
    ten."""
    return max(1, min(_MOST_NEIGHBORS, n_images // _IMAGES_PER_NEIGHBOR))


@dataclass(frozen=True, eq=False)
class SplitHalf:
    """Neighbours of models of two halves of the answers.

    shared: (R, N) share of each image's k nearest neighbours that the two models of split r have in
        common, for the images that both halves show.
    n_neighbors: k.
    n_answers: number of answers in both halves together.
    """

    shared: FloatArray
    n_neighbors: int
    n_answers: int

    @property
    def chance(self) -> float:
        """The expected share for positions that say nothing."""
        return self.n_neighbors / float(self.shared.shape[1] - 1)

    @property
    def reliability(self) -> float:
        """Reliability of the model of all answers: the share of the neighbours, beyond chance, that
        would be the same with as many other answers (0..1)."""
        return self.reliability_with(self.n_answers)

    def reliability_with(self, n_answers: float) -> float:
        """Return the reliability that is predicted for so many answers."""
        half = self._half()
        longer = 2 * n_answers / self.n_answers
        return longer * half / (1 + (longer - 1) * half)

    @property
    def settled(self) -> float:
        """Share of the neighbours, chance included, that would be the same with as many other
        answers (0..1)."""
        return self._with_chance(self.reliability)

    def settled_with(self, n_answers: float) -> float:
        """Return the share that is predicted for so many answers."""
        return self._with_chance(self.reliability_with(n_answers))

    @property
    def settled_error(self) -> float:
        """Standard error of `settled`: between images, and between ways to halve the answers. With
        one split the second part is unknown, and this is a lower bound."""
        by_split = self.shared.mean(axis=1)
        n_splits, n_images = self.shared.shape
        variance = float(self.shared.mean(axis=0).var(ddof=1)) / n_images
        if n_splits > 1:
            variance += float(by_split.var(ddof=1)) / n_splits
        # The derivative of the Spearman-Brown formula.
        return 2 / (1 + self._half()) ** 2 * sqrt(variance)

    def answers_for(self, settled: float) -> float:
        """Return the number of answers with which this share of the neighbours (chance included) is
        predicted to be settled: inf if nothing is learned, or for everything; at most those there
        are if both halves agree in everything.

        Raises ValueError for a share that is not between chance and 1.
        """
        if not self.chance < settled <= 1:
            raise ValueError(
                f"settled must be above chance ({self.chance:.2f}) and at most 1, got {settled!r}"
            )
        wanted, half = (settled - self.chance) / (1 - self.chance), self._half()
        if half <= 0 or (wanted == 1 and half < 1):
            return inf
        if half == 1:
            return float(self.n_answers)
        return self.n_answers / 2 * wanted * (1 - half) / (half * (1 - wanted))

    def settled_by_image(self) -> FloatArray:
        """Return (N,) the share of each image's neighbours that would be the same."""
        half = np.clip((self.shared.mean(axis=0) - self.chance) / (1 - self.chance), 0, 1)
        return np.asarray(self._with_chance(2 * half / (1 + half)), np.float64)

    def _half(self) -> float:
        """Reliability of a model of half the answers."""
        share = float(self.shared.mean())
        return min(1.0, max(0.0, (share - self.chance) / (1 - self.chance)))

    def _with_chance(self, reliability: float) -> float:
        return self.chance + (1 - self.chance) * reliability


def split_half(
    fit: Fit, answers: Groupings, n_splits: int = 1, random_state: int = 0
) -> SplitHalf | None:
    """Learn from halves of the answers, and compare the nearest neighbours.

    Returns None with fewer than four answers or three images that both halves of each split show.
    A ValueError of `fit` passes: it can't learn from half of the answers.
    """
    check_count("n_splits", n_splits)
    if len(answers) < 4:
        return None
    halves = [_halves(len(answers), np.random.default_rng([random_state, r]))
              for r in range(n_splits)]  # fmt: skip
    seen = np.logical_and.reduce(
        [_is_shown(answers.subset(rows)) for pair in halves for rows in pair]
    )
    if seen.sum() < 3:
        return None
    k, rng = neighbors_compared(int(seen.sum())), np.random.default_rng(random_state)
    shared = [
        _shared(*(_neighbors(fit(answers.subset(rows))[seen], k, rng) for rows in pair))
        for pair in halves
    ]
    return SplitHalf(np.array(shared), k, len(answers))


def _neighbors(positions: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """(N, k) nearest neighbours. Among images in one place they are random ones, so that models
    that learned nothing have only as many in common as chance."""
    order = rng.permutation(len(positions))
    neighbors = np.empty((len(positions), k), np.int64)
    neighbors[order] = order[nearest_neighbors(positions[order], k)]
    return neighbors


def _halves(n: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """(n // 2,) and the other rows, ascending."""
    order = rng.permutation(n)
    return np.sort(order[: n // 2]), np.sort(order[n // 2 :])


def _is_shown(answers: Groupings) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    shown = np.zeros(answers.n_images, np.bool_)
    shown[answers.images[answers.images >= 0]] = True
    return shown


def _shared(first: IntArray, second: IntArray) -> FloatArray:
    """(N,) share of the k neighbours (N, k) that are in both lists."""
    return np.asarray((first[:, :, None] == second[:, None, :]).any(axis=2).mean(axis=1))
