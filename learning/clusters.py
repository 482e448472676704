"""Clusters of images in an embedding: how to make, evaluate and show them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import FloatArray, IntArray, as_index_array

ALGORITHMS = ("k-means", "ward", "average")
# Agglomerative clustering stores all distances: 200 MB for 5,000 images.
MOST_AGGLOMERATED = 5_000
MOST_CLUSTERS = 50
# Silhouettes are exact up to this many images, and use a sample for more.
MOST_FOR_EXACT = 5_000
SAMPLE = 2_000
_LEAST_PER_CLUSTER = 50
_ROWS_AT_ONCE = 4_000
_TYPICAL_AMONG = 400


@dataclass(frozen=True, eq=False)
class ClusterFigures:
    """Figures of C clusters of N images.

    sizes:      (C,) images
    silhouette: (N,) how much nearer an image is to its own cluster than to the next one, in
                [-1, 1] (Rousseeuw 1987); 0 for a cluster of one image, or a single cluster
    cohesion:   (C,) mean distance of the images to their cluster's centre
    typical:    images that represent each cluster: first the medoid, then those that add
                most
    """

    sizes: IntArray
    silhouette: FloatArray
    cohesion: FloatArray
    typical: list[list[int]]


def cluster_figures(
    X: ArrayLike, labels: ArrayLike, n_typical: int = 8, random_state: int = 0
) -> ClusterFigures:
    """X: (N, d); labels: (N,) 0..C-1, none of them empty."""
    points, assigned = as_points(X), as_index_array("labels", labels, 1)
    if len(points) != len(assigned):
        raise ValueError(f"{len(points)} images but {len(assigned)} labels")
    sizes = np.bincount(assigned)
    if not sizes.all():
        raise ValueError(f"cluster {int(np.flatnonzero(sizes == 0)[0])} has no image")
    rng = np.random.default_rng(random_state)
    members = [np.flatnonzero(assigned == cluster) for cluster in range(len(sizes))]
    cohesion = [
        np.linalg.norm(points[rows] - points[rows].mean(axis=0), axis=1).mean() for rows in members
    ]
    return ClusterFigures(
        sizes=sizes,
        silhouette=silhouettes(points, assigned, random_state),
        cohesion=np.array(cohesion),
        typical=[_typical(points, rows, n_typical, rng) for rows in members],
    )


def silhouettes(X: ArrayLike, labels: ArrayLike, random_state: int = 0) -> FloatArray:
    """(N,) silhouette of every image. For more than 5,000 images, distances to a cluster are
    means over a sample of it, so that memory and time are linear in N."""
    points, assigned = as_points(X), as_index_array("labels", labels, 1)
    sizes = np.bincount(assigned)
    result = np.zeros(len(points))
    if len(sizes) < 2:
        return result
    sample = _reference(assigned, sizes, np.random.default_rng(random_state))
    belongs = np.eye(len(sizes))[assigned[sample]]
    sampled = belongs.sum(axis=0)
    is_sampled = np.zeros(len(points), np.bool_)
    is_sampled[sample] = True
    for start in range(0, len(points), _ROWS_AT_ONCE):
        rows = slice(start, min(start + _ROWS_AT_ONCE, len(points)))
        total = scipy.spatial.distance.cdist(points[rows], points[sample]) @ belongs
        own = assigned[rows]
        place = np.arange(len(own))
        others = sampled[own] - is_sampled[rows]
        within = total[place, own] / np.maximum(others, 1)
        means = total / sampled
        means[place, own] = np.inf
        between = means.min(axis=1)
        largest = np.maximum(within, between)
        defined = (others > 0) & (largest > 0)
        result[rows][defined] = ((between - within) / np.maximum(largest, 1e-300))[defined]
    return result


@dataclass(frozen=True)
class Suggestion:
    """The number of clusters with the largest mean silhouette among those tried."""

    n_clusters: int
    tried: tuple[int, ...]
    silhouette: tuple[float, ...]


def merged(labels: ArrayLike, together: list[int]) -> IntArray:
    """(N,) labels after merging the clusters `together`, numbered from the largest."""
    assigned = as_index_array("labels", labels, 1).copy()
    assigned[np.isin(assigned, together)] = min(together)
    return largest_first(assigned)


def largest_first(labels: ArrayLike) -> IntArray:
    """(N,) the same partition, numbered from the largest cluster; ties by first image."""
    _, first, inverse, counts = np.unique(
        np.asarray(labels), return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(counts), np.int64)
    rank[np.lexsort((first, -counts))] = np.arange(len(counts))
    return np.asarray(rank[inverse], np.int64)


def matched(now: ArrayLike, before: ArrayLike) -> dict[int, int]:
    """The cluster of an earlier partition to which each cluster corresponds: {now: before}.

    now, before: (N,) labels of the same images. Two clusters correspond one to one if they share
    more than half of the images of both; clusters without such a partner are left out.
    """
    labels, earlier = as_index_array("now", now, 1), as_index_array("before", before, 1)
    if len(labels) != len(earlier):
        raise ValueError(f"{len(labels)} labels now but {len(earlier)} before")
    if not len(labels):
        return {}
    shared = np.zeros((int(labels.max()) + 1, int(earlier.max()) + 1), np.int64)
    np.add.at(shared, (labels, earlier), 1)
    mine, theirs = scipy.optimize.linear_sum_assignment(-shared)
    sizes, sizes_before = shared.sum(axis=1), shared.sum(axis=0)
    return {
        int(a): int(b)
        for a, b in zip(mine, theirs, strict=True)
        if 2 * shared[a, b] > max(sizes[a], sizes_before[b])
    }


def _reference(assigned: IntArray, sizes: IntArray, rng: np.random.Generator) -> IntArray:
    """Images to measure distances to: all, or some of every cluster."""
    if len(assigned) <= MOST_FOR_EXACT:
        return np.arange(len(assigned))
    share = SAMPLE / len(assigned)
    chosen = []
    for cluster, size in enumerate(sizes):
        n = min(size, max(_LEAST_PER_CLUSTER, round(share * size)))
        chosen.append(rng.permutation(np.flatnonzero(assigned == cluster))[:n])
    return np.sort(np.concatenate(chosen))


def _typical(
    points: FloatArray, members: IntArray, wanted: int, rng: np.random.Generator
) -> list[int]:
    """The images of a cluster (or of 400 random ones) that minimise the sum of all images'
    distances to the nearest of them, found greedily."""
    if len(members) > _TYPICAL_AMONG:
        members = np.sort(rng.permutation(members)[:_TYPICAL_AMONG])
    far = scipy.spatial.distance.cdist(points[members], points[members])
    nearest = np.full(len(members), np.inf)
    chosen: list[int] = []
    for _ in range(min(wanted, len(members))):
        cost = np.minimum(nearest[:, None], far).sum(axis=0)
        cost[chosen] = np.inf
        best = int(cost.argmin())
        chosen.append(best)
        nearest = np.minimum(nearest, far[best])
    return [int(members[place]) for place in chosen]


def as_points(values: ArrayLike) -> FloatArray:
    """(N, d) finite positions of at least one image; raises ValueError."""
    points = np.asarray(values, np.float64)
    if points.ndim != 2 or not len(points) or not np.isfinite(points).all():
        raise ValueError(f"X must be (N, d), finite and not empty, got shape {points.shape}")
    return points
