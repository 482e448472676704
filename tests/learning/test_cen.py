"""Facts about Context Embedding Networks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from learning.arrays import IntArray
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings, from_answers
from learning.metrics import pair_scores
from learning.simulation.scenes import Scene, celeba_like

SCENE = celeba_like(seed=0, n_grids=240, n_images=120, n_annotators=24)
ANSWERS = SCENE.groupings
VARIANTS = ("mixture", "annotator", "context")


def a_model(**parameters: Any) -> ContextEmbeddingNetwork:
    return ContextEmbeddingNetwork(**({"n_starts": 1, "random_state": 0} | parameters))


def retrieved(scene: Scene, predicted: IntArray) -> list[float]:
    """Share of each attribute's answers for which its own dimension is predicted."""
    table = np.zeros((4, int(predicted.max()) + 1))
    clean = scene.choices.attribute >= 0
    np.add.at(table, (scene.choices.attribute[clean], predicted[clean]), 1)
    assert len(set(table.argmax(axis=1))) == 4, "two attributes share a dimension"
    return list(table.max(axis=1) / table.sum(axis=1))


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_beats_the_majority_rate_on_unseen_grids(variant: str) -> None:
    train, test = ANSWERS.split(0.2, seed=0)
    model = a_model(variant=variant).fit(train)
    distance = model.pair_distance(test)
    informative = ~np.isnan(distance)
    same = test.pair_labels()[informative] == 1
    scores = pair_scores(same, model.predict_same(test)[informative], distance[informative])
    assert scores["accuracy"] > scores["majority_rate"] + 0.07
    assert scores["auc"] > 0.65


@pytest.mark.parametrize("seed", range(4))
def test_every_attribute_is_found_and_retrieved(seed: int) -> None:
    scene = celeba_like(seed, n_grids=400, n_images=150, n_annotators=40)
    model = a_model(random_state=seed).fit(scene.groupings)
    assert min(retrieved(scene, model.predict_attribute(scene.groupings))) > 0.9


def test_dimensions_that_no_answer_needs_stay_empty() -> None:
    model = a_model(n_dimensions=10).fit(ANSWERS)
    used = model.attribute_share_ > 0.05
    assert used.sum() == 4
    assert (model.embedding_.std(axis=0)[used] > 0.1).all()
    assert 0.5 < model.attribute_share_[used].sum() < 0.95, "noisy answers are about none"
    assert (np.diff(model.attribute_share_[used]) <= 0.05).all(), "the most used come first"


def test_the_annotator_and_the_grid_tell_something_before_the_grouping() -> None:
    model = a_model().fit(ANSWERS)
    after = model.predict_attribute(ANSWERS)
    before = model.predict_attribute(ANSWERS, before_grouping=True)
    assert 0.35 < np.mean(before == after) < 0.95
    assert np.array_equal(before, model.activation(ANSWERS).argmax(axis=1))


def test_held_out_distances_do_not_look_at_the_grouping() -> None:
    model = a_model().fit(ANSWERS)
    shuffled = Groupings(
        ANSWERS.images,
        np.random.default_rng(0).permuted(ANSWERS.groups, axis=1),
        ANSWERS.annotators,
        ANSWERS.n_images,
        ANSWERS.n_annotators,
    )
    assert np.array_equal(model.pair_distance(ANSWERS), model.pair_distance(shuffled))
    assert np.array_equal(model.activation(ANSWERS), model.activation(shuffled))


@pytest.mark.parametrize("variant", VARIANTS)
def test_save_and_load_keep_every_prediction(variant: str, tmp_path: Path) -> None:
    model = a_model(variant=variant).fit(ANSWERS)
    model.save(tmp_path / "model")
    loaded = ContextEmbeddingNetwork.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.embedding_, model.embedding_)
    assert np.array_equal(loaded.activation(ANSWERS), model.activation(ANSWERS))
    assert np.array_equal(loaded.predict_same(ANSWERS), model.predict_same(ANSWERS))
    assert np.array_equal(loaded.predict_attribute(ANSWERS), model.predict_attribute(ANSWERS))


def test_the_same_random_state_repeats_the_fit() -> None:
    first, second = (a_model().fit(ANSWERS) for _ in range(2))
    assert np.array_equal(first.embedding_, second.embedding_)


def test_shapes_follow_the_answers() -> None:
    model = a_model().fit(ANSWERS)
    n_grids, size = ANSWERS.images.shape
    assert model.embedding_.shape == (120, 4)
    assert model.annotator_activation_.shape == (24, 4)
    assert model.grid_activation(ANSWERS.images).shape == (n_grids, 4)
    assert model.pair_distance(ANSWERS).shape == (n_grids, size * (size - 1) // 2)
    assert model.predict_attribute(ANSWERS).shape == (n_grids,)
    assert (model.activation(ANSWERS) >= 0).all()


def test_padding_and_two_leftovers_have_no_distance() -> None:
    answers = from_answers([[0, 1, 2, 3], [4, 5]], [[0, 0, -1, -1], [0, 1]], [0, 1], 6, 2)
    distance = a_model().fit(answers).pair_distance(answers)
    assert np.isnan(distance[0]).tolist() == [False] * 5 + [True]
    assert np.isnan(distance[1]).tolist() == [False] + [True] * 5


def test_progress_ends_at_the_last_step() -> None:
    heard: list[tuple[int, int]] = []

    def listen(done: int, total: int, metrics: Mapping[str, float]) -> None:
        heard.append((done, total))

    a_model().fit(ANSWERS, progress=listen)
    done, totals = zip(*heard, strict=True)
    assert list(done) == sorted(set(done))
    assert done[-1] == totals[-1]
    assert len(heard) >= 2


def test_images_and_annotators_without_answers_stand_in_the_middle() -> None:
    answers = from_answers([[0, 1, 2], [0, 1, 2]], [[0, 0, 1]] * 2, [0, 0], 5, 2)
    model = a_model().fit(answers)
    assert np.abs(model.embedding_[4]).sum() <= np.abs(model.embedding_[:3]).max()
    assert np.isfinite(model.annotator_activation_[1]).all()


def test_answers_without_pairs_are_refused() -> None:
    for images, groups in ([], []), ([[0], [1]], [[0], [0]]), ([[0, 1]], [[-1, -1]]):
        answers = from_answers(images, groups, [0] * len(images), 3, 1)
        with pytest.raises(ValueError, match="no informative pair"):
            a_model().fit(answers)


@pytest.mark.parametrize("group", [0, -1])
def test_grids_with_one_answer_for_all_never_give_nan(group: int) -> None:
    images = [[0, 1, 2, 3], [2, 3, 4, 5]]
    answers = from_answers(images, [[0] * 4, [0, 0, 0, group]], [0, 0], 8, 3)
    model = a_model().fit(answers)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.activation(answers)).all()
    assert np.isfinite(model.pair_distance(answers)[0]).all()
    assert model.predict_same(answers)[0].all()


def test_more_dimensions_than_images_leave_the_rest_empty() -> None:
    answers = from_answers([[0, 1, 2], [0, 1, 2]], [[0, 0, 1], [0, 1, 1]], [0, 1], 3, 2)
    model = a_model(n_dimensions=30).fit(answers)
    assert np.isfinite(model.embedding_).all()
    assert model.embedding_.shape == (3, 30)


def test_nothing_can_be_asked_before_fit() -> None:
    with pytest.raises(NotFittedError):
        a_model().predict_same(ANSWERS)


def test_bad_input_is_refused_with_the_offending_value() -> None:
    for name, value in {
        "variant": "siamese",
        "n_dimensions": 0,
        "n_starts": 0,
    }.items():
        with pytest.raises(ValueError, match=f"{name}.*{value}"):
            a_model(**{name: value}).fit(ANSWERS)
    with pytest.raises(ValueError, match="at most 256, got 1000"):
        a_model(n_dimensions=1000).fit(ANSWERS)
    model = a_model().fit(ANSWERS)
    with pytest.raises(ValueError, match="120"):
        model.grid_activation(np.array([[120]]))
    with pytest.raises(ValueError, match="24"):
        model.activation(from_answers([[0, 1]], [[0, 0]], [24], 120, 25))
    with pytest.raises(ValueError, match="annotators must be in"):
        Groupings(ANSWERS.images, ANSWERS.groups, ANSWERS.annotators, 120, 3)
    with pytest.raises(ValueError, match="integers"):
        Groupings(
            np.full((1, 2), np.nan),
            np.zeros((1, 2), np.int64),
            np.zeros(1, np.int64),
            3,
            1,
        )
