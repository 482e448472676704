"""Clustering of images by their positions. Only this module needs scikit-learn at its import."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from learning.arrays import IntArray, check_count
from learning.clusters import (
    ALGORITHMS,
    MOST_AGGLOMERATED,
    SAMPLE,
    Suggestion,
    as_points,
    largest_first,
    silhouettes,
)

_MOST_FOR_WHOLE_BATCHES = 20_000


class ImageClusters(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Clusters images by their positions; the largest cluster has number 0.

    algorithm: "k-means" (Lloyd; in small batches above 20,000 images), or agglomerative
    with "ward" or "average" linkage, for at most 5,000 images. After `fit`: `labels_` (N,).
    """

    def __init__(
        self, n_clusters: int = 8, algorithm: str = "k-means", random_state: int = 0
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """X: (N, d). Raises ValueError for an unknown algorithm, fewer different positions than
        clusters, or too many images for an agglomerative algorithm."""
        points = as_points(X)
        check_count("n_clusters", self.n_clusters)
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {ALGORITHMS}, got {self.algorithm!r}")
        n_places = len(np.unique(points, axis=0))
        if n_places < self.n_clusters:
            raise ValueError(
                f"n_clusters must be at most {n_places}, the number of different positions, "
                f"got {self.n_clusters}"
            )
        if self.algorithm != "k-means" and len(points) > MOST_AGGLOMERATED:
            raise ValueError(
                f"{self.algorithm} works with at most {MOST_AGGLOMERATED} images, got {len(points)}"
            )
        # On a machine with other work, threads wait for each other and cost more than they save,
        # so this uses one core.
        with threadpool_limits(1), warnings.catch_warnings():
            # This is enough for display; the last tenth of a percent changes no figure.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = self._algorithm(len(points)).fit_predict(points)
        self.labels_: IntArray = largest_first(labels)
        return self

    def fit_predict(self, X: ArrayLike, y: None = None) -> IntArray:
        return self.fit(X).labels_

    def _algorithm(self, n: int) -> Any:
        if self.algorithm != "k-means":
            return AgglomerativeClustering(self.n_clusters, linkage=self.algorithm)
        if n > _MOST_FOR_WHOLE_BATCHES:
            return MiniBatchKMeans(
                self.n_clusters, n_init=5, batch_size=4096, random_state=self.random_state
            )
        return KMeans(self.n_clusters, n_init=10, random_state=self.random_state)


def clusters_around(X: ArrayLike, starts: ArrayLike) -> IntArray:
    """Return (N,) the cluster of every image by k-means that begins at `starts` (K, d), whose
    numbers the clusters keep. X: (N, d)."""
    points = as_points(X)
    centres = np.asarray(starts, np.float64)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(len(centres), init=centres, n_init=1).fit_predict(points)
    return np.asarray(labels, np.int64)


def suggest_n_clusters(
    X: ArrayLike, algorithm: str = "k-means", most: int = 20, random_state: int = 0
) -> Suggestion:
    """Try 2 to `most` clusters on at most 2,000 random images.

    Raises ValueError if there are fewer than three different positions.
    """
    points = as_points(X)
    if len(points) > SAMPLE:
        points = points[np.random.default_rng(random_state).permutation(len(points))[:SAMPLE]]
    n_places = len(np.unique(points, axis=0))
    if n_places < 3:
        raise ValueError(f"X must have at least 3 different rows, got {n_places}")
    tried = tuple(range(2, min(most, n_places - 1) + 1))
    scores = []
    for n in tried:
        labels = ImageClusters(n, algorithm, random_state).fit_predict(points)
        scores.append(float(silhouettes(points, labels).mean()))
    return Suggestion(tried[int(np.argmax(scores))], tried, tuple(scores))
