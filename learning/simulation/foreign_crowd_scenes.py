"""Scenes of the foreign crowd, from a single annotator to a thousand, and pure noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from learning.arrays import BoolArray, IntArray
from learning.simulation.foreign_crowd import (
    LAZY_KINDS,
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

_CONFUSION = 0.05


def nominal20(seed: int) -> ForeignScene:
    """Twenty unordered categories: 400 images, 60 annotators, 600 grids of 20."""
    rng = _generator(seed, 0)
    categories = _independent(400, (20,), rng)
    crowd = [_careful([[0]], [1.0], 1) for _ in range(60)]
    return play("nominal20", categories, crowd, *_even(600, 20, 400, 60, rng), seed)


def two_at_once(seed: int) -> ForeignScene:
    """Most answers group by the conjunction of two attributes, some by one of them."""
    rng = _generator(seed, 1)
    categories = _independent(300, (4, 5), rng)
    crowd = [_careful([[0], [1], [0, 1]], _mix(rng, (1, 1, 6)), 2) for _ in range(80)]
    return play("two_at_once", categories, crowd, *_even(600, 16, 300, 80, rng), seed)


def several_nominal(seed: int) -> ForeignScene:
    """Three attributes of four to six unordered values, one for each answer by preference; a
    tenth of the annotators answer at random."""
    rng = _generator(seed, 11)
    categories = _independent(360, (4, 5, 6), rng)
    crowd: list[Behaviour] = [
        _careful([[0], [1], [2]], _mix(rng, (0.7, 0.7, 0.7)), 3) for _ in range(54)
    ]
    crowd += [Noise("uniform") for _ in range(6)]
    return play("several_nominal", categories, crowd, *_even(800, 20, 360, 60, rng), seed)


def hierarchy(seed: int) -> ForeignScene:
    """Five parents of four children each; every annotator keeps to one of the two levels."""
    rng = _generator(seed, 2)
    categories = _tree(300, 5, 4, rng)
    crowd = [_careful([[w % 2]], [1.0], 2) for w in range(60)]
    return play("hierarchy", categories, crowd, *_even(600, 16, 300, 60, rng), seed)


def drifting(seed: int) -> ForeignScene:
    """Half of the annotators turn from parents to children, half from one attribute to another.

    Columns: four parents, their eight children, and three values of an attribute of its own.
    """
    rng = _generator(seed, 3)
    categories = np.column_stack([_tree(300, 4, 2, rng), rng.integers(0, 3, 300)])
    ways = _subsets([[0], [1], [2]], 3)
    start = np.array([0.9, 0.1, 0.0])
    turned = (np.array([0.1, 0.9, 0.0]), np.array([0.0, 0.1, 0.9]))
    crowd = [Categorizer(ways, start, turned[w % 2], _CONFUSION) for w in range(40)]
    return play("drifting", categories, crowd, *_even(600, 15, 300, 40, rng), seed)


def lazy(seed: int) -> ForeignScene:
    """Eight categories; 45 % of the annotators take a shortcut."""
    rng = _generator(seed, 4)
    categories = _independent(240, (8,), rng)
    crowd: list[Behaviour] = [_careful([[0]], [1.0], 1) for _ in range(33)]
    crowd += [Lazy(LAZY_KINDS[w % 3]) for w in range(27)]
    return play("lazy", categories, crowd, *_even(600, 12, 240, 60, rng), seed)


def copying(seed: int) -> ForeignScene:
    """Two attributes; 40 % of the annotators copy one of four others. Each grid is shown to
    five annotators, at any time."""
    rng = _generator(seed, 5)
    categories = _independent(240, (5, 3), rng)
    crowd: list[Behaviour] = [_careful([[0], [1]], _mix(rng, (1, 1)), 2) for _ in range(36)]
    crowd += [Copier(w % 4) for w in range(24)]
    shown, _ = _even(120, 14, 240, 1, rng)
    order = rng.permutation(np.repeat(np.arange(120), 5))
    grids = [shown[grid] for grid in order.tolist()]
    return play("copying", categories, crowd, grids, _turns(600, 60, rng), seed)


def copying_positions(seed: int) -> ForeignScene:
    """Eight categories; 30 % of the annotators repeat the pattern of the answer before theirs."""
    rng = _generator(seed, 12)
    categories = _independent(240, (8,), rng)
    crowd: list[Behaviour] = [_careful([[0]], [1.0], 1) for _ in range(42)]
    crowd += [PatternCopier(w) for w in range(42, 60)]
    return play("copying_positions", categories, crowd, *_even(600, 12, 240, 60, rng), seed)


def small_grids(seed: int) -> ForeignScene:
    """Grids of three to five: 240 images of eight categories, 150 annotators, 3,000 answers."""
    rng = _generator(seed, 6)
    categories = _independent(240, (8,), rng)
    crowd = [_careful([[0]], [1.0], 1) for _ in range(150)]
    grids = _grids(rng.integers(3, 6, 3_000), 240, rng)
    return play("small_grids", categories, crowd, grids, _turns(3_000, 150, rng), seed)


def mixed_grids(seed: int) -> ForeignScene:
    """Grids of three to twenty-four; two attributes by preference."""
    rng = _generator(seed, 7)
    categories = _independent(300, (5, 4), rng)
    crowd = [_careful([[0], [1]], _mix(rng, (0.8, 0.8)), 2) for _ in range(60)]
    grids = _grids(rng.integers(3, 25, 700), 300, rng)
    return play("mixed_grids", categories, crowd, grids, _turns(700, 60, rng), seed)


def one_annotator(seed: int) -> ForeignScene:
    """A single annotator, who uses two attributes in turn."""
    rng = _generator(seed, 8)
    categories = _independent(200, (4, 3), rng)
    crowd = [_careful([[0], [1]], [0.5, 0.5], 2)]
    return play("one_annotator", categories, crowd, *_even(120, 20, 200, 1, rng), seed)


def thousand_annotators(seed: int) -> ForeignScene:
    """A thousand annotators with one grid of 12 each, about one of two attributes."""
    rng = _generator(seed, 9)
    categories = _independent(250, (4, 3), rng)
    crowd = [_careful([[0], [1]], [0.6, 0.4], 2) for _ in range(1_000)]
    return play("thousand_annotators", categories, crowd, *_even(1_000, 12, 250, 1_000, rng), seed)


def pure_noise(seed: int, kind: str) -> ForeignScene:
    """A crowd that agrees on nothing: 120 images, 40 annotators, 300 grids of 16.

    kind: "uniform", "restaurant" or "position"; the images' six categories play no part.
    Raises ValueError for another kind.
    """
    if kind not in NOISE_KINDS:
        raise ValueError(f"kind must be one of {NOISE_KINDS}, got {kind!r}")
    rng = _generator(seed, 10)
    categories = _independent(120, (6,), rng)
    crowd = [Noise(kind) for _ in range(40)]
    return play(f"noise_{kind}", categories, crowd, *_even(300, 16, 120, 40, rng), seed)


FOREIGN_SCENES: Mapping[str, Callable[[int], ForeignScene]] = {
    scene.__name__: scene
    for scene in (
        nominal20,
        two_at_once,
        several_nominal,
        hierarchy,
        drifting,
        lazy,
        copying,
        copying_positions,
        small_grids,
        mixed_grids,
        one_annotator,
        thousand_annotators,
    )
}


def _generator(seed: int, scene: int) -> np.random.Generator:
    return np.random.default_rng([seed, 101, scene])


def _independent(n_images: int, n_values: tuple[int, ...], rng: np.random.Generator) -> IntArray:
    """(N, A) independent attributes, each with values of equal frequency."""
    return np.column_stack([rng.permutation(np.arange(n_images) % n) for n in n_values])


def _tree(n_images: int, n_parents: int, n_children: int, rng: np.random.Generator) -> IntArray:
    """(N, 2) parents and children of equal frequency."""
    child = rng.permutation(np.arange(n_images) % (n_parents * n_children))
    return np.column_stack([child // n_children, child])


def _subsets(columns: Sequence[Sequence[int]], n_attributes: int) -> BoolArray:
    return np.array([np.isin(np.arange(n_attributes), subset) for subset in columns])


def _careful(
    columns: Sequence[Sequence[int]], odds: Sequence[float], n_attributes: int
) -> Categorizer:
    """Groups by one of the sets of attributes, each with its probability."""
    return Categorizer(_subsets(columns, n_attributes), np.array(odds), confusion=_CONFUSION)


def _mix(rng: np.random.Generator, concentration: Sequence[float]) -> list[float]:
    """An annotator's own probabilities of the ways to answer."""
    drawn: list[float] = rng.dirichlet(concentration).tolist()
    return drawn


def _even(
    n: int, size: int, n_images: int, n_annotators: int, rng: np.random.Generator
) -> tuple[list[IntArray], IntArray]:
    """n random grids of one size and who answers them."""
    return _grids(np.full(n, size), n_images, rng), _turns(n, n_annotators, rng)


def _grids(sizes: IntArray, n_images: int, rng: np.random.Generator) -> list[IntArray]:
    """Random grids that show every image about equally often."""
    shown = np.zeros(n_images)
    grids = []
    for size in sizes.tolist():
        grid = np.argsort(shown + rng.random(n_images), kind="stable")[:size]
        shown[grid] += 1
        grids.append(rng.permutation(grid))
    return grids


def _turns(n: int, n_annotators: int, rng: np.random.Generator) -> IntArray:
    """(n,) annotators with about equally many answers each."""
    return rng.permutation(np.arange(n) % n_annotators)
