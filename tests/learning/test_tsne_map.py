"""The t-SNE map: neighbours stay together, large collections stay bounded, and it is repeatable."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from learning import tsne_map as module
from learning.neighbors import nearest_neighbors
from learning.tsne_map import in_unit_square, tsne_map


def some_clusters(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(n, 5) images in six clusters that no two axes part, and (n,) the cluster of each."""
    rng = np.random.default_rng(seed)
    centres = np.eye(6)[:, :5] * 4
    own = rng.integers(0, 6, n)
    return centres[own] + rng.normal(0, 0.4, (n, 5)), own


def principal_axes(embedding: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(PCA(2, random_state=0).fit_transform(embedding))


def purity(places: NDArray[np.float64], own: NDArray[np.int64]) -> float:
    return float((own[nearest_neighbors(places, 10)] == own[:, None]).mean())


def test_clusters_that_two_axes_mix_stand_apart() -> None:
    embedding, own = some_clusters(300)
    start = principal_axes(embedding)
    positions = tsne_map(embedding, start)
    assert positions.shape == (300, 2)
    assert positions.min() >= 0
    assert positions.max() <= 1
    assert purity(start, own) < 0.9
    assert purity(positions, own) > 0.98


def test_the_map_is_repeatable_and_turned_over_its_start() -> None:
    embedding, _ = some_clusters(200)
    start = in_unit_square(principal_axes(embedding))
    positions = tsne_map(embedding, start, random_state=3)
    np.testing.assert_array_equal(positions, tsne_map(embedding, start, random_state=3))
    mirrored = tsne_map(embedding, 1 - start, random_state=3)
    for axis in range(2):
        assert np.corrcoef(positions[:, axis], start[:, axis])[0, 1] > 0.3
        assert np.corrcoef(mirrored[:, axis], start[:, axis])[0, 1] < -0.3


def test_a_start_on_a_line_does_not_keep_images_on_it() -> None:
    embedding, own = some_clusters(150)
    start = np.column_stack([np.linspace(0, 1, 150), np.full(150, 0.5)])
    assert purity(tsne_map(embedding, start), own) > 0.95


def test_beyond_the_landmarks_images_are_placed_with_their_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_LANDMARKS", 150)
    embedding, own = some_clusters(900)
    positions = tsne_map(embedding, principal_axes(embedding), random_state=1)
    assert np.isfinite(positions).all()
    assert purity(positions, own) > 0.97


def test_images_in_one_place_and_few_images_keep_the_start() -> None:
    start = np.random.default_rng(0).random((20, 2))
    np.testing.assert_array_equal(tsne_map(np.ones((20, 3)), start), in_unit_square(start))
    few, _ = some_clusters(4)
    np.testing.assert_array_equal(tsne_map(few, start[:4]), in_unit_square(start[:4]))
    assert tsne_map(np.zeros((0, 3)), np.zeros((0, 2))).shape == (0, 2)


def test_many_images_without_answers_share_a_place_without_harm() -> None:
    embedding, own = some_clusters(200)
    embedding[120:] = embedding.mean(axis=0)
    positions = tsne_map(embedding, principal_axes(embedding))
    assert np.isfinite(positions).all()
    assert purity(positions[:120], own[:120]) > 0.95


def test_what_is_not_finite_or_does_not_fit_is_refused() -> None:
    embedding, _ = some_clusters(20)
    with pytest.raises(ValueError, match="start must be"):
        tsne_map(embedding, np.zeros((19, 2)))
    embedding[3, 1] = np.nan
    with pytest.raises(ValueError, match="finite"):
        tsne_map(embedding, np.zeros((20, 2)))
