"""Types of annotators: planted ones are recognized, carelessness is none."""

import numpy as np
import pytest

from bench.annotator_types import Make, simulated
from learning.annotator_groups import group_difference_p
from learning.annotator_types import UNCLEAR, find_types
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


def test_odd_ones_out_and_leftovers_have_types() -> None:
    groupings, _ = simulated(Make("two", 0.5, answers=(40, 40), grid_size=3), seed=5)
    left = Groupings(
        groupings.images,
        np.where(groupings.groups == 1, -1, groupings.groups),
        groupings.annotators,
        groupings.n_images,
        groupings.n_annotators,
    )
    types = find_types(left)
    assert 0 < types.p <= 1
    assert np.isfinite(types.scores).all()


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
