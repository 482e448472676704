"""Tables of features that are too large to be copied."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from learning import wide_tables
from learning.coverage import cover
from learning.feature_alignment import inputs, judging
from learning.feature_alignment.inputs import Inputs
from learning.feature_map import feature_map

N, WIDTH = 4_000, 600


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts as a large table, and its blocks and samples, is so small that tests have it."""
    monkeypatch.setattr(wide_tables, "MOST_VALUES", 1_000)
    monkeypatch.setattr(wide_tables, "_SAMPLE_ROWS", 300)
    monkeypatch.setattr(wide_tables, "_BLOCK_VALUES", 2**16)
    monkeypatch.setattr(wide_tables, "MAX_COMPONENTS", 16)
    monkeypatch.setattr(inputs, "_MAX_ROWS", 300)
    monkeypatch.setattr(inputs, "_BLOCK_VALUES", 2**16)


@contextmanager
def peak_of_memory() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def a_table(sizes: tuple[int, ...] = (3_600, 380, 20)) -> tuple[np.ndarray, np.ndarray]:
    """Items in clusters of these sizes, in many columns, and the cluster of each."""
    rng = np.random.default_rng(0)
    of = np.repeat(np.arange(len(sizes)), sizes)
    centres = rng.normal(0, 1, (len(sizes), WIDTH))
    return (centres[of] + rng.normal(0, 0.3, (len(of), WIDTH))).astype(np.float32), of


@pytest.mark.usefixtures("small_limits")
def test_every_cluster_of_a_large_table_is_in_the_cover() -> None:
    table, of = a_table()
    with peak_of_memory() as peak:
        chosen = cover(table, 12)
        assert peak() < table.nbytes
    assert set(of[chosen]) == {0, 1, 2}
    assert len(set(chosen.tolist())) == 12
    assert np.array_equal(chosen, cover(table, 12))


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("width", [3, WIDTH])
def test_copies_in_a_large_table_are_taken_only_when_nothing_else_is_left(width: int) -> None:
    points = np.random.default_rng(1).normal(size=(5, width)).astype(np.float32)
    points[0, 0] = 0.0
    table = np.repeat(points, 200, axis=0)
    table[100, 0] = -0.0
    chosen = cover(table, 5)
    assert sorted(chosen // 200) == [0, 1, 2, 3, 4]
    assert len(set(cover(table, 12).tolist())) == 12


@pytest.mark.usefixtures("small_limits")
def test_a_number_in_a_large_table_that_is_not_finite_is_named() -> None:
    table, _ = a_table()
    table[3_210, 7] = np.inf
    with pytest.raises(ValueError, match="got inf in row 3210, feature 7"):
        cover(table, 5)


def test_reduced_tables_keep_the_distances() -> None:
    rng = np.random.default_rng(2)
    table = (rng.normal(size=(500, 20)) @ rng.normal(size=(20, 700))).astype(np.float32)
    points = wide_tables.reduced(table, 0)
    assert points.shape[1] < 500
    before = np.linalg.norm(table[:50, None] - table[None, 50:100], axis=2)
    after = np.linalg.norm(points[:50, None] - points[None, 50:100], axis=2)
    assert np.allclose(before, after, rtol=1e-3)


@pytest.mark.usefixtures("small_limits")
def test_the_map_of_a_large_table_is_that_of_its_axes() -> None:
    table, of = a_table((2_000, 1_500, 500))
    with peak_of_memory() as peak:
        flat = feature_map(table)
        assert peak() < table.nbytes
    middles = np.array([flat[of == number].mean(axis=0) for number in range(3)])
    spread = max(flat[of == number].std(axis=0).max() for number in range(3))
    gaps = np.linalg.norm(middles[:, None] - middles[None], axis=2)[np.triu_indices(3, 1)]
    assert gaps.min() > 3 * spread


@pytest.mark.usefixtures("small_limits")
def test_inputs_are_learned_and_computed_without_a_copy_of_the_table() -> None:
    table, _ = a_table()
    rows = np.flatnonzero(np.arange(N) % 7 > 0)
    with peak_of_memory() as peak:
        fitted = Inputs.fit(table, 0, rows)
        values = fitted.transform(table, rows[:100])
        assert peak() < table.nbytes
    copied = Inputs.fit(table[rows].astype(np.float64), 0)
    assert np.array_equal(fitted.components, copied.components)
    assert np.allclose(values, copied.transform(table[rows])[:100], atol=1e-6)


@pytest.mark.usefixtures("small_limits")
def test_rows_are_transformed_in_blocks() -> None:
    table, _ = a_table()
    rows = np.array([5, 17, 3_999])
    sizes = []

    def double(part: np.ndarray) -> np.ndarray:
        sizes.append(len(part))
        return 2 * part[:, :3]

    every = judging._of_rows(double, table, np.arange(N))
    assert np.allclose(every, 2 * table[:, :3])
    assert max(sizes) < N
    some = judging._of_rows(double, table, rows)
    assert np.allclose(some[rows], 2 * table[rows, :3])
    assert not some[np.setdiff1d(np.arange(N), rows)].any()
