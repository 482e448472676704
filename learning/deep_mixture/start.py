"""The start of the components: at the crowd's groups, then spread over the other items."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from learning.arrays import IntArray
from learning.deep_mixture.conjugate import MixtureParameters
from learning.deep_mixture.crowd_groups import crowd_groups
from learning.deep_mixture.mixture_start import (
    PointMixture,
    Points,
    fit_points,
    nearest_beliefs,
    spread_seeds,
)
from learning.deep_mixture.pair_classifier import (
    classes_of_groups,
    classes_of_pairs,
    held_out_pairs,
    narrowed,
)
from learning.deep_mixture.pair_graph import PairGraph
from learning.deep_mixture.pretraining import Grouped
from learning.deep_mixture.workers import Workers, prior_workers, updated_workers

# Additional points to the annotated ones for the start of the mixture.
_OTHERS = 10_000
_ITERATIONS = 30
_ITERATIONS_OF_GROUPS = 2
_SEEDINGS = 6
# A group of the crowd is a cluster if it has this part of an even share, and this many items.
_PART_OF_EVEN_SHARE = 0.1
_SMALLEST_GROUP = 3
# The groups are the clusters if they have this share of the annotated items.
_COVERAGE = 0.8
# Pairs per annotated item from which the answers alone are trusted.
_DENSE = 12.0


def groups_of_crowd(
    features: Tensor,
    graph: PairGraph,
    n_clusters: int,
    worker_prior: tuple[float, float],
    generator: torch.Generator,
) -> Grouped:
    """Groups of the annotated items that are large enough to be clusters, at most n_clusters.

    features: (N, D). If answers are dense, the answers alone join items; if they are thin, a
    classifier of the features that learns from the pairs does. If neither works, there are no
    groups. A classifier also predicts the groups of the other items.
    """
    joined = _as_groups(_joined(graph, None), n_clusters, graph)
    thin = 2 * len(graph) < _DENSE * graph.n_items
    narrow = narrowed(features, generator)
    if thin or joined.max(initial=-1) < 0:
        split = held_out_pairs(graph, generator)
        classified = classes_of_pairs(narrow, graph, n_clusters, split, worker_prior, generator)
        if classified is not None and not _better(
            joined, classified[1], graph, split, worker_prior
        ):
            belief = classified[0]
            classes = belief[graph.items].argmax(dim=1).cpu().numpy()
            counts = np.bincount(classes, minlength=belief.shape[1])
            order = np.argsort(-counts, kind="stable")
            groups = _as_groups(np.argsort(order)[classes], n_clusters, graph)
            n_groups = int(groups.max(initial=-1)) + 1
            kept = belief[:, torch.from_numpy(order[:n_groups].copy()).to(belief.device)]
            return _grouped(groups, kept, graph)
    n_groups = int(joined.max(initial=-1)) + 1
    if not n_groups:
        return _grouped(joined, torch.zeros(len(features), 0, device=features.device), graph)
    rows = torch.from_numpy(np.flatnonzero(joined >= 0)).to(features.device)
    groups_of_rows = torch.from_numpy(joined[joined >= 0]).to(features.device)
    belief = classes_of_groups(narrow, graph.items[rows], groups_of_rows, n_groups, generator)
    return _grouped(joined, belief, graph)


def _better(
    joined: IntArray,
    score: float,
    graph: PairGraph,
    split: tuple[Tensor, Tensor],
    worker_prior: tuple[float, float],
) -> bool:
    """Whether groups from the answers alone predict held-out pairs better than `score`."""
    if joined.max(initial=-1) < 0:
        return False
    return _score(_joined(graph, split[0]), graph, split, worker_prior) > score


def _grouped(groups: IntArray, belief: Tensor, graph: PairGraph) -> Grouped:
    """groups (A,), belief (N, G) over the groups up to a constant."""
    group = torch.from_numpy(groups).to(graph.items.device)
    known = torch.nonzero(group >= 0)[:, 0]
    belief = belief / belief.sum(dim=1, keepdim=True).clamp(min=1e-9)
    n_groups = belief.shape[1]
    if n_groups:
        belief[graph.items[known]] = torch.nn.functional.one_hot(group[known], n_groups).float()
    return Grouped(group, n_groups, belief)


def _joined(graph: PairGraph, used: Tensor | None) -> IntArray:
    """(A,) groups from the used pairs alone, largest first."""
    columns = (graph.first, graph.second, graph.annotator, graph.same)
    first, second, annotator, same = (
        (part if used is None else part[used]).cpu().numpy() for part in columns
    )
    return crowd_groups(first, second, annotator, same, graph.n_items)


def _as_groups(groups: IntArray, n_clusters: int, graph: PairGraph) -> IntArray:
    """Groups (A,) numbered by size, -1 for small ones; all -1 if the others have too few items."""
    sizes = np.bincount(groups, minlength=1)
    smallest = max(_SMALLEST_GROUP, _PART_OF_EVEN_SHARE * graph.n_items / n_clusters)
    n_groups = int(min((sizes >= smallest).sum(), n_clusters))
    if sizes[:n_groups].sum() < _COVERAGE * graph.n_items:
        n_groups = 0
    chosen: IntArray = np.where(groups < n_groups, groups, -1)
    return chosen


def _score(
    groups: IntArray,
    graph: PairGraph,
    split: tuple[Tensor, Tensor],
    worker_prior: tuple[float, float],
) -> float:
    """Mean log-likelihood of the held pairs given groups (A,) and the used pairs' annotators."""
    used, held = split
    group = torch.from_numpy(groups).to(graph.items.device)
    together = (group[graph.first] == group[graph.second]).double()
    prior = prior_workers(graph.n_annotators, worker_prior, graph.items.device)
    workers = updated_workers(prior, graph.annotator[used], graph.same[used], together[used])
    rates = torch.stack([torch.from_numpy(rate) for rate in workers.mean()], dim=1)
    rates = rates.to(together.device)[graph.annotator[held]]
    same_chance = together[held] * rates[:, 0] + (1 - together[held]) * (1 - rates[:, 1])
    return float(torch.where(graph.same[held], same_chance, 1 - same_chance).log().mean())


def start_points(
    mean: Tensor, variance: Tensor, graph: PairGraph, generator: torch.Generator
) -> tuple[Points, Tensor]:
    """(points: all annotated items, then a sample of the others; their indices)."""
    n_items = len(mean)
    plain = torch.ones(n_items, dtype=torch.bool, device=mean.device)
    plain[graph.items] = False
    others = torch.nonzero(plain)[:, 0]
    order = torch.randperm(len(others), generator=generator, device=mean.device)
    sample = others[order[:_OTHERS]]
    chosen = torch.cat([graph.items, sample])
    weights = torch.ones(len(chosen), device=mean.device)
    weights[graph.n_items :] = len(others) / max(len(sample), 1)
    return Points(mean[chosen], variance[chosen], weights, graph), chosen


def start_mixture(
    points: Points,
    chosen: Tensor,
    grouped: Grouped,
    prior: MixtureParameters,
    prior_workers: Workers,
    fill: bool,
    generator: torch.Generator,
) -> PointMixture:
    """The best by lower bound of mixtures from several seeds.

    points, chosen: from `start_points`;
    fill: use all components of the prior; otherwise only as many as the crowd's groups, if
    there are any.
    """
    n_clusters = len(prior.concentration)
    n_seedings = 1 if grouped.n_groups and not fill else _SEEDINGS
    if grouped.n_groups == n_clusters:
        n_seedings = 1
    # If a classifier has extended the groups to all items, they are better than what a mixture of
    # codes makes of them, which only has to say where they are.
    n_iterations = _ITERATIONS_OF_GROUPS if n_seedings == 1 else _ITERATIONS
    fits = []
    for _ in range(n_seedings):
        beliefs = _seeded(points, chosen, grouped, n_clusters, fill, generator)
        fits.append(fit_points(points, beliefs, prior, prior_workers, n_iterations))
    return max(fits, key=lambda fit: fit.bound)


def _seeded(
    points: Points,
    chosen: Tensor,
    grouped: Grouped,
    n_clusters: int,
    fill: bool,
    generator: torch.Generator,
) -> Tensor:
    """(n, K) beliefs to start from."""
    annotated = points.mean[: points.graph.n_items]
    known = [annotated[grouped.group == group].mean(dim=0) for group in range(grouped.n_groups)]
    centres = torch.stack(known) if known else points.mean[:0]
    if fill or not known:
        more = spread_seeds(points.mean, centres, n_clusters - len(centres), generator)
        centres = torch.cat([centres, more])
    beliefs = nearest_beliefs(points.mean, centres, n_clusters)
    if grouped.n_groups and not (fill and grouped.n_groups < n_clusters):
        beliefs = torch.zeros_like(beliefs)
        beliefs[:, : grouped.n_groups] = grouped.belief[chosen]
    return beliefs
