"""SCDC: amortised inference with z summed out (section 2.3)."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from learning.base import Progress
from learning.deep_mixture.batches import Sampler
from learning.deep_mixture.outcome import Outcome
from learning.deep_mixture.pair_batches import PairSampler
from learning.deep_mixture.pair_graph import PairGraph
from learning.deep_mixture.scdc_model import CHUNK, ScdcModel
from learning.deep_mixture.scdc_start import start_scdc
from learning.deep_mixture.workers import updated_workers

# The mixture and the annotators are few numbers with far to go, so their rate is higher.
_FASTER = 5.0


class ScdcEngine(ScdcModel):
    """The training of the model."""

    def fit(
        self,
        features: Tensor,
        graph: PairGraph,
        generator: torch.Generator,
        progress: Progress | None,
    ) -> Outcome:
        """Stochastic gradients on the bound. features: (N, D) scaled."""
        settings = self.settings
        sampler = Sampler(len(features), graph.items, settings.batch_size, generator)
        if settings.start != "random":
            start_scdc(self, features, graph, sampler, generator, progress)
        pairs = PairSampler(graph, settings.batch_size, generator)
        history = self._train(features, graph, sampler, pairs, generator, progress)
        beliefs, codes = self.infer(features)
        self.workers = updated_workers(
            self.worker_prior, graph.annotator, graph.same, graph.together(beliefs[graph.items])
        )
        bound = self._full_bound(features, graph, beliefs, generator)
        return Outcome(beliefs, codes, bound, history)

    def _train(
        self,
        features: Tensor,
        graph: PairGraph,
        sampler: Sampler,
        pairs: PairSampler,
        generator: torch.Generator,
        progress: Progress | None,
    ) -> list[dict[str, float]]:
        settings = self.settings
        slow = [self.classifier, self.encoder, self.decoder]
        fast = [self.mixture, self.weights]
        groups: list[dict[str, Any]] = [
            {"params": [w for module in slow for w in module.parameters()]},
            {
                "params": [w for module in fast for w in module.parameters()],
                "lr": settings.learning_rate * (_FASTER if settings.start != "random" else 1.0),
            },
        ]
        optimiser = torch.optim.Adam(groups, lr=settings.learning_rate, fused=True)
        total = settings.n_epochs * sampler.steps_per_epoch
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: 1.0 if settings.start == "random" else 1 - 0.95 * step / total
        )
        history: list[dict[str, float]] = []
        for epoch in range(settings.n_epochs):
            began, value = time.perf_counter(), 0.0
            for _ in range(sampler.steps_per_epoch):
                batch = sampler.next()
                bound, _ = self.bound(features[batch.items], generator)
                objective = (batch.weights * bound).sum()
                if len(graph):
                    objective = objective + self._relational(features, graph, pairs, generator)
                optimiser.zero_grad(set_to_none=True)
                (-objective).backward()
                optimiser.step()
                schedule.step()
                value += float(objective.detach())
            shares = self.mixture.log_share().exp()
            metrics = {
                "elbo": value / sampler.steps_per_epoch,
                "clusters": float((shares > 0.1 / settings.n_clusters).sum()),
                "seconds": time.perf_counter() - began,
            }
            history.append(metrics)
            if progress is not None:
                progress(settings.epochs_before + epoch + 1, settings.all_epochs, metrics)
        return history

    def _relational(
        self, features: Tensor, graph: PairGraph, pairs: PairSampler, generator: torch.Generator
    ) -> Tensor:
        """L_rel / N from a minibatch of annotations, unbiased; with the annotators' prior."""
        chosen, scale = pairs.next()
        first, second = graph.first[chosen], graph.second[chosen]
        positions, places = torch.unique(torch.cat([first, second]), return_inverse=True)
        seen = self.decoder.observe(features[graph.items[positions]], generator)
        belief = self.classifier(seen).exp()
        left, right = places.split(len(chosen))
        together = (belief[left] * belief[right]).sum(dim=1)
        log_likelihood = self.weights.log_likelihood(
            graph.annotator[chosen], graph.same[chosen], together
        )
        prior = self.weights.log_prior(self.settings.worker_prior)
        return (scale * log_likelihood.sum() + prior) / len(features)

    @torch.no_grad()
    def _full_bound(
        self, features: Tensor, graph: PairGraph, beliefs: Tensor, generator: torch.Generator
    ) -> float:
        """Eq. 4 over all items and pairs in nats."""
        size = max(1, CHUNK // self.settings.n_clusters)
        total = sum(
            float(self.bound(part, generator, exact=True)[0].sum()) for part in features.split(size)
        )
        if len(graph):
            together = graph.together(beliefs[graph.items])
            total += float(self.weights.log_likelihood(graph.annotator, graph.same, together).sum())
        return total
