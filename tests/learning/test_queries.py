"""Facts about which grids are asked."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning import neighbors, queries
from learning.arrays import FloatArray, IntArray
from learning.queries import grid_locality, local_grids, random_grids, spread_seeds


@given(st.integers(0, 40), st.integers(1, 12), st.integers(0, 30), st.integers(0, 5))
def test_random_grids_cover_evenly_without_repeats(
    n: int, grid_size: int, more: int, seed: int
) -> None:
    n_images = grid_size + more
    grids = random_grids(n, grid_size, n_images, np.random.default_rng(seed))
    assert grids.shape == (n, grid_size)
    assert all(len(set(grid)) == grid_size for grid in grids.tolist())
    counts = np.bincount(grids.ravel(), minlength=n_images)
    assert counts.max() - counts.min() <= 1


def test_local_grids_are_distinct_images_of_one_neighborhood() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((400, 3))
    grids = local_grids(points, 60, 20, 30, rng)
    assert grids.shape == (60, 20)
    assert all(len(set(grid)) == 20 for grid in grids.tolist())
    assert grid_locality(grids, points) < 0.5
    assert grid_locality(random_grids(60, 20, 400, rng), points) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("n_neighbors", [30, 120])
def test_a_large_collection_is_indexed_once(
    monkeypatch: pytest.MonkeyPatch, n_neighbors: int
) -> None:
    indexed: list[int] = []
    in_graph = neighbors._in_graph

    def counted(points: FloatArray) -> neighbors.Search:
        indexed.append(len(points))
        return in_graph(points)

    monkeypatch.setattr(neighbors, "_in_graph", counted)
    for module in (neighbors, queries):
        monkeypatch.setattr(module, "POINTS_OF_TREES", 900)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1_500, 10))
    grids = local_grids(points, 600, 20, n_neighbors, rng)
    assert indexed == [1_500]
    assert all(len(set(grid)) == 20 for grid in grids.tolist())
    assert grid_locality(grids, points) < 0.85
    assert len(np.unique(grids)) > 1_450


def test_local_grids_show_almost_every_image() -> None:
    rng = np.random.default_rng(0)
    grids = local_grids(rng.random((300, 3)), 60, 20, 35, rng)
    assert len(np.unique(grids)) > 290


def test_local_scaling_asks_less_about_hubs_and_as_locally() -> None:
    points = np.random.default_rng(0).normal(size=(600, 30))

    def planned(locally_scaled: bool) -> IntArray:
        rng = np.random.default_rng(1)
        return local_grids(points, 120, 20, 30, rng, locally_scaled=locally_scaled)

    scaled, plain = planned(True), planned(False)
    assert [len(set(grid)) for grid in scaled.tolist()] == [20] * 120
    most = [np.bincount(grids.ravel(), minlength=600).max() for grids in (scaled, plain)]
    never = [600 - len(np.unique(grids)) for grids in (scaled, plain)]
    assert most[0] < 0.8 * most[1]
    assert never[0] < 0.5 * never[1]
    assert grid_locality(scaled, points) < 1.1 * grid_locality(plain, points)


def test_points_on_one_place_may_be_scaled() -> None:
    grids = local_grids(np.zeros((40, 2)), 5, 8, 10, np.random.default_rng(0), locally_scaled=True)
    assert [len(set(grid)) for grid in grids.tolist()] == [8] * 5


def test_no_seed_is_close_to_another_of_its_pass() -> None:
    line = np.arange(100)
    close = np.clip(line[:, None] + np.array([0, -1, 1, 2]), 0, 99)
    seeds = spread_seeds(close, 5, np.random.default_rng(0))
    for seed in seeds:
        others = seeds[seeds != seed]
        assert len(others) == 4
        assert not np.isin(others, close[seed]).any()


def test_seeds_start_over_when_exhausted() -> None:
    close = np.tile(np.arange(6), (6, 1))
    assert len(spread_seeds(close, 9, np.random.default_rng(0))) == 9


def test_coinciding_images_have_locality_one() -> None:
    assert grid_locality(np.array([[0, 1]]), np.zeros((3, 2))) == 1.0


def test_a_grid_larger_than_the_collection_is_refused() -> None:
    with pytest.raises(ValueError, match="21"):
        random_grids(1, 21, 20, np.random.default_rng(0))


def test_queries_need_no_torch() -> None:
    check = (
        "import sys, learning.queries, learning.crowdster, learning.simulation, learning.metrics;"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", check], check=True)
