"""A fitted SCDC model: networks, mixture, annotators, and inference for items."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from learning.deep_mixture.likelihoods import make_decoder
from learning.deep_mixture.networks import Shape, arrays_of, restore_weights
from learning.deep_mixture.outcome import DIVERGED
from learning.deep_mixture.scdc_networks import (
    Classifier,
    ConditionalEncoder,
    MixtureWeights,
    WorkerWeights,
    log_normal,
)
from learning.deep_mixture.settings import Settings
from learning.deep_mixture.workers import Workers, prior_workers

CHUNK = 2048


class ScdcModel:
    """Networks, mixture and annotators, all weights of one objective."""

    def __init__(self, shape: Shape, settings: Settings, n_annotators: int) -> None:
        self.shape, self.settings = shape, settings
        device, k = settings.device, settings.n_clusters
        self.classifier = Classifier(shape, k).to(device)
        self.encoder = ConditionalEncoder(shape, k).to(device)
        self.decoder = make_decoder(shape, settings.likelihood).to(device)
        self.mixture = MixtureWeights(k, settings.n_latent).to(device)
        # As in the public code, there is one draw from Beta(1, 1) for all annotators.
        start = tuple(torch.empty(2).uniform_(0.05, 0.95).tolist())
        self.weights = WorkerWeights(n_annotators, (start[0], start[1])).to(device)
        self.worker_prior = prior_workers(n_annotators, settings.worker_prior, device)
        self.workers = self.worker_prior

    def bound(
        self, features: Tensor, generator: torch.Generator, exact: bool = False
    ) -> tuple[Tensor, Tensor]:
        """((B,) terms of L_local, log q(z | o) (B, K)) with z summed out, one draw of x each."""
        seen = self.decoder.observe(features, None if exact else generator)
        log_belief = self.classifier(seen)
        clusters, weights = self._summed(log_belief, generator, exact)
        mean, log_deviation = self.encoder(seen, clusters)
        noise = torch.randn(mean.shape, generator=generator, device=mean.device)
        x = mean + log_deviation.exp() * noise
        flat = seen[:, None, :].expand(-1, clusters.shape[1], -1).flatten(0, 1)
        fit = self.decoder.log_likelihood(flat, x.flatten(0, 1)).view_as(weights)
        terms = fit + self.mixture.log_density(x, clusters) - log_normal(x, mean, log_deviation)
        by_share = (log_belief.exp() * (self.mixture.log_share() - log_belief)).sum(dim=1)
        return (weights * terms).sum(dim=1) + by_share, log_belief

    def _summed(
        self, log_belief: Tensor, generator: torch.Generator, exact: bool
    ) -> tuple[Tensor, Tensor]:
        """(clusters (B, T), weights (B, T)) whose weighted sum is the sum over z, or unbiased.

        All clusters; or, with n_summed, the likeliest T - 1 and one drawn from the rest,
        weighted by q(z) over its chance: unbiased in value and gradient.
        """
        belief = log_belief.exp()
        n_clusters, n_summed = belief.shape[1], self.settings.n_summed
        if exact or n_summed is None or n_summed >= n_clusters:
            every = torch.arange(n_clusters, device=belief.device).expand_as(belief)
            return every, belief
        if not bool(torch.isfinite(belief).all()):
            # A draw from such probabilities would make the GPU unusable for the process.
            raise FloatingPointError(DIVERGED)
        likeliest = belief.detach().topk(n_summed - 1, dim=1).indices
        rest = belief.detach().scatter(1, likeliest, 0.0) + 1e-12
        rest = rest.scatter(1, likeliest, 0.0)
        chance = rest / rest.sum(dim=1, keepdim=True)
        drawn = torch.multinomial(chance, 1, generator=generator)
        clusters = torch.cat([likeliest, drawn], dim=1)
        weights = torch.cat(
            [belief.gather(1, likeliest), belief.gather(1, drawn) / chance.gather(1, drawn)], dim=1
        )
        return clusters, weights

    @torch.no_grad()
    def infer(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(beliefs (n, K), codes (n, d): E x, averaged over the likeliest clusters)."""
        beliefs, codes = [], []
        for part in features.split(CHUNK):
            belief = self.classifier(part).exp()
            n_summed = min(3, belief.shape[1])
            top = belief.topk(n_summed, dim=1)
            mean, _ = self.encoder(part, top.indices)
            weights = top.values / top.values.sum(dim=1, keepdim=True)
            beliefs.append(belief)
            codes.append((weights[:, :, None] * mean).sum(dim=1))
        return torch.cat(beliefs), torch.cat(codes)

    def _modules(self) -> dict[str, nn.Module]:
        return {
            "classifier": self.classifier,
            "encoder": self.encoder,
            "decoder": self.decoder,
            "mixture": self.mixture,
            "weights": self.weights,
        }

    def state(self) -> dict[str, Tensor]:
        """Everything that was learned, to be saved."""
        kept: dict[str, Tensor] = {}
        for name, module in self._modules().items():
            kept |= arrays_of(module, name)
        kept["workers.sensitivity"] = self.workers.sensitivity
        kept["workers.specificity"] = self.workers.specificity
        return kept

    def take_state(self, kept: dict[str, Tensor]) -> None:
        """Restore what `state` returned."""
        for name, module in self._modules().items():
            restore_weights(module, name, kept)
        self.workers = Workers(kept["workers.sensitivity"], kept["workers.specificity"])
