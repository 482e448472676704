"""The certainty of each image's position, from the information in its placements."""

from __future__ import annotations

import torch
from torch import Tensor

from learning.answers import Answers
from learning.binning.fitting import Fit
from learning.binning.likelihood import Shown, bin_pull, placements


@torch.no_grad()
def uncertainty(fit: Fit, answers: Answers, n_bins: int) -> Tensor:
    """(N,) root of the posterior variance of each image's position, summed over coordinates.

    This is Laplace's approximation with all other images fixed. In units of the embedding,
    whose root mean square distance from the centre is 1, it is 1 for an image that no answer
    has placed, and goes towards 0 as answers agree on it.
    """
    n_images, n_dimensions = fit.embedding.shape
    prior = n_dimensions * torch.eye(n_dimensions, device=answers.device)
    information = prior.repeat(n_images, 1, 1)
    for rows, block in answers.blocks():
        shown = Shown.of(fit.embedding, block)
        genuine = fit.trust.genuine[rows]
        predicted = placements(shown, genuine, n_bins, fit.temperature)
        pull = bin_pull(shown, predicted, genuine, fit.temperature)
        information.index_add_(0, block.images[predicted.counted], pull[predicted.counted])
    variance: Tensor = torch.linalg.inv(information).diagonal(dim1=1, dim2=2).sum(dim=1)
    return variance.clamp(min=0).sqrt()
