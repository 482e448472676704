"""The result of a fit by either engine."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

DIVERGED = (
    "training diverged (its values are not finite): "
    "choose a smaller learning_rate or scale the features"
)


@dataclass
class Outcome:
    """A fit's result for all items: beliefs (N, K), codes (N, d), lower bound in nats."""

    beliefs: Tensor
    codes: Tensor
    bound: float
    history: list[dict[str, float]] = field(default_factory=list)
