"""Selection of grids: random ones that cover the collection evenly, and local ones."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from learning.arrays import FloatArray, IntArray, as_index_array, check_count, check_index_range
from learning.asked import AskedGrids
from learning.neighbors import POINTS_OF_TREES, NearestPoints, nearest_points

# This many images give the mean distance of a random pair to three digits.
_LOCALITY_SAMPLE = 1_500
_SEEDS_PER_BLOCK = 256
# Candidates from a neighbourhood for one grid, in grids.
_CANDIDATES = 4
# The reach of an image is the distance to its neighbour of this rank.
_REACH = 4
# A neighbourhood scaled by reach is chosen from this many times as many nearest images.
_WIDER = 3
_TINY = 1e-9
# How much less an image is preferred for each e-fold of grids that it shared with the seed, and
# if it was shown once more as often as the mean.
_TOGETHER, _SEEN = 1.0, 1.0


def random_grids(n: int, grid_size: int, n_images: int, rng: np.random.Generator) -> IntArray:
    """(n, grid_size) grids of distinct images that cover the collection evenly.

    The grids are cut from one shuffled pack after another, so that the numbers of times that
    images are shown differ by at most one. Raises ValueError if grid_size exceeds n_images.
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
    # The order inside a grid that spans two packs would show which images came from the first.
    # So the images are shuffled inside each grid.
    return rng.permuted(images.reshape(n, grid_size), axis=1)


def _shuffled_pack(
    n_images: int, grid_size: int, tail: IntArray | None, rng: np.random.Generator
) -> IntArray:
    """All images shuffled, such that those in `tail`, the begun grid, do not come among the first
    ones, which complete this grid."""
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
    images, including the seed. The paper only excludes nearest neighbours; with less than
    about ten, some images are never shown. A wide neighbourhood is thinned first, so that
    memory does not grow with it.

    asked: grids asked before; images shown less often, and those not yet shown together
    with the seed, are then preferred. among: images from which seeds are taken, by default
    all. locally_scaled: squared distances to an image are in units of the distance of its own
    neighbours, half of the local scaling of Zelnik-Manor and Perona (2004). In many
    dimensions a few images are near to all, and most near to none, only because little is
    known about them (Radovanovic, Nanopoulos and Ivanovic, 2010): without scaling, grids
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
    """(n, grid_size) grids, half of new images and half of others from everywhere.

    new: indices of images whose position is unknown; the other images show where they belong.
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
    """(n, min(k, most)) the seed first, then images of its k nearest."""
    n_images = len(embedding)
    if k <= most:
        return _seed_first(seeds, nearest.query(k, embedding[seeds]))
    part = max(most, round(n_images * most / k))
    if part > POINTS_OF_TREES:
        hoods = _seed_first(seeds, nearest.query(k, embedding[seeds]))
        return _thinned(hoods, most, rng)
    # The `most` nearest of a random part of the collection replace the k nearest of all.
    sample = rng.permutation(n_images)[:part]
    return _seed_first(seeds, sample[nearest_points(embedding[sample], most, embedding[seeds])])


def _nearest_in_reach(
    hoods: IntArray, embedding: FloatArray, reach: FloatArray, k: int
) -> IntArray:
    """(n, k) of each neighbourhood the seed, which is first, and the images nearest to it in units
    of their own reach (N,), the distance of their neighbours."""
    squared = ((embedding[hoods] - embedding[hoods[:, :1]]) ** 2).sum(axis=2)
    scaled = squared / np.maximum(reach[hoods], _TINY)
    scaled[:, 0] = -1.0
    return np.take_along_axis(hoods, np.argsort(scaled, axis=1)[:, :k], axis=1)


def _thinned(hoods: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """(n, most) the first image of each neighbourhood (n, k) and random others of it."""
    order = rng.random((len(hoods), hoods.shape[1] - 1))
    chosen = np.argpartition(order, most - 2, axis=1)[:, : most - 1]
    others = np.take_along_axis(hoods[:, 1:], chosen, axis=1)
    return np.concatenate([hoods[:, :1], others], axis=1)


def _seed_first(seeds: IntArray, hoods: IntArray) -> IntArray:
    """Neighbourhoods with the seed first, which replaces the farthest image if it was missing."""
    own = hoods == seeds[:, None]
    own[~own.any(axis=1), -1] = True
    others = hoods[~own].reshape(len(hoods), -1)
    return np.concatenate([seeds[:, None], others], axis=1)


def _wishes(hoods: IntArray, asked: AskedGrids | None, rng: np.random.Generator) -> FloatArray:
    """(n, k) preference for each image of a neighbourhood; the first, the seed, always comes."""
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
    """(n,) seed images, none of them close to another seed of the same pass.

    close: (N, c) indices of each image's nearest neighbours (may include itself).
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
    """Mean distance of two images of a grid, divided by that of two random images.

    grids: (n, S), -1 pads; embedding: (N, d). It is about 1 for random grids, towards 0 for
    local grids, and 1 if all images coincide. Raises ValueError if no grid contains a pair.
    """
    grids = as_index_array("grids", grids, 2)
    check_index_range("grids", grids, -1, len(embedding))
    first, second = np.triu_indices(grids.shape[1], 1)
    total, count = 0.0, 0
    for rows in np.array_split(grids, max(1, len(grids) // 1_000)):
        left, right = rows[:, first], rows[:, second]
        paired = (left >= 0) & (right >= 0)
        gaps = embedding[left[paired]] - embedding[right[paired]]
        total += float(np.linalg.norm(gaps, axis=1).sum())
        count += int(paired.sum())
    if count == 0:
        raise ValueError(f"grids of shape {grids.shape} contain no pair of images")
    chance = _mean_distance(embedding)
    return (total / count) / chance if chance > 0 else 1.0


def _mean_distance(embedding: FloatArray) -> float:
    """Mean distance of two different images, from an even sample of a large collection."""
    step = max(1, -(-len(embedding) // _LOCALITY_SAMPLE))
    # Images are numbered in the order of upload, so a fixed shuffle makes the sample even.
    order = np.random.default_rng(0).permutation(len(embedding))[::step]
    return float(scipy.spatial.distance.pdist(embedding[order]).mean()) if len(order) > 1 else 0.0
