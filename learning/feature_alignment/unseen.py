"""A campaign's model with places, by features, for the images that it was never shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from learning.arrays import BoolArray, FloatArray
from learning.crowd_model import CrowdModel
from learning.feature_alignment.inputs import checked_features
from learning.feature_alignment.model import FeatureAlignment, in_grids
from learning.groupings import Groupings


def with_unseen(
    model: CrowdModel,
    groupings: Groupings,
    features: ArrayLike,
    known: ArrayLike | None = None,
    random_state: int = 0,
) -> CrowdModel:
    """The model with unseen images placed by alignments of the features with its parts.

    Images that were shown keep their positions exactly, and if the features predict nothing, so do
    all. Predictions then use what the model knows about annotators and grids. groupings: what it
    was fitted to.
    """
    table, mask = checked_features(features, known, groupings.n_images)
    unseen = mask & ~in_grids(groupings)
    if not unseen.any():
        return model

    def placed(positions: Tensor, deviation: FloatArray | None) -> Tensor:
        return _placed(positions, deviation, groupings, table, mask, unseen, random_state)

    latent, pooled = model.latent, model.pooled
    if latent is not None and latent.pairs.positions.shape[1]:
        positions = placed(latent.pairs.positions, None)
        latent = replace(latent, pairs=replace(latent.pairs, positions=positions))
    if not pooled.certain:
        deviation = pooled.variance().sqrt().numpy().astype(np.float64)
        pooled = replace(pooled, positions=placed(pooled.positions, deviation))
    return replace(model, latent=latent, pooled=pooled)


def _placed(
    positions: Tensor,
    deviation: FloatArray | None,
    groupings: Groupings,
    table: NDArray[np.floating],
    mask: BoolArray,
    unseen: BoolArray,
    seed: int,
) -> Tensor:
    target = positions.numpy().astype(np.float64)
    alignment = FeatureAlignment(seed)
    alignment.fit(table, groupings, mask, embedding=target, embedding_error=deviation)
    if alignment.used_:
        target[unseen] = alignment.places(table[unseen]).positions
    return torch.as_tensor(target, dtype=positions.dtype)
