"""Safe examples, whose neighbours in the embedding support their label."""

from __future__ import annotations

import torch
from torch import Tensor

# With more examples, neighbours are searched in a part that is drawn again each time.
_MOST_NEIGHBOURS = 4_000


def safe_examples(
    places: Tensor,
    label: Tensor,
    assurance: Tensor,
    k: int,
    margin: float,
    generator: torch.Generator,
) -> Tensor:
    """(n,) whether the assurance of the k nearest neighbours with the same label sums to more than
    that of the others, plus margin (NeuCrowd, definition 3).

    places: (n, e) embedded examples; label: (n,) class; assurance: (n,).
    """
    n = len(places)
    among = torch.arange(n, device=places.device)
    if n > _MOST_NEIGHBOURS:
        order = torch.randperm(n, generator=generator)[:_MOST_NEIGHBOURS]
        among = order.to(places.device)
    safe = torch.empty(n, dtype=torch.bool, device=places.device)
    for start in range(0, n, _MOST_NEIGHBOURS):
        rows = slice(start, start + _MOST_NEIGHBOURS)
        far = torch.cdist(places[rows], places[among])
        # An example is not its own neighbour.
        own = torch.arange(n, device=places.device)[rows]
        far[own[:, None] == among[None, :]] = torch.inf
        near = among[far.topk(min(k, len(among) - 1), largest=False).indices]
        sure = assurance[near]
        same = label[near] == label[rows][:, None]
        safe[rows] = (sure * same).sum(1) > (sure * ~same).sum(1) + margin
    return safe
