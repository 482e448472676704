"""Laws of Context Embedding Networks: what must not change their result; new answers."""

from functools import cache

import numpy as np
import pytest

from learning.arrays import FloatArray
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings
from learning.metrics import pair_auc
from learning.simulation.scenes import celeba_like

SCENE = celeba_like(seed=1, n_grids=300, n_images=100, n_annotators=20)
ANSWERS = SCENE.groupings


def fitted(answers: Groupings) -> ContextEmbeddingNetwork:
    return ContextEmbeddingNetwork(random_state=3).fit(answers)


@cache
def fitted_model() -> ContextEmbeddingNetwork:
    return fitted(ANSWERS)


def alike(prediction: FloatArray, other: FloatArray) -> float:
    """Correlation of two predictions: random starts end in the same place, not bit by bit."""
    known = ~np.isnan(prediction)
    return float(np.corrcoef(prediction[known], other[known])[0, 1])


def changed(**parts: object) -> Groupings:
    given = {name: getattr(ANSWERS, name) for name in ("images", "groups", "annotators")}
    return Groupings(**(given | parts), n_images=100, n_annotators=20)


def test_permuting_images_permutes_the_result() -> None:
    order = np.random.default_rng(0).permutation(100)
    other = fitted(changed(images=order[ANSWERS.images]))
    moved = changed(images=order[ANSWERS.images])
    assert alike(fitted_model().pair_distance(ANSWERS), other.pair_distance(moved)) > 0.97
    places = np.abs(np.corrcoef(fitted_model().embedding_.T, other.embedding_[order].T)[:4, 4:])
    assert (places.max(axis=1) > 0.95).all()


def test_permuting_annotators_permutes_the_result() -> None:
    order = np.random.default_rng(1).permutation(20)
    moved = changed(annotators=order[ANSWERS.annotators])
    assert alike(fitted_model().pair_distance(ANSWERS), fitted(moved).pair_distance(moved)) > 0.97


def test_the_order_of_the_answers_does_not_matter() -> None:
    order = np.random.default_rng(2).permutation(300)
    other = fitted(ANSWERS.subset(order))
    assert alike(fitted_model().pair_distance(ANSWERS), other.pair_distance(ANSWERS)) > 0.97


def test_the_order_of_images_in_a_grid_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    order = np.stack([rng.permutation(24) for _ in range(300)])
    moved = changed(
        images=np.take_along_axis(ANSWERS.images, order, 1),
        groups=np.take_along_axis(ANSWERS.groups, order, 1),
    )
    other = fitted(moved)
    assert alike(fitted_model().pair_distance(ANSWERS), other.pair_distance(ANSWERS)) > 0.97


def test_relabelling_groups_changes_nothing() -> None:
    relabelled = np.where(ANSWERS.groups >= 0, 9 - ANSWERS.groups, -1)
    other = fitted(changed(groups=relabelled))
    assert np.array_equal(fitted_model().embedding_, other.embedding_)
    assert np.array_equal(
        fitted_model().pair_distance(ANSWERS), other.pair_distance(ANSWERS), equal_nan=True
    )


def test_padding_changes_nothing() -> None:
    padding = np.full((300, 5), -1)
    padded = changed(
        images=np.concatenate([ANSWERS.images, padding], axis=1),
        groups=np.concatenate([ANSWERS.groups, padding], axis=1),
    )
    other = fitted(padded)
    assert np.array_equal(fitted_model().embedding_, other.embedding_)
    assert np.nanmax(other.pair_distance(padded)) == np.nanmax(
        fitted_model().pair_distance(ANSWERS)
    )
    assert np.array_equal(fitted_model().activation(ANSWERS), other.activation(padded))


def held_out_auc(model: ContextEmbeddingNetwork, test: Groupings) -> float:
    distance, labels = model.pair_distance(test), test.pair_labels()
    known = labels >= 0
    return pair_auc(labels[known] == 1, distance[known])


def keeps_numbers(earlier: ContextEmbeddingNetwork, later: ContextEmbeddingNetwork) -> None:
    """Attributes have their numbers and directions. One of many values may have them in
    another order, so that its places correlate little while its answers are the same."""
    same = earlier.predict_attribute(ANSWERS) == later.predict_attribute(ANSWERS)
    assert same.mean() > 0.9
    for k in range(4):
        assert np.corrcoef(earlier.embedding_[:, k], later.embedding_[:, k])[0, 1] > 0.6


def test_a_fit_after_new_answers_is_that_of_all_and_keeps_the_numbers() -> None:
    train, test = ANSWERS.split(0.2, seed=0)
    earlier = train.subset(np.arange(0, int(len(train) / 1.1)))
    known = Groupings(earlier.images, earlier.groups, earlier.annotators, 100, 20)
    before = fitted(known)
    cold = fitted(train)
    warm = ContextEmbeddingNetwork(random_state=3).fit(train, init=before)
    assert held_out_auc(warm, test) == pytest.approx(held_out_auc(cold, test))
    keeps_numbers(before, warm)


def test_a_fit_with_new_images_and_annotators_keeps_the_others() -> None:
    whole = celeba_like(seed=2, n_grids=300, n_images=100, n_annotators=20).groupings
    images = np.where(whole.images < 90, whole.images, -1)
    groups = np.where(images >= 0, whole.groups, -1)
    rows = whole.annotators < 18
    first = Groupings(images[rows], groups[rows], whole.annotators[rows], 90, 18)
    before = fitted(first)
    warm = ContextEmbeddingNetwork(random_state=3).fit(whole, init=before)
    assert warm.embedding_.shape == (100, 4)
    assert warm.annotator_activation_.shape == (20, 4)
    cold = fitted(whole)
    match = np.abs(np.corrcoef(warm.embedding_[90:].T, cold.embedding_[90:].T)[:4, 4:])
    assert (match.max(axis=1) > 0.8).all(), "new images are not where a cold fit puts them"


def test_a_warm_start_is_refused_from_a_model_that_does_not_fit() -> None:
    other = ContextEmbeddingNetwork(n_dimensions=3, n_starts=1).fit(ANSWERS)
    with pytest.raises(ValueError, match="init has 3 dimensions"):
        ContextEmbeddingNetwork().fit(ANSWERS, init=other)
    grid = Groupings(np.array([[0, 1]]), np.array([[0, 1]]), np.array([0]), 50, 20)
    with pytest.raises(ValueError, match="init has 100 images"):
        ContextEmbeddingNetwork().fit(grid, init=fitted_model())


def test_an_aligned_model_says_the_same_in_the_order_of_the_earlier_one() -> None:
    other = ContextEmbeddingNetwork(random_state=11).fit(ANSWERS)
    aligned = other.aligned_with(fitted_model())
    keeps_numbers(fitted_model(), aligned)
    assert np.allclose(
        aligned.pair_distance(ANSWERS), other.pair_distance(ANSWERS), equal_nan=True, atol=1e-4
    )
    wider = ContextEmbeddingNetwork(n_dimensions=6, random_state=0).fit(ANSWERS)
    with pytest.raises(ValueError, match="4 dimensions, this one 6"):
        wider.aligned_with(fitted_model())
