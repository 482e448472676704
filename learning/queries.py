"""Which grids to ask: evenly covering random ones, and local ones from an embedding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree  # type: ignore[import-untyped, unused-ignore]
from scipy.spatial.distance import pdist  # type: ignore[import-untyped, unused-ignore]

from learning.arrays import FloatArray, IntArray, as_index_array, check_count, check_index_range

# Enough images for the mean distance of a random pair to three digits.
_LOCALITY_SAMPLE = 1_500


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
) -> IntArray:
    """(n, grid_size) grids, each drawn from the neighbourhood of one seed image.

    embedding: (N, d). CrowdSter section 3, "Generating queries": seeds are sampled
    uniformly with no seed among the `n_excluded` nearest neighbours of another, starting
    over when none remains; a grid is a random subset of the seed's `n_neighbors` nearest
    images, the seed among them. The paper excludes nearest neighbours only; with less than
    about ten some images are never shown.
    """
    n_images = len(embedding)
    check_count("grid_size", grid_size)
    if grid_size > n_images:
        raise ValueError(f"grid_size must be at most {n_images} images, got {grid_size}")
    n_neighbors = int(np.clip(n_neighbors, grid_size, n_images))
    tree = cKDTree(embedding)
    n_excluded = min(n_excluded, n_images - 1)
    _, close = tree.query(embedding, k=n_excluded + 1)
    seeds = spread_seeds(close.reshape(n_images, -1), n, rng)
    distinct, position = np.unique(seeds, return_inverse=True)
    _, hoods = tree.query(embedding[distinct], k=n_neighbors)
    hoods = hoods.reshape(len(distinct), -1)[position]
    return rng.permuted(hoods.astype(np.int64), axis=1)[:, :grid_size]


def spread_seeds(close: NDArray[np.integer], n: int, rng: np.random.Generator) -> IntArray:
    """(n,) seed images, none among the close images of another seed of the same pass.

    close: (N, c) indices of each image's nearest neighbours (itself may be among them).
    """
    n_images = len(close)
    seeds: list[int] = []
    while len(seeds) < n:
        taken = np.zeros(n_images, np.bool_)
        near_a_seed = np.zeros(n_images, np.bool_)
        for image in rng.permutation(n_images):
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
        raise ValueError(f"grids of shape {grids.shape} hold no pair of images")
    chance = _mean_distance(embedding)
    return (total / count) / chance if chance > 0 else 1.0


def _mean_distance(embedding: FloatArray) -> float:
    """Mean distance of two different images, from an even sample of a large collection."""
    step = max(1, -(-len(embedding) // _LOCALITY_SAMPLE))
    # Dense positions may follow the order of upload: a fixed shuffle breaks that order.
    order = np.random.default_rng(0).permutation(len(embedding))[::step]
    return float(pdist(embedding[order]).mean()) if len(order) > 1 else 0.0
