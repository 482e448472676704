"""How similar two embeddings of the same images are, compared with chance, and with errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from learning.arrays import FloatArray, IntArray, check_count
from learning.neighbors import nearest_neighbors, nearest_points
from learning.resampling import jackknife_error

# More images add little to a rank correlation of the distances of all pairs.
_MOST_FOR_RANKS = 600
_MOST_FOR_ERRORS = 5_000
_MOST_FOR_NEIGHBOURS = 5_000
_SHUFFLES = 100


@dataclass(frozen=True)
class Figure:
    """value ± error (standard error, by jackknife over images); `chance` ± `chance_error`
    (standard deviation) is the value of unrelated embeddings."""

    value: float
    error: float
    chance: float
    chance_error: float


@dataclass(frozen=True, eq=False)
class Alignment:
    """`other` rotated, mirrored, scaled and moved onto `reference`, both centred and of size 1.

    reference, aligned: (N, d) with the larger of both d, each of sum of squares at most 1
    disparity: what remains, in [0, 1]: 0 for the same shape (Procrustes; Gower 1975)
    moved:     (N,) distance between both positions of an image, in units of the root mean square
               distance of the reference's images from their centre
    """

    reference: FloatArray
    aligned: FloatArray
    disparity: float
    moved: FloatArray


@dataclass(frozen=True, eq=False)
class Comparison:
    """disparity: see Alignment; overlap: share of the k nearest neighbours in common; rank
    correlation: Spearman's, of the distances of all pairs (representational similarity)."""

    alignment: Alignment
    k: int
    disparity: Figure
    overlap: Figure
    rank_correlation: Figure


def compare(reference: ArrayLike, other: ArrayLike, k: int = 10) -> Comparison:
    """Compare embeddings (N, d) and (N, e) of the same images in the same order.

    Raises ValueError with fewer than k + 2 images, or if all images of one have one position.
    """
    first, second = _as_embeddings(reference, other)
    check_count("k", k)
    if len(first) < k + 2:
        raise ValueError(f"k = {k} neighbours need at least {k + 2} images, got {len(first)}")
    # With many small products, threads would wait for each other longer than they work.
    with threadpool_limits(1):
        return Comparison(
            alignment=align(first, second),
            k=k,
            disparity=_disparity_figure(first, second),
            overlap=_overlap_figure(first, second, k),
            rank_correlation=_rank_figure(first, second),
        )


def align(reference: ArrayLike, other: ArrayLike) -> Alignment:
    """Procrustes: rotate, mirror, scale and move `other` as near as possible.

    The smaller dimension is padded with zeros. Raises ValueError for shapes that do not
    match, or if all images of one have one position.
    """
    first, second = (_unit(points) for points in _as_embeddings(reference, other))
    turn, scale = scipy.linalg.orthogonal_procrustes(second, first)
    aligned = scale * second @ turn
    gaps = np.linalg.norm(first - aligned, axis=1)
    return Alignment(first, aligned, max(0.0, 1.0 - scale**2), gaps * np.sqrt(len(first)))


def _disparity_figure(first: FloatArray, second: FloatArray) -> Figure:
    rng = np.random.default_rng(0)
    if len(first) > _MOST_FOR_ERRORS:
        # The sample's errors are those of all images times a known factor.
        rows = rng.permutation(len(first))[:_MOST_FOR_ERRORS]
        some, others = first[rows], second[rows]
    else:
        some, others = first, second
    shrink = float(np.sqrt(len(some) / len(first)))
    error = jackknife_error(lambda kept: _disparity(some[kept], others[kept]), len(some))
    # For many images, chance means complete disparity, in the sample as in all.
    shuffled = [_disparity(some, others[rng.permutation(len(some))]) for _ in range(_SHUFFLES)]
    return Figure(
        _disparity(first, second), error * shrink, float(np.mean(shuffled)), float(np.std(shuffled))
    )


def _disparity(first: FloatArray, second: FloatArray) -> float:
    # The singular values of the (d, d) product are enough; N x d is not changed.
    scale = np.linalg.svd(_unit(second).T @ _unit(first), compute_uv=False).sum()
    return max(0.0, 1.0 - float(scale) ** 2)


def _overlap_figure(first: FloatArray, second: FloatArray, k: int) -> Figure:
    n = len(first)
    asked = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_FOR_NEIGHBOURS])
    near, other = _neighbours_of(first, asked, k), _neighbours_of(second, asked, k)
    shared = np.zeros(len(asked))
    for column in range(k):
        shared += (near[:, [column]] == other).any(axis=1)
    shared /= k
    error = float(shared.std(ddof=1) / np.sqrt(len(asked)))
    share = k / (n - 1)
    # The number of shared neighbours of an image is hypergeometric; images count as independent.
    spread = np.sqrt(share * (1 - share) * (n - 1 - k) / max(n - 2, 1) / k / len(asked))
    return Figure(float(shared.mean()), error, share, float(spread))


def _neighbours_of(points: FloatArray, asked: IntArray, k: int) -> IntArray:
    """(M, k) the nearest other points of the points `asked`."""
    if len(asked) == len(points):
        return nearest_neighbors(points, k)
    nearest = nearest_points(points, k + 1, points[asked])
    own = nearest == asked[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(nearest[~own].reshape(len(asked), k), np.int64)


def _rank_figure(first: FloatArray, second: FloatArray) -> Figure:
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(first))[:_MOST_FOR_RANKS]
    squareform, pdist = scipy.spatial.distance.squareform, scipy.spatial.distance.pdist
    far, other = squareform(pdist(first[rows])), squareform(pdist(second[rows]))
    error = jackknife_error(lambda kept: _rank_correlation(far, other, kept), len(rows))
    ranks, upper = _ranks(far), np.triu_indices(len(rows), 1)
    other_ranks = squareform(_ranks(other))
    shuffled = []
    for _ in range(_SHUFFLES):
        order = rng.permutation(len(rows))
        shuffled.append(_correlation(ranks, other_ranks[np.ix_(order, order)][upper]))
    value = _rank_correlation(far, other, np.arange(len(rows)))
    return Figure(value, error, float(np.mean(shuffled)), float(np.std(shuffled)))


def _rank_correlation(far: FloatArray, other: FloatArray, kept: IntArray) -> float:
    some = np.ix_(kept, kept)
    return _correlation(_ranks(far[some]), _ranks(other[some]))


def _ranks(far: FloatArray) -> FloatArray:
    """The ranks of the distances (M, M), one per pair of images."""
    # Imported here so that servers and commands start a second faster.
    from scipy.stats import rankdata

    return np.asarray(rankdata(far[np.triu_indices(len(far), 1)]), np.float64)


def _correlation(first: FloatArray, second: FloatArray) -> float:
    a, b = first - first.mean(), second - second.mean()
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / scale if scale > 0 else 0.0


def _unit(points: FloatArray) -> FloatArray:
    centred = points - points.mean(axis=0)
    size = float(np.linalg.norm(centred))
    if size == 0:
        raise ValueError("all images of an embedding have the same position")
    return np.asarray(centred / size, np.float64)


def _as_embeddings(reference: ArrayLike, other: ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = np.asarray(reference, np.float64), np.asarray(other, np.float64)
    if first.ndim != 2 or second.ndim != 2 or len(first) != len(second) or len(first) < 2:
        raise ValueError(
            f"embeddings must be of the same images, got shapes {first.shape} and {second.shape}"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("an embedding has positions that are not finite")
    d = max(first.shape[1], second.shape[1])
    return _widened(first, d), _widened(second, d)


def _widened(points: FloatArray, d: int) -> FloatArray:
    return np.pad(points, ((0, 0), (0, d - points.shape[1])))
