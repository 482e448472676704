"""Neighbours of two halves of the answers, and what they predict for other numbers of answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.arrays import FloatArray
from learning.groupings import Groupings
from learning.neighbors import nearest_neighbors
from learning.simulation.feature_crowd import FeatureCrowd
from learning.split_half import SplitHalf, neighbors_compared, split_half

N, GRID_SIZE = 60, 12


def answers_of(n: int, noise: float = 0.2, seed: int = 0) -> Groupings:
    rng = np.random.default_rng(seed)
    crowd = FeatureCrowd(np.random.default_rng(0).random((N, 2)), 10, noise, random_state=seed)
    grids = np.stack([rng.choice(N, GRID_SIZE, replace=False) for _ in range(n)])
    return crowd.answer_grids(grids, rng.integers(0, 10, n))


def by_shares(answers: Groupings) -> FloatArray:
    """Positions (N, 3) by how often two images were put together: by no learning system."""
    together, shown = np.zeros((N, N)), np.full((N, N), 2.0)
    for images, groups in zip(answers.images, answers.groups, strict=True):
        same = groups[:, None] == groups
        together[np.ix_(images, images)] += same
        shown[np.ix_(images, images)] += 1
    share = together / shown
    share -= share.mean(axis=0)
    values, vectors = np.linalg.eigh(share @ share.T)
    return np.asarray(vectors[:, -3:] * values[-3:] ** 0.25)


def of_shares(shares: FloatArray, k: int, n_answers: int, auc: float = 0.8) -> SplitHalf:
    """Splits (R, n) whose models predict each other."""
    n_splits, n = shares.shape
    return SplitHalf(shares, k, n_answers, np.arange(n), np.full((n_splits, 2), auc), 0.02)


def shared(first: FloatArray, second: FloatArray, k: int) -> float:
    here, there = nearest_neighbors(first, k), nearest_neighbors(second, k)
    return float((here[:, :, None] == there[:, None, :]).any(axis=2).mean())


@pytest.mark.parametrize("n", [100, 300])
def test_halves_predict_what_as_many_other_answers_would_keep(n: int) -> None:
    stated, kept = [], []
    for seed in range(3):
        halves = split_half(by_shares, answers_of(n, seed=seed), n_splits=2)
        assert halves is not None
        stated.append(halves.settled)
        first, second = (answers_of(n, seed=number) for number in (seed, 100 + seed))
        kept.append(shared(by_shares(first), by_shares(second), halves.n_neighbors))
    assert np.mean(stated) == pytest.approx(np.mean(kept), abs=0.06)
    # It says something: more answers settle more, and chance is far below.
    assert np.mean(stated) > 0.3


def test_the_answers_that_are_still_needed_are_predicted_from_few() -> None:
    stated = []
    for seed in range(3):
        few, many = (split_half(by_shares, answers_of(n, seed=seed), 2) for n in (100, 300))
        assert few is not None
        assert many is not None
        stated.append(few.answers_for(many.settled))
    assert 150 < np.mean(stated) < 600


def test_nothing_is_settled_by_answers_that_say_nothing() -> None:
    settled = []
    for seed in range(4):
        halves = split_half(by_shares, answers_of(100, noise=1.0, seed=seed))
        assert halves is not None
        settled.append(halves.settled - halves.chance)
    assert np.mean(settled) < 0.06
    nothing = of_shares(np.full((1, N), 0.05), 6, 200)
    assert nothing.answers_for(0.8) == np.inf


def test_images_in_one_place_have_no_neighbours_in_common() -> None:
    halves = split_half(lambda _: np.zeros((N, 2)), answers_of(100), n_splits=4)
    assert halves is not None
    assert halves.settled < 3 * halves.chance
    # Images 0 and 1 are known to be together, whatever their order.
    pairs = np.repeat(np.arange(N / 2), 2)[:, None]
    together = split_half(lambda _: pairs, answers_of(100))
    assert together is not None
    assert together.settled > halves.settled


def test_equal_models_are_settled_and_only_images_that_both_show_are_compared() -> None:
    positions = np.random.default_rng(0).random((N, 2))
    answers = answers_of(8)
    halves = split_half(lambda _: positions, answers)
    assert halves is not None
    assert halves.shared.shape[1] < N
    assert (halves.settled, halves.settled_error, halves.answers_for(0.8)) == (1.0, 0.0, 8.0)
    assert (halves.settled_by_image() == 1).all()
    assert split_half(lambda _: positions, answers_of(3)) is None
    alone = Groupings(np.arange(12).reshape(4, 3), np.zeros((4, 3), int), np.zeros(4, int), N, 10)
    assert split_half(lambda _: positions, alone) is None


@given(st.floats(0.15, 0.99), st.integers(4, 10_000), st.floats(0.2, 50))
def test_the_number_of_answers_inverts_the_prediction(half: float, n: int, more: float) -> None:
    halves = of_shares(np.full((1, 101), half), 10, n)
    settled = halves.settled_with(more * n)
    assert halves.chance < settled <= 1
    if settled < 1:
        assert halves.answers_for(settled) == pytest.approx(more * n, rel=1e-6)


def test_a_share_that_is_none_is_refused() -> None:
    halves = of_shares(np.full((1, 101), 0.5), 10, 40)
    for share in (0.05, 0.1, 1.2):
        with pytest.raises(ValueError, match="above chance"):
            halves.answers_for(share)


def test_chance_is_at_most_about_a_tenth() -> None:
    assert [neighbors_compared(n) for n in (3, 25, 99, 100, 10_000)] == [1, 2, 9, 10, 10]
