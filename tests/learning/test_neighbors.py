"""Facts about nearest neighbours."""

import numpy as np
import pytest

from learning import neighbors
from learning.metrics import neighbor_overlap
from learning.neighbors import nearest_neighbors, nearest_points


def test_neighbors_come_nearest_first_without_the_image_itself() -> None:
    points = np.array([[0.0], [1.0], [3.0], [3.0]])
    assert nearest_neighbors(points, 2)[0].tolist() == [1, 2]
    assert all(image not in row for image, row in enumerate(nearest_neighbors(points, 2)))


def test_points_asked_about_need_not_be_among_the_others() -> None:
    points = np.array([[0.0], [1.0], [5.0]])
    assert nearest_points(points, 2, np.array([[4.0], [-1.0]])).tolist() == [[2, 1], [0, 1]]
    with pytest.raises(ValueError, match=r"at most the number of points \(3\), got 4"):
        nearest_points(points, 4)


def test_approximate_neighbors_are_nearly_the_exact_ones_and_repeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = np.random.default_rng(0).normal(size=(3_000, 10))
    exact = nearest_neighbors(points, 10)
    monkeypatch.setattr(neighbors, "POINTS_OF_TREES", 1_000)
    approximate = nearest_neighbors(points, 10)
    assert neighbor_overlap(exact, approximate) > 9.9
    assert np.array_equal(approximate, nearest_neighbors(points, 10))
