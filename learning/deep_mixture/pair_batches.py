"""Minibatches of annotations: whole answers if known, otherwise single pairs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from learning.deep_mixture.pair_graph import PairGraph


class PairSampler:
    """Annotations drawn without bias.

    A grid of 36 images gives 630 pairs from 36 passes through the network; 630 pairs drawn
    one by one need up to 1,260. So pairs with a grid come grid by grid, others uniformly.
    """

    def __init__(self, graph: PairGraph, n_pairs: int, generator: torch.Generator) -> None:
        self.n_pairs, self.generator = min(n_pairs, len(graph)), generator
        self.total = len(graph)
        self.device = graph.items.device
        self.grids: list[Tensor] = []
        if graph.block is not None and len(graph):
            order = np.argsort(graph.block, kind="stable")
            cuts = np.flatnonzero(np.diff(graph.block[order])) + 1
            self.grids = [torch.from_numpy(part).to(self.device) for part in np.split(order, cuts)]
            self.per_step = max(1, round(n_pairs * len(self.grids) / len(graph)))

    def next(self) -> tuple[Tensor, float]:
        """((S,) pairs, the number of pairs that each represents)."""
        if not self.grids:
            chosen = torch.randint(
                self.total, (self.n_pairs,), generator=self.generator, device=self.device
            )
            return chosen, self.total / self.n_pairs
        drawn = torch.randint(
            len(self.grids), (self.per_step,), generator=self.generator, device=self.device
        )
        chosen = torch.cat([self.grids[grid] for grid in drawn.tolist()])
        return chosen, len(self.grids) / self.per_step
