"""What leads training back to where features and crowd agreed."""

import numpy as np
import torch

from learning.deep_mixture.bayes_engine import BayesEngine
from learning.deep_mixture.guard import Guard
from learning.semicrowd import BayesianSemiCrowdClustering


def an_engine() -> BayesEngine:
    """One that a fit of two clouds has left."""
    kept: list[BayesEngine] = []

    class Kept(BayesianSemiCrowdClustering):
        def _keep(self, *parts: object) -> None:
            kept.extend(part for part in parts if isinstance(part, BayesEngine))
            super()._keep(*parts)  # type: ignore[arg-type]

    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0, 0.1, (20, 2)), rng.normal(3, 0.1, (20, 2))])
    Kept(4, 2, n_epochs=1, pretrain_epochs=1, hidden=(8,), random_state=0).fit(points, None)
    return kept[0]


def log_alone(right: float) -> torch.Tensor:
    """Of three items of the first of two classes."""
    return torch.log(torch.tensor([[right, 1 - right]] * 3))


def test_the_best_state_comes_back_after_a_fall_and_learning_slows() -> None:
    engine = an_engine()
    optimiser = torch.optim.Adam(engine.recognition.parameters(), lr=1.0)
    guard = Guard(engine, optimiser)
    beliefs = torch.tensor([[1.0, 0.0]] * 3)
    before = {name: part.clone() for name, part in engine.recognition.state_dict().items()}
    assert not guard.look(beliefs, log_alone(0.95))
    with torch.no_grad():
        for weight in engine.recognition.parameters():
            weight.add_(1.0)
    mixture = engine.mixture
    engine.mixture = mixture.toward(engine.prior, 0.5)
    beliefs.fill_(0.5)
    assert guard.look(beliefs, log_alone(0.5))
    assert guard.n_returns == 1
    assert optimiser.param_groups[0]["lr"] == 0.5
    torch.testing.assert_close(beliefs, torch.tensor([[1.0, 0.0]] * 3))
    torch.testing.assert_close(engine.mixture.concentration, mixture.concentration)
    for name, part in engine.recognition.state_dict().items():
        torch.testing.assert_close(part, before[name])


def test_small_falls_are_let_go_but_not_kept_at_the_end() -> None:
    engine = an_engine()
    guard = Guard(engine, torch.optim.Adam(engine.recognition.parameters(), lr=1.0))
    beliefs = torch.tensor([[1.0, 0.0]] * 3)
    guard.look(beliefs, log_alone(0.99))
    beliefs[0] = torch.tensor([0.999, 0.001])
    assert not guard.look(beliefs, log_alone(0.96))
    assert float(beliefs[0, 0]) == np.float32(0.999)
    guard.end(beliefs, log_alone(0.96))
    assert float(beliefs[0, 0]) == 1.0
