"""Grids about a part of a collection."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning.asked import AskedGrids
from learning.part_queries import PartOfCollection

N, SIZE = 200, 6
PART = np.arange(3, N, 5)
NOTHING = np.empty((0, SIZE), np.int64)
POINTS = np.random.default_rng(0).normal(size=(N, 3))


def a_part(begun: np.ndarray = NOTHING, part: np.ndarray = PART) -> PartOfCollection:
    return PartOfCollection(part, N, SIZE, begun)


def check_grids(grids: np.ndarray, n: int) -> None:
    assert grids.shape == (n, SIZE)
    assert np.isin(grids, PART).all()
    assert all(len(set(grid)) == SIZE for grid in grids.tolist())


def test_grids_show_only_the_part() -> None:
    rng = np.random.default_rng(1)
    check_grids(a_part().random(30, rng), 30)
    check_grids(a_part().least_shown(30, rng), 30)
    check_grids(a_part().local(30, POINTS, 0.0, rng), 30)
    elsewhere = np.random.default_rng(2).permuted(np.tile(np.arange(N), (30, 1)), axis=1)[:, :SIZE]
    check_grids(a_part().nearest(elsewhere, POINTS), 30)


def test_rows_outside_are_those_with_another_image() -> None:
    grids = np.array([PART[:SIZE], [0, *PART[1:SIZE]], PART[-SIZE:]])
    assert a_part().outside(grids).tolist() == [1]


def test_random_grids_cover_the_part_evenly() -> None:
    grids = a_part().random(20, np.random.default_rng(0))
    views = np.bincount(grids.ravel(), minlength=N)[PART]
    assert views.max() - views.min() <= 1


def test_the_least_shown_images_come_first() -> None:
    begun = np.random.default_rng(0).permutation(PART[6:])[:30].reshape(5, SIZE)
    grids = a_part(begun).least_shown(1, np.random.default_rng(0))
    never = np.setdiff1d(PART, begun)
    assert np.isin(never, grids).sum() == min(SIZE, len(never))


def test_images_that_nobody_saw_are_introduced_once() -> None:
    begun = PART[:36].reshape(6, SIZE)
    part = a_part(begun)
    assert part.part[part.never_shown()].tolist() == PART[36:].tolist()
    grids = part.introducing(50, np.random.default_rng(0))
    assert len(grids) == -(-2 * 4 // SIZE)
    check_grids(grids, len(grids))
    assert np.isin(PART[36:], grids).all()
    assert len(part.introducing(50, np.random.default_rng(0))) == 0


def test_exchanged_images_are_near_those_they_replace() -> None:
    grid = np.array([[0, 3, 8, 13, 18, 23]])
    [exchanged] = a_part().nearest(grid, POINTS)
    assert exchanged[1:].tolist() == [3, 8, 13, 18, 23]
    distances = np.linalg.norm(POINTS[PART] - POINTS[0], axis=1)
    free = [image for image in PART[np.argsort(distances)] if image not in grid]
    assert exchanged[0] == free[0]


def test_local_grids_get_smaller_neighbourhoods() -> None:
    def spread(progress: float) -> float:
        grids = a_part().local(60, POINTS, progress, np.random.default_rng(0))
        return float(POINTS[grids].std(axis=1).mean())

    assert spread(1.0) < spread(0.0) < float(POINTS.std())


def test_a_part_smaller_than_a_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="a part of 3 images is smaller than a grid of 6"):
        a_part(part=np.arange(3))
    with pytest.raises(ValueError, match="part"):
        a_part(part=np.arange(N - 3, N + 5))


def test_grids_of_other_images_count_only_where_they_show_the_part() -> None:
    begun = np.array([[0, 1, 2, 4, 5, 3]])
    part = a_part(begun)
    assert isinstance(part._asked, AskedGrids)
    assert part.part[np.flatnonzero(part._asked.views)].tolist() == [3]


@settings(max_examples=40)
@given(st.integers(3, 4), st.integers(0, 3), st.integers(1, 6), st.integers(0, 9999))
def test_no_grid_is_shown_twice_while_there_are_others(
    size: int, n_more: int, n: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    images = np.sort(rng.choice(N, size + n_more, replace=False))
    begun = np.stack([rng.permutation(images)[:size] for _ in range(2)])
    part = PartOfCollection(images, N, size, begun)
    shown = rng.permutation(images)[:size][None]
    part.note(shown)
    elsewhere = np.stack([rng.permutation(N)[:size] for _ in range(n)])
    rounds = [
        begun,
        shown,
        part.random(n, rng),
        part.least_shown(n, rng),
        part.introducing(n, rng),
        part.local(n, POINTS, 0.5, rng),
        part.nearest(elsewhere, POINTS),
    ]
    grids = np.concatenate(rounds)
    assert all(len(set(grid)) == size for grid in grids.tolist())
    distinct = {tuple(sorted(grid)) for grid in grids.tolist()}
    # Some of the grids that were given are the same.
    asked = {tuple(sorted(grid)) for grid in np.concatenate(rounds[:2]).tolist()}
    n_asked = len(grids) - 3
    assert len(distinct) == min(comb(size + n_more, size), len(asked) + n_asked)
