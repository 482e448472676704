"""Restores the best state if training collapses.

Networks and mixture move together, and sometimes a few steps of the networks are too large for
the mixture to follow: the codes of two classes collapse onto each other within a few epochs, the
bound drops, and nothing separates them again. The beliefs about annotated items from features
alone show it first.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from learning.deep_mixture.bayes_model import BayesModel

# Nats per annotated item by which agreement may fall, and the share of its best value.
_TOLERANCE, _PART = 0.05, 0.2
_SLOWER = 0.5


@dataclass
class _State:
    agreement: float
    networks: tuple[dict[str, Any], dict[str, Any]]
    rest: tuple[Any, ...]


class Guard:
    """Keeps the state of a model in which features and crowd agree best."""

    def __init__(self, model: BayesModel, optimiser: torch.optim.Optimizer) -> None:
        self._model, self._optimiser = model, optimiser
        self._best: _State | None = None
        self.n_returns = 0

    def look(self, beliefs: Tensor, log_alone: Tensor) -> bool:
        """Check after an epoch; True: the best state was restored, and learning should be slower.

        beliefs (A, K) of the annotated items with the crowd's messages, which are restored with
        the state; log_alone (A, K): log beliefs from features alone.
        """
        agreement = float((beliefs * log_alone).sum(dim=1).mean())
        if self._best is None or agreement >= self._best.agreement:
            self._best = self._state(agreement, beliefs)
            return False
        if agreement > self._best.agreement - self._tolerance():
            return False
        self._put_back(beliefs)
        for group in self._optimiser.param_groups:
            group["lr"] *= _SLOWER
        self._optimiser.state.clear()
        self.n_returns += 1
        return True

    def end(self, beliefs: Tensor, log_alone: Tensor) -> None:
        """Restore the best state after the last epoch if a collapse has begun."""
        agreement = float((beliefs * log_alone).sum(dim=1).mean())
        if self._best is not None and agreement < self._best.agreement - self._tolerance() / 2:
            self._put_back(beliefs)

    def _tolerance(self) -> float:
        assert self._best is not None
        return _TOLERANCE + _PART * abs(self._best.agreement)

    def _state(self, agreement: float, beliefs: Tensor) -> _State:
        model = self._model
        networks = (model.recognition.state_dict(), model.decoder.state_dict())
        rest = (model.mixture, model.workers, model.pair_weights, model.taught, beliefs)
        return _State(agreement, copy.deepcopy(networks), copy.deepcopy(rest))

    def _put_back(self, beliefs: Tensor) -> None:
        assert self._best is not None
        model = self._model
        model.recognition.load_state_dict(self._best.networks[0])
        model.decoder.load_state_dict(self._best.networks[1])
        rest = copy.deepcopy(self._best.rest)
        model.mixture, model.workers, model.pair_weights, model.taught = rest[:4]
        beliefs.copy_(rest[4])
