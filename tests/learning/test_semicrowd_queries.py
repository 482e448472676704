"""Grids for a part of a collection: what recurs, what is uncertain, what might be one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from learning.asked import AskedGrids
from learning.semicrowd_queries import (
    annotated_subset,
    between_grids,
    covering_grids,
    linked_grids,
    mergeable_clusters,
    posterior_entropy,
    uncertain_grids,
)

N, K, SIZE = 300, 4, 12
TRUE = np.arange(N) % K
NOTHING = AskedGrids(np.empty((0, SIZE), np.int64), N)
SUBSET = annotated_subset(N, 120, 0)
CENTRES = np.array([[0.0, 0.0], [0.5, 0.0], [20.0, 0.0], [0.0, 20.0]])


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def sure(confidence: float = 0.97) -> NDArray[np.float64]:
    """(N, K) every image sure of its own cluster."""
    table = np.full((N, K), (1 - confidence) / (K - 1))
    table[np.arange(N), TRUE] = confidence
    return table


def embedding() -> NDArray[np.float64]:
    return np.asarray(CENTRES[TRUE] + np.random.default_rng(0).normal(size=(N, 2), scale=0.5))


def check_grids(grids: NDArray[np.int64], n: int) -> None:
    assert grids.shape == (n, SIZE)
    assert np.isin(grids, SUBSET).all()
    assert all(len(set(grid)) == SIZE for grid in grids.tolist())


def test_a_subset_is_random_repeatable_and_mostly_kept_when_images_join() -> None:
    assert annotated_subset(10, None, 0).tolist() == annotated_subset(10, 99, 0).tolist()
    assert len(SUBSET) == len(set(SUBSET.tolist())) == 120
    assert np.array_equal(SUBSET, annotated_subset(N, 120, 0))
    assert not np.array_equal(SUBSET, annotated_subset(N, 120, 1))
    after = annotated_subset(N + 30, 120, 0)
    assert np.isin(after, SUBSET).mean() > 0.8
    assert (after >= N).any()


def test_first_grids_cover_the_subset_and_hang_together() -> None:
    grids = linked_grids(SUBSET, 13, SIZE, rng())
    check_grids(grids, 13)
    assert set(grids.ravel().tolist()) == set(SUBSET.tolist())
    seen: set[int] = set(grids[0].tolist())
    for grid in grids[1:].tolist():
        assert len(seen & set(grid)) >= SIZE // 4
        seen |= set(grid)
    times = np.bincount(linked_grids(SUBSET, 60, SIZE, rng()).ravel(), minlength=N)[SUBSET]
    assert times.min() >= 4
    assert times.max() <= 8


def test_a_grid_larger_than_the_subset_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 5 images, got 12"):
        linked_grids(np.arange(5), 1, SIZE, rng())


def test_uncertain_grids_show_uncertain_images_among_sure_ones_of_their_clusters() -> None:
    table = sure(0.99)
    torn = SUBSET[::6]
    table[torn] = [0.0, 0.0, 0.5, 0.5]
    entropy = posterior_entropy(table)
    assert entropy[torn].min() > entropy[np.setdiff1d(np.arange(N), torn)].max()
    grids = uncertain_grids(table, SUBSET, 3, SIZE, rng(), NOTHING)
    check_grids(grids, 3)
    doubtful = np.isin(grids, torn)
    assert (doubtful.sum(axis=1) >= SIZE // 3).all()
    company = TRUE[grids[~doubtful]]
    assert np.isin(company, [2, 3]).mean() > 0.6


def test_what_was_asked_about_often_is_asked_about_less() -> None:
    table = sure()
    torn = SUBSET[:40]
    table[torn] = 1 / K
    often = AskedGrids(np.tile(torn[:SIZE], (30, 1)), N)
    grids = uncertain_grids(table, SUBSET, 4, SIZE, rng(), often)
    assert np.isin(grids, torn[SIZE:]).sum() > 5 * np.isin(grids, torn[:SIZE]).sum()


def test_clusters_that_lie_together_are_shown_side_by_side() -> None:
    assert mergeable_clusters(sure(), embedding(), NOTHING)[0] == (0, 1)
    grids = between_grids(sure(), embedding(), SUBSET, 4, SIZE, rng(), NOTHING)
    check_grids(grids, 4)
    counts = np.array([np.bincount(TRUE[grid], minlength=K) for grid in grids])
    assert counts[0][0] >= SIZE // 3
    assert counts[0][1] >= SIZE // 3
    assert counts[0][2:].sum() <= 2


def test_images_torn_between_two_clusters_make_these_a_pair() -> None:
    table = sure()
    table[TRUE == 2] = [0.0, 0.0, 0.55, 0.45]
    apart = np.eye(K)[TRUE] * 50
    assert mergeable_clusters(table, apart, NOTHING)[0] == (2, 3)


def test_a_pair_that_was_shown_often_gives_way() -> None:
    both = np.concatenate([SUBSET[TRUE[SUBSET] == 0][:6], SUBSET[TRUE[SUBSET] == 1][:6]])
    often = AskedGrids(np.tile(both, (100, 1)), N)
    assert mergeable_clusters(sure(), embedding(), often)[0] != (0, 1)


def test_one_cluster_alone_makes_no_pair() -> None:
    alone = np.zeros((N, K))
    alone[:, 1] = 1.0
    assert between_grids(alone, embedding(), SUBSET, 4, SIZE, rng(), NOTHING).shape == (0, SIZE)
    check_grids(uncertain_grids(alone, SUBSET, 2, SIZE, rng(), NOTHING), 2)
    check_grids(covering_grids(alone, SUBSET, 2, SIZE, rng(), NOTHING), 2)


def test_covering_grids_take_up_what_was_not_asked_and_every_cluster() -> None:
    before = AskedGrids(linked_grids(SUBSET[:80], 12, SIZE, rng()), N)
    grids = covering_grids(sure(), SUBSET, 6, SIZE, rng(), before)
    check_grids(grids, 6)
    shown = set(grids.ravel().tolist())
    assert set(SUBSET[80:].tolist()) <= shown
    assert all((TRUE[grid][:, None] == np.arange(K)).any(axis=0).all() for grid in grids)


def test_grids_repeat_with_their_seed() -> None:
    grids, other = (covering_grids(sure(), SUBSET, 3, SIZE, rng(), NOTHING) for _ in range(2))
    assert np.array_equal(grids, other)
