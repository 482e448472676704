"""Scaling of features: robust against wide columns, wild values, and columns that do not vary."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from learning.appearance import AppearanceReduction, appearance_features, appearance_vectors
from learning.features import RobustScaling
from learning.pixels import ComponentReduction, pixel_components, small_pixels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 6)).astype(np.float32)


def images(n: int = 30) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.integers(0, 256, (20, 24, 3), dtype=np.uint8) for _ in range(n)]


def test_wide_columns_and_wild_values_count_as_much_as_the_rest() -> None:
    table = X.copy()
    table[:, 1] *= 1e4
    table[:, 2] += 300
    table[7, 3] = 1e30
    scaled = RobustScaling().fit_transform(table)
    assert scaled.dtype == np.float32
    spread = scaled.std(axis=0)
    assert spread.max() / spread.min() < 1.3
    assert np.abs(np.median(scaled, axis=0)).max() < 1e-5
    assert scaled[7, 3] == 10.0


def test_constant_columns_are_dropped_and_rare_ones_are_not() -> None:
    table = X.copy()
    table[:, 0] = 7.25
    table[:, 4] = np.arange(len(table)) % 50 == 0
    scaling = RobustScaling().fit(table)
    assert scaling.columns_.tolist() == [1, 2, 3, 4, 5]
    assert scaling.transform(table)[:, 3].std() == pytest.approx(1.0, rel=1e-3)
    # What varied little or not at all may vary in other images.
    assert np.isfinite(scaling.transform(table * 1e30)).all()


def test_a_scaling_is_saved_as_arrays() -> None:
    scaling = RobustScaling(limit=3.0).fit(X)
    again = RobustScaling.from_arrays(scaling.to_arrays())
    assert np.array_equal(again.transform(X), scaling.transform(X))
    assert np.abs(again.transform(1e6 * X)).max() == 3.0


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = RobustScaling().fit_transform(X)
    monkeypatch.setattr("learning.features._BLOCK_VALUES", 700)
    assert np.array_equal(RobustScaling().fit_transform(X), whole)


def test_what_cannot_be_scaled_is_refused() -> None:
    with pytest.raises(NotFittedError):
        RobustScaling().transform(X)
    with pytest.raises(ValueError, match="all features of X are constant"):
        RobustScaling().fit(np.ones((4, 2)))
    with pytest.raises(ValueError, match="X must have 6 features, got 2"):
        RobustScaling().fit(X).transform(X[:, :2])
    with pytest.raises(ValueError, match="got nan in row 1, feature 0"):
        RobustScaling().fit(np.array([[1], [np.nan]], np.float32))
    with pytest.raises(ValueError, match="limit must be > 0"):
        RobustScaling(limit=0).fit(X)


def test_reductions_place_new_images_as_if_they_had_been_there() -> None:
    pictures = images()
    raw = appearance_vectors(pictures)
    reduction = AppearanceReduction()
    places = reduction.fit_transform(raw)
    assert np.allclose(places, appearance_features(pictures), atol=1e-4)
    assert np.allclose(reduction.transform(raw[4:6]), places[4:6], atol=1e-4)
    small = small_pixels(pictures).reshape(len(pictures), -1)
    components = ComponentReduction().fit(small)
    assert np.allclose(components.transform(small), pixel_components(pictures), atol=1e-4)
    # Each image is encoded regardless of the others.
    parts = [appearance_vectors(pictures[:10]), appearance_vectors(pictures[10:])]
    assert np.array_equal(np.concatenate(parts), raw)
    with pytest.raises(ValueError, match="X must be"):
        reduction.transform(raw[:, :5])
