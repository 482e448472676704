"""Chooses which images of a map get a picture at which zoom level, so that pictures never pile up.

The unit square is divided into tiles, 2^level per side, and each tile into 8 × 8 cells. A cell
shows one picture: that of an image which a coarser level already shows there, or else one of its
own images. So every image is new at one level, a tile adds at most 64 new pictures, and the
pictures of a level and all coarser ones are spread as evenly as the images are.
"""

import numpy as np
from numpy.typing import NDArray

N_LEVELS = 11
CELLS = 8
# The image represents no cell, down to the finest level.
NO_PICTURE = 255


def picture_levels(places: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return (N,) the level at which each image's picture is new, NO_PICTURE if at none.

    places: (N, 2) in [0, 1]. The image that represents a cell is chosen by a number that an image
    keeps from model to model, so that people see the same pictures move.
    """
    levels = np.full(len(places), NO_PICTURE, np.uint8)
    priority = _priority(len(places))
    for level in range(N_LEVELS):
        _, cells = locate(places, level)
        taken = np.unique(cells[levels != NO_PICTURE])
        free = np.flatnonzero((levels == NO_PICTURE) & ~np.isin(cells, taken))
        order = free[np.lexsort((priority[free], cells[free]))]
        _, first = np.unique(cells[order], return_index=True)
        levels[order[first]] = level
    return levels


def locate(places: NDArray[np.float32], level: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (N, 2) column and row of the tile of each place, and (N,) a number for its cell.

    It multiplies only by powers of two, so the browser's float32 arithmetic gives the same result.
    """
    side = CELLS << level
    at = np.clip(np.floor(places * np.float32(side)), 0, side - 1).astype(np.int64)
    return at // CELLS, at[:, 1] * side + at[:, 0]


def _priority(n: int) -> NDArray[np.uint32]:
    """Return (n,) a fixed number for each position, without pattern (Knuth's multiplicative
    hash)."""
    return np.arange(n, dtype=np.uint32) * np.uint32(2_654_435_761)
