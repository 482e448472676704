"""Places in an embedding of CrowdSter for images that no answer placed, from their features.

The embedding itself expects images near similar ones only as far as that predicts placements of
images in answers (`learning.binning.prior`), and says nothing about the others. These are placed
by the alignment that Context Embedding Networks use too, if it predicts pairs of held-out images.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.arrays import BoolArray, FloatArray
from learning.feature_alignment.folds import enough_answers
from learning.feature_alignment.model import MIN_IMAGES, FeatureAlignment, in_grids
from learning.groupings import Groupings


@dataclass(frozen=True, eq=False)
class Placed:
    """embedding: (N, d), unit root mean square distance from the centre; uncertainty: (N,) of all
    coordinates together; deviation: (N, d) of each; by_features: (N,) bool, images that only
    features place."""

    embedding: FloatArray
    uncertainty: FloatArray
    deviation: FloatArray
    by_features: BoolArray


def place_unseen(
    embedding: FloatArray,
    uncertainty: FloatArray,
    answers: Groupings,
    features: FloatArray | None,
    known: BoolArray | None,
    seed: int,
) -> Placed:
    """The embedding (N, d) of `answers` with the images in no group where features (N, F) put them.

    uncertainty: (N,) of the positions, all coordinates together; known: (N,) bool, images that
    have features, by default all. Without features, and if they do not predict pairs of held-out
    images, nothing is placed and the embedding stays bit for bit.
    """
    deviation = np.repeat(uncertainty[:, None] / embedding.shape[1] ** 0.5, embedding.shape[1], 1)
    nothing = Placed(embedding, uncertainty, deviation, np.zeros(len(embedding), np.bool_))
    if features is None:
        return nothing
    described = np.ones(len(embedding), np.bool_) if known is None else known
    grouped = _grouped(answers)
    unseen = described & ~grouped
    informative = answers.subset(answers.informative_grids())
    learned_from = described & grouped & in_grids(informative)
    if not unseen.any() or learned_from.sum() < MIN_IMAGES:
        return nothing
    if not np.ptp(features[learned_from], axis=0).any():
        return nothing
    alignment = FeatureAlignment(seed).fit(
        features, enough_answers(informative, seed), described & grouped, embedding=embedding
    )
    if not alignment.used_:
        return nothing
    places = alignment.places(features[unseen])
    moved, error = embedding.copy(), deviation.copy()
    moved[unseen], error[unseen] = places.positions, places.deviations
    moved -= moved.mean(axis=0)
    scale = float(np.sqrt((moved**2).sum(axis=1).mean()))
    error /= scale
    return Placed(moved / scale, np.sqrt((error**2).sum(axis=1)), error, unseen)


def _grouped(answers: Groupings) -> BoolArray:
    """(N,) images that an answer put in a group."""
    grouped = np.zeros(answers.n_images, np.bool_)
    grouped[answers.images[(answers.groups >= 0) & (answers.images >= 0)]] = True
    return grouped
