"""Evidence from held-out answers that a model's positions of images matter."""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, sqrt

import torch
from torch import Tensor
from torch.nn import functional

from learning.answers import Answers
from learning.latent.model import LatentAttributes
from learning.latent.pair_model import N_LEVELS
from learning.pooled.model import PooledModel

# How often the positions are permuted among the images, to measure chance.
_N_SHUFFLES = 4
# Standard errors above chance. In 36 crowds of noise (three kinds, 20 % held out) the largest
# was 2.2 for an attribute and 2.6 for a pooled embedding.
MIN_DEVIATIONS = 2.4
MIN_POOLED_DEVIATIONS = 3.0


@dataclass(frozen=True)
class Evidence:
    """Gain in held-out answers, in nats, over the same model with permuted positions.

    gain: the mean per answer; error: its standard error; n: number of answers
    """

    gain: float
    error: float
    n: int

    @classmethod
    def of(cls, gains: Tensor) -> Evidence:
        """Evidence from the gains (G,) of the held-out answers."""
        n = len(gains)
        if n < 2:
            return cls(0.0, float("inf"), n)
        deviation = float(gains.std(unbiased=True))
        return cls(float(gains.mean()), max(deviation, 1e-9) / sqrt(n), n)

    @property
    def deviations(self) -> float:
        """The gain in standard errors."""
        return self.gain / self.error

    def exceeds(self, deviations: float) -> bool:
        """Whether the gain is more than this many standard errors above 0."""
        return self.gain > 0 and self.deviations > deviations

    @property
    def confidence(self) -> float:
        """Probability that the gain is above 0 (normal approximation), 0..1."""
        return 0.5 * (1.0 + erf(self.deviations / sqrt(2.0)))


def seen_images(answers: Answers) -> Tensor:
    """(M,) images in the answers."""
    seen: Tensor = torch.unique(answers.images[answers.present])
    return seen


def attribute_evidence(
    model: LatentAttributes, held: Answers, seen: Tensor, generator: torch.Generator
) -> list[Evidence]:
    """For each attribute, the gain from its positions beyond its class alone.

    A class with positions permuted among the images `seen` (M,) can still fit how many pairs
    answers put together. So the gain is over that, not over leaving the attribute out.
    """
    prior = model.prior(held)
    likelihood = model.pairs.class_log_likelihood(held)
    real = torch.logsumexp(prior + likelihood, dim=1)
    evidence = []
    for k in range(model.n_attributes):
        gains = torch.zeros_like(real)
        classes = slice(k * N_LEVELS, (k + 1) * N_LEVELS)
        for _ in range(_N_SHUFFLES):
            exchanged = likelihood.clone()
            exchanged[:, classes] = _exchanged(model, k, held, seen, generator)
            gains += real - torch.logsumexp(prior + exchanged, dim=1)
        evidence.append(Evidence.of(gains / _N_SHUFFLES))
    return evidence


def _exchanged(
    model: LatentAttributes, k: int, held: Answers, seen: Tensor, generator: torch.Generator
) -> Tensor:
    """(G, 2) log likelihoods by attribute k with permuted positions."""
    order = torch.arange(len(model.pairs.positions), device=seen.device)
    order[seen] = seen[torch.randperm(len(seen), generator=generator).to(seen.device)]
    single = model.keep(torch.tensor([k], device=seen.device)).pairs
    moved = type(single)(
        single.positions[order],
        single.owner,
        single.thresholds,
        single.slips,
        single.noise_same,
    )
    return moved.class_log_likelihood(held)[:, :N_LEVELS]


def pooled_evidence(
    model: PooledModel, held: Answers, seen: Tensor, generator: torch.Generator
) -> Evidence:
    """The gain from the positions of a pooled embedding beyond the share of same pairs."""
    real = answer_log_likelihood(model.log_odds(held), held)
    gains = torch.zeros_like(real)
    for _ in range(_N_SHUFFLES):
        shuffled = model.shuffled(generator, seen)
        gains += real - answer_log_likelihood(shuffled.log_odds(held), held)
    return Evidence.of(gains / _N_SHUFFLES)


def answer_log_likelihood(log_odds: Tensor, answers: Answers) -> Tensor:
    """(G,) mean log likelihood of the pairs of each answer. log_odds: (G, P)."""
    same, informative = answers.pair_labels()
    signed = torch.where(same, log_odds, -log_odds)
    each = functional.logsigmoid(signed) * informative
    total: Tensor = each.sum(dim=1) / informative.sum(dim=1).clamp(min=1)
    return total
