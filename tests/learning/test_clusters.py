"""Clusters of an embedding: found, judged, suggested, merged, and told by words."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_samples

from learning.clusters import (
    ALGORITHMS,
    cluster_figures,
    matched,
    merged,
    silhouettes,
)
from learning.image_clusters import ImageClusters, suggest_n_clusters
from learning.words import cluster_words

CENTRES = 8 * np.vstack([np.eye(4), -np.ones((1, 4))])
BLOBS, TRUE = make_blobs([90, 60, 40, 30, 20], centers=CENTRES, random_state=3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_known_clusters_are_found_and_numbered_from_the_largest(algorithm: str) -> None:
    labels = ImageClusters(5, algorithm).fit_predict(BLOBS)
    assert adjusted_rand_score(TRUE, labels) > 0.99
    assert np.bincount(labels).tolist() == [90, 60, 40, 30, 20]


@pytest.mark.parametrize("algorithm", ["k-means", "ward"])
def test_the_number_of_clusters_is_suggested(algorithm: str) -> None:
    suggestion = suggest_n_clusters(BLOBS, algorithm, most=12)
    assert suggestion.n_clusters == 5
    assert suggestion.tried == tuple(range(2, 13))
    assert max(suggestion.silhouette) == suggestion.silhouette[3]


def test_silhouettes_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, len(BLOBS))
    labels[labels == 3] = 0
    labels[7] = 3  # alone: 0 by definition
    expected = silhouette_samples(BLOBS, labels)
    np.testing.assert_allclose(silhouettes(BLOBS, labels), expected, atol=1e-12)
    assert silhouettes(BLOBS, labels)[7] == 0


def test_silhouettes_of_many_images_are_near_the_exact_ones() -> None:
    points, labels = make_blobs(
        [4000, 1500, 450, 50], n_features=5, cluster_std=3.0, random_state=1
    )
    exact = silhouette_samples(points, labels)
    estimated = silhouettes(points, labels)
    assert abs(estimated.mean() - exact.mean()) < 0.01
    assert np.abs(estimated - exact).mean() < 0.02


def test_typical_images_begin_with_the_medoid_and_cover_the_cluster() -> None:
    line = np.concatenate([np.arange(11.0), [100.0, 101.0, 102.0]])[:, None]
    figures = cluster_figures(line, [0] * 11 + [1] * 3, n_typical=3)
    assert figures.typical[0][0] == 5
    assert min(figures.typical[0]) < 4
    assert max(figures.typical[0]) > 6
    assert sorted(figures.typical[1]) == [11, 12, 13]
    assert figures.sizes.tolist() == [11, 3]
    assert figures.cohesion[1] == pytest.approx(2 / 3)


def test_merging_joins_and_numbers_anew() -> None:
    labels = ImageClusters(5).fit_predict(BLOBS)
    joined = merged(labels, [4, 1])
    assert np.bincount(joined).tolist() == [90, 80, 40, 30]
    assert set(labels[joined == 1]) == {1, 4}


def test_what_cannot_be_clustered_says_why() -> None:
    with pytest.raises(ValueError, match="at most 2, the number of different positions, got 3"):
        ImageClusters(3).fit([[0.0], [0.0], [1.0]])
    with pytest.raises(ValueError, match="at most 5000 images, got 5001"):
        ImageClusters(2, "ward").fit(np.arange(5001.0)[:, None])
    with pytest.raises(ValueError, match="'dbscan'"):
        ImageClusters(2, "dbscan").fit(BLOBS)
    with pytest.raises(ValueError, match="finite"):
        ImageClusters(2).fit([[np.nan], [1.0]])
    with pytest.raises(ValueError, match="cluster 1 has no image"):
        cluster_figures(BLOBS[:2], [0, 2])
    with pytest.raises(ValueError, match="at least 3 different rows, got 2"):
        suggest_n_clusters([[0.0], [1.0], [1.0]])


def test_clusters_are_told_by_what_annotators_wrote() -> None:
    labels = np.repeat([0, 1, 2], 8)
    rng = np.random.default_rng(0)
    names = ["red", "green things", ""]
    images = [rng.permutation(24)[:12].tolist() for _ in range(30)]
    groups = [labels[shown].tolist() for shown in images]
    words = cluster_words(labels, images, groups, [names] * 30)
    assert words[0] == ("red",)
    assert words[1][0] in {"green things", "green", "things"}
    assert words[2] == ()


def test_no_two_clusters_are_named_by_the_same_word() -> None:
    labels = np.repeat(np.arange(6), 4)
    rng = np.random.default_rng(0)
    images = [rng.permutation(24)[:12].tolist() for _ in range(60)]
    groups = [labels[shown].tolist() for shown in images]
    # Both of the first two are round to most annotators, and the second is dotted to some.
    others = ["striped", "plain", "tall", "flat"]
    names = [["round", "dotted" if k % 5 == 0 else "round", *others] for k in range(60)]
    words = cluster_words(labels, images, groups, names)
    assert words[0] == ("round",)
    assert words[1] == ("dotted", "round"), "round is still said of it, but is not its name"
    assert [cell[0] for cell in words[2:]] == others


def test_clusters_go_on_from_those_with_most_of_the_same_images() -> None:
    before = np.repeat([0, 1, 2], [10, 10, 10])
    now = np.repeat([2, 0, 1, 3], [10, 8, 7, 5])
    # Cluster 0 is most of 1; what was 2 is parted in 1 (with two of 1) and 3: in both a half.
    assert matched(now, before) == {2: 0, 0: 1}
    assert matched(before, before) == {0: 0, 1: 1, 2: 2}
    assert matched([], []) == {}
    with pytest.raises(ValueError, match="3 labels now but 2 before"):
        matched([0, 1, 2], [0, 1])
