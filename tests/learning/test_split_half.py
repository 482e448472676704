"""Neighbours of two halves of the answers, and what they predict for other numbers of answers."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.arrays import FloatArray
from learning.groupings import Groupings
from learning.kept_neighbors import kept_counts
from learning.neighbor_growth import doubled, logit_of, share_of
from learning.neighbors import nearest_neighbors
from learning.simulation.feature_crowd import FeatureCrowd
from learning.split_half import SplitHalf, neighbors_compared, split_half

N, GRID_SIZE = 60, 12


@lru_cache(maxsize=32)
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
    stated, kept, inside = [], [], 0
    for seed in range(4):
        halves = split_half(by_shares, answers_of(n, seed=seed), n_splits=2)
        assert halves is not None
        stated.append(halves.settled)
        first, second = (by_shares(answers_of(n, seed=number)) for number in (seed, (seed + 1) % 4))
        kept.append(shared(first, second, halves.n_neighbors))
        low, high = halves.settled_interval()
        inside += low <= kept[-1] <= high
    assert np.mean(stated) == pytest.approx(np.mean(kept), abs=0.08)
    assert inside >= 3
    # It says something: more answers settle more, and chance is far below.
    assert np.mean(stated) > 0.3


def test_the_answers_that_are_still_needed_are_predicted_from_few() -> None:
    stated = []
    for seed in range(3):
        few, many = (split_half(by_shares, answers_of(n, seed=seed), 2) for n in (100, 300))
        assert few is not None
        assert many is not None
        stated.append(few.growth.answers_for(many.settled))
    assert 150 < np.mean(stated) < 600


def test_nothing_is_settled_by_answers_that_say_nothing() -> None:
    settled = []
    for seed in range(4):
        halves = split_half(by_shares, answers_of(100, noise=1.0, seed=seed))
        assert halves is not None
        settled.append(halves.settled - halves.chance)
    assert np.mean(settled) < 0.06
    nothing = of_shares(np.full((1, N), 0.05), 6, 200)
    assert nothing.growth.answers_for(0.8) == np.inf


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
    shown = [set(answers.images[rows].ravel()) for rows in (slice(0, 4), slice(4, 8))]
    assert set(halves.images) < shown[0] | shown[1]
    assert halves.shared.shape == (1, len(halves.images))
    # Models can agree on what other answers would change.
    assert 0.85 < halves.settled < 1
    assert halves.settled_interval()[1] == 1
    assert halves.growth.answers_for(0.8) < 8
    assert halves.growth.answers_for(1.0) == 8
    assert (halves.settled_by_image() > 0.85).all()
    assert split_half(lambda _: positions, answers_of(3)) is None
    alone = Groupings(np.arange(12).reshape(4, 3), np.zeros((4, 3), int), np.zeros(4, int), N, 10)
    assert split_half(lambda _: positions, alone) is None


@given(st.floats(0.15, 0.99), st.integers(4, 10_000), st.floats(0.2, 50))
def test_the_number_of_answers_inverts_the_prediction(half: float, n: int, more: float) -> None:
    halves = of_shares(np.full((1, 101), half), 10, n)
    settled = halves.growth.settled_with(more * n)
    assert halves.chance < settled <= 1
    if settled < 1:
        assert halves.growth.answers_for(settled) == pytest.approx(more * n, rel=1e-6)


@given(st.floats(0.0, 1.0), st.integers(4, 10_000), st.floats(0.05, 0.95), st.floats(0.15, 0.95))
def test_intervals_surround_what_is_expected(
    half: float, n: int, level: float, target: float
) -> None:
    halves = of_shares(np.full((1, 101), half), 10, n)
    low, high = halves.settled_interval(level)
    wide_low, wide_high = halves.settled_interval((1 + level) / 2)
    assert 0 <= wide_low <= low <= halves.settled <= high <= wide_high <= 1
    few, many = halves.growth.answers_between(target, level)
    assert 0 <= few <= halves.growth.answers_for(target) <= many
    # A lower target is not settled later.
    assert halves.is_settled(target / 2) or not halves.is_settled(target)


@given(st.floats(0.0, 0.9), st.integers(20, 200), st.integers(2, 20))
def test_more_images_and_more_splits_leave_less_open(half: float, n: int, more: int) -> None:
    chance = 5 / (n - 1)
    here = of_shares(np.full((1, n), half), 5, 100)
    splits = of_shares(np.full((more, n), half), 5, 100)
    assert splits.settled_error <= here.settled_error
    # As many of the images are neighbours, so chance stays the same.
    images = of_shares(np.full((1, 1 + more * (n - 1)), half), 5 * more, 100)
    assert images.chance == pytest.approx(chance)
    assert images.settled_error <= here.settled_error + 1e-9


def test_nothing_is_known_of_how_many_answers_it_takes_if_halves_say_nothing() -> None:
    nothing = of_shares(np.full((1, N), 0.05), 6, 200)
    few, many = nothing.growth.answers_between(0.8)
    assert 200 < few < np.inf
    assert many == np.inf


@pytest.mark.parametrize("chance", [0.02, 0.1, 0.3])
def test_the_curve_is_that_of_two_normal_variables(chance: float) -> None:
    rng = np.random.default_rng(0)
    first, other = rng.normal(size=(2, 400_000))
    for correlation in (0.2, 0.6, 0.9):
        second = correlation * first + np.sqrt(1 - correlation**2) * other
        limits = np.quantile(first, 1 - chance), np.quantile(second, 1 - chance)
        both = ((first > limits[0]) & (second > limits[1])).mean() / chance
        logit = np.log2(correlation / (1 - correlation))
        assert float(share_of(logit, chance)) == pytest.approx(both, abs=0.02)
        assert float(logit_of(both, chance)) == pytest.approx(logit, abs=0.2)


@pytest.mark.parametrize("n_splits", [1, 3])
@pytest.mark.parametrize("concentration", [3.0, 1000.0])
def test_counts_of_images_are_in_their_intervals_as_often_as_stated(
    n_splits: int, concentration: float
) -> None:
    n, k, rng = 4_000, 10, np.random.default_rng(0)
    half = rng.beta(0.4 * concentration, 0.6 * concentration, n)
    shares = rng.binomial(k, half, (n_splits, n)) / k
    full = share_of(doubled(logit_of(half, 0.1)), 0.1)
    kept = rng.binomial(k, full)
    stated = kept_counts(shares, k, 0.1, float(full.mean()), 0.0, 0.8)
    expected, low, high = stated.T
    assert 0.72 < ((low <= kept) & (kept <= high)).mean() < 0.88
    assert expected.mean() == pytest.approx(kept.mean(), abs=0.1)
    # Neither everything that a split shows of an image is believed, nor nothing.
    slope = np.polyfit(expected, kept, 1)[0] if concentration < 100 else 1.0
    assert 0.75 < slope < 1.25
    assert expected.std() < (0.5 if concentration > 100 else 2.5)
    assert (high - low).mean() < 7


def test_the_count_of_an_image_is_a_number_of_its_neighbours() -> None:
    for share in (0.0, 0.5, 1.0):
        counts = of_shares(np.full((1, N), share), 6, 200).kept_by_image()
        assert (counts >= 0).all()
        assert (counts <= 6).all()
        assert (counts[:, 1] <= counts[:, 2]).all()


def test_halves_that_agree_on_noise_are_never_settled() -> None:
    positions = np.random.default_rng(1).random((N, 2))
    for seed in range(10):
        noise = split_half(lambda _: positions, answers_of(60, noise=1.0, seed=seed))
        assert noise is not None
        assert noise.settled > 0.85
        assert not noise.is_settled(0.3)
    # The same agreement, on positions that predict what people answer.
    seen = np.random.default_rng(0).random((N, 2))
    halves = split_half(lambda _: seen, answers_of(100))
    assert halves is not None
    assert halves.is_settled(0.7)


def test_halves_predict_each_others_groupings() -> None:
    seen = np.random.default_rng(0).random((N, 2))
    for positions, best in ((seen, 0.75), (np.zeros((N, 2)), 0.5)):
        halves = split_half(lambda _, p=positions: p, answers_of(100), n_splits=3)  # type: ignore[misc]
        assert halves is not None
        assert halves.auc.shape == (3, 2)
        assert halves.auc.mean() == pytest.approx(best, abs=0.1 if best > 0.5 else 0.0)
        assert halves.auc_error < 0.02
    alone = Groupings(np.tile(np.arange(6), (8, 1)), np.zeros((8, 6), int), np.zeros(8, int), 6, 1)
    nothing = split_half(lambda _: np.arange(6.0)[:, None], alone)
    assert nothing is not None
    assert (nothing.auc == 0.5).all()
    assert not nothing.is_settled(0.3)


def test_few_images_in_all_halves_have_few_neighbours() -> None:
    # Four images are in all answers, and each of the others is in one.
    images = np.concatenate([np.tile(np.arange(4), (50, 1)), np.arange(4, 54)[:, None]], axis=1)
    answers = Groupings(images, np.tile([0, 0, 1, 1, 2], (50, 1)), np.zeros(50, int), 54, 1)
    halves = split_half(lambda _: np.arange(54.0)[:, None], answers)
    assert halves is not None
    assert halves.images.tolist() == [0, 1, 2, 3]
    assert halves.chance < 0.5
    assert 0 <= halves.settled_interval()[0] <= halves.settled <= 1
    assert np.isfinite(halves.kept_by_image()).all()


def test_looks_at_the_same_answers_are_joined() -> None:
    answers = answers_of(12)
    first, second = (split_half(by_shares, answers, random_state=seed) for seed in (0, 1))
    assert first is not None
    assert second is not None
    both = first.combined(second)
    assert set(both.images) == set(first.images) & set(second.images)
    for row, look in enumerate((first, second)):
        where = np.searchsorted(look.images, both.images)
        assert (both.shared[row] == look.shared[0, where]).all()
        assert (both.auc[row] == look.auc[0]).all()
    assert min(first.auc_error, second.auc_error) <= both.auc_error
    assert both.auc_error <= max(first.auc_error, second.auc_error)
    elsewhere = SplitHalf(
        first.shared, first.n_neighbors, 12, first.images + N, first.auc, first.auc_error
    )
    with pytest.raises(ValueError, match="only 0 of the same images"):
        first.combined(elsewhere)
    other = split_half(by_shares, answers_of(16))
    assert other is not None
    with pytest.raises(ValueError, match="same answers"):
        first.combined(other)


def test_a_share_that_is_none_is_refused() -> None:
    halves = of_shares(np.full((1, 101), 0.5), 10, 40)
    for share in (0.05, 0.1, 1.2):
        with pytest.raises(ValueError, match="above chance"):
            halves.growth.answers_for(share)


def test_chance_is_at_most_about_a_tenth() -> None:
    assert [neighbors_compared(n) for n in (3, 25, 99, 100, 10_000)] == [1, 2, 9, 10, 10]
