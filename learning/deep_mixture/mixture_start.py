"""A Bayesian Gaussian mixture of points that shares its assignments with the crowd.

It is the model of section 3 with known x: variational Bayes over all points at once, fast enough
to run from several seeds. It initialises the deep model's components.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from learning.deep_mixture.conjugate import (
    MixtureParameters,
    divergence,
    expected,
    statistics,
)
from learning.deep_mixture.pair_graph import PairGraph
from learning.deep_mixture.workers import Workers, updated_workers


@dataclass
class Points:
    """mean (n, d), variance (n, d) of n points; weights (n,): items each stands for.

    The first graph.n_items points are the graph's items, in its order.
    """

    mean: Tensor
    variance: Tensor
    weights: Tensor
    graph: PairGraph

    def second(self) -> Tensor:
        """(n, d, d) E x x'."""
        return torch.diag_embed(self.variance) + self.mean[:, :, None] * self.mean[:, None, :]


@dataclass
class PointMixture:
    """A fitted mixture: its parameters, beliefs (n, K), annotators and lower bound."""

    parameters: MixtureParameters
    beliefs: Tensor
    workers: Workers
    bound: float


def spread_seeds(points: Tensor, known: Tensor, n_seeds: int, generator: torch.Generator) -> Tensor:
    """(n_seeds, d) k-means++ seeds among points (n, d), away from the known (k, d)."""
    seeds: list[Tensor] = []
    nearest = torch.full((len(points),), torch.inf, device=points.device)
    for centre in known:
        nearest = torch.minimum(nearest, ((points - centre) ** 2).sum(dim=1))
    for _ in range(n_seeds):
        chances = torch.ones_like(nearest) if torch.isinf(nearest).any() else nearest
        chances = chances + 1e-12
        chosen = points[torch.multinomial(chances, 1, generator=generator)[0]]
        nearest = torch.minimum(nearest, ((points - chosen) ** 2).sum(dim=1))
        seeds.append(chosen)
    return torch.stack(seeds) if seeds else points[:0]


def nearest_beliefs(points: Tensor, centres: Tensor, n_clusters: int) -> Tensor:
    """(n, n_clusters) one-hot: the nearest of the centres (k, d), k <= n_clusters."""
    nearest = torch.cdist(points, centres).argmin(dim=1)
    return torch.nn.functional.one_hot(nearest, n_clusters).float()


def fit_points(
    points: Points,
    beliefs: Tensor,
    prior: MixtureParameters,
    prior_workers: Workers,
    n_iterations: int,
) -> PointMixture:
    """Variational Bayes from beliefs (n, K). Raises RuntimeError if a scatter degenerates."""
    graph = points.graph
    n_annotated = graph.n_items
    second = points.second()
    bound = -float("inf")
    for _ in range(n_iterations):
        weighted = beliefs * points.weights[:, None]
        parameters = prior.plus(statistics(weighted, points.mean, second))
        workers = updated_workers(
            prior_workers, graph.annotator, graph.same, graph.together(beliefs)
        )
        mixture = expected(parameters)
        logits = mixture.log_share + mixture.log_density(points.mean, second)
        alone, joined = beliefs, beliefs[:n_annotated]
        for _ in range(2 if n_annotated else 1):
            informed = logits.clone()
            if n_annotated:
                weights = graph.weights(workers.evidence())
                informed[:n_annotated] += graph.all_messages(weights, joined)
            log_beliefs = torch.log_softmax(informed, dim=1)
            alone = log_beliefs.exp()
            # Half a step, because otherwise all items would swap groups with their neighbours.
            joined = 0.5 * (joined + alone[:n_annotated])
        beliefs = torch.cat([joined, alone[n_annotated:]])
    terms = beliefs * (logits - torch.log(beliefs.clamp(min=1e-30)))
    bound = float((terms.sum(dim=1) * points.weights).sum())
    bound += relational_bound(graph, workers, beliefs[:n_annotated])
    bound -= divergence(parameters, prior) + workers.divergence(prior_workers)
    return PointMixture(parameters, beliefs, workers, bound)


def relational_bound(graph: PairGraph, workers: Workers, beliefs: Tensor) -> float:
    """E log p(L | Z) of all pairs in nats; beliefs (A, K)."""
    if not len(graph):
        return 0.0
    weights = graph.weights(workers.evidence()).double()
    if_same, if_different = workers.background()
    base = torch.where(graph.same, if_same[graph.annotator], if_different[graph.annotator])
    return float((weights * graph.together(beliefs).double() + base).sum())
