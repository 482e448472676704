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
        one, other = divmod(best, n_clusters)
        if float(off[one, other]) <= _LEAD:
            return mixture, joined
        if float(mixture.concentration[one]) < float(mixture.concentration[other]):
            one, other = other, one
        mixture = _joined(mixture, prior, one, other)
        joined[:, one] += joined[:, other]
        joined[:, other] = 0
        gain[one] += gain[other]
        gain[:, one] += gain[:, other]
        against[one] |= against[other]
        against[:, one] |= against[:, other]
        gain[other] = 0
        gain[:, other] = 0


def _joined(
    mixture: MixtureParameters, prior: MixtureParameters, one: int, other: int
) -> MixtureParameters:
    """Move the statistics of `other` to `one`, and reset `other` to the prior."""
    parts = []
    for mine, before in zip(mixture.tensors(), prior.tensors(), strict=True):
        part = mine.clone()
        part[one] += part[other] - before[other]
        part[other] = before[other]
        parts.append(part)
    return MixtureParameters(*parts)


def _between(graph: PairGraph, weights: Tensor, beliefs: Tensor) -> Tensor:
    """(K, K) sum of the weights of the pairs between the items of two components."""
    return (beliefs.T @ graph.all_messages(weights, beliefs)).double()
