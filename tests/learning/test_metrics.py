"""Facts about the metrics."""

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    roc_auc_score,
)

from learning.metrics import (
    balanced_accuracy,
    clustering_accuracy,
    clustering_scores,
    majority_rate,
    neighbor_overlap,
    pair_accuracy,
    pair_auc,
)


def test_overlap_counts_shared_neighbors_in_any_order() -> None:
    assert neighbor_overlap([[1, 2, 3], [0, 2, 3]], [[3, 1, 0], [0, 3, 2]]) == 2.5


def test_pair_metrics_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    same = rng.random(500) < 0.3
    distance = np.round(rng.random(500) + 0.3 * ~same, 1)
    predicted = distance < 0.5
    assert pair_auc(same, distance) == pytest.approx(roc_auc_score(same, -distance))
    expected = balanced_accuracy_score(same, predicted)
    assert balanced_accuracy(same, predicted) == pytest.approx(expected)
    assert pair_accuracy(same, predicted) == pytest.approx((same == predicted).mean())


def test_one_kind_of_pair_gives_numbers() -> None:
    same = np.ones(3, bool)
    assert majority_rate(same) == 1.0
    assert pair_auc(same, np.arange(3.0)) == 0.5
    assert balanced_accuracy(same, same) == 1.0


def test_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="P > 0"):
        majority_rate(np.empty(0, bool))


def test_clusters_are_matched_to_classes_whatever_their_numbers() -> None:
    true = np.repeat([0, 1, 2], 10)
    scores = clustering_scores(true, np.repeat([7, 3, 5], 10))
    assert scores == pytest.approx({"accuracy": 1, "nmi": 1, "ami": 1, "ami_max": 1})


def test_images_of_surplus_clusters_count_as_errors() -> None:
    true = np.repeat([0, 1], 10)
    clusters = np.concatenate([np.repeat([0, 1], 5), np.repeat(2, 10)])
    assert clustering_accuracy(true, clusters) == 0.75
    scores = clustering_scores(true, clusters)
    # Half a bit more entropy than the classes have: 1 / mean(1, 1.5) and 1 / max(1, 1.5).
    assert scores["nmi"] == pytest.approx(0.8)
    assert scores["ami_max"] < scores["ami"] < scores["nmi"]


def test_images_of_surplus_classes_count_as_errors() -> None:
    assert clustering_accuracy(np.repeat([0, 1, 2], 10), np.repeat([0, 1, 1], 10)) == 2 / 3


def test_chance_is_worth_nothing_to_the_adjusted_measures() -> None:
    rng = np.random.default_rng(0)
    scores = clustering_scores(rng.integers(0, 4, 600), rng.integers(0, 50, 600))
    assert abs(scores["ami"]) < 0.02
    assert scores["nmi"] > 0.05


def test_partitions_of_other_images_are_refused() -> None:
    with pytest.raises(ValueError, match="3 classes but 2 clusters"):
        clustering_scores([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="integers"):
        clustering_accuracy([0.5], [0.5])
