"""Minibatches in which annotated items are more frequent than their share, with less weight."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

# At least this share of a batch is annotated items, if there are enough.
_ANNOTATED_SHARE = 0.25


class Stream:
    """Endless batches of 0..n-1, no index twice in a pass; a rest too small for one is dropped."""

    def __init__(self, n: int, size: int, generator: torch.Generator) -> None:
        self.n, self.size, self.generator = n, min(size, n), generator
        self.order = torch.empty(0, dtype=torch.int64, device=generator.device)

    def next(self) -> Tensor:
        """(size,) the next indices."""
        if not self.size:
            return torch.empty(0, dtype=torch.int64, device=self.generator.device)
        if len(self.order) < self.size:
            device = self.generator.device
            self.order = torch.randperm(self.n, generator=self.generator, device=device)
        chosen, self.order = self.order[: self.size], self.order[self.size :]
        return chosen


@dataclass
class Batch:
    """B items: annotated ones first.

    items: (B,) indices; positions: (b,) positions of the first b in the pair graph;
    weights: (B,) mean weight 1 over all items: sum of weights * value / N estimates the
    mean of the values without bias.
    """

    items: Tensor
    positions: Tensor
    weights: Tensor


class Sampler:
    """Stratified minibatches of annotated and other items, at least one of each if there are."""

    def __init__(
        self, n_items: int, annotated: Tensor, batch_size: int, generator: torch.Generator
    ) -> None:
        device = annotated.device
        plain = torch.ones(n_items, dtype=torch.bool, device=device)
        plain[annotated] = False
        self.annotated, self.others = annotated, torch.nonzero(plain)[:, 0]
        n_annotated, n_others = len(annotated), len(self.others)
        # If a kind was in no batch, nothing would be learned about it.
        size = max(min(batch_size, n_items), min(n_annotated, 1) + min(n_others, 1))
        share = max(n_annotated / n_items, _ANNOTATED_SHARE)
        from_annotated = min(n_annotated, math.ceil(share * size), size - min(n_others, 1))
        from_others = min(n_others, size - from_annotated)
        self.marked = Stream(n_annotated, from_annotated, generator)
        self.plain = Stream(n_others, from_others, generator)
        self.weights = torch.cat(
            [
                torch.full((from_annotated,), n_annotated / max(from_annotated, 1)),
                torch.full((from_others,), n_others / max(from_others, 1)),
            ]
        ).to(device)
        self.weights /= n_items
        self.steps_per_epoch = math.ceil(n_items / size)

    def next(self) -> Batch:
        """The next batch; its weights sum to 1."""
        positions = self.marked.next()
        items = torch.cat([self.annotated[positions], self.others[self.plain.next()]])
        return Batch(items, positions, self.weights)
