"""Standard errors of figures without a formula."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from learning.arrays import IntArray, check_count


def jackknife_error(
    figure: Callable[[IntArray], float], n_units: int, n_groups: int = 20, random_state: int = 0
) -> float:
    """Standard error of `figure`, by leaving out one group of units after the other.

    figure: function of the remaining units' indices (M,), ascending. Units are independent:
    whole answers or whole images. NaN with fewer than three units (delete-a-group jackknife,
    Kott 2001).
    """
    check_count("n_groups", n_groups, minimum=2)
    if n_units < 3:
        return float("nan")
    groups = np.arange(n_units) % min(n_groups, n_units)
    np.random.default_rng(random_state).shuffle(groups)
    without = np.array([figure(np.flatnonzero(groups != g)) for g in range(groups.max() + 1)])
    n = len(without)
    return float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
