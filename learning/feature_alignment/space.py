"""Places of images in a campaign's space, with their uncertainty, from inputs and the pair map.

A Bayesian linear regression: x_ik = position_k + basis_i . weights_k + deviation_k * normal, where
the basis has the inputs and the places by the pair map, normal weights of one prior variance, and
images that answers say little about count less (MacKay 1992, "Bayesian interpolation"). The prior
variance is the one with the least squared errors of images that were held out, and deviations are
theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import BoolArray, FloatArray

# The prior deviation of the inputs' weights, in that of the map's places.
_INPUT_SCALES = (0.0, 0.3, 1.0)
_RIDGES = tuple(10.0 ** np.arange(-2.0, 4.1, 0.5))
_TINY = 1e-12
# Below this variance a column is empty.
_EMPTY = 1e-10
# Images of which answers say less than this count as if they said this much.
_LEAST_SHARE = 0.1
# At least this share of the squared distances from the predictions is real.
_LEAST_PART = 0.1


@dataclass(frozen=True, eq=False)
class Targets:
    """Positions (n, K) that answers alone imply, their error variances (n, K), weights (n,)."""

    positions: FloatArray
    variance: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, positions: FloatArray, deviation: FloatArray | None) -> Targets:
        """positions, deviation: (n, K) means and deviations given answers and a common prior,
        which pulls an image with few answers to the centre. Without the prior, an image has the
        position `mean / r` with variance `deviation^2 / r`, where r is the share of the prior's
        variance that answers have removed."""
        if deviation is None:
            return cls(positions, np.zeros_like(positions), np.ones(len(positions)))
        error = deviation**2
        prior = np.maximum(positions.var(axis=0) + error.mean(axis=0), _EMPTY)
        share = np.clip(1.0 - error / prior, _LEAST_SHARE, 1.0)
        centre = positions.mean(axis=0)
        free = centre + (positions - centre) / share
        full = positions.var(axis=0) > _EMPTY
        weight = share[:, full].mean(axis=1) ** 2 if full.any() else np.ones(len(positions))
        return cls(free, error / share, weight)

    def rows(self, rows: BoolArray) -> Targets:
        return Targets(self.positions[rows], self.variance[rows], self.weight[rows])

    def variance_around(self, predicted: FloatArray, leverage: FloatArray) -> FloatArray:
        """(K,) variance of true positions around predictions (n, K), without the positions'
        errors and what uncertain weights (n,) explain."""
        squares = (self.positions - predicted) ** 2
        real = self.weight @ ((squares - self.variance) / (1.0 + leverage[:, None]))
        least = _LEAST_PART * (self.weight @ (squares / (1.0 + leverage[:, None])))
        return np.asarray(np.maximum(real, least), np.float64)

    def squares_around(self, predicted: FloatArray) -> FloatArray:
        """(K,) squared distances of true positions from predictions (n, K), all of them."""
        return self.variance_around(predicted, np.zeros(len(predicted)))


@dataclass(frozen=True, eq=False)
class Space:
    """weights: (R + d, K); position: (K,); factor: (R + d, R + d), of the uncertain weights;
    deviation: (K,) of an image from what the basis predicts; explained: (K,) share of the
    variance of held-out images' positions, at least 0."""

    weights: FloatArray
    position: FloatArray
    factor: FloatArray
    deviation: FloatArray
    explained: FloatArray

    @classmethod
    def empty(cls, targets: Targets, n_basis: int) -> Space:
        """Every image at the centre, as uncertain as positions vary."""
        centre = _mean(targets.positions, targets)
        total = _total(targets, centre)
        none = np.zeros((n_basis, len(centre)))
        return cls(none, centre, np.zeros((n_basis, 1)), np.sqrt(total), np.zeros(len(centre)))

    def places(self, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, K) positions and standard deviations."""
        leverage = ((basis @ self.factor) ** 2).sum(axis=1, keepdims=True)
        return basis @ self.weights + self.position, self.deviation * np.sqrt(1.0 + leverage)


@dataclass(frozen=True, eq=False)
class SpaceFold:
    """held: (n,) bool, the held-out images; map_places: (n, d) by a map that never saw them."""

    held: BoolArray
    map_places: FloatArray


def fit_space(
    inputs: FloatArray, map_places: FloatArray, targets: Targets, folds: list[SpaceFold]
) -> Space:
    """inputs: (n, R) and map_places: (n, d) of the images of `targets`."""
    centre = _mean(targets.positions, targets)
    total = _total(targets, centre)
    full = total > _EMPTY
    best: tuple[float, float, _Misses] | None = None
    least = np.inf
    for scale in _INPUT_SCALES:
        for ridge, misses in _missed(inputs, targets, folds, scale):
            # A column that is not predicted is left at its centre.
            score = float(np.minimum(misses.squares[full] / total[full], 1.0).sum())
            if best is None or score < least:
                best, least = (scale, ridge, misses), score
    assert best is not None
    scale, ridge, misses = best
    explained = np.clip(1.0 - misses.squares / np.maximum(total, _EMPTY), 0.0, 1.0)
    explained[~full] = 0.0
    basis, back = _basis(inputs, map_places, scale)
    weights, factor, position = _regression(basis, targets, ridge)
    useful = explained > 0
    return Space(
        back[:, None] * weights * useful,
        np.where(useful, position, centre),
        back[:, None] * factor,
        np.sqrt(np.where(useful, misses.variance, total)),
        explained,
    )


@dataclass(frozen=True, eq=False)
class _Misses:
    """Held-out images' squared distances from their predicted places, (K,) means. squares: all of
    them; variance: less what uncertain weights explain.

    Only the squares compare regressions: weaker penalties explain more by uncertain weights.
    """

    squares: FloatArray
    variance: FloatArray


def _missed(
    inputs: FloatArray, targets: Targets, folds: list[SpaceFold], scale: float
) -> list[tuple[float, _Misses]]:
    """For each ridge."""
    shape = (len(_RIDGES), targets.positions.shape[1])
    squares, variance = np.zeros(shape), np.zeros(shape)
    for fold in folds:
        basis, _ = _basis(inputs, fold.map_places, scale)
        train, held = targets.rows(~fold.held), targets.rows(fold.held)
        solver = _Solver(basis[~fold.held], train)
        for number, ridge in enumerate(_RIDGES):
            predicted, leverage = solver.predict(basis[fold.held], ridge)
            squares[number] += held.squares_around(predicted)
            variance[number] += held.variance_around(predicted, leverage)
    n = targets.weight.sum()
    return [
        (ridge, _Misses(squares[number] / n, variance[number] / n))
        for number, ridge in enumerate(_RIDGES)
    ]


class _Solver:
    """Ridge regressions of one basis with every penalty."""

    def __init__(self, basis: FloatArray, targets: Targets) -> None:
        self.mean = _mean(basis, targets)
        self.centre = _mean(targets.positions, targets)
        weighted = (basis - self.mean) * targets.weight[:, None]
        values, self.axes = np.linalg.eigh(weighted.T @ (basis - self.mean))
        self.values = np.maximum(values, 0.0)
        self.moments = self.axes.T @ (weighted.T @ (targets.positions - self.centre))

    def predict(self, basis: FloatArray, ridge: float) -> tuple[FloatArray, FloatArray]:
        """(n, K) means and (n,) leverages."""
        turned = (basis - self.mean) @ self.axes
        scale = 1.0 / (self.values + ridge)
        leverage = (turned**2 * scale).sum(axis=1)
        return turned @ (scale[:, None] * self.moments) + self.centre, leverage


def _regression(
    basis: FloatArray, targets: Targets, ridge: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    solver = _Solver(basis, targets)
    scale = 1.0 / (solver.values + ridge)
    weights = solver.axes @ (scale[:, None] * solver.moments)
    return weights, solver.axes * np.sqrt(scale), solver.centre - solver.mean @ weights


def _basis(
    inputs: FloatArray, map_places: FloatArray, scale: float
) -> tuple[FloatArray, FloatArray]:
    """(n, R + d) of one size each, and the (R + d,) factors that were applied."""
    length = np.sqrt((map_places**2).sum(axis=1).mean())
    back = np.concatenate(
        [
            np.full(inputs.shape[1], scale),
            np.full(map_places.shape[1], 1.0 / max(length, _TINY)),
        ]
    )
    return np.concatenate([inputs, map_places], axis=1) * back, back


def _total(targets: Targets, centre: FloatArray) -> FloatArray:
    """(K,) variance of true positions."""
    everywhere = np.broadcast_to(centre, targets.positions.shape)
    total = targets.squares_around(everywhere) / targets.weight.sum()
    return np.asarray(total, np.float64)


def _mean(values: FloatArray, targets: Targets) -> FloatArray:
    return np.asarray(targets.weight @ values / targets.weight.sum(), np.float64)
