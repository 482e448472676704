"""How the share of common nearest neighbours of two models grows with their answers.

Whether an image is among the nearest is a threshold of how near it seems to be. So the share that
two models have in common is the one of two normal variables with a correlation (as in Pearson's
tetrachoric correlation, 1900), and a reliability of which the Spearman-Brown formula (1910) holds:
twice the answers add 1 to its logit to base 2. Real models gain more where little is known, since
they find more structure, and less where much is known: what features or equal images leave open
stays open. Both were measured on simulated crowds (`bench.settled`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import hypot, inf, log2

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import FloatArray

# The logit with twice the answers, from that of half: intercept and slope; and its standard
# deviation, at a logit of 0 or above, and how much larger it is for each unit below.
_GAIN, _KEPT, _ERROR, _MORE_ERROR = 1.25, 0.78, 0.6, 0.1
# Relative error of the gain of each further doubling.
GAIN_ERROR = 0.3
# Correlations of halves are only distinguished between these; the curve reaches further.
_LEAST, _MOST = 0.005, 0.995
_POINTS, _NEAREST = 400, 1e-6


def logit_of(share: ArrayLike, chance: float) -> FloatArray:
    """Return the logit (base 2) of the correlation that explains shares of common neighbours."""
    shares, correlations = _curve(chance)
    correlation = np.clip(
        np.interp(np.asarray(share, np.float64), shares, correlations), _NEAREST, 1 - _NEAREST
    )
    return np.asarray(np.log2(correlation / (1 - correlation)), np.float64)


def share_of(logit: ArrayLike, chance: float) -> FloatArray:
    """Return the shares that `logit_of` explains by these logits."""
    shares, correlations = _curve(chance)
    correlation = 1 / (1 + np.exp2(-np.asarray(logit, np.float64)))
    return np.asarray(np.interp(correlation, correlations, shares), np.float64)


def doubled(logit: ArrayLike) -> FloatArray:
    """Return the logits that are expected with twice the answers."""
    least, most = (float(np.log2(r / (1 - r))) for r in (_LEAST, _MOST))
    return _GAIN + _KEPT * np.clip(np.asarray(logit, np.float64), least, most)


def error_of(logit: float) -> float:
    """Return the standard deviation of what twice the answers give, around `doubled`."""
    return _ERROR + _MORE_ERROR * max(0.0, -logit)


def normal_quantile(probability: float) -> float:
    """Return the quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))


@dataclass(frozen=True)
class Growth:
    """What two halves of the answers say of other numbers of answers.

    half: share of the nearest neighbours that their models have in common; chance: this share for
    positions that say nothing; n_answers: in both halves together.
    """

    half: float
    chance: float
    n_answers: int

    def settled_with(self, n_answers: float) -> float:
        """Return the share (chance included) that is predicted to be settled with so many
        answers."""
        return self._share(self._logit + log2(n_answers / self.n_answers))

    def within(self, errors: float) -> float:
        """Return the share that is settled if the prediction is wrong by so many standard
        deviations."""
        return self._share(self._logit + errors * self._error)

    def answers_for(self, settled: float) -> float:
        """Return the number of answers with which this share of the neighbours (chance included) is
        predicted to be settled: inf if nothing is learned, or for everything; at most those there
        are if both halves agree in everything.

        Raises ValueError for a share that is not between chance and 1.
        """
        doublings = self._doublings(settled)
        if settled == 1 and self.half == 1:
            return float(self.n_answers)
        if settled == 1 or self.half <= self.chance:
            return inf
        doublings = min(0.0, doublings) if self.half == 1 else doublings
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

    @property
    def _logit(self) -> float:
        """The logit of models of all answers."""
        return float(doubled(logit_of(self.half, self.chance)))

    @property
    def _error(self) -> float:
        """Standard deviation of the logit of models of as many other answers."""
        return error_of(float(logit_of(self.half, self.chance)))

    def _share(self, logit: float) -> float:
        return float(share_of(logit, self.chance))

    def _doublings(self, settled: float) -> float:
        """Doublings of the answers until this share is settled."""
        if not self.chance < settled <= 1:
            raise ValueError(
                f"settled must be above chance ({self.chance:.2f}) and at most 1, got {settled!r}"
            )
        return float(logit_of(settled, self.chance)) - self._logit


@lru_cache(maxsize=64)
def _curve(chance: float) -> tuple[FloatArray, FloatArray]:
    """Ascending shares, and their correlations: the probability that a standard normal variable is
    among its largest `chance` if another is."""
    # Imported here so that servers start a second faster.
    from scipy.special import ndtr, ndtri

    correlations = np.concatenate([[0.0], 1 - np.geomspace(0.999, _NEAREST, _POINTS - 1)])
    threshold = -ndtri(chance)
    upper = -ndtri((np.arange(_POINTS) + 0.5) / _POINTS * chance)
    above = correlations[:, None] * upper - threshold
    shares = ndtr(above / np.sqrt(1 - correlations[:, None] ** 2)).mean(axis=1)
    return np.append(shares, 1.0), np.append(correlations, 1.0)
