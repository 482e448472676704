"""CrowdSter learns from grids of few images: a model of the pairs helps the choice of bins."""

from pathlib import Path

import numpy as np
import pytest

from learning.arrays import IntArray
from learning.crowdster import CrowdSter
from learning.groupings import Groupings
from learning.queries import random_grids


def nearest_alike(model: CrowdSter, category: IntArray) -> float:
    return float((category[model.kneighbors(10)] == category[:, None]).mean())


def of_categories(grid_size: int, n: int) -> tuple[IntArray, Groupings]:
    """180 images of six categories: two of them are alike to half of the annotators."""
    rng = np.random.default_rng(0)
    category = np.arange(180) % 6
    grids = random_grids(n, grid_size, 180, rng)
    annotators = rng.integers(0, 20, n)
    groups = np.where((annotators % 2 == 0)[:, None], category[grids] // 2, category[grids])
    stray = rng.random(groups.shape) < 0.1
    groups = np.where(stray, rng.integers(0, 6, groups.shape), groups)
    return category, Groupings(grids, groups, annotators, 180, 20)


@pytest.mark.parametrize(("grid_size", "least"), [(3, 0.58), (5, 0.9)])
def test_small_grids_tell_categories_apart(grid_size: int, least: float, tmp_path: Path) -> None:
    category, answers = of_categories(grid_size, 4_000 // grid_size)
    model = CrowdSter(180, grid_size=grid_size, random_state=0).update(answers)
    # By chance a sixth; by what all annotators see, half.
    assert nearest_alike(model, category) > least
    assert model.held_out_.shape == (len(answers), 2)
    predicted, asked_for = model.held_out_.sum(axis=0)
    assert 0.5 * asked_for < predicted <= asked_for
    assert ((model.uncertainty_ > 0) & (model.uncertainty_ <= 1)).all()
    model.save(tmp_path / "model")
    assert np.array_equal(CrowdSter.load(tmp_path / "model").embedding_, model.embedding_)


def test_small_grids_of_noise_give_places_all_the_same() -> None:
    rng = np.random.default_rng(0)
    grids = random_grids(150, 4, 60, rng)
    answers = Groupings(grids, rng.integers(0, 3, grids.shape), np.arange(150) % 5, 60, 5)
    model = CrowdSter(60, grid_size=4, random_state=0).update(answers)
    assert np.isfinite(model.embedding_).all()
    assert len(np.unique(model.embedding_, axis=0)) == 60
    assert (model.embedding_**2).sum(axis=1).mean() == pytest.approx(1, abs=0.01)


def test_small_grids_give_as_many_dimensions_as_wanted_and_progress_ends_at_its_total() -> None:
    _, answers = of_categories(4, 300)
    heard: list[tuple[int, int]] = []
    model = CrowdSter(180, grid_size=4, n_dimensions=5, random_state=0)
    model.update(answers, lambda done, total, _: heard.append((done, total)))
    assert model.embedding_.shape == (180, 5)
    assert [done for done, _ in heard] == list(range(1, heard[-1][1] + 1))
