"""Logistic regressions on an embedding or on features, calibrated on held-out items."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from learning.arrays import BoolArray, FloatArray, IntArray

# Section 4.3: the inverse of the strength of its regularisation, 1e-4 to 1e4.
STRENGTHS = 10.0 ** np.arange(-4, 5)


@dataclass(frozen=True)
class Line:
    """A logistic regression, calibrated on held-out items. margin: (h,) log-odds of these."""

    coef: FloatArray
    intercept: float
    margin: FloatArray


def fitted_line(
    places: FloatArray,
    label: IntArray,
    sure: FloatArray,
    held_out: BoolArray,
    strengths: Iterable[float],
) -> Line:
    """A regression on items (n, e) with their assurance, with the strength that is best on the
    held-out ones. It is not refitted with these, because its calibration belongs to this fit.
    """
    known = (sure > 0) & ~held_out

    def fitted(strength: float) -> LogisticRegression:
        line = LogisticRegression(C=strength, max_iter=2_000)
        return line.fit(places[known], label[known], sure[known])

    if not held_out.any():
        line = fitted(1.0)
        return Line(line.coef_[0], float(line.intercept_[0]), np.zeros(0))
    candidates = []
    for strength in strengths:
        line = fitted(strength)
        margin = places[held_out] @ line.coef_[0] + line.intercept_[0]
        factor, shift = _calibration(margin, label[held_out], sure[held_out])
        calibrated = factor * margin + shift
        loss = log_loss(calibrated, label[held_out], sure[held_out])
        intercept = factor * float(line.intercept_[0]) + shift
        candidates.append((loss, Line(factor * line.coef_[0], intercept, calibrated)))
    return min(candidates, key=lambda candidate: candidate[0])[1]


def _calibration(margin: FloatArray, label: IntArray, sure: FloatArray) -> tuple[float, float]:
    """Factor and offset of Platt (1999), whose targets keep them finite."""
    n_yes, n_no = int((label == 1).sum()), int((label == 0).sum())
    target = np.where(label == 1, (n_yes + 1) / (n_yes + 2), 1 / (n_no + 2))
    doubled = np.concatenate([margin, margin])[:, None]
    labels = np.repeat([1, 0], len(margin))
    weight = np.concatenate([target * sure, (1 - target) * sure])
    line = LogisticRegression(C=1e6, max_iter=2_000).fit(doubled, labels, weight)
    # A negative factor would mean that the model is wrong whenever it is confident.
    return max(float(line.coef_[0, 0]), 0.0), float(line.intercept_[0])


def log_loss(margin: FloatArray, label: IntArray, sure: FloatArray) -> float:
    each = np.logaddexp(0.0, np.where(label == 1, -margin, margin))
    return float((each * sure).sum() / sure.sum())
