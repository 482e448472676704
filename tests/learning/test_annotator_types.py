"""Types of annotators: planted ones are recognized, carelessness is none."""

from dataclasses import replace

import numpy as np
import pytest

from bench.annotator_types import Make, simulated
from learning import annotator_scores
from learning.annotator_groups import group_difference_p
from learning.annotator_scores import fit_lines, person_folds, sample_answers, sum_answers
from learning.annotator_types import UNCLEAR, find_types
from learning.arrays import IntArray
from learning.groupings import Groupings


def test_two_populations_are_told_apart() -> None:
    groupings, truth = simulated(Make("two", 0.5), seed=1)
    types = find_types(groupings)
    assert types.p < 0.01
    assert types.n_types == 2
    clear = types.type != UNCLEAR
    assert clear.mean() > 0.8
    same = (types.type[clear] == truth[clear]).mean()
    assert max(same, 1 - same) > 0.95
    assert types.sizes.tolist() == sorted(types.sizes.tolist(), reverse=True)


@pytest.mark.parametrize("seed", [1, 2])
def test_careless_people_are_no_type(seed: int) -> None:
    groupings, _ = simulated(Make("one", 0.0, noise=(0.0, 1.0)), seed)
    types = find_types(groupings)
    assert types.n_types == 1
    assert types.p > 0.01


def test_people_with_few_answers_are_unclear() -> None:
    groupings, _ = simulated(Make("one", 0.0, people=12), seed=3)
    few = groupings.subset((groupings.annotators > 0) | (np.arange(len(groupings)) < 2))
    types = find_types(few)
    assert types.type[0] == UNCLEAR
    assert types.n_answers[0] == 2
    assert (types.type[1:] == 0).all()


def test_too_few_people_are_one_type() -> None:
    groupings, _ = simulated(Make("two", 0.5, people=4), seed=4)
    types = find_types(groupings)
    assert (types.p, types.n_types) == (1.0, 1)


def crowd_among(places: list[int], n_places: int) -> Groupings:
    """Small answers of a person at each of the places; the others have not answered."""
    make = Make("two", 0.5, people=len(places), answers=(3, 3), grid_size=6)
    groupings, _ = simulated(make, seed=6)
    return replace(
        groupings, annotators=np.array(places)[groupings.annotators], n_annotators=n_places
    )


def test_people_without_answers_leave_no_fold_empty() -> None:
    groupings = crowd_among([3, 9, 17, 25, 31, 39], 40)
    for seed in range(100):
        folds = person_folds(groupings, seed)
        assert np.bincount(folds[folds >= 0]).tolist() == [2, 2, 2]
        assert (np.flatnonzero(folds >= 0) == np.unique(groupings.annotators)).all()
    for seed in range(3):
        types = find_types(groupings, seed)
        assert np.isfinite(types.scores).all()
        assert 0 < types.p <= 1


def test_one_person_has_no_scores() -> None:
    types = find_types(crowd_among([5], 9))
    assert (types.p, types.n_types) == (1.0, 1)
    assert np.isfinite(types.scores).all()


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_an_empty_fold_is_skipped(empty: int) -> None:
    sums = sum_answers(crowd_among([0, 1, 2, 3], 4))
    rows = np.flatnonzero(sums.fold != empty)
    left = replace(
        sums,
        products=sums.products[rows],
        labels=sums.labels[rows],
        annotator=sums.annotator[rows],
        fold=sums.fold[rows],
    )
    assert np.isfinite(fit_lines(left, left.labels).scores).all()


def test_many_people_keep_several_answers_each(monkeypatch: pytest.MonkeyPatch) -> None:
    groupings, _ = simulated(Make("one", 0.0, people=40, answers=(12, 12), grid_size=4), seed=7)
    monkeypatch.setattr(annotator_scores, "_MOST_ROWS", 100)
    kept = np.bincount(sample_answers(groupings, 0).annotators, minlength=40)
    assert sorted(kept.tolist())[-10:] == [10] * 10
    assert kept.sum() == 100
    other = np.bincount(sample_answers(groupings, 1).annotators, minlength=40)
    assert (kept != other).any()


def test_a_grid_above_the_limit_leaves_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    groupings, _ = simulated(Make("one", 0.0, people=6, answers=(4, 4), grid_size=100), seed=8)
    monkeypatch.setattr(annotator_scores, "_MOST_PAIRS", 4_000)
    monkeypatch.setattr(annotator_scores, "_KEPT_IMAGES", 20)
    kept = sample_answers(groupings, 0)
    assert len(kept) == 21
    assert ((kept.images >= 0).sum(axis=1) == 20).all()
    seen = {
        (who, image, group)
        for who, images, groups in zip(
            groupings.annotators, groupings.images, groupings.groups, strict=True
        )
        for image, group in zip(images, groups, strict=True)
    }
    who, images, groups = kept.annotators[0], kept.images[0], kept.groups[0]
    assert {(who, *pair) for pair in zip(images, groups, strict=True)} <= seen


def a_view(who: int, images: IntArray) -> IntArray:
    """Even people see the parity of images, odd ones the halves of the collection."""
    return images % 2 if who % 2 == 0 else (images >= 15).astype(np.int64)


def odd_ones_out(same: bool) -> Groupings:
    """Pairs out of three images, and the odd one left out; everyone sees the same, or two types."""
    rng = np.random.default_rng(5)
    rows: list[tuple[int, IntArray, IntArray]] = []
    while len(rows) < 16 * 40:
        who = len(rows) % 16
        images = rng.choice(30, 3, replace=False)
        sides = a_view(0 if same else who, images)
        majority = int(sides.sum() >= 2)
        rows.append((who, images, np.where(sides == majority, 0, -1)))
    return Groupings(
        np.stack([images for _, images, _ in rows]),
        np.stack([groups for _, _, groups in rows]),
        np.array([who for who, _, _ in rows]),
        30,
        16,
    )


def test_odd_ones_out_and_leftovers_have_types() -> None:
    types = find_types(odd_ones_out(same=False))
    assert types.p < 0.01
    assert types.n_types == 2
    assert len(set(types.type[::2].tolist()) - {UNCLEAR}) == 1
    assert len(set(types.type[1::2].tolist()) - {UNCLEAR}) == 1
    single = find_types(odd_ones_out(same=True))
    assert (single.n_types, single.p > 0.01) == (1, True)


@pytest.mark.parametrize("seed", [1, 2])
def test_grids_of_similar_images_are_no_type(seed: int) -> None:
    make = Make("one", 0.0, reach=40)
    types = find_types(simulated(make, seed)[0])
    assert types.p > 0.01
    assert types.n_types == 1


def test_groups_do_not_differ_by_the_grids_that_they_got() -> None:
    groupings, _ = simulated(Make("one", 0.0, reach=16), seed=3)
    types = find_types(groupings)
    # Similar images are shown together again and again.
    together = np.zeros((groupings.n_images, groupings.n_images))
    for grid in groupings.images:
        together[np.ix_(grid, grid)] += 1
    each = np.array([together[np.ix_(grid, grid)].mean() for grid in groupings.images])
    mean = np.bincount(groupings.annotators, each) / np.bincount(groupings.annotators)
    similar = mean > mean.mean()
    assert similar.sum() == 15
    p = group_difference_p(types.scores, types.n_answers, similar, ~similar)
    assert p is not None
    assert p > 0.01


def test_groups_that_differ_have_a_small_p_and_random_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    scores, n_answers = rng.normal(size=(30, 4)), np.full(30, 8)
    first = np.arange(30) < 15
    assert (group_difference_p(scores, n_answers, first, ~first) or 0) > 0.05
    scores[:15, 0] += 3
    p = group_difference_p(scores, n_answers, first, ~first)
    assert p is not None
    assert p < 0.01
    assert group_difference_p(scores, n_answers, np.arange(30) < 2, ~first) is None
