"""Reductions as arrays: they give what the reductions themselves give, and check what they read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learning.appearance import AppearanceReduction
from learning.linear_reduction import LinearReduction
from learning.pixels import ComponentReduction
from learning.reduction import UnitComponents


def rows(n: int, width: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    scale = np.logspace(-1, 1, width)
    return (rng.normal(size=(n, width)) * scale + 3).astype(np.float32)


@pytest.mark.parametrize(
    ("reduction", "width"),
    [(UnitComponents(8), 30), (AppearanceReduction(), 200), (ComponentReduction(6), 40)],
)
def test_each_reduction_is_its_arrays(reduction: Any, width: int) -> None:
    reduction.fit(rows(50, width))
    new = rows(20, width, seed=1)
    new[3] = 0
    linear = LinearReduction.from_arrays(reduction.as_linear().to_arrays())
    assert linear is not None
    assert linear.n_features == width
    expected = reduction.transform(new)
    assert np.allclose(linear.transform(new), expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("reduction", "width"),
    [(UnitComponents(8), 30), (AppearanceReduction(), 200), (ComponentReduction(6), 40)],
)
def test_a_single_image_has_no_place(reduction: Any, width: int) -> None:
    one = rows(1, width)
    reduction.fit(one)
    assert np.allclose(reduction.as_linear().transform(one), reduction.transform(one), atol=1e-5)


def test_a_wide_table_keeps_its_distances() -> None:
    """Fifty columns of signal, in units of their own, among 5,000, and one column that is wild."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(300, 3))
    table = signal @ rng.normal(size=(3, 5_000)) + 0.3 * rng.normal(size=(300, 5_000))
    table[:, 0] *= 1e6
    table[:, 1] = 7
    sample, other = np.split(table.astype(np.float32), 2)
    reduction = LinearReduction.of_sample(sample)
    assert reduction.components.shape[1] <= len(sample)
    reduced = reduction.transform(other)

    def gaps(points: np.ndarray) -> np.ndarray:
        first, second = np.triu_indices(len(points), 1)
        return np.asarray(np.linalg.norm(points[first] - points[second], axis=1))

    assert np.corrcoef(gaps(reduced), gaps(signal[150:]))[0, 1] > 0.9


def test_constant_columns_cannot_be_reduced() -> None:
    with pytest.raises(ValueError, match="constant"):
        LinearReduction.of_sample(np.ones((5, 20), np.float32))


def test_arrays_that_do_not_fit_are_refused() -> None:
    arrays = LinearReduction.of_sample(rows(10, 30)).to_arrays()
    assert LinearReduction.from_arrays({"centre": np.zeros(3)}) is None
    wrong = [
        ({name: array for name, array in arrays.items() if name != "raw_limit"}, "not all of"),
        ({**arrays, "raw_centre": np.zeros(4)}, "do not fit"),
        ({**arrays, "raw_components": arrays["raw_components"][1:]}, "do not fit"),
        ({**arrays, "raw_inverse": np.full(30, np.nan)}, "not finite"),
    ]
    for broken, words in wrong:
        with pytest.raises(ValueError, match=words):
            LinearReduction.from_arrays(broken)
