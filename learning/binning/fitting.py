"""Maximises the likelihood of all answers with Adam, in fewer and fewer dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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

_LEARNING_RATE, _LAST = 0.05, 0.02
_STEPS_PER_EPOCH = 10
_SMALLEST_STEP, _LARGEST_STEP = 32, 4_096
# Epochs between two updates of trust, the first after a few: at a random start, all annotators
# look careless.
_EPOCHS_PER_BELIEF = 3
_EPOCHS_OF_GRACE = 5
_SHRINKAGE = 1e-3
# The share of the pairs' likelihood at the start of a search. The centroids capture what
# near-perfect annotators say; the more strays there are, the more useful are the blunt pairs.
_PAIR_SHARE, _PAIR_SHARE_PER_STRAY, _MOST_PAIR_SHARE = 0.3, 3.0, 0.8
_TINY = 1e-9

Step = Callable[[], None]


@dataclass(frozen=True)
class Fit:
    """embedding: (N, d), centred, root mean square 1, and its settings.

    temperature: of the choice of bins; pair_share: share of the pairs in the likelihood, by
    default according to annotators' carelessness
    """

    embedding: Tensor
    curve: PairCurve
    trust: Trust
    prior: Prior | None = None
    temperature: float = 0.3
    pair_share: float | None = None


def unit(embedding: Tensor) -> Tensor:
    """Centre the embedding and scale it to root mean square 1."""
    centred = embedding - embedding.mean(dim=0)
    scale = (centred**2).sum(dim=1).mean().sqrt()
    return centred / scale if float(scale) > _TINY else centred


def narrowed(embedding: Tensor, n_dimensions: int) -> Tensor:
    """The embedding in its `n_dimensions` principal directions, or fewer if it has fewer."""
    centred = embedding - embedding.mean(dim=0)
    _, _, directions = torch.linalg.svd(centred.T @ centred)
    return unit(centred @ directions[:n_dimensions].T)


def enough_epochs(n_epochs: int, n_answers: int) -> int:
    """Fewer epochs for many answers, because these give many steps per epoch."""
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
    adam = torch.optim.Adam(
        [embedding, offset, log_slope], lr=_LEARNING_RATE, betas=(0.9, 0.99), fused=True
    )
    done = 0
    for epoch in range(n_epochs):
        if epoch >= trust_from and (epoch - trust_from) % _EPOCHS_PER_BELIEF == 0:
            trust = believe(trust, embedding.detach(), answers, n_bins, start.temperature)
        order = torch.randperm(len(answers), generator=generator).to(answers.device)
        for rows in torch.split(order, size):
            adam.zero_grad()
            # The rate falls linearly; torch's scheduler takes longer than a step of a small fit.
            adam.param_groups[0]["lr"] = _LEARNING_RATE * (1 - (1 - _LAST) * done / n_steps)
            current = replace(
                start, embedding=embedding, curve=PairCurve(offset, log_slope), trust=trust
            )
            loss = _loss(current, answers, rows, n_bins)
            if start.prior is not None:
                loss = loss + start.prior.loss(embedding) / n_placed
            loss.backward()
            adam.step()
            done += 1
        step()
    curve = PairCurve(offset.detach(), log_slope.detach())
    return replace(start, embedding=unit(embedding.detach()), curve=curve, trust=trust)


def _loss(fit: Fit, answers: Answers, rows: Tensor, n_bins: int) -> Tensor:
    block = answers.rows(rows)
    careless = fit.trust.carelessness[block.annotators]
    shown = Shown.of(fit.embedding, block)
    predicted = placements(shown, fit.trust.genuine[rows], n_bins, fit.temperature)
    share = fit.pair_share
    if share is None:
        share = min(_PAIR_SHARE + _PAIR_SHARE_PER_STRAY * fit.trust.mean, _MOST_PAIR_SHARE)
    loss = (1 - share) * placement_loss(predicted, careless)
    loss = loss + share * pair_loss(shown, fit.curve, careless)
    return loss + _SHRINKAGE * (fit.embedding[block.images] ** 2).mean()
