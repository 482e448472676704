"""Scores of an embedding, of pair predictions and of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import BoolArray, FloatArray, IntArray, as_index_array


def neighbor_overlap(true: ArrayLike, predicted: ArrayLike) -> float:
    """Mean number of neighbours in both lists, 0..k. true: (N, k); predicted: (N, m)."""
    true_rows = as_index_array("true", true, 2)
    predicted_rows = as_index_array("predicted", predicted, 2)
    if len(true_rows) != len(predicted_rows) or not len(true_rows):
        raise ValueError(f"the lists are of {len(true_rows)} and {len(predicted_rows)} images")
    shared = sum(
        (true_rows[:, [column]] == predicted_rows).any(axis=1).sum()
        for column in range(true_rows.shape[1])
    )
    return float(shared) / len(true_rows)


def pair_accuracy(same: ArrayLike, predicted: ArrayLike) -> float:
    """Share of the pairs whose predicted label is right. same, predicted: (P,) bool."""
    truth, guess = _labels(same), _labels(predicted)
    if truth.shape != guess.shape:
        raise ValueError(f"{len(truth)} labels but {len(guess)} predictions")
    return float((truth == guess).mean())


def majority_rate(same: ArrayLike) -> float:
    """Accuracy of always predicting the more frequent label."""
    share = float(_labels(same).mean())
    return max(share, 1.0 - share)


def balanced_accuracy(same: ArrayLike, predicted: ArrayLike) -> float:
    """Mean of the accuracies on the same and on the different pairs (of those present)."""
    truth, guess = _labels(same), _labels(predicted)
    if truth.shape != guess.shape:
        raise ValueError(f"{len(truth)} labels but {len(guess)} predictions")
    return float(np.mean([(guess[truth == label] == label).mean() for label in np.unique(truth)]))


def pair_auc(same: ArrayLike, distance: ArrayLike) -> float:
    """Probability that a same pair is nearer than a different one; ties count half.

    It is 0.5, chance, if only one kind of pair is present.
    """
    truth = _labels(same)
    scores = np.asarray(distance, np.float64)
    if scores.shape != truth.shape or not np.isfinite(scores).all():
        raise ValueError(f"distance must be {truth.shape} and finite, got {scores.shape}")
    n_same = int(truth.sum())
    n_different = len(truth) - n_same
    if not n_same or not n_different:
        return 0.5
    # Imported here: servers and commands start without it, in a second less.
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    further = float(ranks[~truth].sum()) - n_different * (n_different + 1) / 2
    return further / (n_same * n_different)


def pair_scores(same: ArrayLike, predicted: ArrayLike, distance: ArrayLike) -> dict[str, float]:
    """Accuracy with the figures to compare it with: majority rate, balanced accuracy, AUC."""
    return {
        "accuracy": pair_accuracy(same, predicted),
        "majority_rate": majority_rate(same),
        "balanced_accuracy": balanced_accuracy(same, predicted),
        "auc": pair_auc(same, distance),
    }


def clustering_accuracy(true: ArrayLike, clusters: ArrayLike) -> float:
    """Share of the images in the cluster that is matched to their class (Hungarian method).

    true, clusters: (N,) whole numbers. Every class gets at most one cluster, so all images of
    surplus clusters count as errors (Xie et al. 2016; SCDC section 5.1).
    """
    # Imported here: servers and commands start without it, in a second less.
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    classes, labels = _partitions(true, clusters)
    table = contingency_matrix(classes, labels)
    return float(table[linear_sum_assignment(-table)].sum()) / len(classes)


def clustering_scores(true: ArrayLike, clusters: ArrayLike) -> dict[str, float]:
    """How well clusters (N,) match classes (N,); each score is 1 for the same partition.

    accuracy: `clustering_accuracy`; nmi, ami: normalised and adjusted mutual information, over
    the mean of the two entropies; ami_max: adjusted, over the larger entropy, which is what
    the public code of SCDC calls NMI.
    """
    # Imported here: servers and commands start without it, in a second less.
    from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

    classes, labels = _partitions(true, clusters)
    return {
        "accuracy": clustering_accuracy(classes, labels),
        "nmi": float(normalized_mutual_info_score(classes, labels)),
        "ami": float(adjusted_mutual_info_score(classes, labels)),
        "ami_max": float(adjusted_mutual_info_score(classes, labels, average_method="max")),
    }


def best_threshold(distance: FloatArray, same: BoolArray) -> float:
    """The distance that best separates same pairs (below) from different ones.

    distance, same: (P,). It makes the fewest errors on these pairs; CEN section 4.5 uses
    (xi_n + xi_p) / 2, which only suits balanced labels.
    """
    order = np.argsort(distance)
    ordered = distance[order]
    signs = np.where(same[order], 1, -1)
    gain = np.concatenate([[0], np.cumsum(signs)])
    # A threshold cannot be between equal distances.
    cuts = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])
    best = int(np.flatnonzero(cuts)[np.argmax(gain[cuts])])
    if best == 0:
        return float(ordered[0])
    if best == len(ordered):
        return float(ordered[-1]) * 2.0 + 1.0
    return float(ordered[best - 1] + ordered[best]) / 2.0


def _labels(values: ArrayLike) -> BoolArray:
    labels = np.asarray(values)
    if labels.ndim != 1 or labels.dtype != np.bool_ or not labels.size:
        raise ValueError(
            f"labels must be (P,) bool with P > 0, got {labels.dtype} of shape {labels.shape}"
        )
    return labels


def _partitions(true: ArrayLike, clusters: ArrayLike) -> tuple[IntArray, IntArray]:
    classes, labels = as_index_array("true", true, 1), as_index_array("clusters", clusters, 1)
    if len(classes) != len(labels) or not len(classes):
        raise ValueError(f"{len(classes)} classes but {len(labels)} clusters")
    return classes, labels
