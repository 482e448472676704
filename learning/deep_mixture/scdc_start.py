"""The start of SCDC: an autoencoder's codes, a mixture of them, and networks trained on both."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from learning.base import Progress
from learning.deep_mixture.batches import Sampler
from learning.deep_mixture.conjugate import prior_parameters
from learning.deep_mixture.networks import Recognition
from learning.deep_mixture.pair_graph import PairGraph
from learning.deep_mixture.pretraining import pretrain
from learning.deep_mixture.scdc_model import CHUNK, ScdcModel
from learning.deep_mixture.scdc_networks import take_over
from learning.deep_mixture.start import groups_of_crowd, start_mixture, start_points


def start_scdc(
    model: ScdcModel,
    features: Tensor,
    graph: PairGraph,
    sampler: Sampler,
    generator: torch.Generator,
    progress: Progress | None,
) -> None:
    """Train the autoencoder, a mixture of its codes, then the amortised networks on both."""
    settings = model.settings
    recognition = Recognition(model.shape).to(settings.device)
    grouped = groups_of_crowd(
        features, graph, settings.n_clusters, settings.worker_prior, generator
    )
    pretrain(
        features,
        recognition,
        model.decoder,
        sampler,
        grouped,
        settings,
        generator,
        progress,
    )
    with torch.no_grad():
        parts = [recognition(part) for part in features.split(CHUNK)]
        mean = torch.cat([part[0] for part in parts])
        precision = torch.cat([part[1] for part in parts])
    prior = prior_parameters(
        settings.n_clusters, settings.n_latent, 1.0, settings.component_spread, settings.device
    )
    points, chosen = start_points(mean, 1 / precision, graph, generator)
    mixture = start_mixture(points, chosen, grouped, prior, model.worker_prior, True, generator)
    centre, scale, _, nu = mixture.parameters.standard()
    variance = torch.diagonal(scale, dim1=1, dim2=2) / nu[:, None]
    shares = mixture.parameters.concentration / mixture.parameters.concentration.sum()
    sensitivity, specificity = mixture.workers.mean()
    rates = torch.from_numpy(np.stack([sensitivity, specificity], axis=1))
    with torch.no_grad():
        model.mixture.share_logits.copy_(shares.log())
        model.mixture.mean.copy_(centre)
        model.mixture.log_deviation.copy_(0.5 * variance.log())
        model.weights.logits.copy_(torch.logit(rates.clamp(0.02, 0.98)))
    take_over(recognition, model.classifier, model.encoder, model.shape)
    _teach(model, features[chosen], mixture.beliefs, mean[chosen], precision[chosen], generator)


def _teach(
    model: ScdcModel,
    features: Tensor,
    beliefs: Tensor,
    mean: Tensor,
    precision: Tensor,
    generator: torch.Generator,
) -> None:
    """Train q(z | o) on the mixture's beliefs and q(x | z, o) on the autoencoder's codes."""
    settings = model.settings
    parameters = [*model.classifier.parameters(), *model.encoder.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=settings.learning_rate, fused=True)
    n, size = len(features), min(settings.batch_size, len(features))
    for _ in range(max(200, 3 * n // size)):
        rows = torch.randint(n, (size,), generator=generator, device=features.device)
        seen = model.decoder.observe(features[rows], generator)
        log_belief = model.classifier(seen)
        drawn = torch.multinomial(beliefs[rows], 1, generator=generator)
        codes, deviation = model.encoder(seen, drawn)
        loss = -(beliefs[rows] * log_belief).sum(dim=1).mean()
        loss = loss + ((codes[:, 0] - mean[rows]) ** 2).sum(dim=1).mean()
        target = -0.5 * precision[rows].log()
        loss = loss + ((deviation[:, 0] - target) ** 2).sum(dim=1).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
