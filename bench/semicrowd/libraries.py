"""PCKMeans, MPCKMeans and ITML from libraries, adapted to run today on crowds' pairs.

active-semi-supervised-clustering 0.0.1 (2018) is the only library with the first two. Its `fit`
takes the transitive closure of the pairs first and refuses contradictory ones, which every real
crowd gives, so here its own steps run on the original pairs. Importing it turns every rounding of
NumPy into an exception, which is reverted. metric-learn 0.7.0 (2023) is used without its input
check, which uses an argument that scikit-learn has removed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist

from learning.arrays import BoolArray, FloatArray, IntArray

with np.errstate():
    from active_semi_clustering.exceptions import EmptyClustersException
    from active_semi_clustering.semi_supervised.pairwise_constraints import MPCKMeans, PCKMeans
    from metric_learn.itml import _BaseITML

# For every image, the images with which it is linked.
Graph = list[IntArray]
Farthest = tuple[int, int, float]
# Images come in random order, and contradictory pairs can keep some of them moving for ever.
_PASSES = 20


def constrained_k_means(
    points: FloatArray, n_clusters: int, must: IntArray, cannot: IntArray, metric: bool
) -> IntArray | None:
    """(N,) labels of one random start of PCKMeans, or MPCKMeans (`metric`); None if a cluster
    became empty. must: (M, 2); cannot: (C, 2). It draws from NumPy's global random state."""
    graphs = graph(must, len(points)), graph(cannot, len(points))
    try:
        if metric:
            return _metric_steps(QuickMPCKMeans(n_clusters, max_iter=_PASSES), points, *graphs)
        return _steps(QuickPCKMeans(n_clusters, max_iter=_PASSES), points, *graphs)
    except EmptyClustersException:
        return None


def metric_of_pairs(
    both: FloatArray, same: BoolArray, n_passes: int, random_state: int
) -> FloatArray:
    """(D, D) linear map L, so that distances of X L' are those of the metric that ITML learns.

    both: (P, 2, D), with two different images in every pair; same: (P,) bool.
    """
    model = _QuickITML(max_iter=n_passes, random_state=random_state)
    return np.asarray(model._fit(both, np.where(same, 1, -1)).components_)


class QuickPCKMeans(PCKMeans):  # type: ignore[misc, unused-ignore]
    """The library's loop over images, clusters and links, with the inner two outside Python."""

    def _assign_clusters(
        self, X: FloatArray, centres: FloatArray, must: Graph, cannot: Graph, w: float
    ) -> IntArray:
        costs = cdist(X, centres, "sqeuclidean") / 2
        labels = np.full(len(X), -1)
        order = list(range(len(X)))
        np.random.shuffle(order)
        for image in order:
            violated = _known(labels, must[image], self.n_clusters)
            violated = violated.sum() - violated + _known(labels, cannot[image], self.n_clusters)
            labels[image] = np.argmin(costs[image] + w * violated)
        return _none_empty(labels, self.n_clusters)


class QuickMPCKMeans(MPCKMeans):  # type: ignore[misc, unused-ignore]
    """The same for MPCKMeans, and its search for the farthest pair."""

    def _find_farthest_pairs_of_points(self, X: FloatArray, a: FloatArray) -> Farthest:
        apart = pdist(X, "sqeuclidean", w=np.diag(a))
        first, second = np.triu_indices(len(X), 1)
        best = int(apart.argmax())
        return int(second[best]), int(first[best]), float(apart[best])

    def _assign_clusters(
        self,
        X: FloatArray,
        y: None,
        centres: FloatArray,
        a: FloatArray,
        farthest: Farthest,
        must: Graph,
        cannot: Graph,
        w: float,
    ) -> IntArray:
        # The metric is diagonal, so distances are those of scaled features.
        scale = np.sqrt(np.diag(a))
        costs = cdist(X * scale, centres * scale, "sqeuclidean")
        labels = np.full(len(X), -1)
        order = list(range(len(X)))
        np.random.shuffle(order)
        for image in order:
            near, far = must[image], cannot[image]
            violated = _known(labels, near, self.n_clusters, self._apart(X, image, near, scale))
            violated = violated.sum() - violated
            missing = farthest[2] - self._apart(X, image, far, scale)
            violated += _known(labels, far, self.n_clusters, missing)
            labels[image] = np.argmin(costs[image] + 2 * w * violated)
        return _none_empty(labels, self.n_clusters)

    def _update_metrics(
        self,
        X: FloatArray,
        labels: IntArray,
        centres: FloatArray,
        farthest: Farthest,
        must: Graph,
        cannot: Graph,
        w: float,
    ) -> FloatArray:
        spread = ((X - centres[labels]) ** 2).sum(axis=0)
        i, j = _ends(must)
        broken = labels[i] != labels[j]
        spread += w / 2 * ((X[i] - X[j])[broken] ** 2).sum(axis=0)
        i, j = _ends(cannot)
        broken = labels[i] == labels[j]
        widest = (X[farthest[0]] - X[farthest[1]]) ** 2
        spread += w * np.maximum(widest - (X[i] - X[j])[broken] ** 2, 0).sum(axis=0)
        return np.diag(len(X) / np.maximum(spread, 1e-9))

    def _apart(self, X: FloatArray, image: int, others: IntArray, scale: FloatArray) -> FloatArray:
        return np.asarray((((X[others] - X[image]) * scale) ** 2).sum(axis=1))


def _ends(links: Graph) -> tuple[IntArray, IntArray]:
    """Both ends of every link, each twice."""
    return np.repeat(
        np.arange(len(links)), [len(neighbours) for neighbours in links]
    ), np.concatenate(links)


def _known(
    labels: IntArray, images: IntArray, n_clusters: int, weights: FloatArray | None = None
) -> FloatArray:
    """(K,) number or weight of the images that each cluster has so far."""
    own = labels[images]
    known = own >= 0
    chosen = None if weights is None else weights[known]
    return np.bincount(own[known], chosen, n_clusters).astype(np.float64)


def _none_empty(labels: IntArray, n_clusters: int) -> IntArray:
    if not np.bincount(labels, minlength=n_clusters).all():
        raise EmptyClustersException
    return labels


class _QuickITML(_BaseITML):  # type: ignore[misc, unused-ignore]
    def _prepare_inputs(self, X: FloatArray, y: IntArray, **_: Any) -> tuple[FloatArray, IntArray]:
        return X, y


def graph(links: IntArray, n: int) -> Graph:
    """The graph of links (P, 2)."""
    both = np.unique(np.concatenate([links, links[:, ::-1]]), axis=0)
    ends = np.searchsorted(both[:, 0], np.arange(n + 1))
    return [both[ends[image] : ends[image + 1], 1] for image in range(n)]


def _steps(model: Any, points: FloatArray, must: Graph, cannot: Graph) -> IntArray:
    """`PCKMeans.fit` after its closure of the pairs."""
    centres = model._initialize_cluster_centers(points, [])
    for _ in range(model.max_iter):
        labels = model._assign_clusters(points, centres, must, cannot, model.w)
        before, centres = centres, model._get_cluster_centers(points, labels)
        if np.allclose(before, centres, atol=1e-6, rtol=0):
            break
    return np.asarray(labels)


def _metric_steps(model: Any, points: FloatArray, must: Graph, cannot: Graph) -> IntArray:
    """`MPCKMeans.fit` after its closure of the pairs."""
    centres = PCKMeans(model.n_clusters)._initialize_cluster_centers(points, [])
    metric = np.eye(points.shape[1])
    for _ in range(model.max_iter):
        far = model._find_farthest_pairs_of_points(points, metric)
        labels = model._assign_clusters(points, None, centres, metric, far, must, cannot, model.w)
        before, centres = centres, model._get_cluster_centers(points, labels)
        metric = model._update_metrics(points, labels, centres, far, must, cannot, model.w)
        if np.allclose(before, centres, atol=1e-6, rtol=0):
            break
    return np.asarray(labels)
