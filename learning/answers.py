"""Answers as tensors that are read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from learning.arrays import BoolArray, IntArray
from learning.groupings import Groupings

# Grids per block, which limits the temporary tensors for any number of answers.
BLOCK = 4_096
# Pairs whose labels are kept while a model is fitted: one byte for each of the two.
_KEPT_PAIRS = 50_000_000


@dataclass(frozen=True, eq=False)
class Answers:
    """Groupings on a device, in the form that the latent attribute model needs.

    images:     (G, S) int64, padding reads image 0
    present:    (G, S) bool, False for padding
    groups:     (G, S) int64, numbered by first appearance; -1 left out or padding
    annotators: (G,) int64
    labels:     what `pair_labels` returns, if it is known already
    """

    images: Tensor
    present: Tensor
    groups: Tensor
    annotators: Tensor
    n_images: int
    n_annotators: int
    labels: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, groupings: Groupings, device: torch.device) -> Answers:
        """The tensors of `groupings`, without columns that are only padding."""
        shown = np.flatnonzero((groupings.images >= 0).any(axis=0))
        width = int(shown.max(initial=0)) + 1
        images, groups = groupings.images[:, :width], groupings.groups[:, :width]
        present = images >= 0
        return cls(
            torch.as_tensor(np.where(present, images, 0)).to(device),
            torch.as_tensor(present).to(device),
            torch.as_tensor(number_by_appearance(groups)).to(device),
            torch.as_tensor(groupings.annotators.copy()).to(device),
            groupings.n_images,
            groupings.n_annotators,
        )

    def __len__(self) -> int:
        return len(self.images)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.images.device

    def rows(self, rows: Tensor | slice) -> Answers:
        """Some of the answers."""
        return Answers(
            self.images[rows],
            self.present[rows],
            self.groups[rows],
            self.annotators[rows],
            self.n_images,
            self.n_annotators,
        )

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[slice, Answers]]:
        """All answers in order, `size` at a time."""
        for start in range(0, len(self), size):
            rows = slice(start, min(start + size, len(self)))
            yield rows, self.rows(rows)

    def labelled_blocks(self) -> list[Answers]:
        """All answers in order, in blocks that know the labels of their pairs, for models that read
        them over and over; with very many answers they are found again each time."""
        blocks = [block for _, block in self.blocks()]
        width = self.images.shape[1]
        if len(self) * width * (width - 1) // 2 > _KEPT_PAIRS:
            return blocks
        return [replace(block, labels=block.pair_labels()) for block in blocks]

    def n_shown(self) -> Tensor:
        """(G,) images per grid."""
        return self.present.sum(dim=1)

    def n_groups(self) -> Tensor:
        """(G,) groups in use."""
        return self.groups.amax(dim=1) + 1

    def pair_labels(self) -> tuple[Tensor, Tensor]:
        """(G, P) same, (G, P) informative, bool, in numpy.triu_indices(S, 1) order."""
        if self.labels is not None:
            return self.labels
        first, second = pair_index(self.images.shape[1], self.device)
        first_group, second_group = self.groups[:, first], self.groups[:, second]
        informative = self.present[:, first] & self.present[:, second]
        informative &= (first_group >= 0) | (second_group >= 0)
        return (first_group == second_group) & informative, informative


def pair_index(width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows and columns of the upper triangle, as numpy.triu_indices(width, 1)."""
    first, second = torch.triu_indices(width, width, 1, device=device)
    return first, second


def upper_triangle(square: Tensor) -> Tensor:
    """(B, P) values of the pairs, from (B, S, S).

    The gradient of indexing with two lists takes six times as long.
    """
    width = square.shape[1]
    first, second = pair_index(width, square.device)
    return square.flatten(1).index_select(1, first * width + second)


def table_rows(table: Tensor, images: Tensor) -> Tensor:
    """(..., D) rows of the table. Padding, -1, gets an arbitrary row that no label uses.

    Unlike indexing, embedding() sums gradients in the same order on any number of cores.
    """
    return functional.embedding(images.clamp(min=0), table)


def number_by_appearance(groups: IntArray) -> IntArray:
    """(G, S) groups renumbered 0, 1, ... in the order in which they appear; -1 stays.

    This makes results independent of how an interface numbers its groups.
    """
    numbered = np.full(groups.shape, -1, np.int64)
    for start in range(0, len(groups), BLOCK):
        block = groups[start : start + BLOCK]
        first: IntArray = (block[:, :, None] == block[:, None, :]).argmax(axis=2)
        opens: BoolArray = (first == np.arange(block.shape[1])) & (block >= 0)
        rank = opens.cumsum(axis=1) - 1
        numbered[start : start + BLOCK] = np.where(
            block >= 0, np.take_along_axis(rank, first, axis=1), -1
        )
    return numbered
