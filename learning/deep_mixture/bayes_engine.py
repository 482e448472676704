"""BayesSCDC: Algorithm 1 with stratified minibatches of items (section 3.2)."""

from __future__ import annotations

import time

import torch
from torch import Tensor

from learning.base import Progress
from learning.deep_mixture.batches import Batch, Sampler
from learning.deep_mixture.bayes_finish import finish
from learning.deep_mixture.bayes_model import BayesModel
from learning.deep_mixture.conjugate import (
    Expected,
    MixtureParameters,
    expected,
    statistics,
)
from learning.deep_mixture.guard import Guard
from learning.deep_mixture.local import features_alone, local_optimum
from learning.deep_mixture.merging import merged
from learning.deep_mixture.outcome import Outcome
from learning.deep_mixture.pair_graph import PairGraph
from learning.deep_mixture.pretraining import pretrain
from learning.deep_mixture.start import groups_of_crowd, start_mixture, start_points
from learning.deep_mixture.workers import prior_workers, updated_workers

# Pairs per step of the annotators' posteriors; if there are fewer, a step uses all.
_PAIRS_PER_STEP = 20_000
_RATE_OF_PART = 0.3
# At first, beliefs from a random start carry no information about the annotators.
_RATE_FROM_RANDOM = 0.02


class BayesEngine(BayesModel):
    """The training of the model."""

    def fit(
        self,
        features: Tensor,
        graph: PairGraph,
        generator: torch.Generator,
        progress: Progress | None,
    ) -> Outcome:
        """Algorithm 1. features: (N, D) scaled, on the device of the settings."""
        settings = self.settings
        sampler = Sampler(len(features), graph.items, settings.batch_size, generator)
        beliefs = self._start(features, graph, sampler, generator, progress)
        history = self._train(features, graph, sampler, beliefs, generator, progress)
        outcome = finish(self, features, graph, beliefs, generator)
        outcome.history = history
        return outcome

    def _start(
        self,
        features: Tensor,
        graph: PairGraph,
        sampler: Sampler,
        generator: torch.Generator,
        progress: Progress | None,
    ) -> Tensor:
        """Initialise networks and components; returns (A, K) beliefs of the annotated items."""
        settings = self.settings
        if settings.start == "random":
            return self._random_start(graph, generator)
        grouped = groups_of_crowd(
            features, graph, settings.n_clusters, settings.worker_prior, generator
        )
        pretrain(
            features,
            self.recognition,
            self.decoder,
            sampler,
            grouped,
            settings,
            generator,
            progress,
        )
        mean, precision = self.potentials(features)
        points, chosen = start_points(mean, 1 / precision, graph, generator)
        mixture_start = start_mixture(
            points, chosen, grouped, self.prior, self.worker_prior, False, generator
        )
        self.mixture, self.workers = mixture_start.parameters, mixture_start.workers
        if grouped.n_groups:
            missing = settings.n_clusters - grouped.n_groups
            self.taught = torch.nn.functional.pad(grouped.belief, (0, missing))
        return mixture_start.beliefs[: graph.n_items].contiguous()

    def _random_start(self, graph: PairGraph, generator: torch.Generator) -> Tensor:
        """The public code's: means drawn from 3 N(0, I), annotators at Beta(10, 1)."""
        settings, device = self.settings, self.settings.device
        k, d = settings.n_clusters, settings.n_latent
        means = 3 * torch.randn(k, d, generator=generator, device=device, dtype=torch.float64)
        ones = torch.ones(k, device=device, dtype=torch.float64)
        second = means[:, :, None] * means[:, None, :] + torch.eye(d, device=device).double()
        self.mixture = MixtureParameters(
            1 + torch.rand(k, generator=generator, device=device, dtype=torch.float64),
            means,
            second * (d + 1) - d * means[:, :, None] * means[:, None, :],
            ones,
            ones * (2 * d + 3),
        )
        self.workers = prior_workers(graph.n_annotators, (10.0, 1.0), device)
        return torch.full((graph.n_items, k), 1.0 / k, device=device)

    def _train(
        self,
        features: Tensor,
        graph: PairGraph,
        sampler: Sampler,
        beliefs: Tensor,
        generator: torch.Generator,
        progress: Progress | None,
    ) -> list[dict[str, float]]:
        settings = self.settings
        parameters = [*self.recognition.parameters(), *self.decoder.parameters()]
        optimiser = torch.optim.Adam(parameters, lr=settings.learning_rate, fused=True)
        total = settings.n_epochs * sampler.steps_per_epoch
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimiser, total, settings.learning_rate / 20
        )
        guard = Guard(self, optimiser)
        history: list[dict[str, float]] = []
        for epoch in range(settings.n_epochs):
            began, value = time.perf_counter(), 0.0
            for step in range(sampler.steps_per_epoch):
                done = epoch * sampler.steps_per_epoch + step
                if step % max(1, sampler.steps_per_epoch // 8) == 0:
                    self._update_workers(graph, beliefs, generator)
                rate = self._natural_step(done / total, len(features), sampler)
                value += self._step(
                    features, graph, sampler.next(), beliefs, rate, optimiser, generator
                )
                schedule.step()
            if len(graph) and settings.start != "random":
                log_alone = self._log_alone(features[graph.items])
                if not guard.look(beliefs, log_alone) and settings.merge:
                    self._merge(graph, log_alone.exp(), beliefs)
            metrics = {
                "elbo": value / sampler.steps_per_epoch,
                "clusters": float(self.n_used(len(features))),
                "seconds": time.perf_counter() - began,
            }
            history.append(metrics)
            if progress is not None:
                progress(settings.epochs_before + epoch + 1, settings.all_epochs, metrics)
        if len(graph) and settings.start != "random":
            guard.end(beliefs, self._log_alone(features[graph.items]))
        return history

    def _natural_step(self, part_done: float, n_items: int, sampler: Sampler) -> float:
        """Step length of eq. 17, annealed: short enough at the end to average over a pass."""
        if self.settings.natural_step is not None:
            return self.settings.natural_step
        last = min(max(0.5 / sampler.steps_per_epoch, 0.005), 0.03)
        first = 3 * last
        return last + (first - last) * (1 - part_done) ** 2

    def _step(
        self,
        features: Tensor,
        graph: PairGraph,
        batch: Batch,
        beliefs: Tensor,
        rate: float,
        optimiser: torch.optim.Optimizer,
        generator: torch.Generator,
    ) -> float:
        """One step of Algorithm 1; beliefs (A, K) are updated in place. The bound per item."""
        settings = self.settings
        n_items = len(features)
        seen = self.decoder.observe(features[batch.items], generator)
        mean, precision = self.recognition(seen)
        fixed = expected(self.mixture)
        mixture = fixed.leaves() if settings.second_term else fixed
        messages = self._messages(graph, batch, beliefs, len(mean))
        local = local_optimum(mixture, mean, precision, messages, settings.n_sweeps)
        bound = self.bound(seen, local, fixed, messages, generator)
        objective = (batch.weights * bound).sum()
        loss = -objective
        n_marked = len(batch.positions)
        if settings.guidance > 0 and n_marked:
            alone = features_alone(fixed, mean, precision)
            wanted = local.belief.detach()[:n_marked]
            loss = loss - settings.guidance * (wanted * alone[:n_marked]).sum() / n_marked
            n_others = len(alone) - n_marked
            if self.taught is not None and n_others:
                wanted = self.taught[batch.items[n_marked:]]
                loss = loss - settings.guidance * (wanted * alone[n_marked:]).sum() / n_others
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            beliefs[batch.positions] = local.belief[:n_marked]
            weighted = local.belief * (batch.weights * n_items)[:, None]
            target = self.prior.plus(statistics(weighted, local.mean, local.second))
            self.mixture = self.mixture.toward(target, rate)
            if settings.second_term:
                self._add_second_term(mixture, rate * n_items)
            # The messages count every pair twice, once at each of its items.
            value = objective
            if messages is not None:
                value = objective - 0.5 * (batch.weights * (local.belief * messages).sum(1)).sum()
        return float(value)

    def _messages(
        self, graph: PairGraph, batch: Batch, beliefs: Tensor, n_batch: int
    ) -> Tensor | None:
        """(B, K) messages of all pairs of the batch's annotated items, or None."""
        if not len(batch.positions):
            return None
        messages = torch.zeros(n_batch, beliefs.shape[1], device=beliefs.device)
        marked = graph.messages(batch.positions, self.pair_weights, beliefs)
        messages[: len(batch.positions)] = marked
        return messages

    def _add_second_term(self, mixture: Expected, scale: float) -> None:
        """Eq. 17's second term: the gradient in the mean parameters, through the local optimum.

        Only for components that it leaves proper.
        """
        grads = [part.grad for part in mixture.tensors()]
        change = MixtureParameters(
            *(
                torch.zeros_like(kept) if grad is None else -scale * grad.double()
                for grad, kept in zip(grads, self.mixture.tensors(), strict=True)
            )
        )
        wanted = self.mixture.plus(change)
        _, scatter, kappa, nu = wanted.standard()
        n_latent = scatter.shape[1]
        proper = (kappa > 0) & (nu > n_latent - 1) & (wanted.concentration > 0)
        proper &= torch.linalg.cholesky_ex(scatter)[1] == 0
        proper &= kappa > 0.5 * self.mixture.strength
        proper &= nu > 0.5 * (self.mixture.freedom - n_latent - 2)
        self.mixture = MixtureParameters(
            *(
                torch.where(proper.view(-1, *[1] * (new.ndim - 1)), new, old)
                for new, old in zip(wanted.tensors(), self.mixture.tensors(), strict=True)
            )
        )

    def _update_workers(
        self, graph: PairGraph, beliefs: Tensor, generator: torch.Generator
    ) -> None:
        """q(alpha), q(beta) from all pairs, or a step from a part of them."""
        n_pairs, device = len(graph), beliefs.device
        chosen = torch.arange(n_pairs, device=device)
        rate = 1.0 if self.settings.start != "random" else _RATE_FROM_RANDOM
        if n_pairs > _PAIRS_PER_STEP:
            chosen = torch.randint(n_pairs, (_PAIRS_PER_STEP,), generator=generator, device=device)
            rate = min(rate, _RATE_OF_PART)
        target = updated_workers(
            self.worker_prior,
            graph.annotator[chosen],
            graph.same[chosen],
            graph.together(beliefs, chosen),
            n_pairs / max(len(chosen), 1),
        )
        self.workers = self.workers.toward(target, rate)
        self.pair_weights = graph.weights(self.workers.evidence())

    @torch.no_grad()
    def _log_alone(self, features: Tensor) -> Tensor:
        """(n, K) log probabilities of z from features (n, D) alone."""
        return features_alone(expected(self.mixture), *self.potentials(features))

    @torch.no_grad()
    def _merge(self, graph: PairGraph, alone: Tensor, beliefs: Tensor) -> None:
        """Merge components that are one according to the crowd."""
        weights = graph.weights(self.workers.evidence())
        self.mixture, joined = merged(self.mixture, self.prior, graph, weights, alone, beliefs)
        beliefs.copy_(beliefs @ joined)
        if self.taught is not None:
            self.taught = self.taught @ joined
