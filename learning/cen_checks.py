"""What a Context Embedding Network accepts; ValueError names what it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning.arrays import check_count, check_positive
from learning.groupings import Groupings

if TYPE_CHECKING:
    from learning.cen import ContextEmbeddingNetwork

ALLOWED = {
    "variant": ("mixture", "annotator", "context"),
    "context_encoder": ("spread", "s_hot"),
    "threshold": ("calibrated", "midpoint"),
}
# More dimensions than any crowd's attributes: a misspelt number, not a wish.
MAX_DIMENSIONS = 256


def check_parameters(model: ContextEmbeddingNetwork) -> None:
    """Raise ValueError for a parameter that makes no sense."""
    for name in ("n_dimensions", "n_starts", "n_hidden", "n_epochs", "grids_per_step"):
        check_count(name, getattr(model, name))
    if model.n_dimensions > MAX_DIMENSIONS:
        raise ValueError(f"n_dimensions must be at most {MAX_DIMENSIONS}, got {model.n_dimensions}")
    if model.pairs_per_step is not None:
        check_count("pairs_per_step", model.pairs_per_step)
    for name in ("gamma", "margin_same", "margin_different", "learning_rate"):
        check_positive(name, getattr(model, name))
    for name in ("sparsity", "shrinkage"):
        check_positive(name, getattr(model, name), strict=False)
    for name, allowed in ALLOWED.items():
        if getattr(model, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(model, name)!r}")


def check_init(
    model: ContextEmbeddingNetwork, init: ContextEmbeddingNetwork, groupings: Groupings
) -> None:
    """Raise ValueError for an earlier model that `model` cannot go on from."""
    if model.context_encoder != "spread" or init.context_encoder != "spread":
        raise ValueError("only context_encoder 'spread' goes on from an earlier model")
    if init.n_dimensions != model.n_dimensions:
        raise ValueError(
            f"init has {init.n_dimensions} dimensions, this model {model.n_dimensions}"
        )
    for name, known, now in (
        ("images", len(init.embedding_), groupings.n_images),
        ("annotators", len(init.annotator_activation_), groupings.n_annotators),
    ):
        if now < known:
            raise ValueError(f"init knows {known} {name}, the answers only {now}")
