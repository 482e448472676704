"""A fitted BayesSCDC model: networks, global posteriors, and inference for items."""

from __future__ import annotations

import torch
from torch import Tensor

from learning.deep_mixture.conjugate import (
    Expected,
    MixtureParameters,
    expected,
    prior_parameters,
)
from learning.deep_mixture.likelihoods import make_decoder
from learning.deep_mixture.local import Local, local_optimum
from learning.deep_mixture.networks import Recognition, Shape, arrays_of, restore_weights
from learning.deep_mixture.settings import Settings
from learning.deep_mixture.workers import Workers, prior_workers

CHUNK = 4096
_NAMES = ("concentration", "location", "scatter", "strength", "freedom")


class BayesModel:
    """Networks, q(pi, mu, Sigma) as `mixture` and q(alpha, beta) as `workers`."""

    def __init__(self, shape: Shape, settings: Settings, n_annotators: int) -> None:
        self.settings = settings
        device = settings.device
        self.recognition = Recognition(shape).to(device)
        self.decoder = make_decoder(shape, settings.likelihood).to(device)
        self.prior = prior_parameters(
            settings.n_clusters,
            settings.n_latent,
            settings.concentration,
            settings.component_spread,
            device,
        )
        self.mixture = self.prior
        self.worker_prior = prior_workers(n_annotators, settings.worker_prior, device)
        self.workers = self.worker_prior
        self.pair_weights = torch.zeros(0, device=device)
        # (N, K) predictions of the classifier of the crowd's groups for all items, or None.
        self.taught: Tensor | None = None

    def bound(
        self,
        seen: Tensor,
        local: Local,
        mixture: Expected,
        messages: Tensor | None,
        generator: torch.Generator,
    ) -> Tensor:
        """(B,) terms of eq. 8 that belong to an item, including its pairs."""
        fit = self.decoder.log_likelihood(seen, local.sample(generator))
        terms = mixture.log_density(local.mean, local.second) + mixture.log_share
        terms = terms - local.log_belief
        if messages is not None:
            terms = terms + messages
        return fit + local.entropy() + (local.belief * terms).sum(dim=1)

    @torch.no_grad()
    def potentials(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(mean (N, d), precision (N, d)) of every item's potential."""
        parts = [
            self.recognition(features[start : start + CHUNK])
            for start in range(0, len(features), CHUNK)
        ]
        return torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])

    @torch.no_grad()
    def infer(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(beliefs (n, K), codes (n, d)) of items from their features alone."""
        mixture = expected(self.mixture)
        mean, precision = self.potentials(features)
        local = [
            local_optimum(
                mixture,
                mean[start : start + CHUNK],
                precision[start : start + CHUNK],
                None,
                self.settings.n_sweeps,
            )
            for start in range(0, len(features), CHUNK)
        ]
        return torch.cat([part.belief for part in local]), torch.cat([p.mean for p in local])

    def n_used(self, n_items: int) -> int:
        """The number of components with at least a tenth of an even share and two items."""
        counts = self.mixture.concentration - self.prior.concentration
        smallest = max(2.0, 0.1 * n_items / self.settings.n_clusters)
        return int((counts >= min(smallest, n_items / 2)).sum())

    def state(self) -> dict[str, Tensor]:
        """Everything that was learned, to be saved."""
        kept = arrays_of(self.recognition, "recognition") | arrays_of(self.decoder, "decoder")
        kept |= {
            f"mixture.{name}": part
            for name, part in zip(_NAMES, self.mixture.tensors(), strict=True)
        }
        kept["workers.sensitivity"] = self.workers.sensitivity
        kept["workers.specificity"] = self.workers.specificity
        return kept

    def take_state(self, kept: dict[str, Tensor]) -> None:
        """Restore what `state` returned."""
        restore_weights(self.recognition, "recognition", kept)
        restore_weights(self.decoder, "decoder", kept)
        self.mixture = MixtureParameters(*(kept[f"mixture.{name}"] for name in _NAMES))
        self.workers = Workers(kept["workers.sensitivity"], kept["workers.specificity"])
