"""Scores of the probabilities of a yes-or-no label, if the truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

# The number of points of a drawn curve; more would not be visible.
_MOST_POINTS = 200


@dataclass(frozen=True)
class BinaryScores:
    """accuracy at one half; auc; average_precision; brier: mean squared error of the probability;
    precision, recall: the curve, from the most certain yes."""

    accuracy: float
    auc: float
    average_precision: float
    brier: float
    precision: list[float]
    recall: list[float]


def binary_scores(truth: ArrayLike, probability: ArrayLike) -> BinaryScores:
    """truth: (n,) bool; probability: (n,) of true. Raises ValueError if all truths are equal or the
    lengths differ."""
    # Imported here so that servers start a second faster.
    from sklearn.metrics import (
        average_precision_score,
        brier_score_loss,
        precision_recall_curve,
        roc_auc_score,
    )

    known, predicted = np.asarray(truth, np.bool_), np.asarray(probability, np.float64)
    if known.shape != predicted.shape:
        raise ValueError(
            f"truth has shape {known.shape}, but probability has shape {predicted.shape}"
        )
    if len(np.unique(known)) < 2:
        raise ValueError("scores need both true and false labels")
    precision, recall, _ = precision_recall_curve(known, predicted)
    kept = np.unique(np.linspace(0, len(recall) - 1, _MOST_POINTS).astype(int))[::-1]
    return BinaryScores(
        accuracy=float((known == (predicted > 0.5)).mean()),
        auc=float(roc_auc_score(known, predicted)),
        average_precision=float(average_precision_score(known, predicted)),
        brier=float(brier_score_loss(known, predicted)),
        precision=[round(float(value), 4) for value in precision[kept]],
        recall=[round(float(value), 4) for value in recall[kept]],
    )
