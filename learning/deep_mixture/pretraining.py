"""Pretraining of an autoencoder, whose codes already separate the crowd's groups.

A mixture on the codes of untrained networks gets stuck in bad optima. So the networks are first
trained as a variational autoencoder with a small, growing weight of its N(0, I) prior. If the
crowd has grouped annotated items, prototypes of the groups, one point each, attract the codes of
their items.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from learning.base import Progress
from learning.deep_mixture.batches import Sampler
from learning.deep_mixture.likelihoods import Decoder
from learning.deep_mixture.networks import Recognition
from learning.deep_mixture.outcome import DIVERGED
from learning.deep_mixture.settings import Settings

# Final weight of the prior N(0, I), which is enough for codes of a common scale.
_PRIOR_WEIGHT = 0.5


@dataclass(frozen=True)
class Grouped:
    """Groups of annotated items: group (A,) by position in the pair graph, -1 for none.

    belief: (N, n_groups) probabilities of every item's group; one-hot if it is known.
    """

    group: Tensor
    n_groups: int
    belief: Tensor


class Prototypes(nn.Module):
    """One point per group; log-odds of a group fall with the squared distance to it."""

    def __init__(self, n_groups: int, n_latent: int, generator: torch.Generator) -> None:
        super().__init__()
        device = generator.device
        points = torch.randn(n_groups, n_latent, generator=generator, device=device)
        self.points = nn.Parameter(points)
        self.log_scale = nn.Parameter(torch.zeros((), device=device))

    def loss(self, codes: Tensor, groups: Tensor) -> Tensor:
        """Mean cross-entropy of the groups (b, n_groups) to which codes (b, d) should belong."""
        distance = ((codes[:, None, :] - self.points) ** 2).sum(dim=2)
        return functional.cross_entropy(-0.5 * distance * self.log_scale.exp(), groups)


def pretrain(
    features: Tensor,
    recognition: Recognition,
    decoder: Decoder,
    sampler: Sampler,
    grouped: Grouped | None,
    settings: Settings,
    generator: torch.Generator,
    progress: Progress | None,
) -> None:
    """Train the networks in place on features (N, D) for settings.pretrain_epochs.

    progress: called with its epochs as the first of all epochs.
    Raises FloatingPointError if training diverges.
    """
    modules: list[nn.Module] = [recognition, decoder]
    prototypes = None
    if grouped is not None and grouped.n_groups > 1 and settings.guidance > 0:
        n_latent = recognition.mean.out_features
        prototypes = Prototypes(grouped.n_groups, n_latent, generator)
        modules.append(prototypes)
    parameters = [weight for module in modules for weight in module.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=settings.learning_rate, fused=True)
    total = settings.pretrain_epochs * sampler.steps_per_epoch
    for step in range(total):
        batch = sampler.next()
        seen = decoder.observe(features[batch.items], generator)
        mean, precision = recognition(seen)
        variance = 1 / precision
        noise = torch.randn(mean.shape, generator=generator, device=mean.device)
        fit = decoder.log_likelihood(seen, mean + variance.sqrt() * noise)
        prior = 0.5 * (mean**2 + variance - 1 + precision.log()).sum(dim=1)
        weight = _PRIOR_WEIGHT * min(1.0, 2 * step / total)
        loss = (batch.weights * (weight * prior - fit)).sum()
        if prototypes is not None and grouped is not None:
            loss = loss + settings.guidance * prototypes.loss(mean, grouped.belief[batch.items])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        if progress is not None and (step + 1) % sampler.steps_per_epoch == 0:
            progress(
                (step + 1) // sampler.steps_per_epoch,
                settings.all_epochs,
                {"reconstruction": float((batch.weights * fit.detach()).sum())},
            )
    if not all(bool(torch.isfinite(weight).all()) for weight in parameters):
        raise FloatingPointError(DIVERGED)
