"""A map that keeps neighbours together, by t-SNE, as an alternative to principal axes."""

from __future__ import annotations

import numpy as np
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from learning.alignment import turned_onto
from learning.arrays import FloatArray

# t-SNE uses this many images, in 5 s on one core; the others are positioned between these.
MOST_LANDMARKS = 2_000
LEAST_IMAGES = 8
PERPLEXITY = 30.0
_ITERATIONS = 500
_NEIGHBOURS = 5
# Spread of the start, as in scikit-learn and openTSNE; a larger one keeps clusters together.
_START_SPREAD = 1e-4
_JITTER = 0.01


def tsne_map(embedding: FloatArray, start: FloatArray, random_state: int = 0) -> FloatArray:
    """(N, 2) positions of images in [0, 1], with neighbours in the embedding next to each other.

    embedding: (N, d); start: (N, 2) another map of these images, where t-SNE begins and to which
    the result is rotated, so that maps of successive models can be compared (Kobak and Berens 2019
    on starting from principal axes). The same arguments give the same map.

    This is t-SNE (van der Maaten and Hinton 2008) of at most MOST_LANDMARKS random images. Each
    other image is at the weighted mean of its nearest landmarks. With too few images or different
    positions, the start itself is the map.

    Raises ValueError if shapes do not match or a value is not finite.
    """
    if start.shape != (len(embedding), 2):
        raise ValueError(f"start must be ({len(embedding)}, 2), got {start.shape}")
    if not (np.isfinite(embedding).all() and np.isfinite(start).all()):
        raise ValueError("embedding and start must be finite")
    if len(embedding) < LEAST_IMAGES or not (embedding.std() > 0 and start.std(axis=0).any()):
        return in_unit_square(start)
    landmarks = _landmarks(len(embedding), random_state)
    placed = _tsne(embedding[landmarks], start[landmarks], random_state)
    flat = _between(embedding, embedding[landmarks], placed)
    return in_unit_square(turned_onto(start, flat))


def in_unit_square(flat: FloatArray) -> FloatArray:
    """(N, 2) moved and scaled to the middle of the unit square with the same aspect ratio."""
    if not len(flat):
        return np.zeros((0, 2))
    low, high = flat.min(axis=0), flat.max(axis=0)
    extent = float((high - low).max()) or 1.0
    return np.asarray(np.clip((flat - (low + high) / 2) / extent + 0.5, 0, 1), np.float64)


def _landmarks(n: int, random_state: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if n <= MOST_LANDMARKS:
        return np.arange(n)
    rng = np.random.default_rng(random_state)
    return np.sort(rng.choice(n, MOST_LANDMARKS, replace=False))


def _tsne(embedding: FloatArray, start: FloatArray, random_state: int) -> FloatArray:
    spread = float(start.std(axis=0).max()) or 1.0
    # Positions on a line would stay on it, because nothing pulls them away.
    jitter = np.random.default_rng(random_state).normal(0, _JITTER, start.shape)
    tsne = TSNE(
        perplexity=min(PERPLEXITY, (len(embedding) - 1) / 3),
        init=((start - start.mean(axis=0)) / spread + jitter) * _START_SPREAD,
        max_iter=_ITERATIONS,
        random_state=random_state,
        n_jobs=1,
    )
    # Sums by several threads depend on their number, and annotators need the other cores.
    with threadpool_limits(1):
        return np.asarray(tsne.fit_transform(embedding), np.float64)


def _between(embedding: FloatArray, landmarks: FloatArray, placed: FloatArray) -> FloatArray:
    """(N, 2) mean position of the nearest landmarks, weighted by the inverse distance; a landmark
    keeps its position."""
    if len(embedding) == len(landmarks):
        return placed
    nearest = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(landmarks)
    distance, rows = nearest.kneighbors(embedding)
    weight = 1.0 / (distance + 1e-9 * (1.0 + distance.max()))
    weight /= weight.sum(axis=1, keepdims=True)
    return np.asarray((weight[:, :, None] * placed[rows]).sum(axis=1), np.float64)
