"""Checks of the semi-crowdsourced estimators' parameters and data, which raise ValueError."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from learning.arrays import BoolArray, IntArray, check_count, check_positive
from learning.groupings import Pairs

MAX_CLUSTERS = 1000
_ALLOWED = {
    "likelihood": ("auto", "gaussian", "bernoulli"),
    "network": ("auto", "mlp", "conv"),
    "start": ("crowd", "random"),
}


def check_parameters(model: Any, n_clusters_name: str) -> None:
    """Raise ValueError for an invalid parameter."""
    for name in (n_clusters_name, "n_latent", "batch_size", "n_init"):
        check_count(name, getattr(model, name))
    if getattr(model, n_clusters_name) > MAX_CLUSTERS:
        n_clusters = getattr(model, n_clusters_name)
        raise ValueError(f"{n_clusters_name} must be at most {MAX_CLUSTERS}, got {n_clusters}")
    for name in ("n_epochs", "pretrain_epochs"):
        if getattr(model, name) is not None:
            check_count(name, getattr(model, name), minimum=0 if name != "n_epochs" else 1)
    check_positive("learning_rate", model.learning_rate)
    check_positive("guidance", model.guidance, strict=False)
    for name in ("concentration", "component_spread", "natural_step"):
        if getattr(model, name, None) is not None:
            check_positive(name, getattr(model, name))
    if (getattr(model, "natural_step", None) or 0) > 1:
        raise ValueError(f"natural_step must be at most 1, got {model.natural_step!r}")
    for name in ("n_sweeps", "n_summed"):
        if getattr(model, name, None) is not None:
            check_count(name, getattr(model, name))
    for name, allowed in _ALLOWED.items():
        if getattr(model, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(model, name)!r}")
    if model.hidden is not None:
        if not isinstance(model.hidden, list | tuple):
            raise ValueError(f"hidden must be a list of layer widths or None, got {model.hidden!r}")
        if len(model.hidden) == 0:
            raise ValueError("hidden must have the width of at least one layer, got none")
        for width in model.hidden:
            check_count("hidden", width)
    if not isinstance(model.worker_prior, list | tuple) or len(model.worker_prior) != 2:
        raise ValueError(f"worker_prior must be two numbers, got {model.worker_prior!r}")
    for value in model.worker_prior:
        check_positive("worker_prior", value)


def checked_pairs(pairs: Pairs | None, n_items: int) -> Pairs:
    """The pairs, or no pairs with a warning that the fit is unsupervised.

    Raises ValueError for pairs of items that do not exist or of an item with itself.
    """
    if pairs is None:
        pairs = no_pairs(n_items)
    for name, column in (("i", pairs.i), ("j", pairs.j)):
        if len(column) and int(column.max()) >= n_items:
            raise ValueError(
                f"pairs.{name} refers to item {int(column.max())}, but X has {n_items} items"
            )
    if not len(pairs):
        warnings.warn(
            "no annotated pairs: the clustering is unsupervised and uses only the features",
            UserWarning,
            stacklevel=3,
        )
    return pairs


def no_pairs(n_items: int, n_annotators: int = 0) -> Pairs:
    """Pairs without a row."""
    none: IntArray = np.empty(0, np.int64)
    nothing: BoolArray = np.empty(0, np.bool_)
    return Pairs(none, none, none, nothing, n_items, n_annotators)


def resolved_network(network: str, item_shape: tuple[int, ...]) -> str:
    """ "mlp" or "conv" for "auto". Raises ValueError for "conv" on feature vectors."""
    if network == "auto":
        return "conv" if len(item_shape) == 3 and min(item_shape[:2]) >= 8 else "mlp"
    if network == "conv" and len(item_shape) != 3:
        raise ValueError(
            "network 'conv' takes images (N, H, W) or (N, H, W, C), "
            f"got items of shape {item_shape}"
        )
    return network
