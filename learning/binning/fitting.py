"""Adam on the likelihood of all answers, in fewer and fewer dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from learning.answers import Answers
from learning.binning.likelihood import (
    PairCurve,
    Shown,
    pair_loss,
    placement_loss,
    placements,
)
from learning.binning.prior import Prior
from learning.binning.trust import Trust, believe

_LEARNING_RATE = 0.05
_STEPS_PER_EPOCH = 10
_SMALLEST_STEP, _LARGEST_STEP = 32, 4_096
# Epochs between two looks at who is to be trusted, the first after a few: at a random
# start everybody looks careless.
_EPOCHS_PER_BELIEF = 3
_EPOCHS_OF_GRACE = 5
_SHRINKAGE = 1e-3
# Share of the pairs' likelihood: all the answers' wisdom from near-perfect annotators lies
# in the centroids; the more strays, the more the blunt pairs are worth.
_PAIR_SHARE, _PAIR_SHARE_PER_STRAY, _MOST_PAIR_SHARE = 0.3, 3.0, 0.8
_TINY = 1e-9

Step = Callable[[], None]


@dataclass(frozen=True)
class Fit:
    """embedding: (N, d), centred, root mean square 1; what it was found with."""

    embedding: Tensor
    curve: PairCurve
    trust: Trust
    prior: Prior | None = None


def unit(embedding: Tensor) -> Tensor:
    """Centred, root mean square 1."""
    centred = embedding - embedding.mean(dim=0)
    scale = (centred**2).sum(dim=1).mean().sqrt()
    return centred / scale if float(scale) > _TINY else centred


def narrowed(embedding: Tensor, n_dimensions: int) -> Tensor:
    """The embedding in its `n_dimensions` principal directions, or fewer if it has fewer."""
    centred = embedding - embedding.mean(dim=0)
    _, _, directions = torch.linalg.svd(centred.T @ centred)
    return unit(centred @ directions[:n_dimensions].T)


def enough_epochs(n_epochs: int, n_answers: int) -> int:
    """Fewer when there are many answers: these make many steps an epoch."""
    per_epoch = -(-n_answers // _step_size(n_answers))
    return max(1, round(n_epochs * min(1.0, 2 * _STEPS_PER_EPOCH / per_epoch)))


def _step_size(n_answers: int) -> int:
    return min(max(_SMALLEST_STEP, n_answers // _STEPS_PER_EPOCH), _LARGEST_STEP)


def climb(
    start: Fit,
    answers: Answers,
    n_bins: int,
    n_epochs: int,
    generator: torch.Generator,
    step: Step = lambda: None,
    trust_from: int = 0,
) -> Fit:
    """A better fit from `start`, in its number of dimensions."""
    embedding = start.embedding.clone().requires_grad_()
    offset = start.curve.offset.clone().requires_grad_()
    log_slope = start.curve.log_slope.clone().requires_grad_()
    trust = start.trust
    size = _step_size(len(answers))
    n_epochs = enough_epochs(n_epochs, len(answers))
    n_steps = n_epochs * -(-len(answers) // size)
    n_placed = max(1, int((answers.groups >= 0).sum()))
    adam = torch.optim.Adam([embedding, offset, log_slope], lr=_LEARNING_RATE, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.02, n_steps)
    for epoch in range(n_epochs):
        if epoch >= trust_from and (epoch - trust_from) % _EPOCHS_PER_BELIEF == 0:
            trust = believe(trust, embedding.detach(), answers, n_bins)
        order = torch.randperm(len(answers), generator=generator).to(answers.device)
        for rows in torch.split(order, size):
            adam.zero_grad()
            loss = _loss(embedding, PairCurve(offset, log_slope), trust, answers, rows, n_bins)
            if start.prior is not None:
                loss = loss + start.prior.loss(embedding) / n_placed
            loss.backward()
            adam.step()
            schedule.step()
        step()
    curve = PairCurve(offset.detach(), log_slope.detach())
    return Fit(unit(embedding.detach()), curve, trust, start.prior)


def _loss(
    embedding: Tensor,
    curve: PairCurve,
    trust: Trust,
    answers: Answers,
    rows: Tensor,
    n_bins: int,
) -> Tensor:
    block = answers.rows(rows)
    careless = trust.carelessness[block.annotators]
    shown = Shown.of(embedding, block)
    told = placements(shown, trust.genuine[rows], n_bins)
    share = min(_PAIR_SHARE + _PAIR_SHARE_PER_STRAY * trust.mean, _MOST_PAIR_SHARE)
    fit = (1 - share) * placement_loss(told, careless)
    fit = fit + share * pair_loss(shown, curve, careless)
    return fit + _SHRINKAGE * (embedding[block.images] ** 2).mean()
