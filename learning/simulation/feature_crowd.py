"""A crowd that groups by features: k-means on the images of a grid."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import FloatArray, IntArray, as_index_array, check_count
from learning.groupings import Groupings
from learning.simulation.answers import MOST_GROUPS, SimulatedAnswer, check_request

N_BINS = 4


class FeatureCrowd:
    """Annotators 0..n_annotators-1 who all cluster by the same features (N, D).

    noise: probability that an image goes to a random group. Raises ValueError for
    features that are not finite numbers.
    """

    def __init__(
        self, features: ArrayLike, n_annotators: int, noise: float = 0.0, random_state: int = 0
    ) -> None:
        check_count("n_annotators", n_annotators)
        if not 0.0 <= noise <= 1.0:
            raise ValueError(f"noise must be in 0..1, got {noise!r}")
        points = np.asarray(features, np.float64)
        if points.ndim != 2 or not np.isfinite(points).all():
            raise ValueError(f"features must be (N, D) and finite, got shape {points.shape}")
        self.features = points
        self.n_annotators = n_annotators
        self.noise = noise
        self.random_state = random_state

    @property
    def n_images(self) -> int:
        """Images of the collection."""
        return len(self.features)

    def answer(
        self,
        annotator: int,
        images: ArrayLike,
        max_groups: int = MOST_GROUPS,
        n_bins: int | None = None,
    ) -> SimulatedAnswer:
        """The clusters of one grid, `n_bins` (four by default) but at most `max_groups`.

        They are the same every time. Raises ValueError for an unknown annotator or image.
        """
        shown = check_request(self, annotator, images, max_groups)
        rng = np.random.default_rng([self.random_state, annotator, *shown.tolist()])
        bins = min(max_groups, n_bins or N_BINS)
        groups = group_by_features(self.features[shown], bins, int(rng.integers(2**31)))
        words = [f"bin {number + 1}" for number in range(int(groups.max(initial=-1)) + 1)]
        return SimulatedAnswer(_scatter_some(groups, self.noise, rng), words, None)

    def answer_grids(
        self,
        grids: ArrayLike,
        annotators: ArrayLike,
        n_bins: int | None = None,
    ) -> Groupings:
        """Groupings of grids (G, S), -1 padded, each answered by its annotator (G,)."""
        shown = as_index_array("grids", grids, 2)
        who = as_index_array("annotators", annotators, 1)
        groups = np.full(shown.shape, -1, np.int64)
        for row, (annotator, grid) in enumerate(zip(who.tolist(), shown, strict=True)):
            present = grid >= 0
            groups[row, present] = self.answer(annotator, grid[present], n_bins=n_bins).groups
        return Groupings(shown, groups, who, self.n_images, self.n_annotators)


def group_by_features(features: FloatArray, n_bins: int, seed: int) -> IntArray:
    """(S,) bins of a seeded k-means over the grid's features (S, D).

    Every image has a bin; with fewer distinct images than bins, some bins stay empty.
    """
    # Imported here so that servers and commands start a second faster.
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    n_clusters = min(n_bins, len(features))
    with warnings.catch_warnings():
        # Fewer distinct images than bins is an ordinary grid, not a failed clustering.
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters = KMeans(n_clusters, n_init=3, random_state=seed).fit_predict(features)
    _, groups = np.unique(clusters, return_inverse=True)
    return groups.astype(np.int64)


def _scatter_some(groups: IntArray, noise: float, rng: np.random.Generator) -> IntArray:
    """`groups` with each image sent, with probability `noise`, to a random used group."""
    used = np.unique(groups[groups >= 0])
    if not len(used) or noise == 0.0:
        return groups
    stray = rng.random(len(groups)) < noise
    return np.where(stray, rng.choice(used, len(groups)), groups)
