"""Measures that several benchmarks make."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix, matthews_corrcoef

from learning.arrays import BoolArray, FloatArray, IntArray
from learning.groupings import Groupings
from learning.metrics import pair_auc


class Distances(Protocol):
    """A fitted model of the distance of the pairs of grids, (G, P)."""

    def pair_distance(self, groupings: Groupings, /) -> FloatArray: ...


def informative(groupings: Groupings, distance: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Distances (G, P) of the pairs about which the answers say something, and whether they were
    put into the same group, both (n,)."""
    labels = groupings.pair_labels()
    known = labels >= 0
    return distance[known], labels[known] == 1


def held_out_auc(model: Distances, test: Groupings) -> float:
    distance, same = informative(test, model.pair_distance(test))
    return pair_auc(same, distance)


def matched_mcc(classes: IntArray, clusters: IntArray) -> float:
    """Matthews correlation of classes and the clusters matched to them (CEN supplement F)."""
    n = int(max(classes.max(), clusters.max())) + 1
    table = confusion_matrix(classes, clusters, labels=np.arange(n))
    _, matched = linear_sum_assignment(-table)
    name = np.empty(n, np.int64)
    name[matched] = np.arange(n)
    return float(matthews_corrcoef(classes, name[clusters]))
