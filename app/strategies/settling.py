"""Strategies whose campaigns may end when the nearest neighbours of their models are settled."""

from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.fields import SHARE
from app.strategies.base import LearningData, Strategy

# The setting `settled_target` of these strategies.
SettledTarget = Annotated[
    float | None,
    Field(
        ge=0.2,
        le=0.99,
        title="Share of settled neighbours",
        description="The campaign ends automatically when this share of the nearest neighbours "
        "would be the same with as many other answers. Empty: it ends when the budget is spent.",
        json_schema_extra={**SHARE, "empty": "never"},
    ),
]


@runtime_checkable
class Settling(Protocol):
    """A strategy that can be fitted to halves of the answers."""

    def positions(self, data: LearningData, settings: dict[str, Any]) -> NDArray[np.float64]:
        """Return (N, d) the embedding of a model that is fitted to these answers alone, without a
        previous model. Raises ValueError if it can't learn from them."""
        ...


def settling(strategy: Strategy) -> Settling | None:
    """Return the strategy if it can be fitted to halves of the answers."""
    return strategy if isinstance(strategy, Settling) else None


def target_of(settings: dict[str, Any]) -> float | None:
    """Return the share of settled neighbours at which the campaign ends, if it has one."""
    target = settings.get("settled_target")
    return None if target is None else float(target)
