"""Images that stand for a collection."""

import numpy as np
import pytest

from learning import coverage
from learning.coverage import cover


def clusters(sizes: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Items in clusters of these sizes, ten apart and half wide, and the cluster of each."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(sizes)), sizes)
    centres = 10 * np.eye(len(sizes))
    return centres[of] + rng.normal(0, 0.5, (len(of), len(sizes))), of


def test_every_cluster_is_in_the_cover_however_small() -> None:
    features, of = clusters([400, 300, 40, 4])
    assert set(of[cover(features, 8)]) == {0, 1, 2, 3}
    random = np.random.default_rng(0).choice(len(of), 8, replace=False)
    assert set(of[random]) < {0, 1, 2, 3}


def test_a_cover_is_nearer_to_all_images_than_random_ones() -> None:
    features = np.random.default_rng(1).normal(size=(600, 5))

    def distance(chosen: np.ndarray) -> float:
        apart = np.linalg.norm(features[:, None] - features[chosen][None], axis=2)
        return float(apart.min(axis=1).mean())

    rng = np.random.default_rng(2)
    random = [distance(rng.choice(600, 30, replace=False)) for _ in range(20)]
    assert distance(cover(features, 30)) < min(random)


@pytest.mark.parametrize("n", [1, 7, 59, 60])
@pytest.mark.parametrize("most", [0, coverage._MOST_DISTANCES])
def test_it_has_as_many_images_as_wanted_in_order_each_once(
    n: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "_MOST_DISTANCES", most)
    features = np.random.default_rng(0).normal(size=(60, 3))
    chosen = cover(features, n, random_state=5)
    assert chosen.shape == (n,)
    assert np.array_equal(chosen, np.unique(chosen))
    assert np.array_equal(chosen, cover(features, n, random_state=5))


def test_copies_of_an_image_are_taken_only_when_nothing_else_is_left() -> None:
    features = np.repeat(np.arange(5.0), 10)[:, None]
    chosen = cover(features, 5)
    assert sorted(features[chosen, 0]) == [0, 1, 2, 3, 4]
    more = cover(features, 12)
    assert len(set(more.tolist())) == 12
    assert set(features[more, 0]) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("n", "reason"), [(0, "between 1 and the 3 images, got 0"), (4, "the 3 images, got 4")]
)
def test_more_images_than_there_are_cannot_be_chosen(n: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        cover(np.eye(3), n)


def test_features_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="row 1, feature 0"):
        cover([[0.0], [np.nan]], 1)
