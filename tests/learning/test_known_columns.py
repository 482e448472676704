"""Agreement of attributes with known columns: right at both ends, and honest about chance."""

import numpy as np
import pytest

from learning.known_columns import agreement_with, known_column, matched_accuracy

RNG = np.random.default_rng(0)
SPECIES = np.array(["owl", "duck", "wren"])[RNG.integers(0, 3, 240)]
CENTRES = {"owl": (0, 0), "duck": (5, 0), "wren": (0, 5)}
PLACES = np.array([CENTRES[name] for name in SPECIES]) + RNG.normal(0, 0.5, (240, 2))
NOISE = RNG.normal(size=(240, 2))


def test_categories_that_stand_apart_agree_and_noise_does_not() -> None:
    column = known_column(SPECIES.tolist())
    assert column is not None
    assert (column.kind, column.n_values) == ("categories", 3)
    apart = agreement_with(column, PLACES)
    assert apart.score > 0.95
    assert apart.balanced_accuracy is not None
    assert apart.balanced_accuracy > 0.98
    noise = agreement_with(column, NOISE)
    assert abs(noise.score) < 0.05
    assert noise.balanced_accuracy is not None
    assert noise.balanced_accuracy < 0.5
    assert agreement_with(column, PLACES) == apart


def test_one_axis_tells_less_than_the_plane_that_parts_three() -> None:
    column = known_column(SPECIES.tolist())
    assert column is not None
    assert agreement_with(column, PLACES[:, :1]).score < agreement_with(column, PLACES).score - 0.2


def test_numbers_are_correlated_by_rank_whatever_their_scale_and_direction() -> None:
    size = np.exp(-NOISE[:, 0])
    column = known_column([f"{value:.9g}" for value in size])
    assert column is not None
    assert column.kind == "numbers"
    agreement = agreement_with(column, NOISE[:, :1])
    assert agreement.score == pytest.approx(1.0)
    assert agreement.balanced_accuracy is None
    assert agreement_with(column, NOISE[:, 1:]).score < 0.2


def test_many_columns_of_noise_do_not_add_up_to_agreement() -> None:
    column = known_column([str(value) for value in RNG.normal(size=240)])
    assert column is not None
    assert agreement_with(column, RNG.normal(size=(240, 40))).score < 0.35


def test_few_different_numbers_are_categories() -> None:
    column = known_column([str(row % 5) for row in range(100)])
    assert column is not None
    assert (column.kind, column.n_values) == ("categories", 5)


@pytest.mark.parametrize(
    "values",
    [
        [f"image {row}" for row in range(100)],
        ["same"] * 100,
        [None] * 100,
        ["a", "b"] * 4,
        [str(row // 3) + "x" for row in range(300)],
    ],
)
def test_a_column_that_cannot_be_compared_is_none(values: list[str | None]) -> None:
    assert known_column(values) is None


def test_images_without_a_value_and_rare_values_are_left_out() -> None:
    values = [None, " ", "once", *(["a"] * 10), *(["b"] * 10)]
    column = known_column(values)
    assert column is not None
    assert column.rows.tolist() == list(range(3, 23))


def test_images_in_one_place_agree_by_chance_only() -> None:
    column = known_column(SPECIES.tolist())
    assert column is not None
    agreement = agreement_with(column, np.zeros((240, 2)))
    assert agreement.score == pytest.approx(0.0, abs=1e-9)
    assert agreement.balanced_accuracy == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="finite"):
        agreement_with(column, np.full((240, 2), np.nan))


def test_a_rare_category_counts_as_much_as_a_frequent_one() -> None:
    true = np.array([0] * 90 + [1] * 10)
    assert matched_accuracy(true, np.zeros(100, np.int64)) == pytest.approx(0.5)
    assert matched_accuracy(true, 1 - true) == pytest.approx(1.0)
