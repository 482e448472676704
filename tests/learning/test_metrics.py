"""Facts about the metrics."""

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    roc_auc_score,
)

from learning.metrics import (
    balanced_accuracy,
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
