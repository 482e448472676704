"""Selection of the images for the next votes."""

from __future__ import annotations

import numpy as np

from learning.arrays import FloatArray, IntArray, check_count


def covering_selections(
    n: int, grid_size: int, n_images: int, rng: np.random.Generator
) -> IntArray:
    """(n, grid_size) distinct images per grid; each image comes once before any comes twice."""
    _check(n, grid_size, n_images)
    grids = np.empty((n, grid_size), np.int64)
    left = rng.permutation(n_images)
    for row in range(n):
        if len(left) < grid_size:
            # Images of the last pass come last in the next, so that no grid shows an image twice.
            fresh = rng.permutation(n_images)
            left = np.concatenate([left, fresh[~np.isin(fresh, left)], left])
        grids[row], left = rng.permutation(left[:grid_size]), left[grid_size:]
    return grids


def telling_selections(
    gain: FloatArray,
    n: int,
    grid_size: int,
    rng: np.random.Generator,
    random_share: float = 0.0,
) -> IntArray:
    """(n, grid_size) distinct images per grid: those whose vote gains most, in random order.

    gain: (N,) of a vote on each image, -inf for images that need none. If the grids have more
    places than there are images, those that gain most are asked again, in another grid.
    random_share: share of each grid that is drawn uniformly from all images, so that images of
    which the model is wrongly certain are found too.
    """
    _check(n, grid_size, len(gain))
    n_random, part = divmod(random_share * grid_size, 1)
    n_random = int(n_random)
    dealt_before = np.zeros(len(gain), np.int64)
    n_chosen = grid_size - n_random
    grids = np.empty((n, grid_size), np.int64)
    at_once = max(1, min(n, len(gain) // max(n_chosen, 1)))
    for start in range(0, n, at_once):
        rows = range(start, min(n, start + at_once))
        # Ties are broken at random, and no image comes again before all have come.
        order = np.lexsort((rng.random(len(gain)), -gain, dealt_before))
        dealt = rng.permutation(order[: len(rows) * n_chosen]).reshape(len(rows), n_chosen)
        dealt_before[dealt] += 1
        for row, chosen in zip(rows, dealt, strict=True):
            # With small grids, only some have room for a random image.
            n_more = int(rng.random() < part)
            dealt_before[chosen[:n_more]] -= 1
            drawn = _others(chosen[n_more:], n_random + n_more, len(gain), rng)
            grids[row] = rng.permutation(np.concatenate([chosen[n_more:], drawn]))
    return grids


def _others(chosen: IntArray, n: int, n_images: int, rng: np.random.Generator) -> IntArray:
    """(n,) images drawn uniformly from all but the chosen ones."""
    drawn = rng.choice(n_images, min(n + len(chosen), n_images), replace=False)
    return np.asarray(drawn[~np.isin(drawn, chosen)][:n], np.int64)


def _check(n: int, grid_size: int, n_images: int) -> None:
    check_count("n", n, minimum=0)
    check_count("grid_size", grid_size)
    if grid_size > n_images:
        raise ValueError(f"grid_size is {grid_size}, but there are only {n_images} images")
