"""The annotated items and their pairs, in a layout for message passing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from learning.arrays import BoolArray, IntArray
from learning.groupings import Pairs

# Edges (or pairs) that are processed at a time, which limits memory.
_EDGES = 2**18


@dataclass
class PairGraph:
    """Annotated items (A of them) and P pairs as directed edges, sorted by the item they reach.

    items: (A,) indices into all items; first, second (P,) positions in `items`;
    annotator (P,), same (P,) bool; start (A + 1,), neighbour (2P,), pair (2P,): the edges
    that reach position a are start[a] .. start[a + 1] - 1.
    """

    items: Tensor
    first: Tensor
    second: Tensor
    annotator: Tensor
    same: Tensor
    n_annotators: int
    start: Tensor
    neighbour: Tensor
    pair: Tensor
    block: IntArray | None

    def __len__(self) -> int:
        return len(self.same)

    @property
    def n_items(self) -> int:
        """A, the number of annotated items."""
        return len(self.items)

    def weights(self, evidence: tuple[Tensor, Tensor]) -> Tensor:
        """(P,) w_ij of eq. 14 from the annotators' evidence for "same" and "different"."""
        same, different = evidence
        chosen = torch.where(self.same, same[self.annotator], different[self.annotator])
        return chosen.float()

    def messages(self, positions: Tensor, weights: Tensor, beliefs: Tensor) -> Tensor:
        """(B, K) last sum of eq. 14 for the items at `positions` (B,).

        weights: (P,) w_ij; beliefs: (A, K) current E z_j of all annotated items.
        """
        counts = self.start[positions + 1] - self.start[positions]
        row = torch.repeat_interleave(torch.arange(len(positions), device=counts.device), counts)
        skipped = self.start[positions] - (torch.cumsum(counts, 0) - counts)
        edge = torch.arange(len(row), device=counts.device) + skipped[row]
        sent = weights[self.pair[edge], None] * beliefs[self.neighbour[edge]]
        result = torch.zeros(len(positions), beliefs.shape[1], device=beliefs.device)
        return result.index_add_(0, row, sent)

    def all_messages(self, weights: Tensor, beliefs: Tensor) -> Tensor:
        """(A, K) messages to every annotated item, computed in blocks."""
        every = torch.arange(self.n_items, device=beliefs.device)
        ends = self.start[1:].cpu()
        marks = torch.tensor(range(_EDGES, len(self.neighbour), _EDGES), dtype=torch.int64)
        cuts = torch.unique(torch.searchsorted(ends, marks, right=True)).tolist()
        parts = [self.messages(part, weights, beliefs) for part in torch.tensor_split(every, cuts)]
        return torch.cat(parts)

    def together(self, beliefs: Tensor, pairs: Tensor | None = None) -> Tensor:
        """(P,) P(z_i = z_j) of all or of the chosen pairs under beliefs (A, K)."""
        first = self.first if pairs is None else self.first[pairs]
        second = self.second if pairs is None else self.second[pairs]
        parts = zip(first.split(_EDGES), second.split(_EDGES), strict=True)
        return torch.cat([(beliefs[left] * beliefs[right]).sum(dim=1) for left, right in parts])


def make_graph(pairs: Pairs, device: torch.device) -> PairGraph:
    """The graph of all pairs. Raises ValueError for a pair of an item with itself."""
    own = pairs.i == pairs.j
    if own.any():
        row = int(np.argmax(own))
        raise ValueError(f"pair {row} compares item {pairs.i[row]} with itself")
    items, places = np.unique(np.concatenate([pairs.i, pairs.j]), return_inverse=True)
    first, second = places[: len(pairs)], places[len(pairs) :]
    reached = np.concatenate([first, second])
    order = np.argsort(reached, kind="stable")
    start = np.searchsorted(reached[order], np.arange(len(items) + 1))
    sender = np.concatenate([second, first])[order]
    pair = np.tile(np.arange(len(pairs)), 2)[order]

    def tensor(array: IntArray | BoolArray) -> Tensor:
        return torch.from_numpy(np.array(array)).to(device)

    return PairGraph(
        tensor(items),
        tensor(first),
        tensor(second),
        tensor(pairs.annotator),
        tensor(pairs.same),
        pairs.n_annotators,
        tensor(start),
        tensor(sender),
        tensor(pair),
        None if pairs.grid is None else np.array(pairs.grid),
    )
