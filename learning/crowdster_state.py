"""What CrowdSter has learned, as arrays and plain values that are saved and restored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning.asked import AskedGrids
from learning.base import Arrays, State
from learning.groupings import Groupings

if TYPE_CHECKING:
    from learning.crowdster import CrowdSter

# Attributes that only one of the algorithms learns.
_OPTIONAL = (
    "uncertainty_",
    "embedding_error_",
    "placed_",
    "carelessness_",
    "held_out_",
    "_asked_pairs",
)


def learned_state(model: CrowdSter) -> tuple[Arrays, State]:
    """The arrays and values from which `restore_state` makes the same model."""
    arrays: Arrays = {
        "embedding": model.embedding_,
        "asked": model.asked_.grids,
        "images": model._answers.images,
        "groups": model._answers.groups,
        "annotators": model._answers.annotators,
    }
    for name in _OPTIONAL:
        if hasattr(model, name):
            arrays[name.strip("_")] = getattr(model, name)
    state = {
        "seed": model.seed_,
        "calls": model.n_calls_,
        "phases": model.n_phases_seen_,
        "images": model.asked_.n_images,
        "annotators": model._answers.n_annotators,
        "looked_at": getattr(model, "_n_looked_at", 0),
        "asked_then": model._n_asked_then,
    }
    return arrays, state


def restore_state(model: CrowdSter, arrays: Arrays, state: State) -> None:
    """Give a new model with the same parameters what `learned_state` returned."""
    model.embedding_ = arrays["embedding"]
    model.n_dimensions_ = model.embedding_.shape[1]
    for name in _OPTIONAL:
        if name.strip("_") in arrays:
            setattr(model, name, arrays[name.strip("_")])
    model.asked_ = AskedGrids(arrays["asked"], int(state["images"]))
    model._answers = Groupings(
        arrays["images"],
        arrays["groups"],
        arrays["annotators"],
        int(state["images"]),
        int(state["annotators"]),
    )
    model._n_looked_at = int(state["looked_at"])
    # Models saved before this was stored behave as if all grids had been answered.
    model._n_asked_then = int(state.get("asked_then", len(model.asked_)))
    model.seed_ = int(state["seed"])
    model.n_calls_ = int(state["calls"])
    model.n_phases_seen_ = int(state["phases"])
