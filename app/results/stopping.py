"""Estimates when there are enough answers: how models settle from round to round, and what more
answers would improve."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from learning.neighbors import nearest_neighbors

NEIGHBOURS = 10
MORE = 100
# How much the number of answers must have grown between two models to predict anything from them.
LEAST_STEP = 1.1


@dataclass(frozen=True)
class Known:
    """The last model of a round: the number of answers it learned from, and its metrics."""

    n_answers: int
    metrics: dict[str, float]


@dataclass(frozen=True)
class Outlook:
    """What the next `MORE` answers would improve, each with its standard error.

    agreement: predicted rise in the share of correctly predicted held-out placements; None before
    three rounds
    neighbours: share of nearest neighbours that would still change; None before two models
    """

    agreement: float | None
    agreement_error: float | None
    neighbours: float | None
    neighbours_error: float | None


def neighbour_stability(before: NDArray[np.float64], now: NDArray[np.float64]) -> dict[str, float]:
    """Return the share of nearest neighbours that two embeddings (N, d) and (N, d') have in common,
    with its error.

    Images that only the later one has are ignored. Empty with fewer than three images.
    """
    n = min(len(before), len(now))
    k = min(NEIGHBOURS, n - 1)
    if k < 1 or n < 3:
        return {}
    earlier, later = nearest_neighbors(before[:n], k), nearest_neighbors(now[:n], k)
    shared = (earlier[:, :, None] == later[:, None, :]).any(axis=2).mean(axis=1)
    return {
        "neighbour_stability": float(shared.mean()),
        "neighbour_stability_error": float(shared.std(ddof=1) / sqrt(n)),
    }


def outlook(known: Sequence[Known]) -> Outlook:
    """Predict the effect of more answers. known: of each round's last model, oldest first."""
    return Outlook(*_agreement_to_come(known), *_changes_to_come(known))


def _agreement_to_come(known: Sequence[Known]) -> tuple[float | None, float | None]:
    """Extrapolate agreement = limit - cost / answers, fitted by weighted least squares.

    This uses random grids if there are enough, because they are equally difficult in all rounds.
    None if the models have the same number of answers.
    """
    for name in ("control_agreement", "agreement"):
        points = [
            (model.n_answers, model.metrics[name], model.metrics[f"{name}_error"])
            for model in known
            if model.metrics.get(f"{name}_error", 0.0) > 0
        ]
        if len(points) >= 3 and len({n for n, _, _ in points}) > 1:
            n, share, error = np.array(points).T
            cost, cost_error = _slope(-n[-1] / n, share, error)
            fewer = float(MORE / (n[-1] + MORE))
            return cost * fewer, cost_error * fewer
    return None, None


def _slope(
    x: NDArray[np.float64], y: NDArray[np.float64], error: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the slope of the line through points (P,) with standard errors (P,), and its standard
    error."""
    weight = error**-2
    # Centre on the mean: numbers of answers of a large campaign differ relatively little, and a
    # cut-off would treat that as nothing.
    away = x - np.average(x, weights=weight)
    spread = float((weight * away**2).sum())
    return float((weight * away * y).sum()) / spread, 1 / sqrt(spread)


def _changes_to_come(known: Sequence[Known]) -> tuple[float | None, float | None]:
    """Assume that as many neighbours change as in the last round, for each e-fold of answers."""
    if len(known) < 2 or "neighbour_stability" not in known[-1].metrics:
        return None, None
    before, now = known[-2].n_answers, known[-1].n_answers
    if now < LEAST_STEP * before:
        # A step of a few answers says nothing about a hundred.
        return None, None
    part = min(1.0, log((now + MORE) / now) / log(now / before))
    changed = 1 - known[-1].metrics["neighbour_stability"]
    return changed * part, known[-1].metrics["neighbour_stability_error"] * part
