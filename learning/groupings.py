"""Answers as arrays: groupings of images by annotators, and the pairwise labels in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import (
    BoolArray,
    IntArray,
    as_index_array,
    check_count,
    check_index_range,
)

# Grids are converted to pairs in blocks, so that the temporary arrays stay small.
_PAIRS_PER_BLOCK = 2_000_000


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairwise labels, one row per informative pair.

    annotator, i, j: (P,) int64; same: (P,) bool; grid: (P,) int64 row of the pair's grid,
    or None. Raises ValueError if lengths or index ranges do not match.
    """

    annotator: IntArray
    i: IntArray
    j: IntArray
    same: BoolArray
    n_images: int
    n_annotators: int
    grid: IntArray | None = None

    def __post_init__(self) -> None:
        same = np.asarray(self.same)
        if same.ndim != 1 or (same.size and same.dtype != np.bool_):
            raise ValueError(f"same must be (P,) bool, got {same.dtype} of shape {same.shape}")
        object.__setattr__(self, "same", same.astype(np.bool_, copy=False))
        limits = {"annotator": self.n_annotators, "i": self.n_images, "j": self.n_images}
        for name, limit in limits.items():
            indices = as_index_array(name, getattr(self, name), 1)
            check_index_range(name, indices, 0, limit)
            object.__setattr__(self, name, indices)
        if self.grid is not None:
            object.__setattr__(self, "grid", as_index_array("grid", self.grid, 1))
        for name in ("annotator", "i", "j", "grid"):
            column = getattr(self, name)
            if column is not None and len(column) != len(same):
                raise ValueError(f"{name} has {len(column)} rows, same has {len(same)}")

    def __len__(self) -> int:
        return len(self.same)


@dataclass(frozen=True, eq=False)
class Groupings:
    """Answers of many annotators to many grids.

    images:     (G, S) int64   dense image index, -1 pads a grid that is smaller than S
    groups:     (G, S) int64   group number inside the grid; -1: left out (or padding)
    annotators: (G,)   int64   dense annotator index
    n_images, n_annotators: int

    Raises ValueError, naming the wrong value, if shapes, types or index ranges do not
    match, if padding has a group, or if a grid shows an image twice.
    """

    images: IntArray
    groups: IntArray
    annotators: IntArray
    n_images: int
    n_annotators: int

    def __post_init__(self) -> None:
        check_count("n_images", self.n_images, minimum=0)
        check_count("n_annotators", self.n_annotators, minimum=0)
        for name, n_axes in (("images", 2), ("groups", 2), ("annotators", 1)):
            object.__setattr__(self, name, as_index_array(name, getattr(self, name), n_axes))
        if self.groups.shape != self.images.shape:
            raise ValueError(
                f"groups {self.groups.shape} and images {self.images.shape} have different shapes"
            )
        if len(self.annotators) != len(self.images):
            raise ValueError(f"{len(self.annotators)} annotators for {len(self.images)} grids")
        check_index_range("images", self.images, -1, self.n_images)
        check_index_range("annotators", self.annotators, 0, self.n_annotators)
        check_index_range("groups", self.groups, -1, np.iinfo(np.int64).max)
        self._check_padding_and_repeats()

    def _check_padding_and_repeats(self) -> None:
        grouped_padding = (self.images < 0) & (self.groups >= 0)
        if grouped_padding.any():
            row = int(np.argmax(grouped_padding.any(axis=1)))
            raise ValueError(f"grid {row} puts padding (image -1) in a group")
        ordered = np.sort(self.images, axis=1)
        repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        if repeated.any():
            row, column = np.argwhere(repeated)[0]
            raise ValueError(f"grid {row} shows image {ordered[row, column]} twice")

    def __len__(self) -> int:
        return len(self.images)

    @property
    def grid_size(self) -> int:
        """S, the width of the grids including padding."""
        return int(self.images.shape[1])

    def informative_grids(self) -> BoolArray:
        """(G,) whether a grid contains an informative pair."""
        several = (self.images >= 0).sum(axis=1) >= 2
        return np.asarray(several & (self.groups >= 0).any(axis=1))

    def pairs(self) -> Pairs:
        """One row per informative pair, grid by grid in numpy.triu_indices(S, 1) order.

        Images of one group are the same; images of different groups, or a leftover and a
        grouped image, are different; two leftovers are uninformative and give no row.
        """
        first, second = np.triu_indices(self.grid_size, 1)
        grids, places, labels = [], [], []
        for rows, block in self.label_blocks():
            grid, place = np.nonzero(block >= 0)
            labels.append(block[grid, place] == 1)
            grids.append(grid + rows.start)
            places.append(place)
        grid = np.concatenate(grids) if grids else np.empty(0, np.int64)
        place = np.concatenate(places) if places else np.empty(0, np.int64)
        return Pairs(
            annotator=self.annotators[grid],
            i=self.images[grid, first[place]],
            j=self.images[grid, second[place]],
            same=np.concatenate(labels) if labels else np.empty(0, np.bool_),
            n_images=self.n_images,
            n_annotators=self.n_annotators,
            grid=grid,
        )

    def pair_labels(self) -> NDArray[np.int8]:
        """(G, S(S-1)/2) in numpy.triu_indices(S, 1) order: 1 same, 0 different, -1 no pair."""
        width = self.grid_size * (self.grid_size - 1) // 2
        labels = np.empty((len(self), width), np.int8)
        for rows, block in self.label_blocks():
            labels[rows] = block
        return labels

    def label_blocks(self) -> Iterator[tuple[slice, NDArray[np.int8]]]:
        """`pair_labels` in blocks of rows, so that memory stays limited."""
        first, second = np.triu_indices(self.grid_size, 1)
        step = max(1, _PAIRS_PER_BLOCK // max(1, len(first)))
        for start in range(0, len(self), step):
            rows = slice(start, start + step)
            yield rows, self._label_block(rows, first, second)

    def _label_block(
        self, rows: slice, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> NDArray[np.int8]:
        groups, present = self.groups[rows], self.images[rows] >= 0
        first_group, second_group = groups[:, first], groups[:, second]
        labels: NDArray[np.int8] = (first_group == second_group).astype(np.int8)
        uninformative = (first_group < 0) & (second_group < 0)
        uninformative |= ~(present[:, first] & present[:, second])
        labels[uninformative] = -1
        return labels

    def split(self, test_fraction: float, seed: int) -> tuple[Groupings, Groupings]:
        """(training, test) split by whole grids, with at least one grid in each.

        Answers to the same images stay together, so that no test grid is known from another
        annotator. If all answers are to one grid, the split is by answers. Raises ValueError
        for a fraction outside 0..1 or fewer than two grids.
        """
        train, test = self.split_rows(test_fraction, seed)
        return self.subset(train), self.subset(test)

    def split_rows(self, test_fraction: float, seed: int) -> tuple[IntArray, IntArray]:
        """Row indices of the two parts of `split`, in ascending order."""
        if not 0.0 < test_fraction < 1.0:
            raise ValueError(f"test_fraction must be between 0 and 1, got {test_fraction!r}")
        if len(self) < 2:
            raise ValueError(f"a split needs at least 2 grids, got {len(self)}")
        n_test = int(np.clip(round(test_fraction * len(self)), 1, len(self) - 1))
        rng = np.random.default_rng(seed)
        grid = self._same_images()
        n_grids = int(grid.max()) + 1
        if n_grids in (1, len(self)):
            order = rng.permutation(len(self))
        else:
            turn = rng.permutation(n_grids)[grid]
            order = np.argsort(turn, kind="stable")
            cuts = np.flatnonzero(np.diff(turn[order])) + 1
            n_test = int(cuts[np.argmin(np.abs(cuts - n_test))])
        return np.sort(order[n_test:]), np.sort(order[:n_test])

    def _same_images(self) -> IntArray:
        """(G,) the same number for grids of the same images in any order."""
        # The number is a sum of 64 random bits per image; padding, the last, adds nothing.
        bits = np.random.default_rng(0).integers(0, 2**64, self.n_images + 1, dtype=np.uint64)
        bits[-1] = 0
        keys = np.zeros(len(self), np.uint64)
        for column in self.images.T:
            keys += bits[column]
        return np.asarray(np.unique(keys, return_inverse=True)[1], np.int64)

    def subset(self, grids: ArrayLike) -> Groupings:
        """The given grids, as row indices or a (G,) bool mask. Images and annotators keep
        their indices. Raises ValueError for a row that does not exist."""
        rows = np.asarray(grids)
        if rows.dtype == np.bool_:
            if rows.shape != (len(self),):
                raise ValueError(f"mask must be ({len(self)},), got {rows.shape}")
            rows = np.flatnonzero(rows)
        rows = as_index_array("grids", rows, 1)
        check_index_range("grids", rows, 0, len(self))
        return Groupings(
            self.images[rows],
            self.groups[rows],
            self.annotators[rows],
            self.n_images,
            self.n_annotators,
        )

    @staticmethod
    def concatenate(parts: Sequence[Groupings]) -> Groupings:
        """All grids of `parts` in order, padded to the widest.

        Image and annotator indices must mean the same in every part; a later part can
        have more of them. Raises ValueError for an empty sequence.
        """
        if not parts:
            raise ValueError("concatenate needs at least one Groupings, got none")
        width = max(part.grid_size for part in parts)
        return Groupings(
            np.concatenate([_pad_columns(part.images, width) for part in parts]),
            np.concatenate([_pad_columns(part.groups, width) for part in parts]),
            np.concatenate([part.annotators for part in parts]),
            max(part.n_images for part in parts),
            max(part.n_annotators for part in parts),
        )


def from_answers(
    images: Sequence[ArrayLike],
    groups: Sequence[ArrayLike],
    annotators: ArrayLike,
    n_images: int,
    n_annotators: int,
) -> Groupings:
    """Groupings of answers whose grids can differ in size; short ones are padded with -1.

    images, groups: G sequences, the g-th pair of equal length; annotators: (G,).
    Raises ValueError if an answer's images and groups differ in length.
    """
    if len(images) != len(groups):
        raise ValueError(f"{len(images)} grids but {len(groups)} groupings")
    grids = [as_index_array(f"images of grid {g}", grid, 1) for g, grid in enumerate(images)]
    answers = [as_index_array(f"groups of grid {g}", row, 1) for g, row in enumerate(groups)]
    for g, (grid, answer) in enumerate(zip(grids, answers, strict=True)):
        if len(grid) != len(answer):
            raise ValueError(f"grid {g} has {len(grid)} images but {len(answer)} groups")
    width = max((len(grid) for grid in grids), default=0)
    return Groupings(
        _pad_rows(grids, width),
        _pad_rows(answers, width),
        as_index_array("annotators", annotators, 1),
        n_images,
        n_annotators,
    )


def _pad_rows(rows: Sequence[IntArray], width: int) -> IntArray:
    padded = np.full((len(rows), width), -1, np.int64)
    lengths = np.array([len(row) for row in rows], np.int64)
    if len(rows):
        padded[np.arange(width) < lengths[:, None]] = np.concatenate(rows)
    return padded


def _pad_columns(array: IntArray, width: int) -> IntArray:
    missing = width - array.shape[1]
    return np.pad(array, ((0, 0), (0, missing)), constant_values=-1)
