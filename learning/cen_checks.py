"""Checks of a Context Embedding Network's parameters, which raise ValueError."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning.arrays import check_count
from learning.groupings import Groupings

if TYPE_CHECKING:
    from learning.cen import ContextEmbeddingNetwork

VARIANTS = ("mixture", "annotator", "context")
# No crowd has so many attributes, so a larger number is probably a typing error.
MAX_DIMENSIONS = 256


def check_parameters(model: ContextEmbeddingNetwork) -> None:
    """Raise ValueError for an invalid parameter."""
    for name in ("n_dimensions", "n_starts"):
        check_count(name, getattr(model, name))
    if model.n_dimensions > MAX_DIMENSIONS:
        raise ValueError(f"n_dimensions must be at most {MAX_DIMENSIONS}, got {model.n_dimensions}")
    if model.variant not in VARIANTS:
        raise ValueError(f"variant must be one of {VARIANTS}, got {model.variant!r}")


def check_init(
    model: ContextEmbeddingNetwork, init: ContextEmbeddingNetwork, groupings: Groupings
) -> None:
    """Raise ValueError for an earlier model with which `model` cannot be aligned."""
    if init.n_dimensions != model.n_dimensions:
        raise ValueError(
            f"init has {init.n_dimensions} dimensions, this model {model.n_dimensions}"
        )
    for name, known, now in (
        ("images", len(init.embedding_), groupings.n_images),
        ("annotators", len(init.annotator_activation_), groupings.n_annotators),
    ):
        if now < known:
            raise ValueError(f"init has {known} {name}, but the answers only {now}")
