"""Features inside CEN: images never shown, images in few answers, noise, saving and loading."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch

from learning.arrays import FloatArray
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings
from learning.metrics import pair_auc
from learning.simulation import AttributeCrowd, FeatureCrowd

N, N_NEW, N_ANNOTATORS, SIZE = 120, 80, 10, 12


@lru_cache
def world(n_grids: int = 100, seed: int = 0) -> tuple[FloatArray, Groupings, Groupings, Groupings]:
    """Features (N + N_NEW, 16), answers about the first N images, others about these, and about
    the images never shown. The crowd sees two directions of the features."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((N + N_NEW, 16))
    truth = features @ rng.standard_normal((16, 2)) / 4
    crowd = FeatureCrowd(truth, N_ANNOTATORS, 0.05, seed)

    def answers(first: int, last: int, n: int) -> Groupings:
        grids = np.stack([rng.permutation(np.arange(first, last))[:SIZE] for _ in range(n)])
        return crowd.answer_grids(grids, rng.integers(0, N_ANNOTATORS, n))

    return features, answers(0, N, n_grids), answers(0, N, 60), answers(N, N + N_NEW, 60)


@lru_cache
def fitted(n_grids: int = 100) -> ContextEmbeddingNetwork:
    features, answers, _, _ = world(n_grids)
    return ContextEmbeddingNetwork(random_state=0).fit(answers, features=features)


@lru_cache
def without(n_grids: int = 100) -> ContextEmbeddingNetwork:
    return ContextEmbeddingNetwork(random_state=0).fit(world(n_grids)[1])


def auc(model: ContextEmbeddingNetwork, answers: Groupings) -> float:
    labels, distance = answers.pair_labels(), model.pair_distance(answers)
    return pair_auc(labels[labels >= 0] == 1, distance[labels >= 0])


def place_auc(model: ContextEmbeddingNetwork, answers: Groupings) -> float:
    pairs, places = answers.pairs(), model.embedding_
    return pair_auc(pairs.same, np.linalg.norm(places[pairs.i] - places[pairs.j], axis=1))


def test_images_never_shown_are_placed_better_than_half_way_to_those_shown() -> None:
    _, _, seen, new = world()
    model = fitted()
    assert auc(model, new) - 0.5 > 0.5 * (auc(without(), seen) - 0.5)
    assert place_auc(model, new) - 0.5 > 0.5 * (place_auc(without(), seen) - 0.5)
    assert place_auc(without(), new) == pytest.approx(0.5, abs=0.02)
    assert model.placed_[N:].all()
    assert not model.placed_[:N].any()


def test_images_never_shown_are_less_certain_than_those_shown() -> None:
    error = fitted().embedding_error_.mean(axis=1)
    assert error[N:].mean() > 1.2 * error[:N].mean()
    assert np.isfinite(error).all()


def test_images_in_few_answers_are_predicted_better_with_features() -> None:
    _, _, seen, _ = world(24)
    with_features, plain = fitted(24), without(24)
    assert with_features.combines_features_
    assert auc(with_features, seen) > auc(plain, seen) + 0.03
    assert place_auc(with_features, seen) > place_auc(plain, seen)


@pytest.mark.parametrize("seed", range(2))
def test_noise_features_change_nothing(seed: int) -> None:
    _, answers, seen, new = world()
    noise = np.random.default_rng(50 + seed).standard_normal((N + N_NEW, 16))
    model, plain = ContextEmbeddingNetwork(random_state=0).fit(answers, features=noise), without()
    assert model.held_out_["features_used"] == 0
    for name in ("embedding_", "embedding_error_", "attribute_share_", "annotator_activation_"):
        assert np.array_equal(getattr(model, name), getattr(plain, name)), name
    for some in (seen, new):
        assert np.array_equal(model.pair_distance(some), plain.pair_distance(some), True)
    assert not model.placed_.any()
    first, second = (
        some.synthesize_grids(4, SIZE, random_state=1, n_candidates=200) for some in (model, plain)
    )
    assert np.array_equal(first, second)


def test_attributes_of_images_never_shown_are_placed() -> None:
    rng = np.random.default_rng(0)
    n = 160
    values = rng.integers(0, 2, (n, 2))
    columns = {name: values[:, k].astype(str).tolist() for k, name in enumerate(("a", "b"))}
    crowd = AttributeCrowd.from_table(columns, 8, 0.03, 0.9, random_state=0)
    grids = np.stack([rng.permutation(n // 2)[:SIZE] for _ in range(140)])
    answers = crowd.answer_grids(grids, np.arange(140) % 8, 0)[0]
    features = np.hstack([values + 0.2 * rng.standard_normal((n, 2)), rng.standard_normal((n, 6))])
    model = ContextEmbeddingNetwork(random_state=0).fit(answers, features=features)
    assert model.structure_ == "attributes"
    new = slice(n // 2, n)
    for k in range(2):
        along = [
            abs(np.corrcoef(model.embedding_[new, column], values[new, k])[0, 1])
            for column in range(2)
        ]
        assert max(along) > 0.8
    assert (model.embedding_error_[new] > 0).any(axis=1).all()
    uncertain = model.uncertain_grids(6, SIZE, random_state=0)
    assert (uncertain >= n // 2).mean() > 0.6


@pytest.mark.parametrize("n_grids", [24, 100])
def test_a_model_with_placed_images_is_saved_and_loaded(tmp_path: Path, n_grids: int) -> None:
    _, _, seen, new = world(n_grids)
    model = fitted(n_grids)
    model.save(tmp_path / "model")
    loaded = ContextEmbeddingNetwork.load(tmp_path / "model")
    for name in ("embedding_", "embedding_error_", "placed_"):
        assert np.array_equal(getattr(loaded, name), getattr(model, name)), name
    for some in (seen, new):
        assert np.array_equal(loaded.pair_distance(some), model.pair_distance(some), True)
    assert loaded.structure_ == model.structure_
    assert loaded.combines_features_ == model.combines_features_
    # Attributes keep their numbers when a campaign continues without features.
    again = ContextEmbeddingNetwork(random_state=0).fit(world(n_grids)[1], init=loaded)
    assert np.isfinite(again.embedding_).all()


def test_images_without_features_stay_at_the_centre() -> None:
    features, answers, _, _ = world()
    known = np.ones(N + N_NEW, np.bool_)
    known[-10:] = False
    table = features.copy()
    table[~known] = np.nan
    model = ContextEmbeddingNetwork(random_state=0).fit(answers, features=table, known=known)
    assert model.placed_[N:-10].all()
    assert not model.placed_[-10:].any()
    far = np.linalg.norm(model.embedding_, axis=1)
    assert far[-10:].max() < 0.05 * far[N:-10].mean()


def test_features_that_cannot_be_used_leave_the_model_as_it_is() -> None:
    features, answers, seen, _ = world()
    constant = np.ones_like(features)
    model = ContextEmbeddingNetwork(random_state=0).fit(answers, features=constant)
    assert np.array_equal(model.pair_distance(seen), without().pair_distance(seen), True)
    few = Groupings(answers.images[:3, :4], answers.groups[:3, :4], answers.annotators[:3],
                    answers.n_images, answers.n_annotators)  # fmt: skip
    small = ContextEmbeddingNetwork(random_state=0).fit(few, features=features)
    assert not small.placed_.any()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((3, 2)), "features of 3 images"),
        (np.full((N + N_NEW, 2), np.nan), "row 0, column 0"),
        (np.zeros(N + N_NEW), r"features must be \(N, F\)"),
    ],
)
def test_features_that_do_not_fit_are_refused(table: FloatArray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ContextEmbeddingNetwork(random_state=0).fit(world()[1], features=table)


def test_positions_of_the_prior_are_shown_only_if_it_says_so() -> None:
    prior = fitted()._engine.model.prior
    assert prior is not None
    # No image is unseen if the campaign asks about all of them.
    assert not replace(prior, variance=torch.zeros(0, 2)).is_shown
    assert replace(prior, variance=torch.zeros(0)).is_shown
