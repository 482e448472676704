"""Principal components that are kept for later images."""

import numpy as np
import pytest
from safetensors.numpy import load, save

from learning.reduction import Reduction


def table(n: int = 60, n_columns: int = 20, rank: int = 5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, rank)) * np.arange(rank, 0, -1) @ rng.normal(size=(rank, n_columns))
    return np.asarray(rows + 20, np.float32)


def test_distances_of_unit_rows_are_kept_but_for_the_scale() -> None:
    features = table()
    places = Reduction.fit(features, 20).transform(features)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    expected = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    got = np.linalg.norm(places[:, None] - places[None], axis=2)
    ratio = got[np.triu_indices(60, 1)] / expected[np.triu_indices(60, 1)]
    assert ratio.max() / ratio.min() < 1.001
    assert abs((places**2).sum(axis=1).mean() - 1) < 1e-4


def test_the_first_components_vary_most() -> None:
    reduction = Reduction.fit(table(), 4)
    variances = reduction.transform(table()).var(axis=0)
    assert len(variances) == 4
    assert (np.diff(variances) <= 0).all()


def test_fits_are_repeatable_and_signs_settled() -> None:
    one, two = Reduction.fit(table(), 5), Reduction.fit(table(), 5)
    assert np.array_equal(one.components, two.components)
    largest = np.abs(one.components).argmax(axis=1)
    assert (one.components[np.arange(5), largest] > 0).all()
    shuffled = Reduction.fit(table()[::-1], 5)
    assert np.allclose(one.components, shuffled.components, atol=1e-4)


def test_new_rows_get_the_places_of_equal_ones() -> None:
    features = table()
    reduction = Reduction.fit(features, 5)
    stored = Reduction.from_arrays(load(save(reduction.to_arrays())))
    assert stored.scale == reduction.scale
    assert np.array_equal(stored.transform(features), reduction.transform(features))
    assert np.allclose(stored.transform(features[7:9]), reduction.transform(features)[7:9])


def test_more_rows_than_are_copied_at_once() -> None:
    features = table(10_000)
    reduction = Reduction.fit(features, 5)
    centred = features / np.linalg.norm(features, axis=1, keepdims=True)
    assert np.allclose(reduction.mean, centred.mean(axis=0), atol=1e-5)
    assert np.allclose(reduction.transform(features[9_000:]), reduction.transform(features)[9_000:])


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_or_equal_rows(rows: int) -> None:
    few = Reduction.fit(table(rows), 64).transform(table(rows))
    assert few.shape == (rows, max(1, rows - 1))
    same = Reduction.fit(np.ones((rows, 7)), 3).transform(np.ones((rows, 7)))
    assert np.abs(same).max() < 1e-5
    nothing = Reduction.fit(np.zeros((rows, 7)), 3).transform(np.zeros((rows, 7)))
    assert np.abs(nothing).max() == 0


@pytest.mark.parametrize("wrong", [np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3)])
def test_no_table_is_refused(wrong: np.ndarray) -> None:
    with pytest.raises(ValueError, match="must be a table"):
        Reduction.fit(wrong, 2)


def test_other_features_are_refused() -> None:
    reduction = Reduction.fit(table(), 5)
    with pytest.raises(ValueError, match="19 columns, the reduction needs 20"):
        reduction.transform(table()[:, :19])
    broken = table()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3 is not"):
        reduction.transform(broken)
    with pytest.raises(ValueError, match="row 3 is not"):
        Reduction.fit(broken, 2)
    with pytest.raises(ValueError, match="at least 1"):
        Reduction.fit(table(), 0)


def test_arrays_that_do_not_fit_are_refused() -> None:
    arrays = Reduction.fit(table(), 5).to_arrays()
    with pytest.raises(ValueError, match="needs the arrays"):
        Reduction.from_arrays({"mean": arrays["mean"]})
    with pytest.raises(ValueError, match="shapes"):
        Reduction.from_arrays({**arrays, "mean": arrays["mean"][:-1]})
    with pytest.raises(ValueError, match="finite"):
        Reduction.from_arrays({**arrays, "scale": np.array([np.nan], np.float32)})
