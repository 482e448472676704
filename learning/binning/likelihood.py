"""The probability of bins, given the images' positions.

An answer does not show the scale of its grid, so distances are in units of the grid's own
spread. Two terms of one answer are added: every image chooses the bin whose centroid is near
(sharp, but misled by strays), and near pairs are more likely to share a bin (blunt, but hard to
mislead; leftovers count here as pairs kept apart).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from learning.answers import Answers

# A bin's centroid cannot be computed without an image that makes up nearly all of it.
_LEAST_OTHERS = 0.3
_TINY = 1e-8


@dataclass(frozen=True)
class PairCurve:
    """P(same bin) = sigmoid(offset - exp(log_slope) * distance); both are scalars."""

    offset: Tensor
    log_slope: Tensor

    @classmethod
    def start(cls, device: torch.device) -> PairCurve:
        """The curve at the start of a fit."""
        return cls(torch.tensor(1.0, device=device), torch.tensor(0.7, device=device))


@dataclass(frozen=True)
class Placements:
    """The probabilities of one block of answers' placements in bins.

    log_own:   (B, S) log probability of an image's bin if nobody was careless
    log_bins:  (B, S, C) the same for every bin of the grid, -inf for an empty one
    counted:   (B, S) bool, the informative placements
    n_used:    (B,) bins in use
    """

    log_own: Tensor
    log_bins: Tensor
    counted: Tensor
    n_used: Tensor

    def probability(self, carelessness: Tensor) -> Tensor:
        """(B, S) probability if an image goes to a random bin with odds `carelessness` (B,)."""
        stray = carelessness.unsqueeze(1)
        return (1 - stray) * self.log_own.exp() + stray / self.n_used.clamp(min=1).unsqueeze(1)


@dataclass(frozen=True)
class Shown:
    """Images of a block of grids relative to their mean, in units of their spread.

    places: (B, S, d) root mean square 1 per grid; groups: (B, S), -1 for none
    present: (B, S) bool; spread: (B, 1, 1) the unit, in those of the embedding
    """

    places: Tensor
    groups: Tensor
    present: Tensor
    spread: Tensor

    @classmethod
    def of(cls, embedding: Tensor, block: Answers) -> Shown:
        """The block's images at their positions in the embedding (N, d)."""
        # Unlike indexing, embedding() sums gradients in the same order on any number of cores.
        places = functional.embedding(block.images, embedding)
        present = block.present.unsqueeze(2).to(places.dtype)
        count = present.sum(dim=1, keepdim=True).clamp(min=1)
        centred = (places - (places * present).sum(dim=1, keepdim=True) / count) * present
        variance = (centred**2).sum(dim=2, keepdim=True).sum(dim=1, keepdim=True) / count
        spread = (variance + _TINY).sqrt()
        return cls(centred / spread, block.groups, block.present, spread)

    def members(self, n_bins: int) -> Tensor:
        """(B, S, C) 1 if an image is in a bin."""
        one_hot = functional.one_hot(self.groups.clamp(min=0), n_bins)
        grouped = (self.groups >= 0).unsqueeze(2)
        return (one_hot * grouped).to(self.places.dtype)


def placements(shown: Shown, genuine: Tensor, n_bins: int, temperature: float) -> Placements:
    """How well the bins' centroids explain where each image was put.

    temperature: squared distance to a centroid, in units of the grid's mean squared
    deviation, that lowers the odds e-fold.
    genuine: (B, S) probability that a placement was intended; strays count less for the
    centroids, and held-out ones, 0, do not count.
    An image is compared to the centroid of the *others* in its bin; otherwise a bin of one
    would explain itself.
    """
    members = shown.members(n_bins)
    weights, total, middles = _middles(shown, members, genuine)
    own_square = (shown.places**2).sum(dim=2, keepdim=True)
    cross = shown.places @ middles.transpose(1, 2)
    squared = own_square - 2 * cross + (middles**2).sum(dim=2).unsqueeze(1)
    all_in_bin = (members * total.unsqueeze(1)).sum(dim=2)
    others = all_in_bin - weights.sum(dim=2)
    away = (all_in_bin / others.clamp(min=_LEAST_OTHERS)) ** 2
    squared = torch.where(members > 0, squared * away.unsqueeze(2), squared)
    used = total > _TINY
    logits = (-squared / temperature).masked_fill(~used.unsqueeze(1), -torch.inf)
    log_bins = torch.log_softmax(logits, dim=2)
    n_used = used.sum(dim=1)
    counted = (others > _TINY) & (n_used > 1).unsqueeze(1)
    log_own = log_bins.gather(2, shown.groups.clamp(min=0).unsqueeze(2)).squeeze(2)
    return Placements(log_own.masked_fill(~counted, 0.0), log_bins, counted, n_used)


def _middles(shown: Shown, members: Tensor, genuine: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Weights (B, S, C) of images in bins, their sums (B, C) and the centroids (B, C, d)."""
    weights = members * genuine.unsqueeze(2)
    total = weights.sum(dim=1)
    middles = weights.transpose(1, 2) @ shown.places / total.clamp(min=_TINY).unsqueeze(2)
    return weights, total, middles


def bin_pull(shown: Shown, predicted: Placements, genuine: Tensor, temperature: float) -> Tensor:
    """(B, S, d, d) information of a placement about the position of its image.

    This is Fisher's information of the choice of bins: 4 / T^2 times the covariance of the
    centroids under the probabilities of the bins, less if the placement may be a stray.
    """
    n_bins = predicted.log_bins.shape[2]
    _, _, middles = _middles(shown, shown.members(n_bins), genuine)
    p = predicted.log_bins.exp()
    mean = p @ middles
    second = torch.einsum("bsc,bcd,bce->bsde", p, middles, middles)
    covariance = second - mean.unsqueeze(3) * mean.unsqueeze(2)
    scale = (2 / (temperature * shown.spread)) ** 2 * genuine.unsqueeze(2)
    return covariance * scale.unsqueeze(3)


def placement_loss(predicted: Placements, carelessness: Tensor) -> Tensor:
    """Mean negative log likelihood of the placements."""
    log_likelihood = (predicted.probability(carelessness) + _TINY).log() * predicted.counted
    return -log_likelihood.sum() / predicted.counted.sum().clamp(min=1)


def pair_log_odds(shown: Shown, curve: PairCurve) -> Tensor:
    """(B, S, S) log odds that two images share a bin if nobody was careless."""
    squared = (shown.places**2).sum(dim=2)
    cross = shown.places @ shown.places.transpose(1, 2)
    gaps = squared.unsqueeze(2) + squared.unsqueeze(1) - 2 * cross
    # The root mean square distance of two images of a grid is sqrt(2) spreads.
    distance = (gaps.clamp(min=0) / 2 + _TINY).sqrt()
    return curve.offset - curve.log_slope.exp() * distance


def pair_loss(shown: Shown, curve: PairCurve, carelessness: Tensor) -> Tensor:
    """Mean negative log likelihood of the pairs; two leftovers do not count as a pair."""
    grouped = shown.groups >= 0
    same = (shown.groups.unsqueeze(2) == shown.groups.unsqueeze(1)) & grouped.unsqueeze(2)
    both = shown.present.unsqueeze(2) & shown.present.unsqueeze(1)
    informative = both & (grouped.unsqueeze(2) | grouped.unsqueeze(1))
    informative = informative.triu(diagonal=1)
    clean = torch.sigmoid(pair_log_odds(shown, curve))
    stray = 1 - (1 - carelessness) ** 2
    count = informative.sum(dim=(1, 2)).clamp(min=1)
    base = ((same & informative).sum(dim=(1, 2)) / count).clamp(_TINY, 1 - _TINY)
    stray, base = stray[:, None, None], base[:, None, None]
    p = (1 - stray) * clean + stray * base
    likelihood = torch.where(same, p, 1 - p).clamp(min=_TINY)
    return -(likelihood.log() * informative).sum() / informative.sum().clamp(min=1)
