"""How well people predict people: the ceiling for every model of their answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import BoolArray, FloatArray, IntArray
from learning.groupings import Groupings, Pairs
from learning.metrics import pair_auc

# With fewer pairs that both halves answered, there is no ceiling.
MIN_PAIRS = 50
_N_SPLITS = 5


@dataclass(frozen=True)
class Ceiling:
    """auc: of one half of the annotators for the other's answers, mean over splits; n_pairs:
    answers about pairs that both halves answered, mean over splits."""

    auc: float
    n_pairs: int


def split_half(answers: Groupings, random_state: int = 0) -> Ceiling | None:
    """Predict each half's answers about a pair by the share of the other half that put it
    together. None with fewer than MIN_PAIRS answers that both halves gave.

    Half a crowd predicts worse than a whole one, so this is a lower bound of the ceiling.
    """
    pairs = answers.pairs()
    code = np.minimum(pairs.i, pairs.j) * answers.n_images + np.maximum(pairs.i, pairs.j)
    _, number = np.unique(code, return_inverse=True)
    rng = np.random.default_rng(random_state)
    scores = []
    for _ in range(_N_SPLITS):
        half = rng.permutation(answers.n_annotators) % 2 == 0
        score = _between(pairs, number.astype(np.int64), half[pairs.annotator])
        if score is not None:
            scores.append(score)
    if not scores:
        return None
    aucs, counts = zip(*scores, strict=True)
    return Ceiling(float(np.mean(aucs)), round(float(np.mean(counts))))


def _between(pairs: Pairs, number: IntArray, first: BoolArray) -> tuple[float, int] | None:
    apart, same = [], []
    for asked in (first, ~first):
        share = _share(pairs.same[~asked], number[~asked], int(number.max(initial=-1)) + 1)
        predicted = share[number[asked]]
        known = np.isfinite(predicted)
        apart.append(-predicted[known])
        same.append(pairs.same[asked][known])
    distance, labels = np.concatenate(apart), np.concatenate(same)
    if len(labels) < MIN_PAIRS or labels.all() or not labels.any():
        return None
    return pair_auc(labels, distance), len(labels)


def _share(same: BoolArray, number: IntArray, n: int) -> FloatArray:
    """(n,) share of answers that put each pair together, NaN without an answer."""
    count = np.bincount(number, minlength=n)
    together = np.bincount(number, same.astype(np.float64), n)
    return np.where(count > 0, together / np.maximum(count, 1), np.nan)
