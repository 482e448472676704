"""Embeddings by losses for few labels (groups 2 and 3), with a logistic regression on top.

The losses are those of pytorch-metric-learning, except for the centres (He et al. 2018), which it
lacks. Network, optimiser, steps and choice by held-out items are the same as NeuCrowd's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pytorch_metric_learning import losses, miners
from torch import Tensor, nn

from bench.neucrowd.data import Question
from bench.neucrowd.labels import Labelled, Labelling
from bench.neucrowd.lines import STRENGTHS, _line, log_loss, standardised
from learning.arrays import BoolArray, FloatArray
from learning.ntuplet.networks import EmbeddingNetwork

LAYERS, DROPOUT, EMBEDDED = (64, 16), 0.2, 16
PENALTIES = (0.003, 0.01, 0.03)
# All triplets of a batch are used, and in lifted structures all pairs of pairs.
_BATCHES = {"Lifted": 24}
_BATCH, _STEPS, _EVERY, _PATIENCE, _RATE = 64, 300, 20, 4, 3e-3
Loss = Callable[[Tensor, Tensor], Tensor]


class CentreLoss(nn.Module):
    """max(0, |f - c_own|² - min |f - c_other|² + margin), with learned centres."""

    def __init__(self, margin: float = 1.0) -> None:
        super().__init__()
        self.margin = margin
        self.centres = nn.Parameter(torch.randn(2, EMBEDDED) / EMBEDDED**0.5)

    def forward(self, places: Tensor, label: Tensor) -> Tensor:
        far = torch.cdist(places, self.centres) ** 2
        own = far.gather(1, label[:, None])
        other = far.gather(1, 1 - label[:, None])
        return (own - other + self.margin).clamp_min(0.0).mean()


class SemiHard(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.loss = losses.TripletMarginLoss(margin=0.2)
        self.miner = miners.TripletMarginMiner(margin=0.2, type_of_triplets="semihard")

    def forward(self, places: Tensor, label: Tensor) -> Tensor:
        loss: Tensor = self.loss(places, label, self.miner(places, label))
        return loss


LOSSES: dict[str, Callable[[], Any]] = {
    "Contrastive": losses.ContrastiveLoss,
    "Triple": lambda: losses.TripletMarginLoss(margin=0.2),
    "TripleSemi": SemiHard,
    "Centered": CentreLoss,
    "Lifted": losses.LiftedStructureLoss,
}


@dataclass(frozen=True)
class _Trained:
    """places: positions of all items; strength: of the regression; steps: when it was kept."""

    loss: float
    strength: float
    steps: int
    penalty: float


_done: dict[tuple[object, ...], FloatArray] = {}


def embedded(name: str, labelling: Labelling, question: Question, seed: int) -> FloatArray:
    """(m,) margin of the unseen items.

    The labels of Dawid and Skene are often the majority's, so the same fit is not repeated.
    """
    labelled = labelling(question)
    arrays = (labelled.share, labelled.weight, question.features, question.unseen)
    key = (name, seed, *(hash(array.tobytes()) for array in arrays))
    if key not in _done:
        _done[key] = _embedded(name, labelled, question, seed)
    return _done[key]


def _embedded(name: str, labelled: Labelled, question: Question, seed: int) -> FloatArray:
    features, unseen = standardised(question)
    held_out = labelled.held_out(seed)
    items = torch.as_tensor(features).float()
    trials = [_trial(name, items, labelled, held_out, penalty, seed) for penalty in PENALTIES]
    best = min(trials, key=lambda trial: trial.loss)
    everything = labelled.weight > 0
    *_, (network, _) = _training(name, items, labelled, everything, best.penalty, seed, best.steps)
    places, new = _places(network, items), _places(network, torch.as_tensor(unseen).float())
    line = _line(places, labelled, everything, best.strength)
    return np.asarray(line.decision_function(new))


def _trial(
    name: str, items: Tensor, labelled: Labelled, held_out: BoolArray, penalty: float, seed: int
) -> _Trained:
    """Train until the loss of held-out items has not fallen for some checks."""
    rows = (labelled.weight > 0) & ~held_out
    best, best_loss, best_steps, waited = None, float("inf"), _STEPS, 0
    rng = np.random.default_rng(seed)
    check = torch.as_tensor(rng.permutation(np.flatnonzero(held_out))[: _BATCHES.get(name, _BATCH)])
    label = torch.as_tensor(labelled.label)[check]
    for steps, (network, loss) in enumerate(
        _training(name, items, labelled, rows, penalty, seed, _STEPS), start=1
    ):
        with torch.no_grad():
            now = float(loss(_unit(network(items[check])), label))
        if now < best_loss:
            best, best_loss, best_steps, waited = copy.deepcopy(network), now, steps * _EVERY, 0
        elif (waited := waited + 1) >= _PATIENCE:
            break
    places = _places(best or network, items)
    scores = [
        (
            log_loss(
                _line(places, labelled, rows, c).decision_function(places), labelled, held_out
            ),
            c,
        )
        for c in STRENGTHS
    ]
    least, strength = min(scores)
    return _Trained(least, strength, best_steps, penalty)


def _training(
    name: str,
    items: Tensor,
    labelled: Labelled,
    rows: BoolArray,
    penalty: float,
    seed: int,
    n_steps: int,
) -> Iterator[tuple[EmbeddingNetwork, Loss]]:
    """Yield the network and its loss every few steps."""
    torch.manual_seed(seed)
    network = EmbeddingNetwork(items.shape[1], LAYERS, DROPOUT, "relu")
    loss = LOSSES[name]()
    moved = [*network.parameters(), *loss.parameters()]
    optimizer = torch.optim.Adam(moved, lr=_RATE)
    some, label = torch.as_tensor(np.flatnonzero(rows)), torch.as_tensor(labelled.label)
    for step in range(1, n_steps + 1):
        network.train()
        batch = some[torch.randperm(len(some))[: _BATCHES.get(name, _BATCH)]]
        batch_loss = loss(_unit(network(items[batch])), label[batch])
        optimizer.zero_grad()
        (batch_loss + penalty * network.weight_decay()).backward()
        optimizer.step()
        if step % _EVERY == 0:
            network.eval()
            yield network, loss


def _unit(places: Tensor) -> Tensor:
    return nn.functional.normalize(places)


@torch.no_grad()
def _places(network: EmbeddingNetwork, items: Tensor) -> FloatArray:
    return np.asarray(_unit(network.eval()(items)).numpy(), np.float64)
