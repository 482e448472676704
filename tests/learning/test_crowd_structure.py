"""What holds of a crowd: attributes of learned width, one embedding for everyone, or nothing."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score

from learning.arrays import IntArray
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings


def nominal_answers(
    values: tuple[int, ...], seed: int, n_grids: int, size: int, n_images: int = 150
) -> tuple[Groupings, IntArray, IntArray]:
    """Answers by one of several attributes of unordered values, the (N, A) values, and the
    (G,) attribute of each answer; 5 % of the images are misplaced."""
    rng = np.random.default_rng(seed)
    table = np.stack([rng.integers(0, n, n_images) for n in values], axis=1)
    images = np.stack([rng.choice(n_images, size, replace=False) for _ in range(n_grids)])
    who = rng.integers(0, 20, n_grids)
    own = np.where(
        rng.random(n_grids) < 0.7, who % len(values), rng.integers(0, len(values), n_grids)
    )
    groups = table[images, own[:, None]]
    slip = rng.random(groups.shape) < 0.05
    groups = np.where(slip, rng.integers(0, max(values), groups.shape), groups)
    return Groupings(images, groups, who, n_images, 20), table, own


def noise(seed: int) -> Groupings:
    """Answers without any relation to the images."""
    rng = np.random.default_rng(seed)
    images = np.stack([rng.choice(150, 12, replace=False) for _ in range(250)])
    groups = np.stack([rng.integers(0, rng.integers(2, 6), 12) for _ in range(250)])
    return Groupings(images, groups, rng.integers(0, 25, 250), 150, 25)


def test_unordered_attributes_get_several_columns_and_their_answers() -> None:
    answers, table, own = nominal_answers((5, 6), seed=0, n_grids=400, size=16)
    model = ContextEmbeddingNetwork(n_dimensions=8, random_state=0).fit(answers)
    assert model.structure_ == "attributes"
    shown = np.flatnonzero(model.attribute_share_)
    assert len(shown) == 2
    columns = np.bincount(model.dimension_attribute_[model.dimension_attribute_ >= 0])
    assert columns.min() >= 2
    predicted = model.predict_attribute(answers)
    counts = np.array([[np.sum((own == a) & (predicted == k)) for k in shown] for a in (0, 1)])
    assert counts.max(axis=1).sum() > 0.95 * len(answers)
    for attribute, k in enumerate(counts.argmax(axis=1)):
        places = model.embedding_[:, model.dimension_attribute_ == shown[k]]
        clusters = KMeans(int(table[:, attribute].max()) + 1, n_init=5, random_state=0)
        assert adjusted_mutual_info_score(table[:, attribute], clusters.fit_predict(places)) > 0.9


def test_small_grids_of_one_notion_give_one_embedding_for_everyone() -> None:
    answers, table, _ = nominal_answers((6,), seed=1, n_grids=1_500, size=4)
    model = ContextEmbeddingNetwork(n_dimensions=8, random_state=0).fit(answers)
    assert model.structure_ == "pooled"
    assert model.attribute_share_[0] > 0.9
    assert not model.attribute_share_[1:].any()
    assert model.attribute_confidence_[0] > 0.999
    clusters = KMeans(6, n_init=5, random_state=0).fit_predict(model.embedding_)
    assert adjusted_mutual_info_score(table[:, 0], clusters) > 0.9


@pytest.mark.parametrize("seed", range(4))
def test_noise_shows_no_attribute(seed: int) -> None:
    model = ContextEmbeddingNetwork(n_dimensions=8, random_state=seed).fit(noise(seed))
    assert model.structure_ == "none"
    assert not model.attribute_share_.any()
    assert not model.attribute_confidence_.any()
    assert not model.annotator_activation_.any()


def test_images_that_more_answers_show_are_known_better() -> None:
    answers, _, _ = nominal_answers((4,), seed=2, n_grids=800, size=4, n_images=60)
    rare = (answers.images < 10).any(axis=1)
    kept = np.flatnonzero(~rare | (np.arange(800) % 8 == 0))
    model = ContextEmbeddingNetwork(random_state=0).fit(answers.subset(kept))
    error = model.embedding_error_.mean(axis=1)
    assert error[:10].mean() > 1.2 * error[10:].mean()


def test_the_scores_of_a_fit_are_of_answers_it_had_not_seen() -> None:
    answers, _, _ = nominal_answers((4,), seed=3, n_grids=500, size=4, n_images=60)
    model = ContextEmbeddingNetwork(random_state=0).fit(answers)
    pairs = model.held_out_pairs()
    assert pairs is not None
    labels, distance = pairs
    assert labels.shape == distance.shape == (100, 6)
    known = labels >= 0
    right = (distance < model.threshold_) == (labels == 1)
    assert right[known].mean() > 0.8


def test_too_few_answers_are_judged_by_none() -> None:
    answers, _, _ = nominal_answers((3,), seed=4, n_grids=8, size=6, n_images=20)
    model = ContextEmbeddingNetwork(random_state=0).fit(answers)
    assert model.structure_ == "none"
    assert model.held_out_pairs() is None
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("size", [4, 12])
def test_a_model_is_saved_and_loaded_whole(tmp_path: Path, size: int) -> None:
    answers, _, _ = nominal_answers((4, 3), seed=5, n_grids=300, size=size, n_images=60)
    model = ContextEmbeddingNetwork(random_state=0).fit(answers)
    model.save(tmp_path / "model")
    loaded = ContextEmbeddingNetwork.load(tmp_path / "model")
    assert loaded.structure_ == model.structure_
    assert np.array_equal(loaded.embedding_, model.embedding_)
    assert np.array_equal(loaded.embedding_error_, model.embedding_error_)
    assert np.array_equal(loaded.pair_distance(answers), model.pair_distance(answers), True)
    assert loaded.held_out_pairs() is None
