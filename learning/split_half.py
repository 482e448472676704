"""How reliable the nearest neighbours of a model are, from models of two halves of its answers.

The share of neighbours that two models of disjoint halves have in common, beyond chance, is a
split-half reliability. It predicts how far the neighbours would be the same with as many other
answers, and how many answers it takes until a share of them is (`learning.neighbor_growth`). It
holds for every model that places images, and assumes nothing about how it learns. Both halves are
by the same annotators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot, sqrt

import numpy as np

from learning.arrays import BoolArray, FloatArray, IntArray, check_count
from learning.groupings import Groupings
from learning.kept_neighbors import kept_counts
from learning.neighbor_growth import Growth, normal_quantile
from learning.neighbors import nearest_neighbors
from learning.prediction_test import prediction_of

# Positions (N, d) from answers.
Fit = Callable[[Groupings], FloatArray]
# Chance is at most about a tenth.
_IMAGES_PER_NEIGHBOR, _MOST_NEIGHBORS = 10, 10
# Fewer than so many images for each neighbour are not compared.
_LEAST_PER_NEIGHBOR = 3
# How many standard errors above chance the halves must predict each other.
_ERRORS_ABOVE_CHANCE = 3.0


def neighbors_compared(n_images: int) -> int:
    """Return the number of nearest neighbours that are compared: a tenth of the images, at most
    ten."""
    return max(1, min(_MOST_NEIGHBORS, n_images // _IMAGES_PER_NEIGHBOR))


@dataclass(frozen=True, eq=False)
class SplitHalf:
    """Neighbours of models of two halves of the answers.

    shared: (R, n) share of each image's k nearest neighbours that the two models of split r have in
        common, for the images that both halves of every split show.
    n_neighbors: k.
    n_answers: number of answers in both halves together.
    images: (n,) the rows of these images, ascending.
    auc: (R, 2) how well the distances in the model of each half predict the groupings of the other
        half: the mean over its grids of the probability that two images put together are nearer
        than two put apart. 0.5 is chance, also if no grid has both.
    auc_error: standard error of the mean of `auc`. Splits and directions share answers, so it does
        not become smaller with their number.
    """

    shared: FloatArray
    n_neighbors: int
    n_answers: int
    images: IntArray
    auc: FloatArray
    auc_error: float

    @property
    def chance(self) -> float:
        """The expected share for positions that say nothing."""
        return self.n_neighbors / float(self.shared.shape[1] - 1)

    @property
    def growth(self) -> Growth:
        """How much would be settled with other numbers of answers."""
        return Growth(float(self.shared.mean()), self.chance, self.n_answers)

    @property
    def settled(self) -> float:
        """Share of the neighbours, chance included, that would be the same with as many other
        answers (0..1)."""
        return self.growth.settled_with(self.n_answers)

    @property
    def settled_error(self) -> float:
        """Standard deviation of the share that as many other answers keep, around `settled`."""
        low, high = self._reach(1.0)
        return (low + high) / 2

    def settled_interval(self, level: float = 0.8) -> tuple[float, float]:
        """Return the interval that has the share that as many other answers keep with this
        probability: with the errors of sampling, and of the prediction itself."""
        low, high = self._reach(normal_quantile((1 + level) / 2))
        most = 1.0 if self.growth.half == 1 else min(1.0, self.settled + high)
        return max(0.0, self.settled - low), most

    def settled_by_image(self) -> FloatArray:
        """Return (n,) the share of each image's neighbours that would be the same."""
        return self.kept_by_image()[:, 0] / self.n_neighbors

    def kept_by_image(self, level: float = 0.8) -> FloatArray:
        """Return (n, 3): how many of each image's k neighbours as many other answers will keep, as
        expected, and the bounds between which the number is with this probability."""
        return kept_counts(
            self.shared, self.n_neighbors, self.chance, self.settled, self.settled_error, level
        )

    def is_settled(self, target: float, level: float = 0.9) -> bool:
        """Whether this share of the neighbours is settled with this probability, by answers that
        say something: the halves predict each other clearly better than chance. Models can agree
        on their features, or on their start, whatever the answers are."""
        low, _ = self._reach(normal_quantile(level))
        return self.settled - low >= target and self.predicts

    @property
    def predicts(self) -> bool:
        """Whether the model of one half predicts the groupings of the other half."""
        return float(self.auc.mean()) - _ERRORS_ABOVE_CHANCE * self.auc_error > 0.5

    def combined(self, other: SplitHalf) -> SplitHalf:
        """Return this with the splits of another look at the same answers.

        Raises ValueError if the numbers of answers or of neighbours differ, or if they have hardly
        an image in common.
        """
        if (self.n_answers, self.n_neighbors) != (other.n_answers, other.n_neighbors):
            raise ValueError("both looks must be at the same answers")
        images, here, there = np.intersect1d(self.images, other.images, return_indices=True)
        if len(images) <= 2 * self.n_neighbors:
            raise ValueError(f"both looks compare only {len(images)} of the same images")
        squares = [len(look.auc) * look.auc_error**2 for look in (self, other)]
        auc = np.concatenate([self.auc, other.auc])
        return SplitHalf(
            np.concatenate([self.shared[:, here], other.shared[:, there]]),
            self.n_neighbors,
            self.n_answers,
            images,
            auc,
            sqrt(sum(squares) / len(auc)),
        )

    def _reach(self, errors: float) -> tuple[float, float]:
        """How far below and above `settled` so many standard deviations reach."""
        now, sampling = self.settled, errors * self._sampling_error()
        below, above = (abs(self.growth.within(sign * errors) - now) for sign in (-1, 1))
        return hypot(below, sampling), hypot(above, sampling)

    def _sampling_error(self) -> float:
        """Standard deviation of a share of so many neighbours, in the halves (which other splits
        see in part differently) and in the models of all answers."""
        n_splits, n_images = self.shared.shape
        half = min(0.5, max(self.chance, self.growth.half)) * (1 + 1 / n_splits)
        return sqrt((half + self.settled * (1 - self.settled)) / (self.n_neighbors * n_images))


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
    rows = [_halves(len(answers), np.random.default_rng([random_state, r]))
            for r in range(n_splits)]  # fmt: skip
    halves = [(answers.subset(first), answers.subset(second)) for first, second in rows]
    seen = np.logical_and.reduce([_is_shown(half) for pair in halves for half in pair])
    if seen.sum() < 3:
        return None
    k, rng = _neighbors_of(answers, seen), np.random.default_rng(random_state)
    looks = [_look(fit, pair, seen, k, rng) for pair in halves]
    return SplitHalf(
        np.array([shared for shared, _, _ in looks]),
        k,
        len(answers),
        np.flatnonzero(seen),
        np.array([auc for _, auc, _ in looks]),
        sqrt(float(np.mean([error**2 for _, _, error in looks]))),
    )


def _neighbors_of(answers: Groupings, seen: BoolArray) -> int:
    """The same number for all splits of the same answers, if enough images are compared."""
    most = (int(seen.sum()) - 1) // _LEAST_PER_NEIGHBOR
    return max(1, min(neighbors_compared(int(_is_shown(answers).sum())), most))


def _look(
    fit: Fit,
    halves: tuple[Groupings, Groupings],
    seen: BoolArray,
    k: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, tuple[float, float], float]:
    """(n,) shares, both values of AUC, and the standard error of their mean, of one split."""
    first, second = (fit(half) for half in halves)
    shared = _shared(_neighbors(first[seen], k, rng), _neighbors(second[seen], k, rng))
    forth, back = (
        prediction_of(positions, other, seen)
        for positions, other in zip((first, second), halves[::-1], strict=True)
    )
    return shared, (forth.auc, back.auc), (forth.error + back.error) / 2


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


def _is_shown(answers: Groupings) -> BoolArray:
    shown = np.zeros(answers.n_images, np.bool_)
    shown[answers.images[answers.images >= 0]] = True
    return shown


def _shared(first: IntArray, second: IntArray) -> FloatArray:
    """(N,) share of the k neighbours (N, k) that are in both lists."""
    return np.asarray((first[:, :, None] == second[:, None, :]).any(axis=2).mean(axis=1))
