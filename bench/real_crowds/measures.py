"""Measures of one fitted model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from bench.harness.measures import informative, matched_mcc
from bench.real_crowds.methods import Fitted, Method
from learning.arrays import FloatArray, IntArray
from learning.groupings import Groupings
from learning.metrics import best_threshold, clustering_scores, pair_accuracy, pair_scores
from learning.neighbors import nearest_neighbors

Measures = dict[str, float]
HELD_OUT_SHARE = 0.15
N_PROBES = 2
N_NEIGHBOURS = 10


def common_threshold(method: Method, train: Groupings, seed: int) -> float:
    """The threshold by a rule that is the same for every method.

    There are two fits on 85 % of the training grids each. The threshold is the distance that
    makes the fewest errors on the pairs of the other grids of both; the fit on all grids uses it.
    """
    distances, labels = [], []
    for probe in range(N_PROBES):
        fitted, held_out = train.split(HELD_OUT_SHARE, 1_000 * (probe + 1) + seed)
        model = method(fitted, seed, False)
        distance, same = informative(held_out, model.pair_distance(held_out))
        distances.append(distance)
        labels.append(same)
    return best_threshold(np.concatenate(distances), np.concatenate(labels))


def pair_measures(model: Fitted, test: Groupings, threshold: float) -> Measures:
    """Accuracy, majority rate, balanced accuracy and AUC by the common rule on the informative
    pairs of held-out grids; `own_accuracy` by the method's own rule, if it has one."""
    distance, same = informative(test, model.pair_distance(test))
    measures = pair_scores(same, distance < threshold, distance)
    predicted = model.predict_same(test)
    if predicted is not None:
        measures["own_accuracy"] = pair_accuracy(same, predicted[test.pair_labels() >= 0])
    return measures


def class_measures(
    embedding: FloatArray, truth: IntArray, answered: NDArray[np.bool_], seed: int
) -> Measures:
    """How well positions separate the true classes of the images that were answered.

    embedding: (N, d); truth: (N,), -1 unknown; answered: (N,). ami, mcc: K-means with the true
    number of classes; purity: share of the ten nearest of the same class.
    """
    rng = np.random.default_rng(seed)
    # In random order, because the order of images at one place must not give them away.
    rows = rng.permutation(np.flatnonzero(answered & (truth >= 0)))
    points = embedding[rows]
    classes = np.unique(truth[rows], return_inverse=True)[1]
    n_classes = int(classes.max()) + 1
    clusters = KMeans(n_classes, n_init=10, random_state=seed).fit_predict(points)
    neighbours = nearest_neighbors(points, min(N_NEIGHBOURS, len(points) - 1))
    return {
        "ami": clustering_scores(classes, clusters.astype(np.int64))["ami"],
        "mcc": matched_mcc(classes, clusters),
        "purity": float((classes[neighbours] == classes[:, None]).mean()),
    }


def answered_images(groupings: Groupings) -> NDArray[np.bool_]:
    """(N,) whether an informative answer showed the image."""
    shown = groupings.images[groupings.informative_grids()]
    return np.bincount(shown[shown >= 0], minlength=groupings.n_images) > 0
