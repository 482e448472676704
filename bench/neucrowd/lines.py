"""Logistic regressions (the paper's group 1), each with the strength that is best held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from bench.neucrowd.data import Question
from bench.neucrowd.labels import Labelled, Labelling
from learning.arrays import BoolArray, FloatArray
from learning.features import scaling_of
from learning.ntuplet.products import Products

# Section 4.3: 1e-4 to 1e4.
STRENGTHS = tuple(10.0**power for power in range(-4, 5))
_SPARSE_STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def regression(labelling: Labelling, question: Question, seed: int) -> FloatArray:
    """(m,) margin of the unseen items."""
    features, unseen = standardised(question)
    return fitted(features, unseen, labelling(question), seed)


def sparse_regression(labelling: Labelling, question: Question, seed: int) -> FloatArray:
    """Regression with the sum of absolute coefficients as penalty, which leaves features out."""
    features, unseen = standardised(question)
    options = {"solver": "liblinear", "l1_ratio": 1.0}
    return fitted(features, unseen, labelling(question), seed, _SPARSE_STRENGTHS, **options)


def regression_on_products(labelling: Labelling, question: Question, seed: int) -> FloatArray:
    """Regression on the inputs of `NeuCrowd(products=...)`."""
    features, unseen = standardised(question)
    products = Products.of(features, 300, np.random.default_rng(seed))
    known, new = (products(items).astype(np.float64) for items in (features, unseen))
    return fitted(known, new, labelling(question), seed)


def standardised(question: Question) -> tuple[FloatArray, FloatArray]:
    mean, scale = scaling_of(question.features)
    return (question.features - mean) / scale, (question.unseen - mean) / scale


def fitted(
    features: FloatArray,
    unseen: FloatArray,
    labelled: Labelled,
    seed: int,
    strengths: tuple[float, ...] = STRENGTHS,
    **options: Any,
) -> FloatArray:
    """Fit all items with the strength that has the smallest log loss on held-out items."""
    held_out = labelled.held_out(seed)
    losses = []
    for strength in strengths:
        line = _line(features, labelled, ~held_out, strength, **options)
        losses.append(log_loss(line.decision_function(features), labelled, held_out))
    best = strengths[int(np.argmin(losses))]
    everything = np.ones(len(features), np.bool_)
    line = _line(features, labelled, everything, best, **options)
    return np.asarray(line.decision_function(unseen))


def _line(
    features: FloatArray, labelled: Labelled, rows: BoolArray, strength: float, **options: Any
) -> LogisticRegression:
    items, label, weight = labelled.doubled(rows)
    line = LogisticRegression(C=strength, max_iter=300, **options)
    return line.fit(features[items], label, weight)


def log_loss(margin: FloatArray, labelled: Labelled, rows: BoolArray) -> float:
    items, label, weight = labelled.doubled(rows)
    each = np.logaddexp(0.0, np.where(label == 1, -1.0, 1.0) * margin[items])
    return float((each * weight).sum() / weight.sum())
