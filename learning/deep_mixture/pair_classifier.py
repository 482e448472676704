"""A classifier that learns groups from pairs, for answers too thin to join items by themselves.

q(z | o) is trained only on the annotators' pairs: P(z_i = z_j) = q_i . q_j, seen through two
coins per annotator (eq. 1). This is SCDC without its generative part. It finds classes that
features distinguish even if every item was only in one or two pairs, and that an autoencoder
would not show because they are not what varies most.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from learning.deep_mixture.networks import dense
from learning.deep_mixture.pair_graph import PairGraph
from learning.deep_mixture.scdc_networks import WorkerWeights

_STARTS = 12
# (starts kept, further steps of each): most starts end in worse optima and show it early.
_ROUNDS = ((3, 80), (1, 200))
# Steps between two checks of the held-out pairs; with few pairs, more steps soon predict worse.
_LOOK = 40
_STEPS = 250
_PAIRS = 2048
_WIDTH = 100
# How much features are blurred in each start; strong blurring helps with few pairs.
_NOISES = (0.1, 0.5)
_DECAY = 0.1
# Every fifth pair is held out for judging.
_HELD_OUT = 5
# Standard errors by which it must be better, because it is the best of many checks.
_LEAD = 2.0
# Scale of the last layer's first weights; classes must differ from the first step, or they merge.
_HEAD_SCALE = 5.0
_LEAST_CLASSES = 15
_MOST_FEATURES = 64


@dataclass
class _Try:
    """One start; `score`, `steps` and `best` are from its best check on the held-out pairs."""

    network: nn.Module
    weights: WorkerWeights
    noise: float
    worker_prior: tuple[float, float]
    n_steps: int = 0
    score: float = -float("inf")
    steps: int = 0
    best: tuple[dict[str, Any], dict[str, Any]] | None = None

    def look(self, score: float) -> None:
        if score > self.score:
            self.score, self.steps = score, self.n_steps
            parts = (self.network.state_dict(), self.weights.state_dict())
            self.best = copy.deepcopy(parts)

    def back_to_best(self) -> None:
        if self.best is not None:
            self.network.load_state_dict(self.best[0])
            self.weights.load_state_dict(self.best[1])


def classes_of_pairs(
    every: Tensor,
    graph: PairGraph,
    n_clusters: int,
    split: tuple[Tensor, Tensor],
    worker_prior: tuple[float, float],
    generator: torch.Generator,
) -> tuple[Tensor, float] | None:
    """((N, K) P(class) of all items, score), or None if features do not predict pairs.

    every: (N, D) from `narrowed`; split: from `held_out_pairs`. There are several starts, with
    more classes than are likely: with few, a start that has merged two of them cannot separate
    them again. The start that predicts the held-out pairs best, by its score, is trained further
    with all pairs. None unless it predicts them clearly better than the rate of "same" does.
    """
    n_pairs, n_classes = len(graph), max(n_clusters, _LEAST_CLASSES)
    if n_pairs < 4 * _HELD_OUT:
        return None
    features = every[graph.items]
    used, held = split
    order = torch.cat([used, held])
    tries = [
        _new(features, graph, n_classes, _NOISES[start % len(_NOISES)], worker_prior)
        for start in range(_STARTS)
    ]
    for n_kept, n_steps in _ROUNDS:
        for candidate in tries:
            for _ in range(n_steps // _LOOK):
                _train(candidate, features, graph, used, _LOOK, generator)
                with torch.no_grad():
                    candidate.look(float(_log_likelihood(candidate, features, graph, held).mean()))
        tries = sorted(tries, key=lambda candidate: -candidate.score)[:n_kept]
    best = tries[0]
    best.back_to_best()
    if not _predicts(best, features, graph, used, held):
        return None
    _train(best, features, graph, order, min(_STEPS, best.steps), generator)
    return _class_probabilities(best.network, every), best.score


def _predicts(
    candidate: _Try, features: Tensor, graph: PairGraph, used: Tensor, held: Tensor
) -> bool:
    """Whether it predicts the held-out pairs better than the rate of "same" in the used ones."""
    rate = (graph.same[used].float().mean() * len(used) + 1) / (len(used) + 2)
    with torch.no_grad():
        log_likelihood = _log_likelihood(candidate, features, graph, held)
    lead = log_likelihood - torch.where(graph.same[held], rate.log(), (1 - rate).log())
    error = lead.std() / len(held) ** 0.5
    return bool(lead.mean() > _LEAD * error)


def held_out_pairs(graph: PairGraph, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """(used, held-out) pairs: whole grids if known, otherwise single pairs.

    The items of a grid are in many of its pairs, so held-out pairs of a used grid would not
    show how well features predict.
    """
    device = graph.items.device
    if graph.block is not None:
        grids, grid = np.unique(graph.block, return_inverse=True)
        if len(grids) >= 2 * _HELD_OUT:
            drawn = torch.randperm(len(grids), generator=generator, device=device)
            chosen = drawn[: len(grids) // _HELD_OUT]
            apart = torch.isin(torch.from_numpy(grid).to(device), chosen)
            return torch.nonzero(~apart)[:, 0], torch.nonzero(apart)[:, 0]
    order = torch.randperm(len(graph), generator=generator, device=device)
    n_held = len(graph) // _HELD_OUT
    return order[n_held:], order[:n_held]


def classes_of_groups(
    every: Tensor, items: Tensor, groups: Tensor, n_groups: int, generator: torch.Generator
) -> Tensor:
    """(N, n_groups) P(group) of all items, learned from the groups (B,) of some items (B,)."""
    network = dense((every.shape[1], _WIDTH, n_groups)).to(every.device)
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=_DECAY, fused=True)
    features, size = every[items], min(len(items), _PAIRS)
    for _ in range(_STEPS):
        rows = torch.randint(len(items), (size,), generator=generator, device=every.device)
        seen = features[rows]
        noise = torch.randn(seen.shape, generator=generator, device=seen.device)
        loss = nn.functional.cross_entropy(network(seen + _NOISES[0] * noise), groups[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return _class_probabilities(network, every)


def _class_probabilities(network: nn.Module, every: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.softmax(network(every), dim=1)


def narrowed(features: Tensor, generator: torch.Generator) -> Tensor:
    """Features (N, D), or their first principal components if there are many."""
    if features.shape[1] <= _MOST_FEATURES:
        return features
    centred = features - features.mean(dim=0)
    sketch = torch.randn(
        centred.shape[1], 2 * _MOST_FEATURES, generator=generator, device=features.device
    )
    basis = torch.linalg.qr(centred.T @ (centred @ sketch))[0]
    codes = centred @ basis
    _, vectors = torch.linalg.eigh(codes.T @ codes)
    codes = codes @ vectors[:, -_MOST_FEATURES:]
    widest = codes.std(dim=0, correction=0).max().clamp(min=1e-6)
    scaled: Tensor = codes / widest
    return scaled


def _new(
    features: Tensor,
    graph: PairGraph,
    n_classes: int,
    noise: float,
    worker_prior: tuple[float, float],
) -> _Try:
    network = dense((features.shape[1], _WIDTH, n_classes)).to(features.device)
    with torch.no_grad():
        for weight in list(network.children())[-1].parameters():
            weight.mul_(_HEAD_SCALE)
    weights = WorkerWeights(graph.n_annotators, (0.8, 0.8)).to(features.device)
    return _Try(network, weights, noise, worker_prior)


def _train(
    candidate: _Try,
    features: Tensor,
    graph: PairGraph,
    pairs: Tensor,
    n_steps: int,
    generator: torch.Generator,
) -> None:
    network, weights = candidate.network, candidate.weights
    groups: list[dict[str, Any]] = [
        {"params": list(network.parameters())},
        {"params": list(weights.parameters()), "weight_decay": 0.0, "lr": 1e-2},
    ]
    optimiser = torch.optim.AdamW(groups, lr=3e-3, weight_decay=_DECAY, fused=True)
    device = features.device
    pairs = pairs[torch.randperm(len(pairs), generator=generator, device=device)]
    candidate.n_steps += n_steps
    for _ in range(n_steps):
        chosen = pairs
        if len(pairs) > _PAIRS:
            drawn = torch.randint(len(pairs), (_PAIRS,), generator=generator, device=device)
            chosen = pairs[drawn]
        log_likelihood = _log_likelihood(candidate, features, graph, chosen, generator)
        loss = -log_likelihood.mean() - weights.log_prior(candidate.worker_prior) / len(pairs)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()


def _log_likelihood(
    candidate: _Try,
    features: Tensor,
    graph: PairGraph,
    pairs: Tensor,
    generator: torch.Generator | None = None,
) -> Tensor:
    """(S,) log P(label): the classes summed out exactly, log of eq. 1's expectation.

    generator: blurs the features, for training.
    """
    ends = torch.cat([graph.first[pairs], graph.second[pairs]])
    positions, places = torch.unique(ends, return_inverse=True)
    seen = features[positions]
    if generator is not None:
        noise = torch.randn(seen.shape, generator=generator, device=seen.device)
        seen = seen + candidate.noise * noise
    belief = torch.softmax(candidate.network(seen), dim=1)[places]
    together = (belief[: len(pairs)] * belief[len(pairs) :]).sum(dim=1)
    rates = torch.sigmoid(candidate.weights.logits[graph.annotator[pairs]])
    same_chance = together * rates[:, 0] + (1 - together) * (1 - rates[:, 1])
    chance = torch.where(graph.same[pairs], same_chance, 1 - same_chance)
    logs: Tensor = chance.clamp(min=1e-6).log()
    return logs
