"""Merges components that are one according to the crowd."""

from __future__ import annotations

import torch
from torch import Tensor

from learning.deep_mixture.conjugate import MixtureParameters
from learning.deep_mixture.pair_graph import PairGraph

# Nats by which "same" must lead in the sum over all pairs between two components.
_LEAD = 5.0


def merged(
    mixture: MixtureParameters,
    prior: MixtureParameters,
    graph: PairGraph,
    weights: Tensor,
    alone: Tensor,
    informed: Tensor,
) -> tuple[MixtureParameters, Tensor]:
    """(mixture with joined components, (K, K) map of beliefs from old to new components).

    weights: (P,) log-odds of a pair being the same (eq. 14); alone: (A, K) beliefs of the
    annotated items from features alone; informed: (A, K) with the messages. The sum over the
    pairs between the items of two components is the change of the relational term if the two
    were one. It must favour merging by features alone and not oppose it by informed beliefs,
    because features that cannot separate two classes are no reason to merge them.
    """
    n_clusters = alone.shape[1]
    gain = _between(graph, weights, alone)
    against = _between(graph, weights, informed) < -_LEAD
    joined = torch.eye(n_clusters, device=alone.device)
    while True:
        off = gain.masked_fill(against, -torch.inf).fill_diagonal_(-torch.inf)
        best = int(off.argmax())
        larger, smaller = divmod(best, n_clusters)
        if float(off[larger, smaller]) <= _LEAD:
            return mixture, joined
        if float(mixture.concentration[larger]) < float(mixture.concentration[smaller]):
            larger, smaller = smaller, larger
        mixture = _joined(mixture, prior, larger, smaller)
        joined[:, larger] += joined[:, smaller]
        joined[:, smaller] = 0
        gain[larger] += gain[smaller]
        gain[:, larger] += gain[:, smaller]
        against[larger] |= against[smaller]
        against[:, larger] |= against[:, smaller]
        gain[smaller] = 0
        gain[:, smaller] = 0


def _joined(
    mixture: MixtureParameters, prior: MixtureParameters, target: int, source: int
) -> MixtureParameters:
    """Move the statistics of `source` to `target`, and reset `source` to the prior."""
    parts = []
    for mine, before in zip(mixture.tensors(), prior.tensors(), strict=True):
        part = mine.clone()
        part[target] += part[source] - before[source]
        part[source] = before[source]
        parts.append(part)
    return MixtureParameters(*parts)


def _between(graph: PairGraph, weights: Tensor, beliefs: Tensor) -> Tensor:
    """(K, K) sum of the weights of the pairs between the items of two components."""
    return (beliefs.T @ graph.all_messages(weights, beliefs)).double()
