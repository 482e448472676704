"""Images that are held out together, and the scores of predictions for pairs of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import erf, sqrt

import numpy as np

from learning.arrays import BoolArray, FloatArray, IntArray
from learning.groupings import Groupings, Pairs

N_FOLDS = 4
# More answers than this do not change the map.
_MOST_ANSWERS = 20_000
_MAX_ODDS = 12.0
_NEWTON_STEPS = 30


@dataclass(frozen=True, eq=False)
class Fold:
    """train: answers without the held-out images; held: (N,) bool, the held-out images; pairs:
    of which both images are held out, by (P,) `weight`."""

    train: Groupings
    held: BoolArray
    pairs: Pairs
    weight: FloatArray


def image_folds(answers: Groupings, usable: BoolArray, seed: int) -> list[Fold]:
    """Every usable image is held out of one fold; images without features are in none."""
    number = np.full(answers.n_images, -1, np.int64)
    shown = np.flatnonzero(usable)
    number[shown] = np.random.default_rng(seed).permutation(len(shown)) % N_FOLDS
    return list(_folds(answers, usable, number))


def _folds(answers: Groupings, usable: BoolArray, number: IntArray) -> Iterator[Fold]:
    for fold in range(N_FOLDS):
        held = number == fold
        pairs = only_images(answers, held).pairs()
        yield Fold(only_images(answers, usable & ~held), held, pairs, pair_weights(answers, pairs))


def only_images(answers: Groupings, kept: BoolArray) -> Groupings:
    """The same grids, with the other images replaced by padding."""
    shown = (answers.images >= 0) & kept[answers.images]
    return Groupings(
        np.where(shown, answers.images, -1),
        np.where(shown, answers.groups, -1),
        answers.annotators,
        answers.n_images,
        answers.n_annotators,
    )


def enough_answers(answers: Groupings, seed: int) -> Groupings:
    """The answers, or a random part of very many."""
    if len(answers) <= _MOST_ANSWERS:
        return answers
    rows = np.random.default_rng(seed).permutation(len(answers))[:_MOST_ANSWERS]
    return answers.subset(np.sort(rows))


def pair_weights(answers: Groupings, pairs: Pairs) -> FloatArray:
    """(P,) weights by which all pairs of a grid count as its images."""
    assert pairs.grid is not None
    shown = (answers.images >= 0).sum(axis=1)
    return np.asarray(2.0 / np.maximum(shown[pairs.grid] - 1, 1), np.float64)


@dataclass(frozen=True, eq=False)
class HeldPairs:
    """Pairs of held-out images of all folds, (P,) each."""

    i: IntArray
    j: IntArray
    grid: IntArray
    same: BoolArray
    weight: FloatArray

    @classmethod
    def of(cls, folds: list[Fold]) -> HeldPairs:
        parts = [fold.pairs for fold in folds]
        grids = [part.grid for part in parts if part.grid is not None]
        return cls(
            np.concatenate([part.i for part in parts]),
            np.concatenate([part.j for part in parts]),
            np.concatenate(grids),
            np.concatenate([part.same for part in parts]),
            np.concatenate([fold.weight for fold in folds]),
        )

    @property
    def informative(self) -> bool:
        """Whether pairs of both kinds are present."""
        return bool(self.same.any() and not self.same.all())


def calibration(odds: FloatArray, pairs: HeldPairs) -> tuple[float, float]:
    """Slope >= 0 and offset of log odds (P,), by logistic regression (Platt 1999)."""
    x = np.clip(odds, -_MAX_ODDS, _MAX_ODDS)
    rate = np.clip(np.average(pairs.same, weights=pairs.weight), 1e-3, 1 - 1e-3)
    start = np.array([0.0, np.log(rate / (1 - rate))])
    line = start.copy()
    design = np.column_stack([x, np.ones_like(x)])
    ridge = np.array([1e-3, 1e-3])
    for _ in range(_NEWTON_STEPS):
        p = 1.0 / (1.0 + np.exp(-design @ line))
        slope = design.T @ (pairs.weight * (pairs.same - p)) - ridge * (line - start)
        curve = (design * (pairs.weight * p * (1 - p))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        line = line + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-8:
            break
    return (float(line[0]), float(line[1])) if line[0] > 0 else (0.0, float(start[1]))


def log_likelihood(odds: FloatArray, pairs: HeldPairs, line: tuple[float, float]) -> FloatArray:
    """(P,) by calibrated log odds."""
    calibrated = line[0] * np.clip(odds, -_MAX_ODDS, _MAX_ODDS) + line[1]
    return -np.logaddexp(0.0, np.where(pairs.same, -calibrated, calibrated))


@dataclass(frozen=True)
class Gain:
    """Gain in held-out log likelihood over predicting the same for all pairs, in nats per pair;
    error: its standard error."""

    value: float
    error: float

    @property
    def deviations(self) -> float:
        """The gain in standard errors."""
        return self.value / self.error if self.error > 0 else 0.0

    @property
    def confidence(self) -> float:
        """Probability that the gain is above 0 (normal approximation)."""
        return 0.5 * (1.0 + erf(self.deviations / sqrt(2.0)))


def gain_of(gains: FloatArray, pairs: HeldPairs) -> Gain:
    """Weighted mean of (P,) gains. Its error allows for pairs that share an image or a grid.

    Pairs of one image depend on each other (dyadic clusters; Aronow et al. 2015, "Cluster-robust
    variance estimation for dyadic data"), and so do those of one grid.
    """
    total = pairs.weight.sum()
    mean = float((pairs.weight * gains).sum() / total)
    rest = pairs.weight * (gains - mean)
    n = int(max(pairs.i.max(), pairs.j.max())) + 1
    by_image = np.bincount(pairs.i, rest, n) + np.bincount(pairs.j, rest, n)
    dyadic = (by_image**2).sum() - (rest**2).sum()
    by_grid = (np.bincount(pairs.grid, rest) ** 2).sum()
    return Gain(mean, float(np.sqrt(max(dyadic, by_grid, (rest**2).sum())) / total))
