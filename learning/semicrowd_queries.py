"""Selection of grids about a part of a collection whose clusters are being learned.

Grids (n, grid_size) have distinct images of a subset, for which the budget is meant.
"""

from __future__ import annotations

import numpy as np

from learning.arrays import FloatArray, IntArray, check_count
from learning.asked import AskedGrids

# Part of a grid that was shown before, so that the grids of a round are connected.
_LINKED = 0.25
# Clusters that a grid about uncertain images offers them, and the share of the grid that shows
# these clusters.
_OFFERED, _ANCHORS = 3, 0.5
# Share of a covering grid that shows known clusters.
_KNOWN = 0.3
_SMALL = 1e-9


def annotated_subset(n_images: int, n_annotated: int | None, seed: int) -> IntArray:
    """(n_annotated,) random images, ascending; all if no number is given.

    If images are added to the collection, the new subset shares most images with the old one.
    """
    check_count("n_images", n_images)
    if n_annotated is None or n_annotated >= n_images:
        return np.arange(n_images)
    check_count("n_annotated", n_annotated)
    # The draws of the first images do not depend on the number of further images.
    draws = np.random.default_rng(seed).random(n_images)
    return np.sort(np.argsort(draws, kind="stable")[:n_annotated])


def linked_grids(subset: IntArray, n: int, grid_size: int, rng: np.random.Generator) -> IntArray:
    """Grids that cover the subset evenly, each with some images of earlier grids.

    A quarter of every grid but the first comes from the images that were shown, least shown
    first. The rest are images not shown yet, if there are any, then those shown least.
    """
    check_count("n", n, minimum=0)
    _check_size(subset, grid_size)
    shown = np.zeros(len(subset))
    n_linked = max(1, round(_LINKED * grid_size))
    grids = np.empty((n, grid_size), np.int64)
    for row in range(n):
        order = _least_first(shown, rng)
        known = order[shown[order] > 0][:n_linked]
        others = order[~np.isin(order, known)][: grid_size - len(known)]
        chosen = np.concatenate([known, others])
        shown[chosen] += 1
        grids[row] = subset[chosen]
    return rng.permuted(grids, axis=1)


def posterior_entropy(responsibilities: FloatArray) -> FloatArray:
    """(N,) entropy in nats of (N, K) probabilities of clusters."""
    clipped = np.maximum(responsibilities, _SMALL)
    return np.asarray(-(responsibilities * np.log(clipped)).sum(axis=1), np.float64)


def uncertain_grids(
    responsibilities: FloatArray,
    subset: IntArray,
    n: int,
    grid_size: int,
    rng: np.random.Generator,
    asked: AskedGrids,
) -> IntArray:
    """Grids of images with high posterior entropy and certain images of the clusters in question.

    responsibilities: (N, K) of the whole collection. A grid begins with an uncertain image. It
    also has others that are between the same clusters, and some of the most certain images of
    each of the three likeliest ones. Images that were shown often are less likely.
    """
    _check_size(subset, grid_size)
    among = responsibilities[subset]
    # Squaring prevents that slight doubt about many images outweighs strong doubt about some.
    doubt = 2 * np.log(posterior_entropy(among) + _SMALL)
    times = asked.views[subset].astype(np.float64)
    n_doubtful = max(1, round((1 - _ANCHORS) * grid_size))
    grids = np.empty((n, grid_size), np.int64)
    for row in range(n):
        weariness = np.log1p(times)
        first = int(_gumbel_best(doubt - weariness, 1, rng)[0])
        similarity = np.log(among @ among[first] + _SMALL)
        wish = doubt + similarity - weariness
        wish[first] = np.inf
        doubtful = _gumbel_best(wish, n_doubtful, rng)
        offered = np.argsort(-among[doubtful].sum(axis=0), kind="stable")[:_OFFERED]
        sure = _anchors(among, offered, grid_size - len(doubtful), doubtful, times, rng)
        chosen = np.concatenate([doubtful, sure])
        times[chosen] += 1
        grids[row] = subset[chosen]
    return rng.permuted(grids, axis=1)


def mergeable_clusters(
    responsibilities: FloatArray, embedding: FloatArray, asked: AskedGrids
) -> list[tuple[int, int]]:
    """Pairs of clusters, those that are most likely one first.

    Two clusters may be one if the same images are between them or if they are near each other
    in the embedding (N, d), and the more so the less often grids have shown both.
    """
    weight = responsibilities.sum(axis=0)
    # Fewer than two images show nothing.
    real = np.flatnonzero(weight >= 2.0)
    if len(real) < 2:
        return []
    mine = responsibilities[:, real]
    score = _overlap(mine) + _closeness(mine, embedding)
    score /= 1.0 + _shown_together(mine, asked)
    first, second = np.triu_indices(len(real), 1)
    order = np.argsort(-score[first, second], kind="stable")
    return [(int(real[first[k]]), int(real[second[k]])) for k in order]


def between_grids(
    responsibilities: FloatArray,
    embedding: FloatArray,
    subset: IntArray,
    n: int,
    grid_size: int,
    rng: np.random.Generator,
    asked: AskedGrids,
) -> IntArray:
    """Grids with images of two clusters that might be one, half from each.

    The likeliest pairs of clusters come first, at most every second of the possible pairs. With
    fewer than two clusters there are none, so there can be fewer than n grids.
    """
    _check_size(subset, grid_size)
    among = responsibilities[subset]
    inside = np.bincount(among.argmax(axis=1), minlength=among.shape[1])
    least = min(2, grid_size // 2)
    pairs = [
        (a, b)
        for a, b in mergeable_clusters(responsibilities, embedding, asked)
        if min(inside[a], inside[b]) >= least
    ]
    pairs = pairs[: max(1, (len(pairs) + 1) // 2)] if pairs else []
    times = asked.views[subset].astype(np.float64)
    grids = np.empty((n if pairs else 0, grid_size), np.int64)
    for row in range(len(grids)):
        pair = np.array(pairs[row % len(pairs)])
        chosen = _anchors(among, pair, grid_size, np.empty(0, np.int64), times, rng)
        times[chosen] += 1
        grids[row] = subset[chosen]
    return rng.permuted(grids, axis=1)


def covering_grids(
    responsibilities: FloatArray,
    subset: IntArray,
    n: int,
    grid_size: int,
    rng: np.random.Generator,
    asked: AskedGrids,
) -> IntArray:
    """Grids of the images shown least (images not asked about first), with certain images of
    each cluster in turn, so that every cluster recurs."""
    _check_size(subset, grid_size)
    among = responsibilities[subset]
    times = asked.views[subset].astype(np.float64)
    in_use = np.flatnonzero(np.bincount(among.argmax(axis=1), minlength=among.shape[1]))
    turns = rng.permutation(in_use)
    n_known = round(_KNOWN * grid_size)
    grids = np.empty((n, grid_size), np.int64)
    for row in range(n):
        fresh = _least_first(times, rng)[: grid_size - n_known]
        turn = np.roll(turns, -row * n_known)[:n_known]
        sure = _anchors(among, turn, n_known, fresh, times, rng)
        chosen = np.concatenate([fresh, sure])
        times[chosen] += 1
        grids[row] = subset[chosen]
    return rng.permuted(grids, axis=1)


def _check_size(subset: IntArray, grid_size: int) -> None:
    check_count("grid_size", grid_size)
    if grid_size > len(subset):
        raise ValueError(f"grid_size must be at most {len(subset)} images, got {grid_size}")


def _least_first(times: FloatArray, rng: np.random.Generator) -> IntArray:
    """All indices, those with the smallest number first, ties in random order."""
    order = rng.permutation(len(times))
    return np.asarray(order[np.argsort(times[order], kind="stable")], np.int64)


def _gumbel_best(wish: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """(k,) indices drawn without replacement, each with a weight of exp(wish)."""
    noisy = wish + rng.gumbel(size=len(wish))
    return np.asarray(np.argsort(-noisy, kind="stable")[:k], np.int64)


def _anchors(
    among: FloatArray,
    clusters: IntArray,
    n: int,
    without: IntArray,
    times: FloatArray,
    rng: np.random.Generator,
) -> IntArray:
    """(n,) indices of certain images of each cluster, as evenly as possible, and of any others if
    these have too few."""
    free = np.ones(len(among), np.bool_)
    free[without] = False
    chosen: list[int] = []
    for turn, cluster in enumerate(clusters):
        share = (n - len(chosen)) // (len(clusters) - turn)
        # Squaring strongly prefers certain images; -inf excludes those that are not free.
        wish = 2 * np.log(among[:, cluster] + _SMALL) - np.log1p(times)
        best = _gumbel_best(np.where(free, wish, -np.inf), share, rng)
        free[best] = False
        chosen.extend(best.tolist())
    if len(chosen) < n:
        left = np.where(free, -np.log1p(times), -np.inf)
        chosen.extend(_gumbel_best(left, n - len(chosen), rng).tolist())
    return np.array(chosen, np.int64)


def _overlap(mine: FloatArray) -> FloatArray:
    """(K, K) cosine of the clusters' responsibilities over all images, in 0..1."""
    shared = mine.T @ mine
    size = np.sqrt(np.diag(shared))
    return np.asarray(shared / np.maximum(np.outer(size, size), _SMALL), np.float64)


def _closeness(mine: FloatArray, embedding: FloatArray) -> FloatArray:
    """(K, K) in 0..1: closeness of centres in the embedding, relative to the clusters' spread."""
    weight = mine.sum(axis=0)
    centre = mine.T @ embedding / weight[:, None]
    squares = mine.T @ (embedding**2).sum(axis=1) / weight
    spread = np.maximum(squares - (centre**2).sum(axis=1), 0.0)
    far = ((centre[:, None] - centre[None, :]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-far / (2 * (spread[:, None] + spread[None, :]) + _SMALL)))


def _shown_together(mine: FloatArray, asked: AskedGrids) -> FloatArray:
    """(K, K) how often images of each two clusters were shown together, in grids."""
    if not len(asked):
        return np.zeros((mine.shape[1], mine.shape[1]))
    padded = np.vstack([mine, np.zeros((1, mine.shape[1]))])
    inside = padded[asked.grids].sum(axis=1)
    half = asked.grids.shape[1] / 2
    return np.asarray(inside.T @ inside / half**2)
