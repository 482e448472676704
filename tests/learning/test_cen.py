"""Facts about Context Embedding Networks."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped, unused-ignore]

from learning.cen import ContextEmbeddingNetwork
from learning.cen_training import best_threshold
from learning.groupings import Groupings, from_answers
from learning.metrics import pair_scores
from learning.queries import random_grids
from learning.simulation import SimulatedCrowd

N_IMAGES, N_ANNOTATORS, N_GRIDS, GRID_SIZE = 60, 12, 150, 12


def a_crowds_answers() -> Groupings:
    rng = np.random.default_rng(0)
    attributes = {"colour": rng.integers(0, 2, N_IMAGES), "size": rng.integers(0, 2, N_IMAGES)}
    crowd = SimulatedCrowd.from_attributes(attributes, N_ANNOTATORS, noise=0.05, preference=0.9)
    grids = random_grids(N_GRIDS, GRID_SIZE, N_IMAGES, rng)
    return crowd.answer_grids(grids, np.arange(N_GRIDS) % N_ANNOTATORS)


ANSWERS = a_crowds_answers()
VARIANTS = ("mixture", "annotator", "context")


def a_model(variant: str = "mixture", **parameters: object) -> ContextEmbeddingNetwork:
    settings = {"n_dimensions": 3, "variant": variant, "random_state": 0} | parameters
    return ContextEmbeddingNetwork(**settings)  # type: ignore[arg-type]


def quick(variant: str = "mixture", **parameters: object) -> ContextEmbeddingNetwork:
    return a_model(variant, n_epochs=2, min_steps=1, n_hidden=16, **parameters)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_beats_the_majority_rate_on_unseen_grids(variant: str) -> None:
    train, test = ANSWERS.split(0.2, seed=0)
    model = a_model(variant).fit(train)
    distance = model.pair_distance(test)
    informative = ~np.isnan(distance)
    same = test.pair_labels()[informative] == 1
    scores = pair_scores(same, model.predict_same(test)[informative], distance[informative])
    assert scores["accuracy"] > scores["majority_rate"] + 0.05
    assert scores["auc"] > 0.6


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("context_encoder", ["spread", "s_hot"])
def test_save_and_load_keep_every_prediction(
    variant: str, context_encoder: str, tmp_path: Path
) -> None:
    model = quick(variant, context_encoder=context_encoder).fit(ANSWERS)
    model.save(tmp_path / "model")
    loaded = ContextEmbeddingNetwork.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.activation(ANSWERS), model.activation(ANSWERS))
    assert np.array_equal(
        loaded.pair_distance(ANSWERS), model.pair_distance(ANSWERS), equal_nan=True
    )
    assert np.array_equal(loaded.predict_same(ANSWERS), model.predict_same(ANSWERS))


def test_the_same_random_state_repeats_the_fit() -> None:
    assert np.array_equal(quick().fit(ANSWERS).embedding_, quick().fit(ANSWERS).embedding_)


def test_shapes_follow_the_answers() -> None:
    model = quick().fit(ANSWERS)
    n_pairs = GRID_SIZE * (GRID_SIZE - 1) // 2
    assert model.embedding_.shape == (N_IMAGES, 3)
    assert model.annotator_activation_.shape == (N_ANNOTATORS, 3)
    assert model.grid_activation(ANSWERS.images).shape == (N_GRIDS, 3)
    assert model.pair_distance(ANSWERS).shape == (N_GRIDS, n_pairs)
    assert model.predict_attribute(ANSWERS).shape == (N_GRIDS,)
    assert (model.activation(ANSWERS) >= 0).all()


def test_a_pair_is_as_far_apart_as_equation_5_says() -> None:
    model = quick().fit(ANSWERS)
    activation = model.activation(ANSWERS)[4]
    images = ANSWERS.images[4]
    gap = model.embedding_[images[0]] - model.embedding_[images[2]]
    expected = np.linalg.norm(activation * gap)
    assert model.pair_distance(ANSWERS)[4, 1] == pytest.approx(expected)


def test_padding_and_two_leftovers_have_no_distance() -> None:
    answers = from_answers([[0, 1, 2, 3], [4, 5]], [[0, 0, -1, -1], [0, 1]], [0, 1], 6, 2)
    distance = quick().fit(answers).pair_distance(answers)
    assert np.isnan(distance[0]).tolist() == [False] * 5 + [True]
    assert np.isnan(distance[1]).tolist() == [False] + [True] * 5


def test_progress_is_told_after_every_epoch() -> None:
    heard: list[tuple[int, int]] = []

    def listen(done: int, total: int, metrics: Mapping[str, float]) -> None:
        assert np.isfinite(metrics["loss"])
        heard.append((done, total))

    quick().fit(ANSWERS, progress=listen)
    assert heard == [(1, 2), (2, 2)]


def test_synthesized_grids_spread_along_the_wanted_attribute() -> None:
    model = quick().fit(ANSWERS)
    grids = model.synthesize_grids(20, 8, attribute=1, n_candidates=20_000, random_state=0)
    assert grids.shape == (20, 8)
    assert all(len(set(grid)) == 8 for grid in grids.tolist())
    relative = model.embedding_[grids].std(axis=1).mean(axis=0) / model.embedding_.std(axis=0)
    assert relative.argmax() == 1
    again = model.synthesize_grids(20, 8, attribute=1, n_candidates=20_000, random_state=0)
    assert np.array_equal(grids, again)


@pytest.mark.parametrize("group", [0, -1])
def test_grids_with_one_answer_for_all_never_give_nan(group: int) -> None:
    images = [[0, 1, 2, 3], [2, 3, 4, 5]]
    answers = from_answers(images, [[0] * 4, [0, 0, 0, group]], [0, 0], 8, 3)
    model = quick().fit(answers)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.activation(answers)).all()
    assert np.isfinite(model.threshold_)


def test_images_and_annotators_without_answers_stand_at_the_average() -> None:
    answers = from_answers([[0, 1, 2]], [[0, 0, 1]], [0], 5, 2)
    model = quick().fit(answers)
    assert np.allclose(model.embedding_[4], model.embedding_[:3].mean(axis=0))
    assert np.allclose(model.annotator_activation_[1], model.annotator_activation_[0])


def test_the_threshold_makes_the_fewest_mistakes() -> None:
    distance = np.array([0.1, 0.2, 0.3, 0.4])
    assert 0.2 < best_threshold(distance, np.array([True, True, False, False])) < 0.3
    assert best_threshold(distance, np.ones(4, bool)) > 0.4
    assert best_threshold(distance, np.zeros(4, bool)) <= 0.1


def test_answers_without_pairs_are_refused() -> None:
    for images, groups in ([], []), ([[0], [1]], [[0], [0]]), ([[0, 1]], [[-1, -1]]):
        answers = from_answers(images, groups, [0] * len(images), 3, 1)
        with pytest.raises(ValueError, match="no informative pair"):
            quick().fit(answers)


def test_nothing_can_be_asked_before_fit() -> None:
    with pytest.raises(NotFittedError):
        a_model().predict_same(ANSWERS)


def test_bad_input_is_refused_with_the_offending_value() -> None:
    with pytest.raises(ValueError, match="siamese"):
        a_model("siamese").fit(ANSWERS)
    with pytest.raises(ValueError, match="n_dimensions"):
        a_model(n_dimensions=0).fit(ANSWERS)
    model = quick().fit(ANSWERS)
    with pytest.raises(ValueError, match="60"):
        model.grid_activation(np.array([[N_IMAGES]]))
    with pytest.raises(ValueError, match="12"):
        model.activation(from_answers([[0, 1]], [[0, 0]], [12], N_IMAGES, 13))
    with pytest.raises(ValueError, match="no context"):
        quick("annotator").fit(ANSWERS).synthesize_grids(1, 4)
