"""Grids in which one attribute stands out, and grids of the least known images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from learning.arrays import FloatArray, IntArray, check_count

_BLOCK = 8_192
_SAMPLE = 1_000
# A grid is improved with its own pool of this many times its images, so that grids do not all
# end with the same extreme images.
_POOL = 12


@dataclass(frozen=True)
class GridWishes:
    """A request for n grids of grid_size of n_images images, about `attribute` or, if None, any.

    Raises ValueError if they cannot be made.
    """

    n: int
    grid_size: int
    n_images: int
    attribute: int | None
    n_candidates: int

    def __post_init__(self) -> None:
        check_count("n", self.n, minimum=0)
        check_count("grid_size", self.grid_size)
        if self.grid_size > self.n_images:
            raise ValueError(
                f"grid_size must be at most {self.n_images} images, got {self.grid_size}"
            )
        if self.n_candidates < self.n:
            raise ValueError(f"n_candidates must be at least n={self.n}, got {self.n_candidates}")


def stream_grids(
    grid_activation: Callable[[IntArray], FloatArray], wishes: GridWishes, rng: np.random.Generator
) -> IntArray:
    """(n, S) the least vague of `n_candidates` random grids, best first.

    CEN section 4.6. Candidates are made and dropped in blocks, so memory does not grow with
    their number.
    """
    best = np.empty((0, wishes.grid_size), np.int64)
    costs = np.empty(0)
    for start in range(0, wishes.n_candidates, _BLOCK):
        size = min(_BLOCK, wishes.n_candidates - start)
        grids = distinct_rows(size, wishes.grid_size, wishes.n_images, rng)
        cost = vagueness(grid_activation(grids), wishes.attribute)
        promising = cost < costs.max() if len(costs) == wishes.n and wishes.n else slice(None)
        best = np.concatenate([best, grids[promising]])
        costs = np.concatenate([costs, cost[promising]])
        kept = np.argsort(costs, kind="stable")[: wishes.n]
        best, costs = best[kept], costs[kept]
    return best


def stream_by_spread(
    embedding: FloatArray, wishes: GridWishes, rng: np.random.Generator
) -> IntArray:
    """(n, S) by `stream_grids` with the standardised spread as activation. embedding: (N, K)."""
    places, columns, attribute = _in_use(embedding, wishes.attribute)
    ordinary = _ordinary_spread(places, wishes.grid_size)

    def activation(grids: IntArray) -> FloatArray:
        return _salience(_sums(places, grids), wishes.grid_size, ordinary)

    del columns
    narrowed = GridWishes(
        wishes.n, wishes.grid_size, wishes.n_images, attribute, wishes.n_candidates
    )
    return stream_grids(activation, narrowed, rng)


def search_grids(embedding: FloatArray, wishes: GridWishes, rng: np.random.Generator) -> IntArray:
    """(n, S) random grids improved by exchanging images, one after another.

    embedding: (N, K). An exchange is kept if it lowers the vagueness of the standardised
    spread; all grids are improved at once. If no attribute is given, the dimensions in use
    take turns.
    """
    places, columns, attribute = _in_use(embedding, wishes.attribute)
    n, size = wishes.n, wishes.grid_size
    pool = min(wishes.n_images, _POOL * size)
    pools = distinct_rows(n, pool, wishes.n_images, rng)
    wanted = np.arange(n) % len(columns) if attribute is None else np.full(n, attribute)
    ordinary = _ordinary_spread(places, size)
    n_rounds = int(np.clip(wishes.n_candidates / max(1, n * size * 8), 2, 8))
    for start in range(0, n, 256):
        rows = slice(start, start + 256)
        for _ in range(n_rounds):
            _exchange(places, pools[rows], size, wanted[rows], ordinary, rng)
    return rng.permuted(pools[:, :size], axis=1)


def _exchange(
    places: FloatArray,
    pools: IntArray,
    size: int,
    wanted: IntArray,
    ordinary: tuple[FloatArray, FloatArray],
    rng: np.random.Generator,
) -> None:
    """Try eight images of its pool for every position of every grid; take the best, in place.

    The first `size` images of a row of `pools` are the grid, the others its reserve.
    """
    n, pool = pools.shape
    if pool == size:
        return
    every = np.arange(n)
    total, squares = _sums(places, pools[:, :size])
    for place in range(size):
        offered = rng.integers(size, pool, (n, 8))
        # The present image is also tried, so keeping it is one of the choices.
        offered[:, 0] = place
        new = places[pools[every[:, None], offered]]
        old = places[pools[:, place]][:, None]
        sums = (total[:, None] - old + new, squares[:, None] - old**2 + new**2)
        salience = _salience(sums, size, ordinary)
        choice = -log_softmax(salience, axis=2)[every[:, None], np.arange(8), wanted[:, None]]
        best = choice.argmin(axis=1)
        taken = offered[every, best]
        total, squares = sums[0][every, best], sums[1][every, best]
        pools[every, place], pools[every, taken] = (
            pools[every, taken].copy(),
            pools[every, place].copy(),
        )


def least_known_grids(
    information: FloatArray, n: int, grid_size: int, rng: np.random.Generator
) -> IntArray:
    """(n, S) images drawn with odds 1 / (1 + least information).

    information: (N, K) number of answers about an image for each attribute; dimensions without
    any do not count.
    """
    GridWishes(n, grid_size, len(information), None, n)
    used = information.sum(axis=0) > 0
    least = information[:, used].min(axis=1) if used.any() else np.zeros(len(information))
    # The largest log(odds) + Gumbel noise samples without replacement by these odds.
    log_odds = -np.log1p(least)
    rows = [
        np.argpartition(-(log_odds + rng.gumbel(size=len(least))), grid_size - 1)[:grid_size]
        for _ in range(n)
    ]
    return np.array(rows, np.int64).reshape(n, grid_size)


def vagueness(activation: FloatArray, attribute: int | None) -> FloatArray:
    """(G,) entropy of softmax(a) for a (G, K), or minus the log probability of an attribute."""
    log_probability: FloatArray = log_softmax(activation, axis=1)
    if attribute is not None:
        return -log_probability[:, attribute]
    entropy: FloatArray = -(np.exp(log_probability) * log_probability).sum(axis=1)
    return entropy


def distinct_rows(n: int, grid_size: int, n_images: int, rng: np.random.Generator) -> IntArray:
    """(n, grid_size) uniformly random grids without a repeated image."""
    if n_images < 8 * grid_size:
        order = np.argsort(rng.random((n, n_images)), axis=1)[:, :grid_size]
        return np.asarray(order, np.int64)
    rows = rng.integers(0, n_images, (n, grid_size))
    repeated = _with_repeats(rows)
    while len(repeated):
        # Drawing the whole row again keeps every grid equally likely.
        rows[repeated] = rng.integers(0, n_images, (len(repeated), grid_size))
        repeated = repeated[_with_repeats(rows[repeated])]
    return rows


def _in_use(
    embedding: FloatArray, attribute: int | None
) -> tuple[FloatArray, IntArray, int | None]:
    """Columns that separate images, their original indices, and the index of `attribute`."""
    columns = np.flatnonzero(embedding.std(axis=0) > 0)
    if attribute is not None and attribute not in columns:
        raise ValueError(f"no answer is about attribute {attribute}; in use: {columns.tolist()}")
    if not len(columns):
        raise ValueError("no attribute is in use, because the answers separate no images")
    position = None if attribute is None else int(np.searchsorted(columns, attribute))
    return embedding[:, columns], columns, position


def _ordinary_spread(places: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """(K,) mean and deviation of the spread of random grids of this size."""
    grids = np.random.default_rng(0).integers(0, len(places), (_SAMPLE, size))
    spread = places[grids].std(axis=1)
    return spread.mean(axis=0), spread.std(axis=0) + 1e-9


def _sums(places: FloatArray, grids: IntArray) -> tuple[FloatArray, FloatArray]:
    """(G, K) sums and sums of squares of the grids' positions."""
    shown = places[grids]
    return shown.sum(axis=1), (shown**2).sum(axis=1)


def _salience(
    sums: tuple[FloatArray, FloatArray], size: int, ordinary: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """(..., K) standardised spread from sums and sums of squares."""
    total, squares = sums
    spread = np.sqrt(np.maximum(squares / size - (total / size) ** 2, 0.0))
    return np.asarray((spread - ordinary[0]) / ordinary[1])


def _with_repeats(rows: IntArray) -> IntArray:
    ordered = np.sort(rows, axis=1)
    return np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
