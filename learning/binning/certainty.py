"""How well each image's place is known: the information that its placements hold."""

from __future__ import annotations

import torch
from torch import Tensor

from learning.answers import Answers
from learning.binning.fitting import Fit
from learning.binning.likelihood import Shown, bin_pull, placements


@torch.no_grad()
def uncertainty(fit: Fit, answers: Answers, n_bins: int) -> Tensor:
    """(N,) root of the posterior variance of each image's place, summed over coordinates.

    Laplace's approximation with every other image where it is. In units of the embedding,
    whose images lie 1 from the centre in the root mean square: 1 for an image no answer
    has placed, towards 0 as answers agree on it.
    """
    n_images, n_dimensions = fit.embedding.shape
    prior = n_dimensions * torch.eye(n_dimensions, device=answers.device)
    information = prior.repeat(n_images, 1, 1)
    for rows, block in answers.blocks():
        shown = Shown.of(fit.embedding, block)
        genuine = fit.trust.genuine[rows]
        told = placements(shown, genuine, n_bins, fit.temperature)
        pull = bin_pull(shown, told, genuine, fit.temperature)
        information.index_add_(0, block.images[told.counted], pull[told.counted])
    variance: Tensor = torch.linalg.inv(information).diagonal(dim1=1, dim2=2).sum(dim=1)
    return variance.clamp(min=0).sqrt()
