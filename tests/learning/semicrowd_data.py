"""Small collections with simulated crowds for the tests of semi-crowdsourced clustering."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from learning.arrays import FloatArray, IntArray
from learning.groupings import Pairs


def pinwheel(seed: int, n_arms: int = 5, n_per_arm: int = 60) -> tuple[FloatArray, IntArray]:
    """(points (N, 2), arm (N,)): the toy data of section 5.1."""
    rng = np.random.default_rng(seed)
    arm = np.repeat(np.arange(n_arms), n_per_arm)
    radius = 1 + 0.3 * rng.normal(size=len(arm))
    across = 0.05 * rng.normal(size=len(arm))
    angle = 2 * np.pi * arm / n_arms + 0.25 * np.exp(radius)
    cos, sin = np.cos(angle), np.sin(angle)
    points = np.stack([cos * radius + sin * across, -sin * radius + cos * across], axis=1)
    return points, arm


def blobs(seed: int, n_classes: int = 3, n_per_class: int = 60) -> tuple[FloatArray, IntArray]:
    """(features (N, 6), class (N,)) that are easy to tell apart."""
    rng = np.random.default_rng(seed)
    centres = 4 * rng.normal(size=(n_classes, 6))
    labels = np.repeat(np.arange(n_classes), n_per_class)
    return centres[labels] + rng.normal(size=(len(labels), 6)), labels


def crowd(
    labels: IntArray,
    sensitivity: list[float],
    specificity: list[float],
    n_each: list[int],
    seed: int,
    n_annotated: int | None = None,
) -> Pairs:
    """Pairs of a random subset, answered by two-coin annotators, half of them the same."""
    rng = np.random.default_rng(seed)
    items = rng.permutation(len(labels))[:n_annotated]
    rows = []
    for annotator, count in enumerate(n_each):
        for turn in range(count):
            want = turn % 2 == 0
            while True:
                i, j = rng.choice(items, 2, replace=False)
                if (labels[i] == labels[j]) == want:
                    break
            right = rng.random() < (sensitivity if want else specificity)[annotator]
            rows.append((annotator, i, j, want == right))
    annotators, first, second, same = (np.array(column) for column in zip(*rows, strict=True))
    return Pairs(annotators, first, second, same.astype(bool), len(labels), len(n_each))


def matched_accuracy(labels: IntArray, clusters: IntArray) -> float:
    """Part of the items in the cluster that is matched to their class, one each."""
    size = max(labels.max(), clusters.max()) + 1
    counts = np.zeros((size, size))
    np.add.at(counts, (labels, clusters), 1)
    rows, columns = linear_sum_assignment(-counts)
    return float(counts[rows, columns].sum() / len(labels))
