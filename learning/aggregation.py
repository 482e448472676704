"""Aggregation of a crowd's votes by majority, Dawid and Skene, or GLAD, all from crowd-kit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import FloatArray
from learning.votes import MISSING, as_votes

METHODS = ("majority", "dawid_skene", "glad")


@dataclass(frozen=True, eq=False)
class Aggregated:
    """probability: (n,) of yes, 0.5 for an item without a vote; quality: (d,) expected accuracy of
    each annotator, NaN for one without a vote."""

    probability: FloatArray
    quality: FloatArray


def aggregate(votes: ArrayLike, method: str = "dawid_skene") -> Aggregated:
    """votes: (n, d) 1 yes, 0 no, -1 none. Raises ValueError for an unknown method."""
    # Imported here because it loads pandas and language tools, which are rarely needed.
    from crowdkit.aggregation import GLAD, DawidSkene, MajorityVote

    kinds: dict[str, Any] = {
        "majority": MajorityVote,
        "dawid_skene": lambda: DawidSkene(n_iter=100),
        "glad": lambda: GLAD(n_iter=100),
    }
    if method not in kinds:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    given = as_votes(votes)
    table = _table(given)
    probability = np.full(len(given), 0.5)
    if not len(table):
        return Aggregated(probability, _accuracy(given, probability))
    chances = kinds[method]().fit_predict_proba(table)
    yes = chances[1] if 1 in chances.columns else 0.0 * chances.iloc[:, 0]
    probability[chances.index.to_numpy()] = yes.to_numpy()
    return Aggregated(probability, _accuracy(given, probability))


def _table(votes: Any) -> Any:
    import pandas as pd

    task, worker = np.nonzero(votes != MISSING)
    return pd.DataFrame({"task": task, "worker": worker, "label": votes[task, worker]})


def _accuracy(votes: Any, probability: FloatArray) -> FloatArray:
    """(d,) how often each annotator is right, expected under the probabilities."""
    cast = votes != MISSING
    right = np.where(votes == 1, probability[:, None], 1 - probability[:, None])
    n = cast.sum(axis=0)
    total = (right * cast).sum(axis=0)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
