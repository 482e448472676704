"""A record of the grids that were asked before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Self

import numpy as np
import scipy

from learning.arrays import FloatArray, IntArray, as_index_array, check_index_range

_ATTEMPTS = 5


class AskedGrids:
    """Grids asked so far, answered or not. grids: (G, S), -1 pads; raises ValueError."""

    def __init__(self, grids: IntArray, n_images: int) -> None:
        self.n_images = n_images
        self._take(grids)
        self._sets = _keys(self.grids)

    def _take(self, grids: IntArray) -> None:
        self.grids = as_index_array("grids", grids, 2)
        check_index_range("grids", self.grids, -1, self.n_images)
        row, place = np.nonzero(self.grids >= 0)
        image = self.grids[row, place]
        shape = (self.n_images, len(self.grids))
        once = np.ones(len(row), np.int32)
        self._shown = scipy.sparse.csr_array((once, (image, row)), shape=shape)
        self.views: FloatArray = np.bincount(image, minlength=self.n_images).astype(np.float64)

    def __len__(self) -> int:
        return len(self.grids)

    def plus(self, grids: IntArray) -> Self:
        """A record that also has `grids`; narrow ones are padded."""
        width = max(self.grids.shape[1], grids.shape[1])
        more = copy(self)
        more._take(np.concatenate([_padded(part, width) for part in (self.grids, grids)]))
        # Grids that are already known are not processed again.
        more._sets = self._sets.union(_keys(grids))
        return more

    def together(self, image: IntArray, others: IntArray) -> IntArray:
        """(n, k) grids that showed an image (n,) and each of its others (n, k)."""
        rows = (self._shown[image] @ self._shown.T).tocsr()
        counts = np.zeros(others.shape, np.int64)
        for row in range(len(image)):
            span = slice(rows.indptr[row], rows.indptr[row + 1])
            met, times = rows.indices[span], rows.data[span]
            order = np.argsort(met)
            met, times = met[order], times[order]
            place = np.searchsorted(met, others[row]).clip(max=max(0, len(met) - 1))
            if len(met):
                counts[row] = np.where(met[place] == others[row], times[place], 0)
        return counts

    def repeats(self, grids: IntArray) -> IntArray:
        """Rows of grids (n, S) that show the same images as one asked or one before them."""
        known = set(self._sets)
        rows = []
        for row, key in enumerate(_keys_in_order(grids)):
            if key in known:
                rows.append(row)
            known.add(key)
        return np.array(rows, np.int64)


def without_repeats(make: Callable[[int], IntArray], n: int, before: AskedGrids) -> IntArray:
    """n grids from `make`, which replaces repeated ones a few times.

    In a tiny collection there may be no other grids.
    """
    grids = make(n)
    for _ in range(_ATTEMPTS):
        again = before.repeats(grids)
        if not len(again):
            break
        grids[again] = make(len(again))
    return grids


def _keys(grids: IntArray) -> set[bytes]:
    return set(_keys_in_order(grids))


def _keys_in_order(grids: IntArray) -> Iterator[bytes]:
    """One for each grid (G, S), the same for the same images in any order; -1 pads."""
    ordered = np.sort(grids, axis=1).astype(np.int32)
    padding = (ordered < 0).sum(axis=1).tolist()
    return (row[n:].tobytes() for row, n in zip(ordered, padding, strict=True))


def _padded(grids: IntArray, width: int) -> IntArray:
    return np.pad(grids, ((0, 0), (0, width - grids.shape[1])), constant_values=-1)
