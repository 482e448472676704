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
from math import hypot, inf, sqrt

import numpy as np
from scipy.stats import betabinom, norm, rankdata

from learning.arrays import BoolArray, FloatArray, IntArray, check_count
from learning.groupings import Groupings
from learning.neighbors import nearest_neighbors

# Positions (N, d) from answers.
Fit = Callable[[Groupings], FloatArray]
# Chance is at most about a tenth.
_IMAGES_PER_NEIGHBOR, _MOST_NEIGHBORS = 10, 10
# Standard deviation of the error of the Spearman-Brown formula between kinds of crowds.
_BIAS = 0.03
# An AUC so many standard errors above 0.5 is no chance.
_ERRORS = 3.0
# Grids that tell whether one half predicts the other.
_MOST_GRIDS = 2_000


def neighbors_compared(n_images: int) -> int:
    """Return the number of nearest neighbours that are compared: a tenth of the images, at most
    ten."""
    return max(1, min(_MOST_NEIGHBORS, n_images // _IMAGES_PER_NEIGHBOR))


@dataclass(frozen=True, eq=False)
class SplitHalf:
    """Neighbours of models of two halves of the answers.

    shared: (R, n) share of each image's k nearest neighbours that the two models of split r have in
        common.
    n_neighbors: k.
    n_answers: number of answers in both halves together.
    images: (n,) the images that are compared: those that both halves of every split show.
    auc: (R, 2) how well distances in the model of each half tell pairs that answers of the other
        half group together from those that they do not, within grids; 0.5 is chance.
    auc_error: standard error of its mean, with grids as units.
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

    def settled_interval(self, level: float = 0.8) -> tuple[float, float]:
        """Return an interval for the share of the neighbours that a model of as many other answers
        has in common with one of these. It allows for the error of the Spearman-Brown formula."""
        width = float(norm.ppf((1 + level) / 2)) * hypot(self.settled_error, _BIAS)
        return max(0.0, self.settled - width), min(1.0, self.settled + width)

    def is_settled(self, target: float, level: float = 0.9) -> bool:
        """Tell whether at least this share of the neighbours is settled, with this probability, and
        each half of the answers predicts the other. Models of noise may agree too, because both
        halves know the same features."""
        low = self.settled - float(norm.ppf(level)) * hypot(self.settled_error, _BIAS)
        return self.predicts and low >= target

    @property
    def predicts(self) -> bool:
        """Whether each half of the answers predicts the other better than chance."""
        return predicts(float(self.auc.mean()), self.auc_error)

    def kept_by_image(self, level: float = 0.8) -> FloatArray:
        """Return (n, 3) how many of each image's k neighbours a model of as many other answers has
        in common: the expected number, and an interval for it.

        A number in a few splits says little of one image: the numbers of all images are the prior
        (beta-binomial, by moments), and the interval is predictive.
        """
        draws = self.n_neighbors * len(self.shared)
        share = self.shared.mean(axis=0)
        mean = float(np.clip(share.mean(), 1e-3, 1 - 1e-3))
        noise = mean * (1 - mean) / draws
        between = max(float(share.var()) - noise, 1e-3 * mean * (1 - mean))
        prior = mean * (1 - mean) / between - 1
        half = (prior * mean + draws * share) / (prior + draws)
        beyond = np.clip((half - self.chance) / (1 - self.chance), 0, 1)
        settled = self._with_chance_all(2 * beyond / (1 + beyond))
        settled = np.clip(settled, 1e-3, 1 - 1e-3)
        known = prior + draws
        ends = [
            betabinom.ppf(end, self.n_neighbors, settled * known, (1 - settled) * known)
            for end in ((1 - level) / 2, (1 + level) / 2)
        ]
        return np.stack([self.n_neighbors * settled, *ends], axis=1)

    def combined(self, other: SplitHalf) -> SplitHalf:
        """Return both together: other splits of the same answers."""
        images, here, there = np.intersect1d(self.images, other.images, return_indices=True)
        return SplitHalf(
            np.concatenate([self.shared[:, here], other.shared[:, there]]),
            self.n_neighbors,
            self.n_answers,
            images,
            np.concatenate([self.auc, other.auc]),
            max(self.auc_error, other.auc_error),
        )

    def _half(self) -> float:
        """Reliability of a model of half the answers."""
        share = float(self.shared.mean())
        return min(1.0, max(0.0, (share - self.chance) / (1 - self.chance)))

    def _with_chance(self, reliability: float) -> float:
        return self.chance + (1 - self.chance) * reliability

    def _with_chance_all(self, reliability: FloatArray) -> FloatArray:
        return np.asarray(self.chance + (1 - self.chance) * reliability, np.float64)


def predicts(auc: float, error: float) -> bool:
    """Tell whether this AUC of `SplitHalf` is better than chance, beyond doubt."""
    return auc - _ERRORS * error > 0.5


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
    shared, auc = [], []
    for pair in halves:
        placed = [fit(answers.subset(rows)) for rows in pair]
        shared.append(_shared(*(_neighbors(positions[seen], k, rng) for positions in placed)))
        auc.append([
            _auc_by_grid(positions, answers.subset(_some(rows, rng)), seen)
            for positions, rows in zip(placed, reversed(pair), strict=True)
        ])  # fmt: skip
    means = [[float(grids.mean()) if len(grids) else 0.5 for grids in both] for both in auc]
    errors = [float(grids.std() / sqrt(len(grids))) if len(grids) else 0.5
              for both in auc for grids in both]  # fmt: skip
    return SplitHalf(
        np.array(shared), k, len(answers), np.flatnonzero(seen), np.array(means), max(errors)
    )


def _some(rows: IntArray, rng: np.random.Generator) -> IntArray:
    """At most `_MOST_GRIDS` of the rows."""
    return rows if len(rows) <= _MOST_GRIDS else rng.choice(rows, _MOST_GRIDS, replace=False)


def _auc_by_grid(positions: FloatArray, answers: Groupings, seen: BoolArray) -> FloatArray:
    """(G',) of the grids with pairs together and apart: the probability that a pair together is
    nearer than one apart, by positions (N, d) of the images that are seen (N,)."""
    first, second = np.triu_indices(answers.grid_size, 1)
    images = np.maximum(answers.images, 0)
    is_seen = seen[images]
    labels = np.where(is_seen[:, first] & is_seen[:, second], answers.pair_labels(), -1)
    gaps = positions[images[:, first]] - positions[images[:, second]]
    distance = np.where(labels >= 0, np.linalg.norm(gaps, axis=2), np.inf)
    together, apart = ((labels == label).sum(axis=1) for label in (1, 0))
    ranks = (rankdata(distance, axis=1) * (labels == 1)).sum(axis=1)
    both = (together > 0) & (apart > 0)
    above = ranks[both] - together[both] * (together[both] + 1) / 2
    return np.asarray(1 - above / (together[both] * apart[both]), np.float64)


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


def answers_for(settled: float, now: float, n_answers: int, chance: float) -> float:
    """Return the number of answers with which a share `settled` of the neighbours is predicted to
    be settled, if with `n_answers` it is `now`, chance included: inf if nothing is learned, or for
    everything.

    Raises ValueError for a share that is not between chance and 1.
    """
    if not chance < settled <= 1:
        raise ValueError(f"settled must be above chance ({chance:.2f}) and at most 1: {settled!r}")
    wanted, known = ((share - chance) / (1 - chance) for share in (settled, now))
    if known <= 0 or (wanted == 1 and known < 1):
        return inf
    if known >= 1:
        return float(n_answers)
    return n_answers * wanted * (1 - known) / (known * (1 - wanted))
