"""Trust in each annotator, by expectation-maximisation over careless placements."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from learning.answers import Answers
from learning.binning.likelihood import Placements, Shown, placements

# The weight of all annotators' common carelessness for each one, in placements.
_COMMON_PLACEMENTS = 100.0
# The prior of the common carelessness is two strays in twenty placements.
_PRIOR_STRAYS, _PRIOR_PLACEMENTS = 2.0, 20.0
_START = 0.1
_LEAST, _MOST = 0.005, 0.9


@dataclass(frozen=True)
class Trust:
    """carelessness: (W,) odds of a random bin; genuine: (G, S) that a placement was intended."""

    carelessness: Tensor
    genuine: Tensor
    optimism: float = 1.0

    @classmethod
    def start(cls, answers: Answers) -> Trust:
        """The start: everybody is a little careless, and every placement was intended."""
        device = answers.device
        careless = torch.full((answers.n_annotators,), _START, device=device)
        return cls(careless, torch.ones(answers.images.shape, device=device))

    @property
    def mean(self) -> float:
        """The mean of the annotators' carelessness."""
        return float(self.carelessness.mean()) if len(self.carelessness) else _START


@torch.no_grad()
def believe(
    trust: Trust, embedding: Tensor, answers: Answers, n_bins: int, temperature: float
) -> Trust:
    """One step of expectation-maximisation, given the embedding (N, d)."""
    n_annotators = len(trust.carelessness)
    strays = torch.zeros(n_annotators, device=answers.device)
    counted = torch.zeros_like(strays)
    genuine = torch.ones_like(trust.genuine)
    for rows, block in answers.blocks():
        shown = Shown.of(embedding, block)
        predicted = placements(shown, trust.genuine[rows], n_bins, temperature)
        careless = trust.carelessness[block.annotators]
        genuine[rows] = torch.where(predicted.counted, _meant(predicted, careless), 1.0)
        # It is scaled afterwards, so it must be counted unscaled, or it would grow every time.
        strayed = 1 - _meant(predicted, careless / trust.optimism)
        strays.index_add_(0, block.annotators, (strayed * predicted.counted).sum(dim=1))
        counted.index_add_(0, block.annotators, predicted.counted.sum(dim=1).to(strays.dtype))
    common = (strays.sum() + _PRIOR_STRAYS) / (counted.sum() + _PRIOR_PLACEMENTS)
    own = (strays + _COMMON_PLACEMENTS * common) / (counted + _COMMON_PLACEMENTS)
    honest = (own * trust.optimism).clamp(_LEAST, _MOST)
    return replace(trust, carelessness=honest, genuine=genuine)


def _meant(predicted: Placements, carelessness: Tensor) -> Tensor:
    """(B, S) probability that a placement was intended, given each annotator's carelessness."""
    own = (1 - carelessness).unsqueeze(1) * predicted.log_own.exp()
    return own / predicted.probability(carelessness)


@torch.no_grad()
def honest(trust: Trust, probability: Tensor, annotators: Tensor, n_used: Tensor) -> Trust:
    """Trust with the carelessness scaled to the held-out placements.

    probability: (M,) of held-out placements if nobody was careless; annotators, n_used: (M,).
    The scale is needed because a fit explains part of the strays that it was fitted to, more so
    with more dimensions.
    """
    if not len(probability):
        return trust
    own = trust.carelessness / trust.optimism
    scale = trust.optimism
    for _ in range(30):
        stray = (own * scale).clamp(_LEAST, _MOST)[annotators]
        mixed = (1 - stray) * probability + stray / n_used
        odds = stray / n_used / mixed
        common = (odds.sum() + _PRIOR_STRAYS) / (len(odds) + _PRIOR_PLACEMENTS)
        scale = float(common / own[annotators].mean())
    return replace(trust, carelessness=(own * scale).clamp(_LEAST, _MOST), optimism=scale)
