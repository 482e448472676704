"""The positions that are shown for images when there is one embedding for everyone.

The pooled model positions images by pairs, the choice of bins (`learning.binning`) by whole
grids. In wide grids, each captures what the other misses: an image with few or contradictory
answers is near the origin of the pooled model, whatever it is like, but near the images with
which it was binned in the other. So both are concatenated, with two parts of the bins and one
of the pairs in squared distances. In grids of few images, bins carry little information, and
with very many answers there is no time for both.
"""

from __future__ import annotations

import torch
from torch import Tensor

from learning.answers import Answers
from learning.binning.pairs import suits_pairs
from learning.binning.plain import plain_places
from learning.pooled.model import PooledModel

# The share of the mean squared distance.
_SHARE_OF_BINS = 2 / 3
_MOST_ANSWERS = 20_000
_TINY = 1e-6


def pooled_places(pooled: PooledModel, answers: Answers, generator: torch.Generator) -> Tensor:
    """(N, d) positions with the dimensions and scale of the pooled model."""
    if len(answers) > _MOST_ANSWERS or suits_pairs(answers):
        return pooled.positions
    seen = pooled.placements > 0
    by_pairs, scale = _unit(pooled.positions, seen)
    if float(scale) < _TINY:
        return pooled.positions
    by_bins, _ = _unit(plain_places(answers, generator), seen)
    joint = torch.cat(
        [(1 - _SHARE_OF_BINS) ** 0.5 * by_pairs, _SHARE_OF_BINS**0.5 * by_bins], dim=1
    )
    # The eigenvalues are in ascending order.
    axes = torch.linalg.eigh(joint.T @ joint).eigenvectors
    kept = axes[:, -pooled.positions.shape[1] :].flip(1)
    places: Tensor = scale * (joint @ kept)
    return places.contiguous()


def place_variance(pooled: PooledModel, places: Tensor) -> Tensor:
    """(N, d) variances of `pooled_places`: the spread of each axis, times the share of the pooled
    model's spread that is unknown for the image."""
    if not pooled.certain and torch.equal(places, pooled.positions):
        return pooled.variance()
    spread = places.var(dim=0)
    if pooled.certain:
        unknown = 1 / (1 + pooled.placements)
    else:
        variance = pooled.variance().sum(dim=1)
        squares = (pooled.positions**2).sum(dim=1) + variance
        unknown = (variance / squares.mean().clamp(min=_TINY)).clamp(max=1.0)
    return unknown.unsqueeze(1) * spread


def _unit(places: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Positions around the mean of the seen images, with root mean square 1, and their scale
    before; an image in no answer is at the mean."""
    centred = (places - places[seen].mean(dim=0)) * seen.unsqueeze(1)
    scale = (centred[seen] ** 2).sum(dim=1).mean().sqrt()
    return centred / scale.clamp(min=_TINY), scale
