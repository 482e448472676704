"""Joint learning of both networks (section 3.4)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from learning.ntuplet.networks import EmbeddingNetwork, SamplingNetwork
from learning.ntuplet.safety import safe_examples
from learning.ntuplet.tuplets import Examples, draw_tuplets, robust_anchor, tuplet_losses

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adadelta": torch.optim.Adadelta,
}


@dataclass(frozen=True)
class TrainingPlan:
    """Parameters of one training; those of `NeuCrowd` of the same name."""

    n: int
    layers: tuple[int, int]
    activation: str
    dropout: float
    l2: float
    feature_sparsity: float
    eta: float
    relevance_at_zero: float
    margin: float
    unsafe_weight: float
    robust_anchors: bool
    safe_sampling: bool
    sampling_network: bool
    hard_rate: float
    batch_size: int
    n_steps: int
    n_epochs: int
    patience: int
    optimizer: str
    learning_rate: float


class JointTraining:
    """One training on `examples`; afterwards `network` has the weights of the epoch with the
    smallest loss on `held_out`, or of the last where nothing is held out."""

    def __init__(
        self, examples: Examples, held_out: Examples | None, plan: TrainingPlan, seed: int
    ) -> None:
        self.examples, self.held_out, self.plan = examples, held_out, plan
        self.generator = torch.Generator().manual_seed(seed)
        device = examples.features.device
        n_features = examples.features.shape[1]
        shape = (plan.dropout, plan.activation)
        self.network = EmbeddingNetwork(n_features, plan.layers, *shape).to(device)
        self.sampler = SamplingNetwork(n_features, plan.layers, plan.n, *shape).to(device)
        make = OPTIMIZERS[plan.optimizer]
        self._steps = make(self.network.parameters(), lr=plan.learning_rate)
        self._sampler_steps = make(self.sampler.parameters(), lr=plan.learning_rate)
        self.history: list[dict[str, float]] = []
        self.best_epoch = plan.n_epochs

    def run(self, listen: Callable[[int, dict[str, float]], None]) -> None:
        """All epochs, or until the held-out loss has not fallen for `patience` of them."""
        check = self._fixed_check()
        best, best_loss, waited = self._weights(), float("inf"), 0
        for epoch in range(self.plan.n_epochs):
            metrics = self._epoch(epoch)
            metrics["held_out_loss"] = loss = self._held_out_loss(check)
            self.history.append(metrics)
            listen(epoch + 1, metrics)
            if loss < best_loss:
                best, best_loss, waited = self._weights(), loss, 0
                self.best_epoch = epoch + 1
            elif check is not None and (waited := waited + 1) >= self.plan.patience:
                break
        if check is not None:
            self.network.load_state_dict(best)
        self.network.eval()

    def _epoch(self, epoch: int) -> dict[str, float]:
        plan = self.plan
        weight, safe = self._weight()
        losses, guesses = [], []
        for step in range(plan.n_steps):
            # Each class is the anchor's in turn: its examples lie together, the other's apart.
            tuplets = self._tuplets(weight, anchor_label=1 - (epoch * plan.n_steps + step) % 2)
            self.network.train()
            found = self._losses(self.examples, tuplets)
            loss = found.mean() + plan.l2 * self.network.weight_decay()
            self._steps.zero_grad()
            loss.backward()
            self._steps.step()
            if plan.feature_sparsity:
                self.network.shrink_features(plan.feature_sparsity * plan.learning_rate)
            losses.append(found.mean().item())
            if plan.sampling_network:
                guesses.append(self._learn_hardness(tuplets, found.detach()))
        means = {"loss": sum(losses) / len(losses), "safe": safe}
        return means | ({"hardness_error": sum(guesses) / len(guesses)} if guesses else {})

    def _weight(self) -> tuple[Tensor, float]:
        """How likely each example is drawn, and the share of safe ones."""
        plan, examples = self.plan, self.examples
        known = (examples.assurance > 0).float()
        if not plan.safe_sampling:
            return known, 1.0
        self.network.eval()
        with torch.no_grad():
            places = self.network(examples.features)
        k = max(1, round(plan.batch_size**0.5))
        safe = safe_examples(
            places, examples.label, examples.assurance, k, plan.margin, self.generator
        )
        return known * torch.where(safe, 1.0, plan.unsafe_weight), float(safe.float().mean())

    def _tuplets(self, weight: Tensor, anchor_label: int) -> Tensor:
        """A batch: of more candidates those that the sampling network calls hardest."""
        plan = self.plan
        rate = plan.hard_rate if plan.sampling_network else 1.0
        n_candidates = max(plan.batch_size, round(plan.batch_size * rate))
        drawn = draw_tuplets(
            self.examples, weight, n_candidates, plan.n, anchor_label, self.generator
        )
        if n_candidates == plan.batch_size:
            return drawn
        self.sampler.eval()
        with torch.no_grad():
            hardness = self._hardness(drawn)
        return drawn[hardness.topk(plan.batch_size).indices]

    def _losses(self, examples: Examples, tuplets: Tensor) -> Tensor:
        plan = self.plan
        others = tuplets[:, 1:]
        places = _embedded(self.network, examples.features, others)
        if plan.robust_anchors:
            anchor = self.network(robust_anchor(examples, tuplets[:, 0])[None])
        else:
            anchor = _embedded(self.network, examples.features, tuplets[:, :1])[:, 0]
        sure = examples.assurance[others]
        return tuplet_losses(anchor, places, sure, plan.eta, plan.relevance_at_zero)

    def _hardness(self, tuplets: Tensor) -> Tensor:
        places = _embedded(self.sampler.embed, self.examples.features, tuplets)
        hardness: Tensor = self.sampler(places)
        return hardness

    def _learn_hardness(self, tuplets: Tensor, losses: Tensor) -> float:
        self.sampler.train()
        error = nn.functional.mse_loss(self._hardness(tuplets), losses)
        self._sampler_steps.zero_grad()
        error.backward()
        self._sampler_steps.step()
        return float(error.detach())

    def _fixed_check(self) -> list[Tensor] | None:
        """Tuplets of the held-out examples, the same at every check."""
        held = self.held_out
        if held is None:
            return None
        weight = (held.assurance > 0).float()
        return [
            draw_tuplets(held, weight, 2_000, self.plan.n, label, self.generator)
            for label in (1, 0)
        ]

    @torch.no_grad()
    def _held_out_loss(self, check: list[Tensor] | None) -> float:
        if check is None or self.held_out is None:
            return float("nan")
        self.network.eval()
        losses = [self._losses(self.held_out, tuplets).mean() for tuplets in check]
        return float(torch.stack(losses).mean())

    def _weights(self) -> dict[str, Any]:
        return copy.deepcopy(self.network.state_dict())


def _embedded(network: nn.Module, features: Tensor, rows: Tensor) -> Tensor:
    """(*rows.shape, e) places; an example that stands in many tuplets is embedded once."""
    used, place = torch.unique(rows, return_inverse=True)
    places: Tensor = network(features[used])[place]
    return places
