"""Combines several fits of the same answers from different starts into one model.

If an image is in two or three answers, each start ends at a different arrangement, and what
they agree on predicts new answers better than any of them. The inner products of the positions
are averaged, which needs no matching of dimensions between fits: concatenated positions, divided
by the root of their number, have the average as their inner product, and its largest principal
axes keep nearly all of it.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from learning.pooled.model import PooledModel, consistency_scale

_MIN_VARIANCE = 1e-6


def consensus(models: list[PooledModel]) -> PooledModel:
    """The average of the log odds of fits with variational positions, in their dimensions.

    Each fit's consistency is first set to 1 for the mean annotator, with its positions and bias
    scaled accordingly. The variance of a position is that of the fits along the kept axes.
    """
    if len(models) == 1:
        return models[0]
    scaled = [_unit_consistency(model) for model in models]
    stacked = torch.cat([model.positions for model in scaled], dim=1) / len(scaled) ** 0.5
    n_dimensions = models[0].positions.shape[1]
    # The eigenvalues are in ascending order.
    axes = torch.linalg.eigh(stacked.T @ stacked).eigenvectors[:, -n_dimensions:].flip(1)
    variance = torch.cat([model.variance() for model in scaled], dim=1) @ axes**2

    def mean(name: str) -> Tensor:
        return torch.stack([getattr(model, name) for model in scaled]).mean(dim=0)

    return replace(
        scaled[0],
        positions=(stacked @ axes).contiguous(),
        log_variance=variance.clamp(min=_MIN_VARIANCE).log(),
        bias=mean("bias"),
        error=mean("error"),
        consistency=mean("consistency"),
        coarseness=mean("coarseness"),
        carelessness=mean("carelessness"),
    )


def _unit_consistency(model: PooledModel) -> PooledModel:
    typical = model.consistency.mean()
    scale = consistency_scale(typical)
    return replace(
        model,
        positions=model.positions * scale.sqrt(),
        log_variance=model.log_variance + scale.log(),
        bias=model.bias * scale,
        consistency=model.consistency - typical,
    )
