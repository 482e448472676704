"""Facts about simulated annotators."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.simulation import SimulatedCrowd
from learning.simulation.grouping import group_by_values

COLOURS = np.array(["red", "green", "blue"])[np.arange(30) % 3]
SIZES = np.array(["small", "large"])[np.arange(30) // 15]


def a_crowd(noise: float = 0.0, preference: float = 0.8) -> SimulatedCrowd:
    attributes = {"colour": COLOURS, "size": SIZES}
    return SimulatedCrowd.from_attributes(attributes, 6, noise, preference, random_state=1)


def test_each_attribute_value_is_a_group_with_its_word() -> None:
    images = np.arange(12)
    answer = a_crowd(preference=1.0).answer(0, images)
    values = {"colour": COLOURS, "size": SIZES}[answer.attribute or ""][images]
    assert [answer.descriptions[group] for group in answer.groups] == values.tolist()


def test_annotators_prefer_different_attributes() -> None:
    crowd = a_crowd(preference=1.0)
    used = [crowd.answer(annotator, [0, 1, 2]).attribute for annotator in range(6)]
    assert sorted(filter(None, used)) == ["colour"] * 3 + ["size"] * 3


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    crowd = a_crowd(noise=0.5)
    first = crowd.answer(2, [5, 6, 7, 8]).groups.tolist()
    crowd.answer(3, [1, 2, 3])
    assert crowd.answer(2, [5, 6, 7, 8]).groups.tolist() == first


def test_noise_moves_about_its_share_of_images() -> None:
    quiet, noisy = a_crowd(preference=1.0), a_crowd(noise=0.4, preference=1.0)
    images = np.arange(30)
    moved = [
        np.mean(quiet.answer(w, images).groups != noisy.answer(w, images).groups) for w in range(6)
    ]
    assert 0.1 < np.mean(moved) < 0.4


@given(st.lists(st.integers(0, 20), max_size=24), st.integers(1, 10))
def test_no_more_groups_than_allowed(values: list[int], max_groups: int) -> None:
    groups, words = group_by_values(np.array(values, np.int64), max_groups)
    assert len(words) <= max_groups
    assert set(groups[groups >= 0].tolist()) == set(range(len(words)))
    assert all(
        words[group] == str(value)
        for group, value in zip(groups, values, strict=True)
        if group >= 0
    )


def test_features_are_clustered_into_the_bins() -> None:
    points = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0], [5.0, 5.0]], 5, axis=0)
    crowd = SimulatedCrowd.from_features(points, 1)
    groups = crowd.answer(0, np.arange(20), kind="bins").groups
    assert all(len(set(groups[start : start + 5])) == 1 for start in range(0, 20, 5))
    assert set(groups) == {0, 1, 2, 3}


def test_identical_images_share_a_bin() -> None:
    crowd = SimulatedCrowd.from_features(np.zeros((5, 2)), 1)
    assert crowd.answer(0, [0, 1, 2], kind="bins").groups.tolist() == [0, 0, 0]


def test_padded_grids_become_groupings() -> None:
    grids = np.array([[0, 1, 2, -1], [3, 4, 5, 6]])
    groupings = a_crowd().answer_grids(grids, [0, 1])
    assert groupings.groups[0, 3] == -1
    assert (groupings.groups[groupings.images >= 0] >= 0).all()


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.5"):
        a_crowd(noise=1.5)
    with pytest.raises(ValueError, match="heap"):
        a_crowd().answer(0, [1], kind="heap")
    with pytest.raises(ValueError, match="99"):
        a_crowd().answer(0, [99])
