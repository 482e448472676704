"""Grids that make one attribute stand out, picked from a stream of random ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import log_softmax  # type: ignore[import-untyped, unused-ignore]

from learning.arrays import FloatArray, IntArray, check_count

_BLOCK = 8_192


def most_telling_grids(
    grid_activation: Callable[[IntArray], FloatArray],
    n: int,
    grid_size: int,
    n_images: int,
    attribute: int | None,
    n_candidates: int,
    rng: np.random.Generator,
) -> IntArray:
    """(n, grid_size) of `n_candidates` random grids, the most telling first.

    CEN section 4.6. Candidates are made and dropped a block at a time: memory does not
    grow with their number. Raises ValueError for fewer candidates than grids.
    """
    check_count("n", n, minimum=0)
    check_count("grid_size", grid_size)
    if grid_size > n_images:
        raise ValueError(f"grid_size must be at most {n_images} images, got {grid_size}")
    if n_candidates < n:
        raise ValueError(f"n_candidates must be at least n={n}, got {n_candidates}")
    best = np.empty((0, grid_size), np.int64)
    costs = np.empty(0)
    for start in range(0, n_candidates, _BLOCK):
        size = min(_BLOCK, n_candidates - start)
        grids = distinct_rows(size, grid_size, n_images, rng)
        best = np.concatenate([best, grids])
        costs = np.concatenate([costs, vagueness(grid_activation(grids), attribute)])
        kept = np.argsort(costs, kind="stable")[:n]
        best, costs = best[kept], costs[kept]
    return best


def vagueness(activation: FloatArray, attribute: int | None) -> FloatArray:
    """(G,) entropy of softmax(a) for a (G, K); with an attribute, minus its log probability."""
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
        # Drawing the whole row anew keeps every grid equally likely.
        rows[repeated] = rng.integers(0, n_images, (len(repeated), grid_size))
        repeated = repeated[_with_repeats(rows[repeated])]
    return rows


def _with_repeats(rows: IntArray) -> IntArray:
    ordered = np.sort(rows, axis=1)
    return np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
