"""A crowd whose members answer grids by attributes or by features, repeatably."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import FloatArray, IntArray, as_index_array, check_count, check_index_range
from learning.groupings import Groupings
from learning.simulation.grouping import group_by_features, group_by_values, scatter_some

GROUP_LIMITS = {"grid": 10, "bins": 4}


@dataclass(frozen=True, eq=False)
class SimulatedAnswer:
    """groups: (S,) int64, -1 left out; descriptions: one word per group number;
    attribute: name of the attribute that was used, None when features were."""

    groups: IntArray
    descriptions: list[str]
    attribute: str | None


class SimulatedCrowd:
    """Annotators 0..n_annotators-1 over one collection; use a `from_` constructor.

    An answer depends on the seed, the annotator and the images alone, so that answers may
    be asked for in any order and again.
    """

    def __init__(
        self,
        attributes: Mapping[str, NDArray[np.str_]],
        features: FloatArray | None,
        n_annotators: int,
        noise: float,
        preference: float,
        random_state: int,
    ) -> None:
        check_count("n_annotators", n_annotators)
        for name, value in (("noise", noise), ("preference", preference)):
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must lie in 0..1, got {value!r}")
        self.attributes = dict(attributes)
        self.features = features
        self.n_annotators = n_annotators
        self.noise = noise
        self.preference = preference
        self.random_state = random_state
        rng = np.random.default_rng(random_state)
        # Spread evenly, so that a small crowd has someone for every attribute.
        choices = np.arange(n_annotators) % max(1, len(self.attributes))
        self.preferred: IntArray = rng.permutation(choices)

    @classmethod
    def from_attributes(
        cls,
        attributes: Mapping[str, ArrayLike],
        n_annotators: int,
        noise: float = 0.0,
        preference: float = 0.8,
        random_state: int = 0,
    ) -> Self:
        """Annotators who group by categorical attributes, each preferring one of them.

        attributes: name -> (N,) values; noise: probability that an image goes to a random
        group; preference: probability that an answer uses the annotator's own attribute
        (else another one at random).
        """
        columns = {name: np.asarray(column).astype(np.str_) for name, column in attributes.items()}
        shapes = {column.shape for column in columns.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(f"attributes must be columns of one length, got shapes {shapes}")
        return cls(columns, None, n_annotators, noise, preference, random_state)

    @classmethod
    def from_features(
        cls, features: ArrayLike, n_annotators: int, noise: float = 0.0, random_state: int = 0
    ) -> Self:
        """Annotators who cluster the grid's images by features (N, D) with k-means."""
        points = np.asarray(features, np.float64)
        if points.ndim != 2 or not np.isfinite(points).all():
            raise ValueError(f"features must be (N, D) and finite, got shape {points.shape}")
        return cls({}, points, n_annotators, noise, 1.0, random_state)

    @property
    def n_images(self) -> int:
        """Images of the collection."""
        if self.features is not None:
            return len(self.features)
        return len(next(iter(self.attributes.values())))

    def answer(
        self, annotator: int, images: ArrayLike, kind: str = "grid", n_bins: int | None = None
    ) -> SimulatedAnswer:
        """The grouping of one grid by one annotator.

        images: (S,) dense positions; kind: "grid" (up to ten groups) or "bins" (up to
        `n_bins`, four unless told). Features are clustered into `n_bins` groups for
        either kind. Raises ValueError for an unknown kind, annotator or image.
        """
        if kind not in GROUP_LIMITS:
            raise ValueError(f"kind must be one of {sorted(GROUP_LIMITS)}, got {kind!r}")
        shown = as_index_array("images", images, 1)
        check_index_range("images", shown, 0, self.n_images)
        check_index_range("annotator", np.array([annotator]), 0, self.n_annotators)
        rng = np.random.default_rng([self.random_state, annotator, *shown.tolist()])
        limit = n_bins if n_bins is not None and kind == "bins" else GROUP_LIMITS[kind]
        if self.features is not None:
            bins = min(limit, n_bins or GROUP_LIMITS["bins"])
            seed = int(rng.integers(2**31))
            groups = group_by_features(self.features[shown], bins, seed)
            words = [f"bin {number + 1}" for number in range(int(groups.max(initial=-1)) + 1)]
            return SimulatedAnswer(scatter_some(groups, self.noise, rng), words, None)
        attribute = self._attribute_of(annotator, rng)
        groups, words = group_by_values(self.attributes[attribute][shown], limit)
        return SimulatedAnswer(scatter_some(groups, self.noise, rng), words, attribute)

    def answer_grids(
        self,
        grids: ArrayLike,
        annotators: ArrayLike,
        kind: str = "grid",
        n_bins: int | None = None,
    ) -> Groupings:
        """Groupings of grids (G, S), -1 padded, each answered by its annotator (G,)."""
        shown = as_index_array("grids", grids, 2)
        who = as_index_array("annotators", annotators, 1)
        groups = np.full(shown.shape, -1, np.int64)
        for row, (annotator, grid) in enumerate(zip(who.tolist(), shown, strict=True)):
            present = grid >= 0
            groups[row, present] = self.answer(annotator, grid[present], kind, n_bins).groups
        return Groupings(shown, groups, who, self.n_images, self.n_annotators)

    def _attribute_of(self, annotator: int, rng: np.random.Generator) -> str:
        names = list(self.attributes)
        own = int(self.preferred[annotator])
        if len(names) == 1 or rng.random() < self.preference:
            return names[own]
        return names[(own + int(rng.integers(1, len(names)))) % len(names)]
