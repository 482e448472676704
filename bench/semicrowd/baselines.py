"""Methods that cluster features with or without pairs, with the interface fit(X, pairs).labels_.

k-means and mixtures are scikit-learn's, PCKMeans and MPCKMeans those of
active-semi-supervised-clustering, ITML metric-learn's (both: `libraries`), Dawid & Skene's method
crowd-kit's. MCVC, SemiCrowd and CSPA over pairs have no maintained library.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier

from bench.semicrowd.consensus import Consensus, dawid_skene, majority
from bench.semicrowd.libraries import constrained_k_means, metric_of_pairs
from learning.arrays import FloatArray, IntArray
from learning.groupings import Pairs

_STARTS = 3
_NEIGHBOURS = 10
_ITML_PASSES = 50


class Clustering(Protocol):
    """labels_: (N,) after fit."""

    labels_: IntArray

    def fit(self, X: ArrayLike, pairs: Pairs | None = None) -> Self: ...


class FeatureKMeans:
    """k-means of the features (scikit-learn), which ignores pairs."""

    def __init__(self, n_clusters: int, random_state: int) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: ArrayLike, pairs: Pairs | None = None) -> Self:
        model = KMeans(self.n_clusters, n_init=10, random_state=self.random_state)
        self.labels_ = model.fit_predict(scaled(X)).astype(np.int64)
        return self


class FeatureMixture:
    """A mixture of Gaussians with full covariances (scikit-learn), which ignores pairs."""

    def __init__(self, n_clusters: int, random_state: int) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: ArrayLike, pairs: Pairs | None = None) -> Self:
        self.labels_ = mixture_labels(scaled(X), self.n_clusters, self.random_state)
        return self


class ConstrainedKMeans:
    """PCKMeans, or MPCKMeans (`metric`), which also learns a scale for each feature.

    opinion: how to combine the labels of several workers for a pair. The best of three random
    starts counts, by distances and violated pairs (Basu et al. 2004, eq. 1).
    """

    def __init__(
        self,
        n_clusters: int,
        random_state: int,
        metric: bool = False,
        opinion: Callable[[Pairs], Consensus] = majority,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.metric = metric
        self.opinion = opinion

    def fit(self, X: ArrayLike, pairs: Pairs | None = None) -> Self:
        points = scaled(X, each=True)
        must, cannot = self.opinion(_needed(pairs)).links()
        # The library uses NumPy's global random state.
        before = np.random.get_state()
        np.random.seed(self.random_state)
        try:
            results = [
                constrained_k_means(points, self.n_clusters, must, cannot, self.metric)
                for _ in range(_STARTS)
            ]
        finally:
            np.random.set_state(before)
        whole = [labels for labels in results if labels is not None]
        if not whole:
            raise ValueError(f"all {_STARTS} starts ended with an empty cluster; use fewer")
        self.labels_ = min(whole, key=lambda labels: _cost(points, labels, must, cannot))
        return self


class MetricKMeans:
    """A Mahalanobis metric from the pairs (ITML, Davis et al. 2007; metric-learn), then k-means.

    It uses at most `n_pairs` random pairs, because a pass over them is a loop in Python.
    """

    def __init__(self, n_clusters: int, random_state: int, n_pairs: int = 3_000) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_pairs = n_pairs

    def fit(self, X: ArrayLike, pairs: Pairs | None = None) -> Self:
        points = scaled(X)
        labelled = _needed(pairs)
        apart = np.flatnonzero((points[labelled.i] != points[labelled.j]).any(axis=1))
        rows = np.random.default_rng(self.random_state).permutation(apart)[: self.n_pairs]
        both = np.stack([points[labelled.i[rows]], points[labelled.j[rows]]], axis=1)
        turn = metric_of_pairs(both, labelled.same[rows], _ITML_PASSES, self.random_state)
        means = KMeans(self.n_clusters, n_init=10, random_state=self.random_state)
        self.labels_ = means.fit_predict(points @ turn.T).astype(np.int64)
        return self


class CrowdThenNeighbours:
    """Dawid & Skene on pairs, spectral clustering of the images in them (k-means of the largest
    eigenvectors of the signed similarity), and the others by their ten nearest neighbours."""

    def __init__(self, n_clusters: int, random_state: int) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: ArrayLike, pairs: Pairs | None = None) -> Self:
        points = scaled(X)
        consensus = dawid_skene(_needed(pairs))
        images = consensus.images()
        known = self._spectral(consensus, images)
        classifier = KNeighborsClassifier(min(_NEIGHBOURS, len(images)), weights="distance")
        self.labels_ = classifier.fit(points[images], known).predict(points).astype(np.int64)
        self.labels_[images] = known
        return self

    def _spectral(self, consensus: Consensus, images: IntArray) -> IntArray:
        similarity = np.zeros((len(images), len(images)))
        i, j = np.searchsorted(images, consensus.i), np.searchsorted(images, consensus.j)
        similarity[i, j] = similarity[j, i] = 2.0 * consensus.same - 1.0
        degree = np.maximum(np.abs(similarity).sum(axis=1), 1e-12)
        similarity /= np.sqrt(degree[:, None] * degree)
        vectors = np.linalg.eigh(similarity)[1][:, -self.n_clusters :]
        means = KMeans(self.n_clusters, n_init=10, random_state=self.random_state)
        return np.asarray(means.fit_predict(vectors), np.int64)


def scaled(X: ArrayLike, each: bool = False) -> FloatArray:
    """(N, D) centred features: divided by one number, so that their mean variance is 1, or
    `each` by its own deviation."""
    points = np.asarray(X, np.float64)
    points = points.reshape(len(points), -1)
    points = points - points.mean(axis=0)
    spread = points.std(axis=0) if each else np.sqrt(points.var(axis=0).mean(keepdims=True))
    return np.asarray(points / np.where(spread > 0, spread, 1.0))


def mixture_labels(points: FloatArray, n_clusters: int, random_state: int) -> IntArray:
    """(N,) the most likely component of the best of three mixtures."""
    model = GaussianMixture(n_clusters, n_init=3, reg_covar=1e-4, random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit_predict(points), np.int64)


def _cost(points: FloatArray, labels: IntArray, must: IntArray, cannot: IntArray) -> float:
    far = sum(
        ((points[labels == k] - points[labels == k].mean(axis=0)) ** 2).sum()
        for k in np.unique(labels)
    )
    violated = (labels[must[:, 0]] != labels[must[:, 1]]).sum()
    violated += (labels[cannot[:, 0]] == labels[cannot[:, 1]]).sum()
    return float(far / 2 + violated)


def _needed(pairs: Pairs | None) -> Pairs:
    if pairs is None or not len(pairs):
        raise ValueError("this clustering learns from pairs, but there are none")
    return pairs
