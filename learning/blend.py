"""Combines predictions of several models of the same answers, weighted by held-out answers."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from learning.answers import Answers
from learning.latent.pair_model import minimise, pair_weight

# This prior pulls the weights to equal shares if there are few held-out answers.
_SHRINKAGE = 2.0
_N_ITERATIONS = 60


def fit_blend(log_odds: Tensor, answers: Answers) -> Tensor:
    """(M + 1,) weights >= 0 of the log odds (M, G, P) of M models, and an offset.

    The log odds of the blend are their weighted sum plus the offset (logarithmic opinion
    pool; also calibrates a single model). Logistic regression on the held-out `answers`,
    whose pairs count as its images.
    """
    same, informative = answers.pair_labels()
    weight = informative * pair_weight(answers).unsqueeze(1)
    odds = log_odds.clamp(-8.0, 8.0)
    n_models = len(odds)
    raw = torch.full((n_models,), 1.0 / n_models, device=odds.device)
    start = raw.clone()
    raw = torch.log(torch.expm1(raw)).requires_grad_()
    offset = torch.zeros((), device=odds.device, requires_grad=True)

    def loss() -> Tensor:
        share = functional.softplus(raw)
        blended = (share[:, None, None] * odds).sum(dim=0) + offset
        error = functional.binary_cross_entropy_with_logits(
            blended, same.float(), weight, reduction="sum"
        )
        prior = _SHRINKAGE * ((share - start) ** 2).sum() + 0.5 * offset**2
        total = error + prior
        total.backward()
        return total.detach()

    minimise([raw, offset], loss, _N_ITERATIONS)
    return torch.cat([functional.softplus(raw), offset.reshape(1)]).detach()


def blended(log_odds: list[Tensor], weights: Tensor) -> Tensor:
    """(G, P) of M models' (G, P) log odds by (M + 1,) weights of `fit_blend`."""
    total = weights[-1].expand_as(log_odds[0])
    for share, odds in zip(weights[:-1], log_odds, strict=True):
        total = total + share * odds.clamp(-8.0, 8.0)
    return total
