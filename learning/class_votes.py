"""Votes of a crowd for one of several classes, and the labels, certainty and aggregates that
follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.aggregation import METHODS
from learning.arrays import FloatArray, IntArray, check_count
from learning.votes import MISSING, Assured, Votes


def as_class_votes(values: ArrayLike, n_classes: int) -> Votes:
    """(n, d) int8: class 0..n_classes-1, -1 no vote by that annotator. Raises ValueError with the
    first value that is not one of these."""
    check_count("n_classes", n_classes, minimum=2)
    votes = np.asarray(values)
    if votes.ndim != 2:
        raise ValueError(f"votes must be (n, d), got shape {votes.shape}")
    wrong = ~np.isin(votes, (MISSING, *range(n_classes)))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"votes must be 0 to {n_classes - 1} or -1 (none), got {votes[row, column]} in row "
            f"{row}, column {column}"
        )
    return votes.astype(np.int8)


def class_counts(votes: Votes, n_classes: int) -> IntArray:
    """(n, K) number of votes for each class."""
    counts = [(votes == number).sum(axis=1) for number in range(n_classes)]
    return np.stack(counts, axis=1).astype(np.int64)


def assured_by_class_votes(votes: Votes, n_classes: int) -> Assured:
    """The most frequent class, and its assurance.

    NeuCrowd's label assurance (definition 2), |1 - 2/d ||y||_1|, is the lead of the more frequent
    class: its share less that of the other. With more classes it is the lead over the runner-up. An
    item with fewer votes than others has the same factor as in `learning.votes.assured_by_votes`,
    which this equals for two classes.
    """
    counts = class_counts(votes, n_classes)
    given = counts.sum(axis=1)
    most = max(int(given.max(initial=0)), 1)
    ranked = np.sort(counts, axis=1)
    lead = (ranked[:, -1] - ranked[:, -2]) / np.maximum(given, 1)
    fewer = (given / (given + 1)) / (most / (most + 1))
    return Assured(np.asarray(counts.argmax(axis=1), np.int64), lead * fewer)


@dataclass(frozen=True, eq=False)
class AggregatedClasses:
    """probability: (n, K) of each class, 1 / K for an item without a vote; quality: (d,) expected
    accuracy of each annotator, NaN for one without a vote."""

    probability: FloatArray
    quality: FloatArray


def aggregate_classes(
    votes: ArrayLike, n_classes: int, method: str = "dawid_skene"
) -> AggregatedClasses:
    """votes: (n, d) class, -1 none. Methods are those of crowd-kit: the majority, Dawid and Skene
    (1979) with a confusion matrix for each annotator, and GLAD (Whitehill et al. 2009). Raises
    ValueError for an unknown method."""
    # Imported here because it loads pandas and language tools, which are rarely needed.
    import pandas as pd
    from crowdkit.aggregation import GLAD, DawidSkene, MajorityVote

    kinds: dict[str, Any] = {
        "majority": MajorityVote,
        "dawid_skene": lambda: DawidSkene(n_iter=100),
        "glad": lambda: GLAD(n_iter=100),
    }
    if method not in kinds:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    given = as_class_votes(votes, n_classes)
    probability = np.full((len(given), n_classes), 1 / n_classes)
    task, worker = np.nonzero(given != MISSING)
    if len(task):
        table = pd.DataFrame({"task": task, "worker": worker, "label": given[task, worker]})
        chances = kinds[method]().fit_predict_proba(table)
        # Classes without a vote have no column.
        whole = chances.reindex(columns=range(n_classes), fill_value=0.0).fillna(0.0)
        probability[whole.index.to_numpy()] = whole.to_numpy()
    return AggregatedClasses(probability, expected_accuracy(given, probability))


def expected_accuracy(votes: Votes, probability: FloatArray) -> FloatArray:
    """(d,) how often each annotator is right, expected under the (n, K) probabilities; NaN without
    a vote."""
    item, who = np.nonzero(votes != MISSING)
    n = np.bincount(who, minlength=votes.shape[1])
    right = np.bincount(who, probability[item, votes[item, who]], votes.shape[1])
    accuracy: NDArray[np.float64] = np.where(n > 0, right / np.maximum(n, 1), np.nan)
    return accuracy
