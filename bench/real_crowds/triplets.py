"""Soft ordinal embedding of the triplets in groupings, by cblearn if it is installed."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Self

import numpy as np
import torch

from learning.arrays import FloatArray
from learning.baselines.common import random_triplets
from learning.groupings import Groupings

_NEGATIVES = 3
# The library evaluates all triplets at every step.
_MOST_TRIPLETS = 60_000


class OrdinalEmbedding:
    """SOE (Terada and von Luxburg, 2014) of "grouped with this, not with that".

    n_dimensions: coordinates; random_state: of the triplets drawn and of the start.
    embedding_: (N, n_dimensions); an image in no triplet has the mean of the others.
    """

    embedding_: FloatArray

    def __init__(self, n_dimensions: int, random_state: int) -> None:
        self.n_dimensions = n_dimensions
        self.random_state = random_state

    def fit(self, groupings: Groupings) -> Self:
        """Each same pair, anchored at either image, with three images of other groups."""
        from cblearn.embedding import SOE

        triplets = self._triplets(groupings)
        known, dense = np.unique(triplets, return_inverse=True)
        with warnings.catch_warnings():
            # The library is written for an older scikit-learn.
            warnings.simplefilter("ignore")
            model = SOE(self.n_dimensions, random_state=self.random_state)
            places = np.asarray(model.fit(dense.reshape(triplets.shape)).embedding_)
        self.embedding_ = np.tile(places.mean(axis=0), (groupings.n_images, 1))
        self.embedding_[known] = places
        return self

    def _triplets(self, groupings: Groupings) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        generator = torch.Generator().manual_seed(self.random_state)
        images = torch.as_tensor(groupings.images.copy())
        labels = torch.as_tensor(groupings.pair_labels())
        drawn = [random_triplets(images, labels, generator) for _ in range(_NEGATIVES)]
        rows = torch.cat(drawn)
        kept = torch.randperm(len(rows), generator=generator)[:_MOST_TRIPLETS]
        return np.asarray(images.reshape(-1)[rows[kept]].numpy())


def missing_library() -> str | None:
    """The reason why SOE cannot be measured, or None."""
    return None if find_spec("cblearn") else "cblearn is not installed"
