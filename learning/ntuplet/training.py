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

# The sampling network only ranks tuplets, so a quarter of the other's width, or this, is enough.
_LEAST_WIDTH = 8
_MOST_PAIRED = 2_000


@dataclass(frozen=True)
class TrainingPlan:
    """Parameters of one training, which `NeuCrowd` describes by the same names."""

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
    """One training on `examples`. Afterwards, `network` has the weights of the epoch with the
    smallest `wrong_order` on `held_out`, or of the last epoch if nothing is held out."""

    def __init__(
        self, examples: Examples, held_out: Examples | None, plan: TrainingPlan, seed: int
    ) -> None:
        self.examples, self.held_out, self.plan = examples, held_out, plan
        self.classes: list[int] = torch.unique(examples.label[examples.assurance > 0]).tolist()
        self.generator = torch.Generator().manual_seed(seed)
        device = examples.features.device
        n_features = examples.features.shape[1]
        shape = (plan.dropout, plan.activation)
        self.network = EmbeddingNetwork(n_features, plan.layers, *shape).to(device)
        small = (max(_LEAST_WIDTH, plan.layers[0] // 4), plan.layers[1])
        self.sampler = SamplingNetwork(n_features, small, plan.n, *shape).to(device)
        make = OPTIMIZERS[plan.optimizer]
        self._steps = make(self.network.parameters(), lr=plan.learning_rate)
        self._sampler_steps = make(self.sampler.parameters(), lr=plan.learning_rate)
        self.history: list[dict[str, float]] = []
        self.best_epoch = plan.n_epochs

    def run(self, listen: Callable[[int, dict[str, float]], None]) -> None:
        """Train for all epochs, or until the held-out loss has not fallen for `patience` epochs."""
        best, best_loss, waited = self._weights(), float("inf"), 0
        for epoch in range(self.plan.n_epochs):
            metrics = self._epoch(epoch)
            metrics["held_out_loss"] = loss = self._held_out_loss()
            self.history.append(metrics)
            listen(epoch + 1, metrics)
            if loss < best_loss:
                best, best_loss, waited = self._weights(), loss, 0
                self.best_epoch = epoch + 1
            elif self.held_out is not None and (waited := waited + 1) >= self.plan.patience:
                break
        if self.held_out is not None:
            self.network.load_state_dict(best)
        self.network.eval()

    def _epoch(self, epoch: int) -> dict[str, float]:
        plan = self.plan
        weight, safe = self._weight()
        losses, guesses = [], []
        for step in range(plan.n_steps):
            # Each class is the anchor's in turn, so that its examples get close to each other.
            turn = (epoch * plan.n_steps + step) % len(self.classes)
            tuplets = self._tuplets(weight, anchor_label=self.classes[-1 - turn])
            self.network.train()
            per_tuplet = self._losses(self.examples, tuplets)
            loss = per_tuplet.mean() + plan.l2 * self.network.weight_decay()
            self._steps.zero_grad()
            loss.backward()
            self._steps.step()
            if plan.feature_sparsity:
                self.network.shrink_features(plan.feature_sparsity * plan.learning_rate)
            losses.append(per_tuplet.mean().item())
            if plan.sampling_network:
                guesses.append(self._learn_hardness(tuplets, per_tuplet.detach()))
        means = {"loss": sum(losses) / len(losses), "safe": safe}
        return means | ({"hardness_error": sum(guesses) / len(guesses)} if guesses else {})

    def _weight(self) -> tuple[Tensor, float]:
        """The weight with which each example is drawn, and the share of safe ones."""
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
        """A batch of the candidates that the sampling network considers hardest."""
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
        places = _embedded(self.network, examples.features, tuplets)
        anchor = places[:, 0]
        if plan.robust_anchors:
            anchor = self.network(robust_anchor(examples, tuplets[:, 0])[None])
        sure = examples.assurance[tuplets[:, 1:]]
        return tuplet_losses(anchor, places[:, 1:], sure, plan.eta, plan.relevance_at_zero)

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

    @torch.no_grad()
    def _held_out_loss(self) -> float:
        """Share of held-out pairs, one item per class, in the wrong order along the line between
        both classes' means; weighted by assurance. With more than two classes, it is the mean over
        the classes of that between a class and all others.

        The tuplets' own loss is not suitable: it grows as soon as the network is confident about
        what it has seen, long before it has learned to distinguish unseen examples.
        """
        if self.held_out is None:
            return float("nan")
        self.network.eval()
        places, examples = self.network(self.examples.features), self.examples
        held_out_places = self.network(self.held_out.features)

        def wrong(label: int) -> float:
            assert self.held_out is not None
            is_label = examples.label == label
            no, yes = examples.assurance * ~is_label, examples.assurance * is_label
            line = yes @ places / yes.sum() - no @ places / no.sum()
            is_held_out = (self.held_out.label == label).long()
            return wrong_order(held_out_places @ line, is_held_out, self.held_out.assurance)

        judged = torch.unique(self.held_out.label).tolist()
        # Two classes need one line.
        each = [wrong(label) for label in judged[-1:] if len(self.classes) == 2]
        each = each or [wrong(label) for label in judged]
        return sum(each) / len(each)

    def _weights(self) -> dict[str, Any]:
        return copy.deepcopy(self.network.state_dict())


def _embedded(network: nn.Module, features: Tensor, rows: Tensor) -> Tensor:
    """(*rows.shape, e) positions; an example in many tuplets is embedded only once."""
    if len(features) <= rows.numel():
        # Nearly all are used, so gathering them would take longer than embedding the rest.
        everything: Tensor = network(features)
        return everything[rows]
    used, place = torch.unique(rows, return_inverse=True)
    places: Tensor = network(features[used])[place]
    return places


def wrong_order(scores: Tensor, label: Tensor, assurance: Tensor) -> float:
    """Share of pairs of a 0 and a 1 in which the 0 has the higher score, ties half: 1 - AUC with
    weights. Very many examples are sampled."""
    (low, less_sure), (high, sure) = (
        (scores[label == vote][:_MOST_PAIRED], assurance[label == vote][:_MOST_PAIRED])
        for vote in (0, 1)
    )
    gap = high[:, None] - low[None]
    wrong = (gap < 0).float() + 0.5 * (gap == 0).float()
    weight = sure[:, None] * less_sure[None]
    return float((wrong * weight).sum() / weight.sum())
