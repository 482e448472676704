"""A model of votes on items with a prior probability.

Each annotator has a sensitivity and a specificity (Dawid and Skene 1979, for two classes). Each
item has its own prior probability, such as a classifier's, as in Raykar et al. (2010, JMLR 11,
section 2.6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from learning.arrays import FloatArray
from learning.votes import MISSING, as_votes

# Before any of their votes, an annotator has the weight of this many votes of an average one.
_SHRINKAGE = 4.0
# An average annotator before any vote is better than chance.
_PRIOR_RIGHT, _PRIOR_WRONG = 4.0, 1.0
_CLIP = 1e-4
# The weight of an unscaled prior, in about this many items.
_PULL = 2.0


@dataclass(frozen=True, eq=False)
class VoteModel:
    """probability: (n,) of yes, given votes and prior; prior: (n,) as it was used; scale: factor
    and offset of its log odds; sensitivity, specificity: (d,) share of yes among the yes items and
    of no among the others, shrunk to those of all annotators, `mean`."""

    probability: FloatArray
    prior: FloatArray
    scale: tuple[float, float]
    sensitivity: FloatArray
    specificity: FloatArray
    mean: tuple[float, float]


def hear(
    votes: ArrayLike, prior: ArrayLike, n_iterations: int = 200, scaled: bool = False
) -> VoteModel:
    """Fit the model by expectation-maximisation, starting at the majority.

    votes: (n, d) 1 yes, 0 no, -1 none; prior: (n,) probability of yes before any vote, from a
    source that has not seen the item's votes. scaled: whether its log odds get the factor (not
    below 0) and offset that explain the votes best, because a classifier of noisy labels says
    how people vote, not what is true. Raises ValueError if the shapes do not match.
    """
    given = as_votes(votes)
    before = np.asarray(prior, np.float64)
    if before.shape != (len(given),) or not ((before >= 0) & (before <= 1)).all():
        raise ValueError(f"prior must be ({len(given)},) probabilities, got {before.shape}")
    odds = np.asarray(logit(np.clip(before, _CLIP, 1 - _CLIP)), np.float64)
    item, who = np.nonzero(given != MISSING)
    yes = given[item, who] == 1
    asked = np.unique(item)
    scale = (1.0, 0.0)
    probability = _smoothed_majority(len(given), item, yes, expit(odds))
    n_people = given.shape[1]
    for _ in range(n_iterations):
        sure = probability[item]
        sensitivity, mean_sensitivity = _rates(who, n_people, sure, yes)
        specificity, mean_specificity = _rates(who, n_people, 1 - sure, ~yes)
        if scaled and len(asked):
            scale = _scale_to(odds[asked], probability[asked], scale)
        weight = np.where(
            yes,
            np.log(sensitivity[who]) - np.log1p(-specificity[who]),
            np.log1p(-sensitivity[who]) - np.log(specificity[who]),
        )
        expected = scale[0] * odds + scale[1]
        updated = expit(expected + np.bincount(item, weight, len(given)))
        moved = float(np.abs(updated - probability).max(initial=0.0))
        probability = updated
        if moved < 1e-5:
            break
    expected = np.asarray(expit(scale[0] * odds + scale[1]), np.float64)
    mean = (mean_sensitivity, mean_specificity)
    return VoteModel(probability, expected, scale, sensitivity, specificity, mean)


def _scale_to(
    odds: FloatArray, probability: FloatArray, scale: tuple[float, float]
) -> tuple[float, float]:
    """One Newton step, starting at `scale`, of a logistic regression of (n,) probabilities on (n,)
    log odds. A slight pull to a factor of 1 prevents an unlimited factor for separable data."""
    design = np.stack([odds, np.ones_like(odds)], axis=1)
    now = np.array(scale)
    fitted = expit(design @ now)
    pull = np.array([_PULL, 1e-3])
    gradient = design.T @ (probability - fitted) - pull * (now - np.array([1.0, 0.0]))
    spread = (design * (fitted * (1 - fitted))[:, None]).T @ design + np.diag(pull)
    step = np.linalg.solve(spread, gradient)
    factor, shift = now + step / max(1.0, float(np.abs(step).max()))
    return max(float(factor), 0.0), float(shift)


def _smoothed_majority(n: int, item: np.ndarray, yes: np.ndarray, before: FloatArray) -> FloatArray:
    """The majority, with the prior as one more vote."""
    n_yes, cast = np.bincount(item, yes, n), np.bincount(item, minlength=n)
    return np.asarray((n_yes + before) / (cast + 1), np.float64)


def _rates(
    who: np.ndarray, n_people: int, weight: FloatArray, right: np.ndarray
) -> tuple[FloatArray, float]:
    """(d,) share of the weight on which each annotator is right, and that of all annotators."""
    total = np.bincount(who, weight, n_people)
    hit = np.bincount(who, weight * right, n_people)
    mean = (hit.sum() + _PRIOR_RIGHT) / (total.sum() + _PRIOR_RIGHT + _PRIOR_WRONG)
    rates = (hit + _SHRINKAGE * mean) / (total + _SHRINKAGE)
    return np.clip(rates, 1e-3, 1 - 1e-3), float(mean)
