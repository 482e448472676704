"""Facts about what semi-crowdsourced clustering is compared with."""

from typing import Any

import numpy as np
import pytest

from bench.semicrowd.baselines import (
    Clustering,
    ConstrainedKMeans,
    CrowdThenNeighbours,
    FeatureKMeans,
    FeatureMixture,
    MetricKMeans,
)
from bench.semicrowd.consensus import dawid_skene, majority
from bench.semicrowd.data import two_coin_pairs
from bench.semicrowd.libraries import QuickMPCKMeans, QuickPCKMeans, graph
from learning.arrays import FloatArray, IntArray
from learning.groupings import Pairs
from learning.metrics import clustering_accuracy

CLASSES = np.arange(120) % 3
BLIND = (FeatureKMeans, FeatureMixture)


def blobs(apart: float = 8.0) -> FloatArray:
    """Three clusters along one axis, and one that says nothing and varies more."""
    rng = np.random.default_rng(0)
    return np.stack(
        [apart * CLASSES + rng.normal(size=120), 12 * rng.normal(size=120)], axis=1
    ).astype(np.float64)


def some_pairs(
    n_each: int = 300, accuracy: tuple[float, ...] = (0.95, 0.9), among: IntArray | None = None
) -> Pairs:
    rng = np.random.default_rng(1)
    return two_coin_pairs(CLASSES, accuracy, accuracy, n_each, rng, among)


@pytest.mark.parametrize(
    ("method", "least"),
    [
        (ConstrainedKMeans(3, 0), 0.95),
        (ConstrainedKMeans(3, 0, opinion=dawid_skene), 0.95),
        (ConstrainedKMeans(3, 0, metric=True), 0.9),
        (MetricKMeans(3, 0), 0.95),
        (CrowdThenNeighbours(3, 0), 0.9),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, float) else "",
)
def test_pairs_find_what_k_means_cannot(method: Clustering, least: float) -> None:
    features, pairs = blobs(), some_pairs()
    assert clustering_accuracy(CLASSES, FeatureKMeans(3, 0).fit(features).labels_) < 0.7
    labels = method.fit(features, pairs).labels_
    assert labels.shape == (120,)
    assert labels.dtype == np.int64
    assert clustering_accuracy(CLASSES, labels) >= least


def test_a_mixture_finds_long_clusters_that_k_means_cuts() -> None:
    rng = np.random.default_rng(0)
    long = np.stack([rng.normal(size=120) + 6 * CLASSES, 9 * rng.normal(size=120)], axis=1)
    long[:, 1] += 2 * long[:, 0]
    accuracies = [clustering_accuracy(CLASSES, m(3, 0).fit(long).labels_) for m in BLIND]
    assert accuracies[1] > 0.95 > accuracies[0]


def test_a_baseline_that_learns_from_pairs_asks_for_them() -> None:
    for method in (ConstrainedKMeans(3, 0), MetricKMeans(3, 0), CrowdThenNeighbours(3, 0)):
        with pytest.raises(ValueError, match="there are none"):
            method.fit(blobs(), None)


def test_the_global_random_state_is_left_as_it_was() -> None:
    before = np.random.get_state(legacy=False)["state"]["key"].copy()
    ConstrainedKMeans(3, 0).fit(blobs(), some_pairs())
    assert (np.random.get_state(legacy=False)["state"]["key"] == before).all()
    assert np.geterr()["under"] == "ignore"


def test_dawid_skene_sees_through_a_worker_who_says_the_contrary() -> None:
    pairs = some_pairs(3_000, (0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.9))
    same = CLASSES[majority(pairs).i] == CLASSES[majority(pairs).j]
    assert ((dawid_skene(pairs).same > 0.5) == same).mean() > 0.93
    assert ((majority(pairs).same > 0.5) == same).mean() < 0.85


def test_a_pair_of_an_image_with_itself_tells_nothing() -> None:
    pairs = Pairs(
        annotator=np.zeros(3, np.int64),
        i=np.array([4, 2, 2]),
        j=np.array([4, 1, 1]),
        same=np.array([True, True, False]),
        n_images=5,
        n_annotators=1,
    )
    votes = majority(pairs)
    assert (votes.i.tolist(), votes.j.tolist(), votes.same.tolist()) == ([1], [2], [0.5])
    assert [len(links) for links in votes.links()] == [0, 0]


def test_the_quick_loops_do_what_the_library_does() -> None:
    features = blobs()[:60]
    must, cannot = (
        graph(links, 60) for links in majority(some_pairs(150, among=np.arange(60))).links()
    )
    sets = [
        {image: set(linked) for image, linked in enumerate(constraint)}
        for constraint in (must, cannot)
    ]
    centres, a = features[:3], np.diag([2.0, 0.5])
    plain, metric = QuickPCKMeans(3), QuickMPCKMeans(3)
    library: Any = QuickPCKMeans.__base__
    library_metric: Any = QuickMPCKMeans.__base__
    far = metric._find_farthest_pairs_of_points(features, a)
    assert far == pytest.approx(library_metric(3)._find_farthest_pairs_of_points(features, a))
    for seed in range(5):
        np.random.seed(seed)
        expected = library(3)._assign_clusters(features, centres, *sets, 1)
        np.random.seed(seed)
        clusters = plain._assign_clusters(features, centres, must, cannot, 1)
        assert clusters.tolist() == expected.tolist()
        np.random.seed(seed)
        expected = library_metric(3)._assign_clusters(features, None, centres, a, far, *sets, 1)
        np.random.seed(seed)
        clusters = metric._assign_clusters(features, None, centres, a, far, must, cannot, 1)
        assert clusters.tolist() == expected.tolist()
        scales = library_metric(3)._update_metrics(features, clusters, centres, far, *sets, 1)
        assert metric._update_metrics(
            features, clusters, centres, far, must, cannot, 1
        ) == pytest.approx(scales)


def test_simulated_workers_say_what_their_coins_make_them() -> None:
    classes = np.arange(400) % 4
    rng = np.random.default_rng(0)
    pairs = two_coin_pairs(classes, (0.9, 0.6), (0.8, 0.7), 8_000, rng, balanced=True)
    true = classes[pairs.i] == classes[pairs.j]
    for worker, (alpha, beta) in enumerate(((0.9, 0.8), (0.6, 0.7))):
        own = pairs.annotator == worker
        assert own.sum() == 8_000
        assert true[own].mean() == 0.5
        assert pairs.same[own & true].mean() == pytest.approx(alpha, abs=0.03)
        assert 1 - pairs.same[own & ~true].mean() == pytest.approx(beta, abs=0.03)


def test_pairs_are_drawn_among_the_images_given() -> None:
    among = np.array([3, 50, 70, 110])
    pairs = some_pairs(6, among=among)
    assert set(np.concatenate([pairs.i, pairs.j]).tolist()) == set(among.tolist())
