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
from math import hypot, inf, log2, sqrt

import numpy as np

from learning.arrays import BoolArray, FloatArray, IntArray, check_count
from learning.groupings import Groupings
from learning.kept_neighbors import kept_counts, normal_quantile
from learning.neighbor_growth import GAIN_ERROR, doubled, error_of, logit_of, share_of
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
    def settled(self) -> float:
        """Share of the neighbours, chance included, that would be the same with as many other
        answers (0..1)."""
        return self.settled_with(self.n_answers)

    def settled_with(self, n_answers: float) -> float:
        """Return the share that is predicted for so many answers."""
        return self._share(self._logit + log2(n_answers / self.n_answers))

    @property
    def settled_error(self) -> float:
        """Standard deviation of the share that as many other answers keep, around `settled`."""
        low, high = self._reach(1.0)
        return (low + high) / 2

    def settled_interval(self, level: float = 0.8) -> tuple[float, float]:
        """Return the interval that has the share that as many other answers keep with this
        probability: with the errors of sampling, and of the prediction itself."""
        low, high = self._reach(normal_quantile((1 + level) / 2))
        most = 1.0 if self._half == 1 else min(1.0, self.settled + high)
        return max(0.0, self.settled - low), most

    def answers_for(self, settled: float) -> float:
        """Return the number of answers with which this share of the neighbours (chance included) is
        predicted to be settled: inf if nothing is learned, or for everything; at most those there
        are if both halves agree in everything.

        Raises ValueError for a share that is not between chance and 1.
        """
        doublings = self._doublings(settled)
        if settled == 1 and self._half == 1:
            return float(self.n_answers)
        if settled == 1 or self._half <= self.chance:
            return inf
        doublings = min(0.0, doublings) if self._half == 1 else doublings
        return float(self.n_answers * 2.0**doublings)

    def answers_between(self, settled: float, level: float = 0.8) -> tuple[float, float]:
        """Return the least and the most answers that this share may take (inf is possible).

        Raises ValueError for a share that is not between chance and 1.
        """
        doublings, expected = self._doublings(settled), self.answers_for(settled)
        reach = normal_quantile((1 + level) / 2) * hypot(self._error, GAIN_ERROR * doublings)
        low, high = (self.n_answers * 2.0 ** (doublings + sign * reach) for sign in (-1, 1))
        if settled == 1:
            return expected, expected
        # Little says how many answers it takes if those there are say nothing.
        return min(low, expected), expected if expected == inf else max(high, expected)

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

    @property
    def _half(self) -> float:
        """Share that models of half the answers have in common."""
        return float(self.shared.mean())

    @property
    def _logit(self) -> float:
        """The logit of models of all answers."""
        return float(doubled(logit_of(self._half, self.chance)))

    @property
    def _error(self) -> float:
        """Standard deviation of the logit of models of as many other answers."""
        return error_of(float(logit_of(self._half, self.chance)))

    def _reach(self, errors: float) -> tuple[float, float]:
        """How far below and above `settled` so many standard deviations reach."""
        now, sampling = self.settled, errors * self._sampling_error()
        below = now - self._share(self._logit - errors * self._error)
        above = self._share(self._logit + errors * self._error) - now
        return hypot(below, sampling), hypot(above, sampling)

    def _sampling_error(self) -> float:
        """Standard deviation of a share of so many neighbours, in the halves (which other splits
        see in part differently) and in the models of all answers."""
        n_splits, n_images = self.shared.shape
        half = min(0.5, max(self.chance, self._half)) * (1 + 1 / n_splits)
        return sqrt((half + self.settled * (1 - self.settled)) / (self.n_neighbors * n_images))

    def _share(self, logit: float) -> float:
        return float(share_of(logit, self.chance))

    def _doublings(self, settled: float) -> float:
        """Doublings of the answers until this share is settled."""
        if not self.chance < settled <= 1:
            raise ValueError(
                f"settled must be above chance ({self.chance:.2f}) and at most 1, got {settled!r}"
            )
        return float(logit_of(settled, self.chance)) - self._logit


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
