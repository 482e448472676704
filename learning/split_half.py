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

from learning.arrays import BoolArray, FloatArray, IntArray, check_count
from learning.groupings import Groupings
from learning.kept_neighbors import Spread, kept_counts, normal_quantile
from learning.neighbors import nearest_neighbors
from learning.prediction_test import prediction_of

# Positions (N, d) from answers.
Fit = Callable[[Groupings], FloatArray]
# Chance is at most about a tenth.
_IMAGES_PER_NEIGHBOR, _MOST_NEIGHBORS = 10, 10
# Standard deviation of what the formula predicts around what other answers then give, and how many
# standard errors above chance the halves must predict each other.
_MODEL_ERROR, _ERRORS_ABOVE_CHANCE = 0.03, 3.0


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

    def settled_interval(self, level: float = 0.8) -> tuple[float, float]:
        """Return the interval that has `settled` with this probability: the share that as many
        other answers would keep, with the error of the Spearman-Brown formula."""
        reach = normal_quantile((1 + level) / 2) * self._error()
        return max(0.0, self.settled - reach), min(1.0, self.settled + reach)

    def answers_between(self, settled: float, level: float = 0.8) -> tuple[float, float]:
        """Return the least and the most answers that this share may take (inf is possible).

        Raises ValueError for a share that is not between chance and 1.
        """
        self.answers_for(settled)
        low, high = self.settled_interval(level)
        return self._answers_if(high, settled), self._answers_if(low, settled)

    def kept_by_image(self, level: float = 0.8) -> FloatArray:
        """Return (n, 3): how many of each image's k neighbours as many other answers will keep,
        as expected, and the bounds between which it is with this probability."""
        spread = Spread(self.chance, self.settled, self._error())
        return kept_counts(self.shared, self.n_neighbors, spread, level)

    def is_settled(self, target: float, level: float = 0.9) -> bool:
        """Whether this share of the neighbours is settled with this probability, by answers that
        say something: the halves predict each other clearly better than chance. Models can agree
        on their features, or on their start, whatever the answers are."""
        lower = self.settled - normal_quantile(level) * self._error()
        return lower >= target and self.predicts

    @property
    def predicts(self) -> bool:
        """Whether the model of one half predicts the groupings of the other half."""
        return float(self.auc.mean()) - _ERRORS_ABOVE_CHANCE * self.auc_error > 0.5

    def combined(self, other: SplitHalf) -> SplitHalf:
        """Return this with the splits of another look at the same answers.

        Raises ValueError if the numbers of answers or of neighbours differ.
        """
        if (self.n_answers, self.n_neighbors) != (other.n_answers, other.n_neighbors):
            raise ValueError("both looks must be at the same answers")
        images, here, there = np.intersect1d(self.images, other.images, return_indices=True)
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

    def _error(self) -> float:
        """Standard deviation of what as many other answers would keep, around `settled`."""
        return sqrt(self.settled_error**2 + _MODEL_ERROR**2)

    def _answers_if(self, settled_now: float, wanted: float) -> float:
        """Answers for a share, if that of these answers is known."""
        return answers_until(wanted, settled_now, self.n_answers, self.chance)

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
    return min(neighbors_compared(int(_is_shown(answers).sum())), int(seen.sum()) - 1)


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


def answers_until(wanted: float, settled: float, n_answers: int, chance: float) -> float:
    """Return the number of answers with which a share `wanted` of the neighbours is predicted to be
    settled, if with `n_answers` it is `settled` (both with chance): inf if nothing is learned, or
    for everything."""
    then, now = ((share - chance) / (1 - chance) for share in (wanted, settled))
    if now <= 0 or (then >= 1 and now < 1):
        return inf
    if now >= 1:
        return float(n_answers)
    return n_answers * max(0.0, then) * (1 - now) / (now * (1 - then))
