"""Laws of groupings and of the pairs derived from them."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.groupings import Groupings, Pairs, from_answers

N_IMAGES, N_ANNOTATORS = 12, 4


@st.composite
def some_groupings(draw: st.DrawFn) -> Groupings:
    grid = st.lists(st.integers(0, N_IMAGES - 1), unique=True, max_size=6)
    images = draw(st.lists(grid, min_size=1, max_size=5))
    groups = [
        draw(st.lists(st.integers(-1, 3), min_size=len(row), max_size=len(row))) for row in images
    ]
    who = draw(
        st.lists(st.integers(0, N_ANNOTATORS - 1), min_size=len(images), max_size=len(images))
    )
    return from_answers(images, groups, who, N_IMAGES, N_ANNOTATORS)


def rows(pairs: Pairs) -> list[tuple[int, ...]]:
    assert pairs.grid is not None
    columns = (pairs.grid, pairs.annotator, pairs.i, pairs.j, pairs.same)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def naive_rows(groupings: Groupings) -> list[tuple[int, ...]]:
    expected: list[tuple[int, ...]] = []
    for grid, (images, groups) in enumerate(zip(groupings.images, groupings.groups, strict=True)):
        for a in range(groupings.grid_size):
            for b in range(a + 1, groupings.grid_size):
                left_out = groups[a] < 0 and groups[b] < 0
                if images[a] < 0 or images[b] < 0 or left_out:
                    continue
                same = bool(groups[a] == groups[b])
                expected.append((grid, groupings.annotators[grid], images[a], images[b], same))
    return expected


@given(some_groupings())
def test_pairs_follow_the_pair_rule(groupings: Groupings) -> None:
    assert rows(groupings.pairs()) == naive_rows(groupings)


@given(some_groupings(), st.permutations(range(4)))
def test_renumbering_groups_changes_no_pair(groupings: Groupings, order: list[int]) -> None:
    number = np.array([*order, -1])
    renamed = Groupings(
        groupings.images,
        number[groupings.groups],
        groupings.annotators,
        N_IMAGES,
        N_ANNOTATORS,
    )
    assert rows(renamed.pairs()) == rows(groupings.pairs())


@given(some_groupings(), st.integers(1, 4))
def test_padding_changes_no_pair(groupings: Groupings, n_columns: int) -> None:
    padding = ((0, 0), (0, n_columns))
    padded = Groupings(
        np.pad(groupings.images, padding, constant_values=-1),
        np.pad(groupings.groups, padding, constant_values=-1),
        groupings.annotators,
        N_IMAGES,
        N_ANNOTATORS,
    )
    assert rows(padded.pairs()) == rows(groupings.pairs())


@given(some_groupings(), st.permutations(range(N_ANNOTATORS)))
def test_renumbering_annotators_only_renumbers_them(groupings: Groupings, order: list[int]) -> None:
    number = np.array(order)
    renamed = Groupings(
        groupings.images,
        groupings.groups,
        number[groupings.annotators],
        N_IMAGES,
        N_ANNOTATORS,
    )
    before, after = groupings.pairs(), renamed.pairs()
    assert number[before.annotator].tolist() == after.annotator.tolist()
    assert before.same.tolist() == after.same.tolist()


@given(some_groupings(), some_groupings())
def test_concatenating_adds_up_the_pairs(groupings: Groupings, other: Groupings) -> None:
    both = Groupings.concatenate([groupings, other])
    shifted = [(grid + len(groupings), *rest) for grid, *rest in rows(other.pairs())]
    assert rows(both.pairs()) == rows(groupings.pairs()) + shifted


@given(some_groupings())
def test_pair_labels_agree_with_pairs(groupings: Groupings) -> None:
    labels = groupings.pair_labels()
    assert (labels[labels >= 0] == 1).tolist() == groupings.pairs().same.tolist()


def a_groupings(n_grids: int = 20) -> Groupings:
    rng = np.random.default_rng(0)
    images = np.stack([rng.permutation(N_IMAGES)[:5] for _ in range(n_grids)])
    groups = rng.integers(-1, 3, images.shape)
    return Groupings(images, groups, rng.integers(0, 4, n_grids), N_IMAGES, N_ANNOTATORS)


def test_a_split_parts_whole_grids_repeatably() -> None:
    groupings = a_groupings()
    train, test = groupings.split(0.15, seed=3)
    assert (len(train), len(test)) == (17, 3)
    whole = sorted(map(tuple, groupings.images.tolist()))
    assert sorted(map(tuple, [*train.images.tolist(), *test.images.tolist()])) == whole
    assert groupings.split(0.15, seed=3)[1].images.tolist() == test.images.tolist()


def test_a_split_keeps_answers_to_the_same_images_together() -> None:
    rng = np.random.default_rng(1)
    padded = np.pad(a_groupings().images, ((0, 0), (0, 1)), constant_values=-1)
    images = rng.permuted(np.repeat(padded, 3, axis=0), axis=1)
    groupings = Groupings(images, np.where(images < 0, -1, 0), np.arange(60) % 4, N_IMAGES, 4)
    train, test = groupings.split(0.15, seed=3)
    assert (len(train), len(test)) == (51, 9)
    known, asked = ({frozenset(row) for row in part.images.tolist()} for part in (train, test))
    assert not known & asked
    one_grid = groupings.subset([0, 1, 2])
    assert [len(part) for part in one_grid.split(0.4, seed=0)] == [2, 1]


def test_a_subset_takes_rows_or_a_mask() -> None:
    groupings = a_groupings(4)
    mask = np.array([True, False, False, True])
    assert groupings.subset(mask).images.tolist() == groupings.subset([0, 3]).images.tolist()


def test_no_answers_give_no_pairs() -> None:
    assert len(from_answers([], [], [], 5, 2).pairs()) == 0


def test_the_callers_array_stays_writable() -> None:
    images = np.array([[0, 1]])
    Groupings(images, np.zeros_like(images), np.array([0]), 2, 1)
    images[0, 0] = 1


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "image beyond the collection": (lambda: from_answers([[0, 9]], [[0, 0]], [0], 5, 1), "9"),
    "unknown annotator": (lambda: from_answers([[0, 1]], [[0, 0]], [7], 5, 1), "7"),
    "group below -1": (lambda: from_answers([[0, 1]], [[0, -2]], [0], 5, 1), "-2"),
    "image twice": (lambda: from_answers([[3, 3]], [[0, 1]], [0], 5, 1), "image 3 twice"),
    "lengths differ": (lambda: from_answers([[0, 1]], [[0]], [0], 5, 1), "grid 0"),
    "floats": (
        lambda: Groupings(np.array([[0.5]]), np.array([[0]]), np.array([0]), 5, 1),
        "float64",
    ),
    "grouped padding": (
        lambda: Groupings(np.array([[-1, 0]]), np.array([[0, 0]]), np.array([0]), 5, 1),
        "padding",
    ),
    "split of one grid": (lambda: a_groupings(1).split(0.5, 0), "at least 2"),
    "fraction": (lambda: a_groupings().split(1.5, 0), "1.5"),
    "row beyond": (lambda: a_groupings(3).subset([3]), "3"),
    "nothing to concatenate": (lambda: Groupings.concatenate([]), "at least one"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_the_offending_value(name: str) -> None:
    make, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        make()
