"""Compares proportions of two groups of people, many at once."""

from __future__ import annotations

import numpy as np
from scipy.stats import false_discovery_control, hypergeom

from learning.arrays import FloatArray, IntArray

# Tables whose probability is the observed one's up to rounding are as extreme.
_ROUNDING = 1 + 1e-7


def fisher_p_values(
    yes: IntArray, n: IntArray, other_yes: IntArray, other_n: IntArray
) -> FloatArray:
    """Return (U,) two-sided p-values of Fisher's exact test: are `yes` of `n` people in one group
    and `other_yes` of `other_n` in another the same proportion? All arguments are (U,)."""
    tables = np.stack([yes, n, other_yes, other_n], 1).astype(np.int64)
    if not len(tables):
        return np.empty(0)
    # Few people answer about each unit, so that the same counts come again and again.
    distinct, which = np.unique(tables, axis=0, return_inverse=True)
    return np.array([_fisher_p(*map(int, table)) for table in distinct])[which.ravel()]


def _fisher_p(yes: int, n: int, other_yes: int, other_n: int) -> float:
    total = yes + other_yes
    lowest, highest = max(0, total - other_n), min(total, n)
    likelihood = hypergeom.pmf(np.arange(lowest, highest + 1), n + other_n, total, n)
    extreme = likelihood <= likelihood[yes - lowest] * _ROUNDING
    return min(1.0, float(likelihood[extreme].sum()))


def corrected(p_values: FloatArray) -> FloatArray:
    """Return (U,) p-values corrected by Benjamini and Hochberg: of all units at or below a limit,
    at most that share is expected to be different by chance."""
    return np.asarray(false_discovery_control(p_values)) if len(p_values) else np.empty(0)
