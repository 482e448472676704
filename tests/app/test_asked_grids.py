"""Strategies show only the images that a campaign asks about, in all kinds of task."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.kinds import all_kinds, get_kind
from app.planning.crowd import IMAGINED, CrowdTraits, ImageTable, make_crowd
from app.planning.dry_run import Design, _answer
from app.strategies import Learned, LearningData, all_strategies, get_strategy, kinds_of
from app.strategies.asking import first_grids, next_grids
from app.strategies.grids import FirstRound, NextGrids

N, M, SEED = 120, 40, 0
ASKED = np.sort(np.random.default_rng(1).choice(N, M, replace=False))
CLASSES = ["red", "green", "blue"]
PAIRS = [(strategy.name, kind.name) for strategy in all_strategies() for kind in kinds_of(strategy)]
# Settings under which a strategy makes grids of all its purposes.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "cen": [{"attribute_share": 0.4, "uncertain_share": 0.3}, {"model": "published"}],
    "crowdster": [
        {"random_share": 0.25, "focus_images": [0, 1, 2]},
        {"algorithm": "paper", "random_share": 0.25},
    ],
    "scdc": [
        {"effort": "quick", "max_clusters": 6, "n_latent": 2, "random_share": 0.25},
        {"effort": "quick", "max_clusters": 6, "n_latent": 2, "n_annotated": 20},
    ],
    "neucrowd": [{"effort": "quick", "random_share": 0.5, "target": 1.0, "least_gain": 0.0}],
}


def a_design(strategy: str, kind_name: str, settings: dict[str, Any]) -> Design:
    kind = get_kind(kind_name)
    classes = CLASSES if kind.asks_for_classes else []
    kind = kind.with_classes(classes)
    return Design(
        kind=kind.name,
        strategy=strategy,
        settings=settings,
        rounds=4,
        grid_size=min(kind.grid_size, 8),
        max_groups=kind.checked_max_groups(None),
        answers_per_grid=1,
        seed=SEED,
        classes=classes,
    )


def show_only_asked(grids: NextGrids, n: int, size: int) -> None:
    assert grids.images.shape == (n, size)
    assert np.isin(grids.images, ASKED).all()
    assert all(len(set(grid)) == size for grid in grids.images.tolist())
    assert len(grids.purposes) == len(grids.attributes) == n
    counts = {name: grids.purposes.count(name) for name in set(grids.purposes)}
    assert counts == {name: grids.contents[name] for name in counts}


def test_every_strategy_and_kind_is_tested() -> None:
    assert {kind for _, kind in PAIRS} == {kind.name for kind in all_kinds()}
    assert set(SETTINGS) == {strategy.name for strategy in all_strategies()}


@pytest.mark.parametrize(("strategy_name", "kind_name"), PAIRS)
def test_grids_of_all_rounds_show_only_asked_images(strategy_name: str, kind_name: str) -> None:
    # The kinds from whose answers a strategy learns differ in their answers only.
    is_first = kinds_of(get_strategy(strategy_name))[0].name == kind_name
    for settings in SETTINGS[strategy_name][: None if is_first else 1]:
        design = a_design(strategy_name, kind_name, settings)
        kind = get_kind(kind_name).with_classes(design.classes)
        strategy, rng = get_strategy(strategy_name), np.random.default_rng(2)
        blank: list[Any] = [None] * N
        table = ImageTable(list(range(N)), [str(k) for k in range(N)], [{}] * N, blank)
        crowd = make_crowd(table, [IMAGINED], CrowdTraits(), kind)
        first = FirstRound(N, design.grid_size, SEED, rng)
        grids = first_grids(strategy, 40, first, settings, ASKED)
        show_only_asked(grids, 40, design.grid_size)
        answers, words = _answer(design, crowd, grids.images, rng)
        data = LearningData(
            rounds=[answers],
            n_images=N,
            grid_size=design.grid_size,
            n_rounds=design.rounds,
            n_groups=design.max_groups,
            seed=SEED,
            words=words,
            n_full=1,
            begun=grids.images,
            purposes=list(grids.purposes),
            features=rng.normal(size=(N, 5)),
            ballot=kind.ballot,
            asked=ASKED,
        )
        learned = strategy.learn(data, settings, lambda _: None)
        assert len(learned.embedding) == N
        for number in (2, 3):
            show_only_asked(next_grids(learned, data, 25, number), 25, design.grid_size)


def a_learned(grids: NextGrids) -> Learned:
    """What a strategy returns that knows nothing of asked images."""
    embedding = np.random.default_rng(0).normal(size=(N, 2))
    return Learned(embedding, {}, lambda n, number: grids, lambda path: None)


def a_data(**changes: Any) -> LearningData:
    empty = LearningData([], N, 6, 4, 4, SEED, asked=ASKED, begun=np.empty((0, 6), np.int64))
    return replace(empty, **changes)


def elsewhere(n: int) -> np.ndarray:
    others = np.setdiff1d(np.arange(N), ASKED)
    rng = np.random.default_rng(0)
    return np.array([rng.choice(others, 6, replace=False) for _ in range(n)])


PURPOSES = ["random", "attribute", "uncertain", "local", "focus", "new", "between", "covering"]


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_strategy_that_draws_all_images_still_shows_none_of_the_others(purpose: str) -> None:
    proposed = NextGrids.of_purpose(elsewhere(12), purpose)
    show_only_asked(next_grids(a_learned(proposed), a_data(), 12, 2), 12, 6)


def test_grids_of_asked_images_stay_as_they_are() -> None:
    images = np.array([ASKED[:6], ASKED[6:12], elsewhere(1)[0]])
    proposed = NextGrids(images, ["local"] * 3, [None] * 3, {"local": 3, "focus": None})
    grids = next_grids(a_learned(proposed), a_data(), 3, 2)
    assert grids.images[:2].tolist() == images[:2].tolist()
    assert grids.contents["focus"] is None
    show_only_asked(grids, 3, 6)


def test_new_images_come_first_until_all_were_shown() -> None:
    """CrowdSter would introduce images that it may not show, in half of its grids."""
    proposed = NextGrids.of_purpose(elsewhere(12), "new")
    begun = ASKED[:36].reshape(6, 6)
    grids = next_grids(a_learned(proposed), a_data(begun=begun), 12, 2)
    assert np.isin(ASKED[36:], grids.images).all()
    assert 0 < grids.purposes.count("new") <= 2
    later = next_grids(a_learned(proposed), a_data(begun=ASKED[None, :6].repeat(1, 0)), 12, 2)
    assert "new" in later.purposes


def test_without_a_part_nothing_changes() -> None:
    proposed = NextGrids.of_purpose(elsewhere(4), "local")
    assert next_grids(a_learned(proposed), a_data(asked=None), 4, 2) is proposed
