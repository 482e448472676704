"""The probability that two images are grouped together, whatever the answer is about.

    log odds l_ijw = s_w * (bias + x_i . x_j) + b_w
    P(same)        = (1 - e_w) * sigmoid(l_ijw) + e_w * rate

An image with few answers stays near the origin, where it is neither similar nor dissimilar to
the others. s_w is how consistently an annotator groups, b_w how coarsely, e_w how often they
group an image at random. The bilinear form is that of Gomes et al., "Crowdclustering" (2011),
with one matrix for all annotators. Reliability and the variational treatment of the images
(positions have a variance) make it work on sparse answers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import pi

import torch
from torch import Tensor
from torch.nn import functional

from learning.answers import Answers, upper_triangle

# Standard deviation of the log of annotators' consistency.
_CONSISTENCY = 0.5
_LOG_VARIANCE = (-12.0, 2.0)
_LIMIT = 6.0


@dataclass(frozen=True, eq=False)
class PooledModel:
    """positions: (N, d) means; log_variance: (N, d), or None if positions have no variance; bias,
    error: () log odds; consistency, coarseness, carelessness: (W,) of the annotators; rate: ()
    share of same pairs; placements: (N,) number of answers that show each image."""

    positions: Tensor
    log_variance: Tensor
    bias: Tensor
    error: Tensor
    consistency: Tensor
    coarseness: Tensor
    carelessness: Tensor
    rate: Tensor
    placements: Tensor

    @property
    def certain(self) -> bool:
        """Whether positions have no variance."""
        return self.log_variance.shape[0] == 0

    def variance(self) -> Tensor:
        """(N, d)."""
        if self.certain:
            return torch.zeros_like(self.positions)
        return self.log_variance.clamp(*_LOG_VARIANCE).exp()

    def moments(self, images: Tensor, annotators: Tensor) -> tuple[Tensor, Tensor]:
        """(B, P) mean and variance of the log odds of the pairs of grids (B, S)."""
        places = functional.embedding(images, self.positions)
        scale = self.scale(annotators).unsqueeze(1)
        product = upper_triangle(torch.bmm(places, places.transpose(1, 2)))
        mean = scale * (self.bias + product) + self.coarseness[annotators].unsqueeze(1)
        if self.certain:
            return mean, torch.zeros_like(mean)
        variance = functional.embedding(images, self.variance())
        squares = places**2
        left = torch.cat([variance, squares, variance], dim=2)
        right = torch.cat([squares, variance, variance], dim=2)
        spread = upper_triangle(torch.bmm(left, right.transpose(1, 2)))
        return mean, scale**2 * spread

    def scale(self, annotators: Tensor) -> Tensor:
        """(B,) s_w."""
        return consistency_scale(self.consistency[annotators])

    def errors(self, annotators: Tensor) -> Tensor:
        """(B,) e_w."""
        odds = self.error + self.carelessness[annotators]
        return torch.sigmoid(odds.clamp(-2 * _LIMIT, _LIMIT))

    def log_odds(self, answers: Answers) -> Tensor:
        """(G, P) log odds that two images are grouped together, independent of the groupings.

        The logistic of a normal variable uses MacKay's approximation.
        """
        parts = [answers.images.new_zeros((0, _n_pairs(answers))).float()]
        for _, block in answers.blocks():
            mean, variance = self.moments(block.images, block.annotators)
            p = torch.sigmoid(mean / (1.0 + pi * variance / 8.0).sqrt())
            error = self.errors(block.annotators).unsqueeze(1)
            parts.append(torch.logit((1 - error) * p + error * self.rate, eps=1e-6))
        return torch.cat(parts)

    def attribute_probability(self, answers: Answers) -> Tensor:
        """(G,) share of the pairs of each answer that are not slips, given the grouping."""
        parts = [answers.images.new_zeros(0).float()]
        for _, block in answers.blocks():
            mean, _ = self.moments(block.images, block.annotators)
            same, informative = block.pair_labels()
            p = torch.where(same, torch.sigmoid(mean), torch.sigmoid(-mean))
            chance = torch.where(same, self.rate, 1 - self.rate)
            error = self.errors(block.annotators).unsqueeze(1)
            clean = (1 - error) * p
            share = clean / (clean + error * chance) * informative
            parts.append(share.sum(dim=1) / informative.sum(dim=1).clamp(min=1))
        return torch.cat(parts)

    def shuffled(self, generator: torch.Generator, seen: Tensor) -> PooledModel:
        """The model with the positions of the images in `seen` (M,) permuted at random."""
        order = seen[torch.randperm(len(seen), generator=generator).to(seen.device)]
        positions = self.positions.clone()
        positions[seen] = self.positions[order]
        log_variance = self.log_variance.clone()
        if not self.certain:
            log_variance[seen] = self.log_variance[order]
        return replace(self, positions=positions, log_variance=log_variance)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that was learned, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to(self, device: torch.device) -> PooledModel:
        """The same on another device."""
        return PooledModel(**{name: tensor.to(device) for name, tensor in self.tensors().items()})


def consistency_scale(consistency: Tensor) -> Tensor:
    """s_w of consistencies of any shape."""
    return (_CONSISTENCY * consistency.clamp(-_LIMIT, _LIMIT)).exp()


def _n_pairs(answers: Answers) -> int:
    width = answers.images.shape[1]
    return width * (width - 1) // 2
