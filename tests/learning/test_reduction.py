"""Principal components that are kept for later images."""

import numpy as np
import pytest

from learning.reduction import UnitComponents


def table(n: int = 60, n_columns: int = 20, rank: int = 5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, rank)) * np.arange(rank, 0, -1) @ rng.normal(size=(rank, n_columns))
    return np.asarray(rows + 20, np.float32)


def test_distances_of_unit_rows_are_kept_but_for_the_scale() -> None:
    features = table()
    places = UnitComponents(20).fit(features).transform(features)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    expected = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    got = np.linalg.norm(places[:, None] - places[None], axis=2)
    ratio = got[np.triu_indices(60, 1)] / expected[np.triu_indices(60, 1)]
    assert ratio.max() / ratio.min() < 1.001
    assert abs((places**2).sum(axis=1).mean() - 1) < 1e-4


def test_the_first_components_vary_most() -> None:
    reduction = UnitComponents(4).fit(table())
    variances = reduction.transform(table()).var(axis=0)
    assert len(variances) == 4
    assert (np.diff(variances) <= 0).all()


def test_fits_are_repeatable_and_signs_settled() -> None:
    one, two = UnitComponents(5).fit(table()), UnitComponents(5).fit(table())
    assert np.array_equal(one.components_, two.components_)
    largest = np.abs(one.components_).argmax(axis=1)
    assert (one.components_[np.arange(5), largest] > 0).all()
    shuffled = UnitComponents(5).fit(table()[::-1])
    assert np.allclose(one.components_, shuffled.components_, atol=1e-4)


def test_new_rows_get_the_places_of_equal_ones() -> None:
    features = table()
    reduction = UnitComponents(5).fit(features)
    assert np.allclose(reduction.transform(features[7:9]), reduction.transform(features)[7:9])


def test_more_rows_than_are_copied_at_once() -> None:
    features = table(10_000)
    reduction = UnitComponents(5).fit(features)
    centred = features / np.linalg.norm(features, axis=1, keepdims=True)
    assert np.allclose(reduction.mean_, centred.mean(axis=0), atol=1e-5)
    assert np.allclose(reduction.transform(features[9_000:]), reduction.transform(features)[9_000:])


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_or_equal_rows(rows: int) -> None:
    few = UnitComponents(64).fit(table(rows)).transform(table(rows))
    assert few.shape == (rows, max(1, rows - 1))
    same = UnitComponents(3).fit(np.ones((rows, 7))).transform(np.ones((rows, 7)))
    assert np.abs(same).max() < 1e-5
    nothing = UnitComponents(3).fit(np.zeros((rows, 7))).transform(np.zeros((rows, 7)))
    assert np.abs(nothing).max() == 0


@pytest.mark.parametrize("wrong", [np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3)])
def test_no_table_is_refused(wrong: np.ndarray) -> None:
    with pytest.raises(ValueError, match="must be a table"):
        UnitComponents(2).fit(wrong)


def test_other_features_are_refused() -> None:
    reduction = UnitComponents(5).fit(table())
    with pytest.raises(ValueError, match="19 columns, but those of `fit` had 20"):
        reduction.transform(table()[:, :19])
    broken = table()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3 is not"):
        reduction.transform(broken)
    with pytest.raises(ValueError, match="row 3 is not"):
        UnitComponents(2).fit(broken)
    with pytest.raises(ValueError, match="at least 1"):
        UnitComponents(0).fit(table())
