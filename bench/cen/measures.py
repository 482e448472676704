"""Measures of one method on one crowd."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from bench.cen.methods import Predicted
from bench.harness.measures import informative, matched_mcc
from learning.arrays import FloatArray, IntArray
from learning.groupings import Groupings
from learning.metrics import pair_scores

Row = dict[str, float]


def prediction_scores(test: Groupings, predicted: Predicted) -> Row:
    """Accuracy, majority rate, balanced accuracy and AUC over the informative pairs."""
    distance, same = informative(test, predicted.distance)
    return pair_scores(same, predicted.same[test.pair_labels() >= 0], distance)


def oracle_scores(test: Groupings, probability: FloatArray) -> Row:
    """The same measures for an oracle's P(same)."""
    return prediction_scores(test, Predicted(1.0 - probability, probability > 0.5, None))


def retrieval(attributes: IntArray, predicted: IntArray, n_attributes: int) -> FloatArray:
    """(A, A) shares: row a is how the answers about attribute a are spread over the dimensions
    matched to the attributes (section 4.3); noisy answers, -1, do not count."""
    clean = attributes >= 0
    n = max(n_attributes, int(predicted.max()) + 1)
    counts = np.zeros((n_attributes, n))
    np.add.at(counts, (attributes[clean], predicted[clean]), 1)
    _, columns = linear_sum_assignment(-counts)
    rest = [column for column in range(n) if column not in columns]
    ordered = counts[:, [*columns, *rest]]
    return np.asarray(ordered / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def retrieval_scores(table: FloatArray) -> Row:
    """Mean and weakest share of the diagonal, and the mean entropy of the rows (fig. 4b)."""
    diagonal = np.diag(table[:, : len(table)])
    logs = np.log(np.where(table > 0, table, 1.0))
    return {
        "retrieval": float(diagonal.mean()),
        "retrieval_weakest": float(diagonal.min()),
        "entropy": float(-(table * logs).sum(axis=1).mean()),
    }


def species_score(embedding: FloatArray, species: IntArray, seed: int) -> float:
    """Matthews correlation of K-means clusters and species (supplement F)."""
    n = int(species.max()) + 1
    return matched_mcc(species, KMeans(n, n_init=10, random_state=seed).fit_predict(embedding))
