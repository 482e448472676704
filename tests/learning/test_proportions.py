"""Fisher's exact test for many tables at once, and correction for their number."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from learning.proportions import corrected, fisher_p_values


def test_it_is_fishers_exact_test() -> None:
    rng = np.random.default_rng(0)
    n, other_n = rng.integers(1, 12, 60), rng.integers(1, 12, 60)
    yes, other_yes = rng.integers(0, n + 1), rng.integers(0, other_n + 1)
    tables = zip(yes, n, other_yes, other_n, strict=True)
    expected = [fisher_exact([[a, b - a], [c, d - c]]).pvalue for a, b, c, d in tables]
    assert fisher_p_values(yes, n, other_yes, other_n) == pytest.approx(expected)


def test_nothing_is_compared_with_nothing() -> None:
    none = np.empty(0, np.int64)
    assert len(fisher_p_values(none, none, none, none)) == 0
    assert len(corrected(np.empty(0))) == 0


def test_random_differences_are_rarely_called_real() -> None:
    """And real ones often are."""
    rng = np.random.default_rng(1)
    size = np.full(2_000, 30)
    same = fisher_p_values(rng.binomial(30, 0.5, 2_000), size, rng.binomial(30, 0.5, 2_000), size)
    assert (corrected(same) < 0.05).sum() <= 2
    far = fisher_p_values(rng.binomial(30, 0.9, 2_000), size, rng.binomial(30, 0.2, 2_000), size)
    q = corrected(np.concatenate([same, far]))
    assert (q[2_000:] < 0.05).mean() > 0.95
    assert (q[:2_000] < 0.05).sum() / (q < 0.05).sum() < 0.08
