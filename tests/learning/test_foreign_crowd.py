"""Laws of the foreign simulator."""

import numpy as np
import pytest

from learning.arrays import IntArray
from learning.simulation.foreign_crowd import (
    MAX_GROUPS,
    NOISE_KINDS,
    Behaviour,
    Categorizer,
    Copier,
    ForeignScene,
    Lazy,
    Noise,
    PatternCopier,
    play,
)
from learning.simulation.foreign_crowd_scenes import FOREIGN_SCENES, pure_noise

CATEGORIES = np.stack([np.arange(60) % 3, np.arange(60) // 15], axis=1)
EVERY_WAY = np.array([[True, False], [False, True], [True, True]])


def all_scenes() -> list[ForeignScene]:
    scenes = [scene(3) for scene in FOREIGN_SCENES.values()]
    return scenes + [pure_noise(3, kind) for kind in NOISE_KINDS]


def some_grids(n: int, size: int = 12, seed: int = 0) -> list[IntArray]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(60)[:size] for _ in range(n)]


@pytest.mark.parametrize("way", range(3))
def test_two_images_are_together_exactly_when_equal_in_every_attribute_used(way: int) -> None:
    chosen = np.eye(3)[way]
    grids = some_grids(20)
    scene = play("pure", CATEGORIES, [Categorizer(EVERY_WAY, chosen)], grids, np.zeros(20, int), 0)
    pairs = scene.groupings.pairs()
    seen = CATEGORIES[:, EVERY_WAY[way]]
    equal = (seen[pairs.i] == seen[pairs.j]).all(axis=1)
    assert len(pairs) == 20 * 66
    np.testing.assert_array_equal(pairs.same, equal)
    assert (scene.used == EVERY_WAY[way]).all()
    expected = [[0, -1], [1, -1], [0, 1]][way]
    np.testing.assert_array_equal(scene.attributes, [expected] * 20)


def test_confusion_alone_breaks_the_rule() -> None:
    crowd = [Categorizer(EVERY_WAY, np.eye(3)[2], confusion=0.2)]
    scene = play("confused", CATEGORIES, crowd, some_grids(100), np.zeros(100, int), 0)
    pairs = scene.groupings.pairs()
    equal = (CATEGORIES[pairs.i] == CATEGORIES[pairs.j]).all(axis=1)
    assert 0.03 < (pairs.same != equal).mean() < 0.3


def test_more_than_ten_groups_leave_images_out() -> None:
    rng = np.random.default_rng(0)
    many = np.arange(60)[:, None] % 20
    crowd = [Categorizer(np.array([[True]]), np.array([1.0]))]
    grids = [rng.permutation(60)[:24] for _ in range(20)]
    scene = play("many", many, crowd, grids, np.zeros(20, int), 0)
    n_groups = [len(set(row[row >= 0])) for row in scene.groupings.groups]
    assert max(n_groups) == MAX_GROUPS
    assert (scene.groupings.groups == -1).any()
    pairs = scene.groupings.pairs()
    np.testing.assert_array_equal(pairs.same, many[pairs.i, 0] == many[pairs.j, 0])


def test_a_drifting_annotator_ends_at_the_other_way() -> None:
    crowd = [Categorizer(EVERY_WAY, np.eye(3)[0], np.eye(3)[1])]
    scene = play("drift", CATEGORIES, crowd, some_grids(400), np.zeros(400, int), 0)
    first, last = scene.used[:100, 0].mean(), scene.used[300:, 0].mean()
    assert first > 0.75
    assert last < 0.25


def test_the_lazy_look_at_no_image() -> None:
    crowd = [Lazy("one_group"), Lazy("two_groups"), Lazy("position")]
    scene = play("lazy", CATEGORIES, crowd, some_grids(3), np.arange(3), 0)
    one_group, two, blocks = scene.groupings.groups
    assert set(one_group) == {0}
    assert set(two) <= {0, 1}
    assert blocks.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert not scene.used.any()


def test_a_copy_is_the_source_s_answer_for_the_images_it_knows() -> None:
    grid = np.arange(12)
    shifted = np.arange(6, 18)
    crowd: list[Behaviour] = [Categorizer(EVERY_WAY, np.eye(3)[0], confusion=0.5), Copier(0)]
    scene = play("copy", CATEGORIES, crowd, [grid, grid, shifted], np.array([0, 1, 1]), 0)
    original, copy, partial = scene.groupings.groups
    np.testing.assert_array_equal(copy, original)
    np.testing.assert_array_equal(partial[:6], original[6:])
    assert set(partial[6:]) == {original.max() + 1}


def test_a_pattern_copier_repeats_the_positions_of_the_answer_before() -> None:
    crowd: list[Behaviour] = [Categorizer(EVERY_WAY, np.eye(3)[0]), PatternCopier(1)]
    grids = [*some_grids(2), *some_grids(1, size=16, seed=1)]
    scene = play("pattern", CATEGORIES, crowd, grids, np.array([0, 1, 1]), 0)
    original, copy, longer = scene.groupings.groups
    assert not np.array_equal(grids[0], grids[1])
    np.testing.assert_array_equal(copy, original)
    np.testing.assert_array_equal(longer, [*original[:12], *original[:4]])
    assert scene.attributes.tolist() == [[0, -1], [-1, -1], [-1, -1]]


def test_a_pattern_copier_without_an_earlier_answer_leaves_everything_together() -> None:
    scene = play("first", CATEGORIES, [PatternCopier(0)], some_grids(2), np.zeros(2, int), 0)
    assert (scene.groupings.groups == 0).all()


def test_an_answer_by_more_than_two_attributes_has_no_pair_of_them() -> None:
    three = np.column_stack([CATEGORIES, CATEGORIES[:, 0]])
    crowd = [Categorizer(np.ones((1, 3), np.bool_), np.ones(1))]
    scene = play("three", three, crowd, some_grids(1), np.zeros(1, int), 0)
    with pytest.raises(ValueError, match="groups by 3 attributes"):
        _ = scene.attributes


def test_a_copier_without_a_source_repeats_a_fixed_pattern() -> None:
    scene = play("first", CATEGORIES, [Copier(1), Copier(0)], some_grids(1), np.zeros(1, int), 0)
    assert scene.groupings.groups[0].tolist() == [0, 1] * 6


@pytest.mark.parametrize("kind", NOISE_KINDS)
def test_noise_agrees_at_chance(kind: str) -> None:
    """The same grid, answered 400 times: a pair that was together once is together again no
    more often than any other."""
    grids = [np.random.default_rng(g).permutation(np.arange(12)) for g in range(800)]
    scene = play("noise", CATEGORIES, [Noise(kind)], grids, np.zeros(800, int), 5)
    labels = np.zeros((800, 12, 12), np.bool_)
    pairs = scene.groupings.pairs()
    assert pairs.grid is not None
    labels[pairs.grid, pairs.i, pairs.j] = pairs.same
    labels |= labels.transpose(0, 2, 1)
    first, second = np.triu_indices(12, 1)
    half, other = labels[:400, first, second], labels[400:, first, second]
    together = half.mean()
    agreement = (half.mean(axis=0) * other.mean(axis=0)).mean()
    assert 0.05 < together < 0.95
    assert agreement == pytest.approx(half.mean() * other.mean(), abs=0.005)
    equal = (CATEGORIES[first] == CATEGORIES[second]).all(axis=1)
    assert half[:, equal].mean() == pytest.approx(half[:, ~equal].mean(), abs=0.05)


def test_kinds_of_noise_differ() -> None:
    neighbours = {}
    for kind in NOISE_KINDS:
        groups = pure_noise(0, kind).groupings.groups
        neighbours[kind] = (groups[:, 1:] == groups[:, :-1]).mean() - (
            groups[:, 8:] == groups[:, :-8]
        ).mean()
    assert neighbours["position"] > 0.4
    assert abs(neighbours["uniform"]) < 0.05
    assert abs(neighbours["restaurant"]) < 0.05


@pytest.mark.parametrize("scene", all_scenes(), ids=lambda scene: scene.name)
def test_scenes_are_whole(scene: ForeignScene) -> None:
    answers = scene.groupings
    assert len(answers) == len(scene.used)
    assert len(scene.annotator_type) == answers.n_annotators
    assert len(scene.classes) == len(scene.categories) == answers.n_images
    sizes = (answers.images >= 0).sum(axis=1)
    assert 3 <= sizes.min() <= sizes.max() <= 24
    shown = np.bincount(answers.images[answers.images >= 0], minlength=answers.n_images)
    assert shown.min() >= 3


def test_seeds_repeat_and_differ() -> None:
    for name in ("nominal20", "lazy", "copying"):
        build = FOREIGN_SCENES[name]
        first, again, other = build(1), build(1), build(2)
        np.testing.assert_array_equal(first.groupings.groups, again.groupings.groups)
        np.testing.assert_array_equal(first.groupings.images, again.groupings.images)
        assert not np.array_equal(first.groupings.images, other.groupings.images)


def test_scenes_are_what_their_names_say() -> None:
    scenes = {name: build(0) for name, build in FOREIGN_SCENES.items()}
    assert len(set(scenes["nominal20"].classes.tolist())) == 20
    assert (scenes["two_at_once"].used.sum(axis=1) == 2).mean() > 0.6
    tree = scenes["hierarchy"].categories
    assert len(np.unique(tree, axis=0)) == len(np.unique(tree[:, 1]))
    assert scenes["one_annotator"].groupings.n_annotators == 1
    thousand = scenes["thousand_annotators"].groupings
    np.testing.assert_array_equal(np.bincount(thousand.annotators), np.ones(1_000))
    types = scenes["copying"].annotator_type
    assert types.count("copying") == 24
    assert scenes["copying_positions"].annotator_type.count("copying positions") == 18
    several = scenes["several_nominal"]
    assert [len(np.unique(column)) for column in several.categories.T] == [4, 5, 6]
    assert (several.attributes[:, 1] == -1).all()
    assert set(several.attributes[:, 0].tolist()) == {-1, 0, 1, 2}
    assert sum(name.startswith("lazy") for name in scenes["lazy"].annotator_type) == 27
    sizes = (scenes["small_grids"].groupings.images >= 0).sum(axis=1)
    assert set(sizes.tolist()) == {3, 4, 5}


def test_an_unknown_kind_of_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="kind must be one of"):
        pure_noise(0, "pink")


def test_grids_need_annotators() -> None:
    with pytest.raises(ValueError, match="2 grids but 1 annotators"):
        play("short", CATEGORIES, [Noise("uniform")], some_grids(2), np.zeros(1, int), 0)
