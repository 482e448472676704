"""Which grids to ask: evenly covering random ones, and local ones from an embedding."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from learning.arrays import FloatArray, IntArray, as_index_array, check_count, check_index_range
from learning.asked import AskedGrids
from learning.neighbors import POINTS_OF_TREES, NearestPoints, nearest_points

# Enough images for the mean distance of a random pair to three digits.
_LOCALITY_SAMPLE = 1_500
_SEEDS_PER_BLOCK = 256
# Images of a hood that are looked at for one grid, in grids.
_CANDIDATES = 4
# How far an image reaches: to its neighbour of this rank.
_REACH = 4
# A hood scaled by reach is chosen from so many times as many nearest images.
_WIDER = 3
_TINY = 1e-9
# How much an image is wanted less for each e-fold of grids it shared with the seed, and
# for being shown as often again as the mean.
_TOGETHER, _SEEN = 1.0, 1.0


def random_grids(n: int, grid_size: int, n_images: int, rng: np.random.Generator) -> IntArray:
    """(n, grid_size) grids of distinct images that cover the collection evenly.

    The grids are cut from one shuffled pack after another, so that no image is shown more
    than once oftener than any other. Raises ValueError when grid_size exceeds n_images.
    """
    check_count("n", n, minimum=0)
    check_count("grid_size", grid_size)
    check_count("n_images", n_images)
    if grid_size > n_images:
        raise ValueError(f"grid_size must be at most {n_images} images, got {grid_size}")
    needed, dealt = n * grid_size, 0
    packs: list[IntArray] = []
    while dealt < needed:
        tail = packs[-1][n_images - dealt % grid_size :] if dealt % grid_size else None
        packs.append(_shuffled_pack(n_images, grid_size, tail, rng))
        dealt += n_images
    images = np.concatenate(packs)[:needed] if packs else np.empty(0, np.int64)
    # Cutting a pack in the order it is dealt shows nothing, but a pack that a grid
    # straddles does: its head was drawn first. Shuffle the places inside each grid.
    return rng.permuted(images.reshape(n, grid_size), axis=1)


def _shuffled_pack(
    n_images: int, grid_size: int, tail: IntArray | None, rng: np.random.Generator
) -> IntArray:
    """All images shuffled; those in `tail`, the begun grid, do not come among the first
    that complete this grid."""
    pack = rng.permutation(n_images)
    if tail is None:
        return pack
    fresh = pack[~np.isin(pack, tail)]
    head, rest = np.split(fresh, [grid_size - len(tail)])
    return np.concatenate([head, rng.permutation(np.concatenate([rest, tail]))])


def local_grids(
    embedding: FloatArray,
    n: int,
    grid_size: int,
    n_neighbors: int,
    rng: np.random.Generator,
    n_excluded: int = 10,
    asked: AskedGrids | None = None,
    among: ArrayLike | None = None,
    locally_scaled: bool = False,
) -> IntArray:
    """(n, grid_size) grids, each drawn from the neighbourhood of one seed image.

    embedding: (N, d). CrowdSter section 3, "Generating queries": seeds are sampled
    uniformly with no seed among the `n_excluded` nearest neighbours of another, starting
    over when none remains; a grid is a random subset of the seed's `n_neighbors` nearest
    images, the seed among them. The paper excludes nearest neighbours only; with less than
    about ten some images are never shown. A wide neighbourhood is thinned before it is
    looked through, so that memory does not grow with it.

    asked: grids asked before; images shown less often, and those not yet shown together
    with the seed, are then preferred. among: images that seeds are taken from, all unless
    told. locally_scaled: squared distances to an image count in units of how far its own
    neighbours are, half of the local scaling of Zelnik-Manor and Perona (2004). In many
    dimensions a few images are near to all, and most near to none, for no better reason than
    that little is known of them (Radovanovic, Nanopoulos and Ivanovic, 2010): unscaled, grids
    ask about the former again and again.
    """
    n_images = len(embedding)
    check_count("n", n, minimum=0)
    check_count("grid_size", grid_size)
    if grid_size > n_images:
        raise ValueError(f"grid_size must be at most {n_images} images, got {grid_size}")
    n_neighbors = int(np.clip(n_neighbors, grid_size, n_images))
    nearest = NearestPoints(embedding)
    close = nearest.query(min(max(n_excluded, _REACH), n_images - 1) + 1)
    views = np.zeros(n_images) if asked is None else asked.views
    seeds = spread_seeds(close[:, : n_excluded + 1], n, rng, views, among)
    reach = np.linalg.norm(embedding - embedding[close[:, -1]], axis=1)
    grids = np.empty((n, grid_size), np.int64)
    for start in range(0, n, _SEEDS_PER_BLOCK):
        rows = slice(start, start + _SEEDS_PER_BLOCK)
        most = _CANDIDATES * grid_size
        if locally_scaled:
            wide = min(_WIDER * n_neighbors, n_images)
            hoods = _neighborhoods(embedding, nearest, seeds[rows], wide, _WIDER * most, rng)
            hoods = _nearest_in_reach(hoods, embedding, reach, min(n_neighbors, most))
        else:
            hoods = _neighborhoods(embedding, nearest, seeds[rows], n_neighbors, most, rng)
        wish = _wishes(hoods, asked, rng)
        best = np.argpartition(-wish, grid_size - 1, axis=1)[:, :grid_size]
        grids[rows] = np.take_along_axis(hoods, best, axis=1)
    return rng.permuted(grids, axis=1)


def introducing_grids(
    new: IntArray, n: int, grid_size: int, n_images: int, rng: np.random.Generator
) -> IntArray:
    """(n, grid_size) grids, half of images that are new, half of others from everywhere.

    new: indices of images whose place is not known yet: the company shows where they belong.
    """
    if not n:
        return np.empty((0, grid_size), np.int64)
    old = np.setdiff1d(np.arange(n_images), new)
    n_old = min(len(old), grid_size // 2)
    if len(new) + n_old < grid_size:
        n_old = grid_size - len(new)
    fresh = random_grids(n, grid_size - n_old, len(new), rng)
    company = random_grids(n, n_old, len(old), rng) if n_old else np.empty((n, 0), np.int64)
    return rng.permuted(np.concatenate([new[fresh], old[company]], axis=1), axis=1)


def _neighborhoods(
    embedding: FloatArray,
    nearest: NearestPoints,
    seeds: IntArray,
    k: int,
    most: int,
    rng: np.random.Generator,
) -> IntArray:
    """(n, min(k, most)) the seed first, then images from among its k nearest."""
    n_images = len(embedding)
    if k <= most:
        return _seed_first(seeds, nearest.query(k, embedding[seeds]))
    part = max(most, round(n_images * most / k))
    if part > POINTS_OF_TREES:
        hoods = _seed_first(seeds, nearest.query(k, embedding[seeds]))
        return _thinned(hoods, most, rng)
    # The `most` nearest of a random part of the collection stand for k nearest of all.
    sample = rng.permutation(n_images)[:part]
    return _seed_first(seeds, sample[nearest_points(embedding[sample], most, embedding[seeds])])


def _nearest_in_reach(
    hoods: IntArray, embedding: FloatArray, reach: FloatArray, k: int
) -> IntArray:
    """(n, k) of each hood the seed, first in it, and the images nearest to it in units of
    their own reach (N,), which is how far their neighbours are."""
    squared = ((embedding[hoods] - embedding[hoods[:, :1]]) ** 2).sum(axis=2)
    scaled = squared / np.maximum(reach[hoods], _TINY)
    scaled[:, 0] = -1.0
    return np.take_along_axis(hoods, np.argsort(scaled, axis=1)[:, :k], axis=1)


def _thinned(hoods: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """(n, most) the first of each hood (n, k) and others of it at random."""
    order = rng.random((len(hoods), hoods.shape[1] - 1))
    chosen = np.argpartition(order, most - 2, axis=1)[:, : most - 1]
    others = np.take_along_axis(hoods[:, 1:], chosen, axis=1)
    return np.concatenate([hoods[:, :1], others], axis=1)


def _seed_first(seeds: IntArray, hoods: IntArray) -> IntArray:
    """Hoods with the seed in the first place, in that of the farthest if it was not there."""
    own = hoods == seeds[:, None]
    own[~own.any(axis=1), -1] = True
    others = hoods[~own].reshape(len(hoods), -1)
    return np.concatenate([seeds[:, None], others], axis=1)


def _wishes(hoods: IntArray, asked: AskedGrids | None, rng: np.random.Generator) -> FloatArray:
    """(n, k) how much each image of a hood is wanted in the grid; the seed, first, always."""
    wish: FloatArray = rng.gumbel(size=hoods.shape)
    if asked is not None and len(asked):
        wish -= _TOGETHER * np.log1p(asked.together(hoods[:, 0], hoods))
        wish -= _SEEN * asked.views[hoods] / max(1.0, float(asked.views.mean()))
    wish[:, 0] = np.inf
    return wish


def spread_seeds(
    close: NDArray[np.integer],
    n: int,
    rng: np.random.Generator,
    views: FloatArray | None = None,
    among: ArrayLike | None = None,
) -> IntArray:
    """(n,) seed images, none among the close images of another seed of the same pass.

    close: (N, c) indices of each image's nearest neighbours (itself may be among them).
    views: (N,) how often each was shown; the least shown come first. among: images to
    take seeds from.
    """
    n_images = len(close)
    pool = np.arange(n_images) if among is None else as_index_array("among", among, 1)
    check_index_range("among", pool, 0, n_images)
    if n and not len(pool):
        raise ValueError("among has no image to take seeds from")
    shown = np.zeros(n_images) if views is None else views
    seeds: list[int] = []
    while len(seeds) < n:
        taken = np.zeros(n_images, np.bool_)
        near_a_seed = np.zeros(n_images, np.bool_)
        order = rng.permutation(pool)
        for image in order[np.argsort(shown[order], kind="stable")]:
            if near_a_seed[image] or taken[close[image]].any():
                continue
            taken[image] = True
            near_a_seed[close[image]] = True
            seeds.append(int(image))
            if len(seeds) == n:
                break
    return np.array(seeds, np.int64)


def grid_locality(grids: IntArray, embedding: FloatArray) -> float:
    """Mean distance of two images of a grid over the mean distance of two random images.

    grids: (n, S), -1 pads; embedding: (N, d). About 1 for random grids, towards 0 as the
    grids become local; 1 when all images coincide. Raises ValueError when no grid holds a
    pair.
    """
    grids = as_index_array("grids", grids, 2)
    check_index_range("grids", grids, -1, len(embedding))
    first, second = np.triu_indices(grids.shape[1], 1)
    total, count = 0.0, 0
    for rows in np.array_split(grids, max(1, len(grids) // 1_000)):
        one, other = rows[:, first], rows[:, second]
        paired = (one >= 0) & (other >= 0)
        gaps = embedding[one[paired]] - embedding[other[paired]]
        total += float(np.linalg.norm(gaps, axis=1).sum())
        count += int(paired.sum())
    if count == 0:
        raise ValueError(f"grids of shape {grids.shape} contain no pair of images")
    chance = _mean_distance(embedding)
    return (total / count) / chance if chance > 0 else 1.0


def _mean_distance(embedding: FloatArray) -> float:
    """Mean distance of two different images, from an even sample of a large collection."""
    step = max(1, -(-len(embedding) // _LOCALITY_SAMPLE))
    # Dense positions may follow the order of upload: a fixed shuffle breaks that order.
    order = np.random.default_rng(0).permutation(len(embedding))[::step]
    return float(pdist(embedding[order]).mean()) if len(order) > 1 else 0.0
