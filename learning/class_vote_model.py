"""A model of votes for one of K classes on items with a prior probability.

Each annotator has a confusion matrix (Dawid and Skene 1979). Each item has its own prior
probability, such as a classifier's, as in Raykar et al. (2010, JMLR 11, section 3.1).
`learning.vote_model` is the same for yes and no.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from learning.arrays import FloatArray, IntArray
from learning.class_votes import as_class_votes
from learning.votes import MISSING

# Before any of their votes, an annotator has the weight of this many votes of an average one.
_SHRINKAGE = 4.0
# An average annotator before any vote is better than chance.
_PRIOR_RIGHT, _PRIOR_WRONG = 4.0, 1.0
_CLIP = 1e-4
# The weight of an unscaled prior, in about this many items.
_PULL = 2.0


@dataclass(frozen=True, eq=False)
class ClassVoteModel:
    """probability: (n, K) given votes and prior; prior: (n, K) as it was used; scale: (1 + K,)
    factor and offsets of its logarithm; confusion: (d, K, K) probability of each vote (last axis)
    of an annotator on an item of each class, shrunk to that of all annotators, `mean` (K, K)."""

    probability: FloatArray
    prior: FloatArray
    scale: FloatArray
    confusion: FloatArray
    mean: FloatArray


def hear_classes(
    votes: ArrayLike, prior: ArrayLike, n_iterations: int = 200, scaled: bool = False
) -> ClassVoteModel:
    """Fit the model by expectation-maximisation, starting at the majority.

    votes: (n, d) class, -1 none; prior: (n, K) probabilities before any vote, from a source that
    has not seen the item's votes. scaled: whether the prior's logarithm gets the factor (not below
    0) and the offset for each class that explain the votes best, because a classifier of noisy
    labels says how people vote, not what is true. Raises ValueError if the shapes do not match.
    """
    before = np.asarray(prior, np.float64)
    if before.ndim != 2 or not ((before >= 0) & (before <= 1)).all():
        raise ValueError(f"prior must be (n, K) probabilities, got shape {before.shape}")
    n_classes = before.shape[1]
    given = as_class_votes(votes, n_classes)
    if len(given) != len(before):
        raise ValueError(f"prior has {len(before)} rows, but votes has {len(given)}")
    logs = np.asarray(np.log(np.clip(before, _CLIP, 1)), np.float64)
    item, who = np.nonzero(given != MISSING)
    vote = given[item, who].astype(np.int64)
    asked = np.unique(item)
    scale = np.concatenate([[1.0], np.zeros(n_classes)])
    probability = _smoothed_majority(softmax(logs, axis=1), item, vote)
    confusion, mean = _confusion(probability[item], who, vote, given.shape[1])
    for _ in range(n_iterations):
        confusion, mean = _confusion(probability[item], who, vote, given.shape[1])
        if scaled and len(asked):
            scale = _scale_to(logs[asked], probability[asked], scale)
        # (votes, K): what each vote says for each class.
        evidence = np.log(confusion)[who, :, vote]
        expected = scaled_logs(logs, scale)
        for number in range(n_classes):
            expected[:, number] += np.bincount(item, evidence[:, number], len(given))
        updated = softmax(expected, axis=1)
        moved = float(np.abs(updated - probability).max(initial=0.0))
        probability = updated
        if moved < 1e-5:
            break
    return ClassVoteModel(probability, softmax(scaled_logs(logs, scale), 1), scale, confusion, mean)


def scaled_logs(logs: FloatArray, scale: FloatArray) -> FloatArray:
    """(n, K) factor and offsets of `scale` applied to logarithms of probabilities."""
    return np.asarray(scale[0] * logs + scale[1:], np.float64)


def _scale_to(logs: FloatArray, probability: FloatArray, scale: FloatArray) -> FloatArray:
    """A few steps, starting at `scale`, of a multinomial regression of (n, K) probabilities on (n,
    K) logarithms. A slight pull to a factor of 1 prevents an unlimited factor for separable
    data."""

    def loss(given: FloatArray) -> tuple[float, FloatArray]:
        fitted = log_softmax(scaled_logs(logs, given), axis=1)
        off = np.exp(fitted) - probability
        pulled = given - np.concatenate([[1.0], np.zeros(logs.shape[1])])
        weight = np.concatenate([[_PULL], np.full(logs.shape[1], 1e-3)])
        gradient = np.concatenate([[(off * logs).sum()], off.sum(axis=0)]) + weight * pulled
        value = -(probability * fitted).sum() + 0.5 * (weight * pulled**2).sum()
        return float(value), gradient

    bounds = [(0.0, None)] + [(None, None)] * logs.shape[1]
    optimum = minimize(
        loss, scale, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 5}
    )
    return np.asarray(optimum.x, np.float64)


def _smoothed_majority(before: FloatArray, item: IntArray, vote: IntArray) -> FloatArray:
    """The shares of the votes, with the prior as one more vote."""
    counts = before.copy()
    np.add.at(counts, (item, vote), 1.0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True), np.float64)


def _confusion(
    weight: FloatArray, who: IntArray, vote: IntArray, n_people: int
) -> tuple[FloatArray, FloatArray]:
    """(d, K, K) confusion matrices from the (votes, K) probabilities of the items' classes, and
    (K, K) that of all annotators."""
    n_classes = weight.shape[1]
    counts: FloatArray = np.zeros((n_people, n_classes, n_classes))
    for number in range(n_classes):
        place = who * n_classes + vote
        total = np.bincount(place, weight[:, number], n_people * n_classes)
        counts[:, number] = total.reshape(n_people, n_classes)
    usual = np.full((n_classes, n_classes), _PRIOR_WRONG / (n_classes - 1))
    np.fill_diagonal(usual, _PRIOR_RIGHT)
    mean = counts.sum(axis=0) + usual
    mean /= mean.sum(axis=1, keepdims=True)
    rates = np.clip(counts + _SHRINKAGE * mean, 1e-3, None)
    rates /= rates.sum(axis=2, keepdims=True)
    return rates, mean
