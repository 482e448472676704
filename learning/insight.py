"""Insight into each annotator from the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learning.arrays import BoolArray, FloatArray, IntArray
from learning.baselines import PaperContextEmbedding
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings


@dataclass(frozen=True, eq=False)
class AnnotatorInsight:
    """One row per annotator; NaN if nothing is known.

    n_answers:    (W,) informative answers
    preference:   (W, K) how often each attribute would decide in an ordinary grid; the rest
                  to 1 is none of them
    used:         (W, K) how often each attribute did decide: the mean probability over their
                  answers, given their groupings (Context Embedding Networks, figure S1b-e)
    used_error:   (W, K) standard errors of `used`; NaN for a single answer
    n_groups:     (W,) mean number of groups they make
    detail:       (W,) probability of a fine grouping if a coarse one is possible
    carelessness: (W,) probability of an answer about no attribute
    agreement:    (W,) Cohen's kappa of their pairs and the model's, given which attribute
                  each answer is about: 1 for complete agreement, 0 for chance
    n_repeats:    (W,) image pairs that they judged more than once
    consistency:  (W,) kappa of their repeated judgements with each other
    """

    n_answers: IntArray
    preference: FloatArray
    used: FloatArray
    used_error: FloatArray
    n_groups: FloatArray
    detail: FloatArray
    carelessness: FloatArray
    agreement: FloatArray
    n_repeats: IntArray
    consistency: FloatArray


def annotator_insight(
    model: ContextEmbeddingNetwork | PaperContextEmbedding, groupings: Groupings
) -> AnnotatorInsight:
    """Insight into all annotators of `groupings` by a model that was fitted to them.

    The paper's network has neither levels of detail nor carelessness, and does not infer which
    attribute an answer used: all are NaN. Its preference is the mean activation over an
    annotator's answers, and its labels are predictions from annotator and grid.
    """
    n = groupings.n_annotators
    informative = groupings.informative_grids()
    who = groupings.annotators[informative]
    n_answers = np.bincount(who, minlength=n)
    groups = np.bincount(who, _groups_per_answer(groupings)[informative], minlength=n)
    with np.errstate(invalid="ignore"):
        n_groups = groups / n_answers
    n_repeats, consistency = repeated_judgements(groupings)
    if isinstance(model, PaperContextEmbedding):
        preference = _mean_activation(model, groupings)
        used = used_error = np.full_like(preference, np.nan)
        detail = carelessness = np.full(n, np.nan)
        agreement = _agreement(model.predict_same, groupings)
    else:
        preference = model.annotator_activation_
        used, used_error = _used(model, groupings.subset(np.flatnonzero(informative)))
        detail, carelessness = model.level_of_detail(), model.carelessness()
        agreement = _agreement(model.expected_same, groupings)
    return AnnotatorInsight(
        n_answers=n_answers,
        preference=preference,
        used=used,
        used_error=used_error,
        n_groups=n_groups,
        detail=detail,
        carelessness=carelessness,
        agreement=agreement,
        n_repeats=n_repeats,
        consistency=consistency,
    )


def repeated_judgements(groupings: Groupings) -> tuple[IntArray, FloatArray]:
    """(W,) image pairs that an annotator judged more than once, and (W,) their kappa.

    Kappa compares the agreement of two judgements of a pair with that of two independent
    judgements at the annotator's rate of "same".
    """
    n_repeats = np.zeros(groupings.n_annotators, np.int64)
    kappa = np.full(groupings.n_annotators, np.nan)
    order = np.argsort(groupings.annotators, kind="stable")
    bounds = np.searchsorted(groupings.annotators[order], np.arange(groupings.n_annotators + 1))
    for annotator in range(groupings.n_annotators):
        rows = order[bounds[annotator] : bounds[annotator + 1]]
        if len(rows) < 2:
            continue
        pairs = groupings.subset(rows).pairs()
        low, high = np.minimum(pairs.i, pairs.j), np.maximum(pairs.i, pairs.j)
        _, place = np.unique(low * groupings.n_images + high, return_inverse=True)
        judged = np.bincount(place)
        n_repeats[annotator] = (judged > 1).sum()
        if n_repeats[annotator]:
            same = np.bincount(place, pairs.same).astype(np.float64)
            kappa[annotator] = _self_kappa(judged, same)
    return n_repeats, kappa


def _self_kappa(judged: NDArray[np.int64], same: FloatArray) -> float:
    """Kappa. judged, same: (P,) judgements of each pair, and how many of them say "same"."""
    different = judged - same
    agreeing = (same * (same - 1) + different * (different - 1)).sum()
    observed = agreeing / (judged * (judged - 1)).sum()
    rate = same.sum() / judged.sum()
    return _kappa(float(observed), float(rate**2 + (1 - rate) ** 2))


def _mean_activation(model: PaperContextEmbedding, groupings: Groupings) -> FloatArray:
    """(W, K) mean shares of the dimensions over each annotator's answers; NaN without any."""
    shares = model.attribute_probability(groupings)
    total = np.zeros((groupings.n_annotators, shares.shape[1]))
    np.add.at(total, groupings.annotators, shares)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / total.sum(axis=1, keepdims=True))


def _used(model: ContextEmbeddingNetwork, groupings: Groupings) -> tuple[FloatArray, FloatArray]:
    """(W, K) mean probability of each attribute given the groupings, and standard errors."""
    probability = model.attribute_probability(groupings)
    n = np.bincount(groupings.annotators, minlength=groupings.n_annotators)[:, None]
    total, squares = (np.zeros((len(n), probability.shape[1])) for _ in range(2))
    np.add.at(total, groupings.annotators, probability)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        np.add.at(squares, groupings.annotators, (probability - mean[groupings.annotators]) ** 2)
        error = np.where(n > 1, np.sqrt(squares / ((n - 1) * n)), np.nan)
    return mean, error


def _agreement(expected_same: Callable[[Groupings], BoolArray], groupings: Groupings) -> FloatArray:
    """(W,) kappa of pair labels and a model's expected labels, (G, P) for some answers."""
    table = np.zeros((groupings.n_annotators, 2, 2))
    for rows, labels in groupings.label_blocks():
        block = groupings.subset(np.arange(rows.start, rows.start + len(labels)))
        expected = expected_same(block)
        grid, place = np.nonzero(labels >= 0)
        who = groupings.annotators[rows][grid]
        np.add.at(table, (who, labels[grid, place], expected[grid, place].astype(np.int64)), 1)
    result = np.full(groupings.n_annotators, np.nan)
    for annotator, counts in enumerate(table):
        if counts.sum():
            shares = counts / counts.sum()
            chance = float(shares.sum(axis=1) @ shares.sum(axis=0))
            result[annotator] = _kappa(float(np.trace(shares)), chance)
    return result


def _kappa(observed: float, chance: float) -> float:
    """Agreement above chance; NaN if chance already gives complete agreement."""
    return (observed - chance) / (1 - chance) if chance < 1 else float("nan")


def _groups_per_answer(groupings: Groupings) -> IntArray:
    ordered = np.sort(groupings.groups, axis=1)
    new = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    return np.asarray(new.sum(axis=1) + (ordered[:, 0] >= 0), np.int64)
