"""How the share of common nearest neighbours of two models grows with their answers.

Whether an image is among the nearest is a threshold of how near it seems to be. So the share that
two models have in common is the one of two normal variables with a correlation (as in Pearson's
tetrachoric correlation, 1900), and a reliability of which the Spearman-Brown formula (1910) holds:
twice the answers add 1 to its logit to base 2. Real models gain more where little is known, since
they find more structure, and less where much is known: what features or equal images leave open
stays open. Both were measured on simulated crowds (`bench.settled`).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import FloatArray

# The logit with twice the answers, from that of half: intercept and slope; and its standard
# deviation, at a logit of 0 or above, and how much larger it is for each unit below.
_GAIN, _KEPT, _ERROR, _MORE_ERROR = 1.25, 0.78, 0.6, 0.1
# Relative error of the gain of each further doubling.
GAIN_ERROR = 0.3
# Correlations of halves are only told apart between these; the curve reaches further.
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
