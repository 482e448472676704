"""n-tuplets of an anchor, another example of its class, and n - 2 examples of other
classes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Examples:
    """The examples of tuplets. features: (n, D); label: (n,) class; assurance: (n,)."""

    features: Tensor
    label: Tensor
    assurance: Tensor

    def __len__(self) -> int:
        return len(self.features)


def draw_tuplets(
    examples: Examples,
    weight: Tensor,
    n_tuplets: int,
    n: int,
    anchor_label: int,
    generator: torch.Generator,
) -> Tensor:
    """(n_tuplets, n) rows of `examples`: anchor, positive, negatives.

    weight: (len(examples),) weight with which each is drawn within its class, larger for safe
    ones (section 3.3.1). Anchor and positive are different examples if the class has two.
    """
    own = torch.where(examples.label == anchor_label, weight, 0.0)
    other = torch.where(examples.label == anchor_label, 0.0, weight)
    anchor = _draw(own, n_tuplets, generator)
    positive = _draw(own, n_tuplets, generator)
    if int((own > 0).sum()) > 1:
        while bool((same := anchor == positive).any()):
            positive[same] = _draw(own, int(same.sum()), generator)
    negatives = _draw(other, n_tuplets * (n - 2), generator).reshape(n_tuplets, n - 2)
    return torch.cat([anchor[:, None], positive[:, None], negatives], dim=1)


def _draw(weight: Tensor, n: int, generator: torch.Generator) -> Tensor:
    return torch.multinomial(weight.cpu(), n, replacement=True, generator=generator).to(
        weight.device
    )


def robust_anchor(examples: Examples, anchors: Tensor) -> Tensor:
    """(D,) mean of a batch's anchors (m,) by their assurance (definition 4).

    The paper prints the sum, which grows with the batch and is far from all examples.
    """
    times = torch.bincount(anchors, minlength=len(examples))
    weight = times * examples.assurance
    return weight @ examples.features / weight.sum().clamp_min(1e-12)


def tuplet_losses(
    anchor: Tensor, others: Tensor, assurance: Tensor, eta: float, relevance_at_zero: float
) -> Tensor:
    """(b,) -log p(e+ | e*) of section 3.3.3.

    anchor: (b, e) or (1, e) embedded; others: (b, n - 1, e), the positive first; assurance:
    (b, n - 1). Relevance is C - ||.||, scaled by eta and the assurance of each example.
    """
    far = torch.linalg.vector_norm(others - anchor[:, None], dim=2)
    logits = eta * assurance * (relevance_at_zero - far)
    return -torch.log_softmax(logits, dim=1)[:, 0]
