"""How many of each image's nearest neighbours as many other answers would keep.

What one pair of halves says of one image is noisy: it is shrunk towards the mean of all images, by
how much the images differ beyond what chance makes them differ (empirical Bayes). The number that
is kept is beta-binomial around it.
"""

from __future__ import annotations

import numpy as np

from learning.arrays import FloatArray
from learning.neighbor_growth import doubled, logit_of, share_of

# Variance of the number that two models have in common, in those of independent neighbours.
_DISPERSION = 1.0


def kept_counts(
    shared: FloatArray, k: int, chance: float, settled: float, error: float, level: float
) -> FloatArray:
    """Return (n, 3) expected number, and bounds that have it with this probability.

    shared: (R, n) shares of the k neighbours that both halves have; settled: the mean share of all
    images that is kept, with its standard deviation.
    """
    half, uncertain = _shrunk(shared, k)
    share, slope = _with_twice_the_answers(half, chance, settled)
    variance = slope**2 * uncertain + error**2 + _DISPERSION * share * (1 - share) / k
    low, high = _bounds(share, variance, k, level)
    return np.stack([k * share, low, high], axis=1)


def _shrunk(shared: FloatArray, k: int) -> tuple[FloatArray, float]:
    """(n,) each image's share, and the variance that it is left with."""
    n_splits = len(shared)
    mean = float(shared.mean())
    by_image = shared.mean(axis=0)
    noise = _DISPERSION * mean * (1 - mean) / (k * n_splits)
    real = max(0.0, float(by_image.var()) - noise)
    weight = real / (real + noise) if real else 0.0
    return mean + weight * (by_image - mean), weight * noise


def _with_twice_the_answers(
    half: FloatArray, chance: float, settled: float
) -> tuple[FloatArray, FloatArray]:
    """(n,) shares with twice the answers, of this mean, and their derivative."""
    step = 0.02
    share, less, more = (
        share_of(doubled(logit_of(half + change, chance)), chance) for change in (0, -step, step)
    )
    slope = (more - less) / (2 * step)
    return np.clip(share + settled - share.mean(), 0.0, 1.0), slope


def _bounds(
    share: FloatArray, variance: FloatArray, k: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """(n,) ends of the run of numbers whose probability is nearest to `level`."""
    mass = _beta_binomial(share, variance, k)
    below = np.concatenate([np.zeros((len(share), 1)), np.cumsum(mass, axis=1)], axis=1)
    best = np.full(len(share), np.inf)
    low, high = np.zeros(len(share)), np.full(len(share), float(k))
    for width in range(k + 1):
        inside = below[:, width + 1 :] - below[:, : k + 1 - width]
        start = inside.argmax(axis=1)
        miss = np.abs(inside[np.arange(len(share)), start] - level)
        nearer = miss < best - 1e-12
        best[nearer], low[nearer], high[nearer] = miss[nearer], start[nearer], start[nearer] + width
    return low, high


def _beta_binomial(share: FloatArray, variance: FloatArray, k: int) -> FloatArray:
    """(n, k + 1) probabilities of 0..k, with these means and variances of the share."""
    from scipy.stats import betabinom, binom

    inner = np.clip(share, 1e-3, 1 - 1e-3)
    largest = inner * (1 - inner)
    # The variance of a share is p(1 - p)(1 + (k - 1) rho) / k.
    rho = np.clip((variance * k / largest - 1) / max(1, k - 1), 0.0, 0.95)
    counts = np.arange(k + 1)
    mass = binom.pmf(counts, k, inner[:, None])
    mixed = rho > 1e-6
    total = 1 / np.maximum(rho[mixed], 1e-6) - 1
    a, b = inner[mixed] * total, (1 - inner[mixed]) * total
    mass[mixed] = betabinom.pmf(counts, k, a[:, None], b[:, None])
    return np.asarray(mass, np.float64)
