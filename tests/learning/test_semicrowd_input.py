"""What the deep mixture makes of features and pairs before it learns, and says at the end."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from learning.deep_mixture import bayes_finish, pair_graph
from learning.deep_mixture.batches import Sampler
from learning.deep_mixture.bayes_model import BayesModel
from learning.deep_mixture.features import fit_scaling
from learning.deep_mixture.networks import Shape
from learning.deep_mixture.pair_graph import PairGraph, make_graph
from learning.deep_mixture.settings import Settings
from learning.deep_mixture.workers import Workers
from tests.learning.semicrowd_data import blobs, crowd

CPU = torch.device("cpu")


def scaled(features: np.ndarray) -> Tensor:
    return fit_scaling(features, "gaussian")[1]


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e12])
def test_features_are_the_same_in_any_unit(unit: float) -> None:
    features, _ = blobs(0)
    torch.testing.assert_close(scaled(features * unit), scaled(features), rtol=1e-4, atol=1e-4)


def test_a_large_number_that_never_changes_hides_nothing_of_the_others() -> None:
    features = 0.01 * blobs(0)[0]
    beside = scaled(np.column_stack([features, np.full(len(features), 1e6)]))
    torch.testing.assert_close(beside[:, :-1], scaled(features))
    assert beside[:, -1].abs().max() < 1e-3


def test_a_feature_that_hardly_varies_is_not_blown_up() -> None:
    rng = np.random.default_rng(0)
    rescaled = scaled(rng.normal(size=(500, 2)) * [10.0, 0.1])
    assert rescaled[:, 0].std() == pytest.approx(1.0, abs=0.01)
    assert rescaled[:, 1].std() == pytest.approx(0.1, abs=0.02)


def test_items_far_beyond_those_of_the_fit_stay_finite() -> None:
    features, _ = blobs(0)
    scaling, _ = fit_scaling(features * 1e-6, "gaussian")
    assert torch.isfinite(scaling.apply(np.full((1, 6), 1e37))).all()


def strokes() -> np.ndarray:
    """White on black with grey edges, about as much of each as in handwriting."""
    rng = np.random.default_rng(0)
    white = (rng.random((50, 20)) < 0.12).astype(float)
    return np.where(rng.random(white.shape) < 0.08, rng.random(white.shape), white)


def test_black_and_white_with_grey_edges_is_told_from_small_numbers() -> None:
    rng = np.random.default_rng(1)
    histograms = rng.dirichlet(np.full(40, 5.0), 60)
    dark = 0.15 * rng.random((60, 40))
    assert fit_scaling(strokes(), "auto")[0].likelihood == "bernoulli"
    assert fit_scaling(1 - strokes(), "auto")[0].likelihood == "bernoulli"
    for small in (histograms, dark, 1 - dark):
        assert fit_scaling(small, "auto")[0].likelihood == "gaussian"


@pytest.mark.parametrize(("n", "n_annotated", "size"), [(1000, 995, 128), (10, 5, 1), (3, 3, 1)])
def test_batches_have_both_kinds_of_items_where_there_are_both(
    n: int, n_annotated: int, size: int
) -> None:
    sampler = Sampler(n, torch.arange(n_annotated), size, torch.Generator().manual_seed(0))
    batch = sampler.next()
    assert batch.weights.sum() == pytest.approx(1.0)
    assert (batch.items < n_annotated).any()
    assert (batch.items >= n_annotated).any() == (n > n_annotated)


def some_graph() -> PairGraph:
    labels = np.repeat([0, 1, 2], 10)
    return make_graph(crowd(labels, [0.9], [0.9], [200], seed=0), CPU)


def test_messages_of_many_pairs_are_summed_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = some_graph()
    beliefs = torch.softmax(torch.randn(graph.n_items, 4), dim=1)
    weights = torch.randn(len(graph))
    messages, together = graph.all_messages(weights, beliefs), graph.together(beliefs)
    counts = graph.start[1:] - graph.start[:-1]
    seen: list[int] = []
    whole = PairGraph.messages

    def counted(self: PairGraph, positions: Tensor, *others: Tensor) -> Tensor:
        seen.append(int(counts[positions].sum()))
        return whole(self, positions, *others)

    monkeypatch.setattr(PairGraph, "messages", counted)
    monkeypatch.setattr(pair_graph, "_EDGES", 50)
    torch.testing.assert_close(graph.all_messages(weights, beliefs), messages)
    torch.testing.assert_close(graph.together(beliefs), together)
    assert sum(seen) == 400
    assert max(seen) <= 50 + int(counts.max())


def test_the_bound_is_of_the_beliefs_that_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    settings = Settings(
        4, 2, (8,), "mlp", "gaussian", 1, 0, 8, 1e-3, "random", 0.0, (4.0, 1.0), CPU
    )
    model = BayesModel(Shape((6,), 2, (8,), "mlp"), settings, 1)
    graph, generator = some_graph(), torch.Generator().manual_seed(0)
    received: list[Tensor] = []

    def bound(graph: PairGraph, workers: Workers, beliefs: Tensor) -> float:
        received.append(beliefs.clone())
        return 0.0

    monkeypatch.setattr(bayes_finish, "relational_bound", bound)
    beliefs = torch.softmax(torch.randn(graph.n_items, 4), dim=1)
    outcome = bayes_finish.finish(model, torch.randn(40, 6), graph, beliefs, generator)
    torch.testing.assert_close(received[0], outcome.beliefs[graph.items])
