"""The update rule of CrowdSter's Algorithm 1: distances of asked pairs, then Sammon."""

from __future__ import annotations

import numpy as np

from learning.arrays import FloatArray, IntArray
from learning.groupings import Groupings
from learning.sammon import random_scatter, sammon_projection

# Distances below this share of the typical one are indistinguishable. Dividing them by beta
# again and again only makes the stress, which divides by them, ill-conditioned.
_SMALLEST_DISTANCE = 0.05


def one_phase(
    groupings: Groupings,
    embedding: FloatArray | None,
    asked: IntArray,
    n_dimensions: int,
    beta: float,
    epsilon: float,
    n_iterations: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, IntArray]:
    """Embedding (N, d) and asked pairs after the answers of one phase.

    Algorithm 1, lines 6-8. embedding: that of the phase before, None for a random one;
    asked: (P,) sorted keys i * N + j, i < j, of the pairs of all earlier phases.
    A phase without an informative pair changes nothing.
    """
    n_images = groupings.n_images
    pairs, votes = pair_votes(groupings)
    start = random_scatter(n_images, n_dimensions, rng) if embedding is None else embedding
    if not len(pairs):
        return start, asked
    everything = np.union1d(asked, pairs)
    i, j = np.divmod(everything, n_images)
    target = np.linalg.norm(start[i] - start[j], axis=1)
    target = np.maximum(target, _SMALLEST_DISTANCE * np.median(target))
    # UpdateDistances: D / beta or D * beta by majority, ties unchanged.
    target[np.searchsorted(everything, pairs)] *= beta ** -np.sign(votes)
    return sammon_projection(start, i, j, target, epsilon, n_iterations, rng), everything


def pair_votes(groupings: Groupings) -> tuple[IntArray, IntArray]:
    """Sorted keys i * N + j (i < j) of the asked pairs, and votes for minus against each.

    returns (P,) int64 and (P,) int64
    """
    pairs = groupings.pairs()
    low, high = np.minimum(pairs.i, pairs.j), np.maximum(pairs.i, pairs.j)
    asked, position = np.unique(low * groupings.n_images + high, return_inverse=True)
    votes = np.bincount(position, weights=np.where(pairs.same, 1, -1), minlength=len(asked))
    return asked, votes.astype(np.int64)
