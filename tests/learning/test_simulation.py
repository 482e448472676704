"""Facts about simulated annotators."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.metrics import pair_accuracy
from learning.simulation import AttributeCrowd, FeatureCrowd
from learning.simulation.attribute_crowd import NOISE_KINDS
from learning.simulation.attributes import GradedAttribute
from learning.simulation.oracle import probability_same
from learning.simulation.scenes import SCENES, Scene, celeba_like

COLOURS = np.array(["red", "green", "blue"])[np.arange(30) % 3]
SIZES = np.array(["small", "large"])[np.arange(30) // 15]


def a_crowd(noise: float = 0.0, preference: float = 0.8, **traits: float) -> AttributeCrowd:
    table = {"colour": COLOURS, "size": SIZES}
    return AttributeCrowd.from_table(table, 6, noise, preference, random_state=1, **traits)


def test_each_attribute_value_is_a_group_with_its_word() -> None:
    images = np.arange(12)
    answer = a_crowd(preference=1.0).answer(0, images)
    values = {"colour": COLOURS, "size": SIZES}[answer.attribute or ""][images]
    assert [answer.descriptions[group] for group in answer.groups] == values.tolist()


def test_annotators_prefer_different_attributes() -> None:
    crowd = a_crowd(preference=1.0)
    used = [crowd.answer(annotator, [0, 1, 2]).attribute for annotator in range(6)]
    assert sorted(filter(None, used)) == ["colour"] * 3 + ["size"] * 3


def test_coarse_annotators_make_two_groups_and_say_so() -> None:
    crowd = AttributeCrowd.from_table({"colour": COLOURS}, 1, coarse=1.0)
    answer = crowd.answer(0, np.arange(30))
    assert set(answer.groups) == {0, 1}
    assert sorted(answer.descriptions) == ["blue", "green or red"]


def test_numbers_become_thirds_with_words() -> None:
    attribute = GradedAttribute.of_values("age", np.arange(30))
    assert attribute.words == ("low age", "middle age", "high age")
    assert np.bincount(attribute.membership(True, 0.0).argmax(axis=1)).tolist() == [10, 10, 10]
    assert np.bincount(attribute.membership(False, 0.0).argmax(axis=1)).tolist() == [15, 15]
    assert [attribute.word(group, fine=False) for group in (0, 1)] == ["low age", "high age"]


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    crowd = a_crowd(noise=0.5)
    first = crowd.answer(2, [5, 6, 7, 8]).groups.tolist()
    crowd.answer(3, [1, 2, 3])
    assert crowd.answer(2, [5, 6, 7, 8]).groups.tolist() == first


def test_noise_moves_about_its_share_of_images() -> None:
    quiet, noisy = a_crowd(preference=1.0), a_crowd(noise=0.4, preference=1.0)
    rows = np.tile(np.arange(30), (200, 1))
    who = np.arange(200) % 6
    before, after = quiet.answer_grids(rows, who)[0], noisy.answer_grids(rows, who)[0]
    # A slip ends in the image's own group with one chance in two or three.
    assert 0.2 < np.mean(before.groups != after.groups) < 0.3


def test_careless_answers_are_about_no_attribute() -> None:
    crowd = a_crowd(careless=0.5)
    _, choices = crowd.answer_grids(np.tile(np.arange(20), (400, 1)), np.arange(400) % 6)
    assert 0.4 < np.mean(choices.noise >= 0) < 0.6
    assert ((choices.noise >= 0) == (choices.attribute < 0)).all()


def test_what_varies_in_a_grid_draws_attention() -> None:
    crowd = a_crowd(preference=0.5, salience=2.0)
    one_size = np.arange(15)[None, :]
    _, choices = crowd.answer_grids(np.repeat(one_size, 300, axis=0), np.arange(300) % 6)
    assert np.mean(choices.attribute == 0) > 0.9


@given(st.integers(1, 10), st.integers(0, 2**31))
def test_no_more_groups_than_allowed(max_groups: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 8, 20)
    crowd = AttributeCrowd.from_table({"kind": values}, 1, random_state=seed)
    answer = crowd.answer(0, np.arange(20), max_groups)
    assert len(answer.descriptions) <= max_groups
    used = set(answer.groups[answer.groups >= 0].tolist())
    assert used == set(range(len(answer.descriptions)))
    named = [answer.descriptions[group] for group in answer.groups if group >= 0]
    assert named == [str(v) for v, g in zip(values, answer.groups, strict=True) if g >= 0]


def test_features_are_clustered_into_the_bins() -> None:
    points = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0], [5.0, 5.0]], 5, axis=0)
    groups = FeatureCrowd(points, 1).answer(0, np.arange(20)).groups
    assert all(len(set(groups[start : start + 5])) == 1 for start in range(0, 20, 5))
    assert set(groups) == {0, 1, 2, 3}


def test_identical_images_share_a_bin() -> None:
    crowd = FeatureCrowd(np.zeros((5, 2)), 1)
    assert crowd.answer(0, [0, 1, 2]).groups.tolist() == [0, 0, 0]


@pytest.mark.parametrize("crowd", [a_crowd(), FeatureCrowd(np.eye(30), 2)])
def test_padded_grids_become_groupings(crowd: AttributeCrowd | FeatureCrowd) -> None:
    grids = np.array([[0, 1, 2, -1], [3, 4, 5, 6]])
    answered = crowd.answer_grids(grids, [0, 1])
    groupings = answered if isinstance(crowd, FeatureCrowd) else answered[0]  # type: ignore[index]
    assert groupings.groups[0, 3] == -1  # type: ignore[union-attr]
    assert (groupings.groups[grids >= 0] >= 0).all()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", list(SCENES))
def test_the_oracle_is_calibrated_and_no_guess_beats_it(name: str) -> None:
    scene: Scene = SCENES[name](seed=3, n_grids=1_500)
    answers = scene.groupings
    labels = answers.pair_labels().ravel() == 1
    probability = probability_same(scene.crowd, answers.images, answers.annotators).ravel()
    for low in np.arange(0.2, 0.8, 0.1):
        near = (probability >= low) & (probability < low + 0.1)
        if near.sum() > 20_000:
            assert abs(labels[near].mean() - probability[near].mean()) < 0.03
    guess = probability > 0.5
    blind = probability_same(
        scene.crowd, answers.images, answers.annotators, knows_grid=False
    ).ravel()
    assert pair_accuracy(labels, guess) > pair_accuracy(labels, blind > 0.5)
    informed = probability_same(
        scene.crowd, answers.images, answers.annotators, scene.choices.attribute
    ).ravel()
    assert pair_accuracy(labels, informed > 0.5) > pair_accuracy(labels, guess) + 0.03


def test_the_scenes_are_as_noisy_as_the_papers_crowds() -> None:
    shares = {name: np.mean(SCENES[name](seed=0).choices.noise >= 0) for name in SCENES}
    assert shares["celeba"] == pytest.approx(0.191, abs=0.06)
    assert shares["birds"] == pytest.approx(0.256, abs=0.06)
    assert len(NOISE_KINDS) == 3


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.5"):
        a_crowd(noise=1.5)
    with pytest.raises(ValueError, match="at least one attribute"):
        AttributeCrowd.from_table({}, 3)
    with pytest.raises(ValueError, match="max_groups must be a whole number >= 1, got 0"):
        a_crowd().answer(0, [1], max_groups=0)
    with pytest.raises(ValueError, match="99"):
        a_crowd().answer(0, [99])
    crowd = celeba_like(0, n_grids=10).crowd
    with pytest.raises(ValueError, match=r"preferences must be \(94, 4\)"):
        dataclasses.replace(crowd, preferences=crowd.preferences[:, :2])
