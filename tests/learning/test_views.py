"""Annotators' own views of one embedding, and the places that are shown of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from learning.answers import Answers
from learning.arrays import IntArray
from learning.binning.plain import plain_places
from learning.cen import ContextEmbeddingNetwork
from learning.crowd_places import place_variance, pooled_places
from learning.groupings import Groupings
from learning.metrics import pair_auc
from learning.pooled import fitting
from learning.pooled.model import PooledModel
from learning.pooled.views import affordable_starts, fit_views

CPU = torch.device("cpu")
N_IMAGES = 80


def two_ways(seed: int, n_grids: int = 160, size: int = 14) -> tuple[Groupings, IntArray]:
    """Half of the annotators part images by one of two traits, half by the other; the (N, 2)
    values of the traits. The last image is in no answer."""
    rng = np.random.default_rng(seed)
    traits = np.random.default_rng(7).integers(0, 2, (N_IMAGES, 2))
    images = np.stack([rng.choice(N_IMAGES - 1, size, replace=False) for _ in range(n_grids)])
    who = rng.integers(0, 12, n_grids)
    groups = traits[images, (who % 2)[:, None]]
    slip = rng.random(groups.shape) < 0.05
    return Groupings(images, np.where(slip, 1 - groups, groups), who, N_IMAGES, 12), traits


@pytest.fixture(scope="module")
def answers() -> Answers:
    return Answers.of(two_ways(0)[0], CPU)


@pytest.fixture(scope="module")
def pooled(answers: Answers) -> PooledModel:
    settings = fitting.PooledSettings(n_dimensions=4, n_iterations=20)
    start = fitting.start(answers, settings, torch.Generator().manual_seed(0))
    certain = fitting.most_probable(start, answers, settings)
    return fitting.variational(certain, answers, settings)


def test_annotators_who_look_at_other_traits_are_told_apart(answers: Answers) -> None:
    views = fit_views(answers, 2, torch.Generator().manual_seed(0))
    new = Answers.of(two_ways(1)[0], CPU)
    same, informative = new.pair_labels()
    labels = same[informative].numpy()
    auc = pair_auc(labels, -views.log_odds(new)[informative].double().numpy())
    # Nobody's view but everyone's: the annotators of one trait asked as those of the other.
    exchanged = replace(new, annotators=(new.annotators + 1) % 12)
    others = pair_auc(labels, -views.log_odds(exchanged)[informative].double().numpy())
    assert others + 0.2 < auc, (auc, others)


def test_the_log_odds_are_the_mean_of_the_fits(answers: Answers) -> None:
    views = fit_views(answers, 2, torch.Generator().manual_seed(1))
    alone = [
        replace(views, **{name: tensor[[fit]] for name, tensor in views.tensors().items()})
        for fit in range(2)
    ]
    mean = torch.stack([fitted.log_odds(answers) for fitted in alone]).mean(dim=0)
    assert torch.allclose(views.log_odds(answers), mean, atol=1e-5)


def test_an_image_without_answers_is_like_and_unlike_nothing(answers: Answers) -> None:
    views = fit_views(answers, 1, torch.Generator().manual_seed(2))
    assert not views.positions[0, -1].any()


def test_more_answers_leave_time_for_fewer_fits(answers: Answers) -> None:
    starts = [
        affordable_starts(answers.rows(torch.arange(n) % len(answers)))
        for n in (10, 4_000, 9_000, 60_000)
    ]
    assert starts[0] == 4
    assert starts == sorted(starts, reverse=True)
    assert starts[-1] == 0


def test_places_of_wide_grids_hold_those_of_the_bins(answers: Answers, pooled: PooledModel) -> None:
    places = pooled_places(pooled, answers, torch.Generator().manual_seed(0))
    assert places.shape == pooled.positions.shape
    assert not torch.equal(places, pooled.positions)
    assert not places[-1].any()
    seen = pooled.placements > 0
    size = (places[seen] ** 2).sum(dim=1).mean().sqrt()
    centred = pooled.positions[seen] - pooled.positions[seen].mean(dim=0)
    before = (centred**2).sum(dim=1).mean().sqrt()
    # What is left out of the two side by side is little.
    assert 0.8 * before < size <= 1.001 * before
    variance = place_variance(pooled, places)
    assert variance.shape == places.shape
    assert variance[-1].mean() > 2 * variance[:-1].mean()


def test_places_of_small_grids_are_those_of_the_pairs(pooled: PooledModel) -> None:
    small = Answers.of(two_ways(2, size=5)[0], CPU)
    places = pooled_places(pooled, small, torch.Generator().manual_seed(0))
    assert torch.equal(places, pooled.positions)
    assert torch.equal(place_variance(pooled, places), pooled.variance())


def test_plain_places_are_centred_and_of_unit_size(answers: Answers) -> None:
    places = plain_places(answers, torch.Generator().manual_seed(0))
    assert float(places.mean(dim=0).abs().max()) < 1e-5
    assert float((places**2).sum(dim=1).mean()) == pytest.approx(1.0, abs=1e-4)


def test_views_of_wide_grids_are_learned_and_saved(tmp_path: Path) -> None:
    answers = one_notion(0)
    model = ContextEmbeddingNetwork(n_dimensions=2, n_starts=1, random_state=0).fit(answers)
    views = model._engine.model.views
    assert views is not None
    model.save(tmp_path / "model")
    loaded = ContextEmbeddingNetwork.load(tmp_path / "model")._engine.model
    assert loaded.views is not None
    assert torch.equal(loaded.views.turns, views.turns)
    assert torch.equal(loaded.places, model._engine.model.places)
    assert torch.equal(loaded.log_odds(Answers.of(answers, CPU)), odds_of(model, answers))


def odds_of(model: ContextEmbeddingNetwork, answers: Groupings) -> torch.Tensor:
    return model._engine.model.log_odds(Answers.of(answers, CPU))


def one_notion(seed: int) -> Groupings:
    """40 grids of 9 of four kinds of images, which some annotators join two by two."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(N_IMAGES) % 4
    images = np.stack([rng.choice(N_IMAGES, 9, replace=False) for _ in range(40)])
    who = rng.integers(0, 12, 40)
    groups = np.where((who % 2 == 0)[:, None], kinds[images], kinds[images] // 2)
    return Groupings(images, groups, who, N_IMAGES, 12)
