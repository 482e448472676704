"""Grids about a part of a collection, in place of grids that were chosen from all its images."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from learning.arrays import FloatArray, IntArray, as_index_array, check_index_range
from learning.asked import AskedGrids, without_repeats
from learning.neighbors import nearest_points
from learning.queries import introducing_grids, local_grids, random_grids

# Seeds of local grids keep this many nearest neighbours apart, as in `learning.crowdster`.
_N_EXCLUDED = 3
# The neighbourhood of the first and of the last local grids, in grids, as in `learning.crowdster`
# for a small collection.
_WIDEST, _NARROWEST = 3.5, 1.25
# Random exchanges of an image before all grids of the part are tried.
_EXCHANGES = 20


class PartOfCollection:
    """The images that may be asked about, with the grids that were shown before.

    part: (M,) distinct image numbers, ascending; n_images: N; begun: (n, S) grids of the
    collection's images, -1 pads. Methods return (n, grid_size) grids of image numbers, all in the
    part. No two of all these grids show the same images, nor those of a grid that was shown before,
    as long as the part has another grid. Raises ValueError for images outside of 0 to N - 1, or if
    the part is smaller than a grid.
    """

    def __init__(self, part: IntArray, n_images: int, grid_size: int, begun: IntArray) -> None:
        self.part = as_index_array("part", part, 1)
        check_index_range("part", self.part, 0, n_images)
        if len(self.part) < grid_size:
            raise ValueError(
                f"a part of {len(self.part)} images is smaller than a grid of {grid_size}"
            )
        self.grid_size = grid_size
        # The last entry is for -1, which pads.
        self._index = np.full(n_images + 1, -1, np.int64)
        self._index[self.part] = np.arange(len(self.part))
        self._asked = AskedGrids(self._index[begun], len(self.part))

    def note(self, grids: IntArray) -> None:
        """Record other grids (n, S) of the part, which are shown as well."""
        self._asked = self._asked.plus(self._index[grids])

    def outside(self, grids: IntArray) -> IntArray:
        """(n,) rows of grids (m, S) with an image that is not in the part."""
        return np.asarray(np.flatnonzero((self._index[grids] < 0).any(axis=1)), np.int64)

    def never_shown(self) -> IntArray:
        """Indices in the part of images that no grid showed."""
        return np.asarray(np.flatnonzero(self._asked.views == 0), np.int64)

    def random(self, n: int, rng: np.random.Generator) -> IntArray:
        """Random grids that cover the part evenly."""
        size = len(self.part)
        return self._taken(
            without_repeats(lambda m: random_grids(m, self.grid_size, size, rng), n, self._asked)
        )

    def introducing(self, n: int, rng: np.random.Generator) -> IntArray:
        """Grids of images that no grid showed, among others of the part; at most as many as these
        images need, each in about one grid."""
        new = self.never_shown()
        n = min(n, -(-2 * len(new) // self.grid_size))
        return self._taken(introducing_grids(new, n, self.grid_size, len(self.part), rng))

    def least_shown(self, n: int, rng: np.random.Generator) -> IntArray:
        """Grids of the images that were shown least, in random order."""
        views = self._asked.views.copy()
        grids = np.empty((n, self.grid_size), np.int64)
        for row in range(n):
            order = np.lexsort((rng.random(len(views)), views))
            grids[row] = rng.permutation(order[: self.grid_size])
            views[grids[row]] += 1
        return self._taken(grids)

    def local(
        self, n: int, embedding: FloatArray, progress: float, rng: np.random.Generator
    ) -> IntArray:
        """Grids of images that are near each other in the embedding (N, d). progress: of the
        campaign, in 0..1; the neighbourhoods shrink with it."""
        places = embedding[self.part]
        k = round(self.grid_size * _WIDEST ** (1 - progress) * _NARROWEST**progress)

        def make(m: int) -> IntArray:
            return local_grids(
                places, m, self.grid_size, k, rng, _N_EXCLUDED, self._asked, locally_scaled=True
            )

        return self._taken(without_repeats(make, n, self._asked))

    def nearest(self, grids: IntArray, embedding: FloatArray) -> IntArray:
        """The grids (n, S), with each image that is not in the part replaced by the nearest one
        in the embedding (N, d) that is, and not in its grid yet."""
        indices = self._index[grids]
        missing = np.unique(grids[indices < 0])
        # At most all other images of a grid are taken, so that one of these is left.
        near = nearest_points(embedding[self.part], self.grid_size, embedding[missing])
        for row, column in np.argwhere(indices < 0):
            candidates = near[np.searchsorted(missing, grids[row, column])]
            free = candidates[~np.isin(candidates, indices[row])]
            indices[row, column] = free[0]
        return self._taken(indices)

    def _taken(self, grids: IntArray) -> IntArray:
        """Record grids of indices as asked, and return them as grids of image numbers."""
        grids = self._distinct(grids)
        self._asked = self._asked.plus(grids)
        return np.asarray(self.part[grids], np.int64)

    def _distinct(self, grids: IntArray) -> IntArray:
        """Grids of indices, with an image exchanged in each that repeats another grid."""
        grids, done = grids.copy(), -1
        while len(again := self._asked.repeats(grids)) and again[-1] > done:
            done = int(again[again > done][0])
            self._exchange_one(grids, done)
        return grids

    def _exchange_one(self, grids: IntArray, row: int) -> None:
        """Turn a row into a grid that is not asked and not before it, if there is one."""
        before, original = grids[: row + 1].copy(), grids[row].copy()
        others = np.setdiff1d(np.arange(len(self.part)), original)
        rng = np.random.default_rng([row, *original])
        for _ in range(_EXCHANGES if len(others) else 0):
            before[row] = original
            before[row, rng.integers(self.grid_size)] = rng.choice(others)
            if row not in self._asked.repeats(before):
                grids[row] = before[row]
                return
        for candidate in combinations(range(len(self.part)), self.grid_size):
            before[row] = candidate
            if row not in self._asked.repeats(before):
                grids[row] = rng.permutation(before[row])
                return
