"""Images that no answer placed, in CrowdSter's embedding."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from learning.arrays import BoolArray, FloatArray
from learning.crowdster import CrowdSter
from learning.groupings import Groupings
from learning.metrics import pair_auc
from learning.simulation import FeatureCrowd

N, N_NEW, SIZE = 120, 60, 12


@lru_cache
def world() -> tuple[FloatArray, Groupings, Groupings]:
    """Features (N + N_NEW, 12), answers about the first N images, and about the others. The crowd
    sees two directions of the features."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((N + N_NEW, 12))
    crowd = FeatureCrowd(features @ rng.standard_normal((12, 2)), 8, 0.05, 0)

    def answers(first: int, last: int, n: int) -> Groupings:
        grids = np.stack([rng.permutation(np.arange(first, last))[:SIZE] for _ in range(n)])
        return crowd.answer_grids(grids, rng.integers(0, 8, n))

    return features, answers(0, N, 70), answers(N, N + N_NEW, 50)


def learned(features: FloatArray | None, known: BoolArray | None = None) -> CrowdSter:
    model = CrowdSter(N + N_NEW, SIZE, n_dimensions=3, random_state=0)
    return model.update(world()[1], features=features, known=known)


@lru_cache
def guided() -> CrowdSter:
    return learned(world()[0])


@lru_cache
def unguided() -> CrowdSter:
    return learned(None)


def auc(model: CrowdSter) -> float:
    pairs, places = world()[2].pairs(), model.embedding_
    return pair_auc(pairs.same, np.linalg.norm(places[pairs.i] - places[pairs.j], axis=1))


def test_images_in_no_answer_are_placed_by_their_features() -> None:
    model = guided()
    assert (np.flatnonzero(model.placed_) == np.arange(N, N + N_NEW)).all()
    assert auc(unguided()) < 0.6
    assert auc(model) > 0.75


def test_placed_images_are_less_certain_than_those_in_answers() -> None:
    model = guided()
    assert (model.uncertainty_[N:] > np.median(model.uncertainty_[:N])).all()
    assert np.allclose((model.embedding_error_**2).sum(axis=1), model.uncertainty_**2)


def test_the_embedding_keeps_its_scale() -> None:
    places = guided().embedding_
    assert np.allclose(places.mean(axis=0), 0)
    assert np.isclose((places**2).sum(axis=1).mean(), 1)


def test_noise_places_nothing_and_changes_no_place() -> None:
    noise = np.random.default_rng(3).standard_normal((N + N_NEW, 12))
    model = learned(noise)
    assert not model.placed_.any()
    assert np.array_equal(model.embedding_, unguided().embedding_)


def test_images_without_features_of_their_own_are_not_placed() -> None:
    known = np.arange(N + N_NEW) != N + 5
    model = learned(world()[0], known)
    assert not model.placed_[N + 5]
    assert model.placed_.sum() == N_NEW - 1


def test_a_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"known must be \(180,\) bool"):
        learned(world()[0], np.ones(7, np.bool_))


def test_saved_models_know_which_images_features_placed(tmp_path: Path) -> None:
    guided().save(tmp_path / "model")
    loaded = CrowdSter.load(tmp_path / "model")
    assert np.array_equal(loaded.placed_, guided().placed_)
    assert np.array_equal(loaded.embedding_error_, guided().embedding_error_)
