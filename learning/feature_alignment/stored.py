"""Checks of arrays that were stored."""

from __future__ import annotations

import numpy as np

from learning.base import Arrays

# The axes of each array, by name of their lengths.
_AXES = {
    "centre": "F",
    "inverse_scale": "F",
    "components": "FR",
    "offset": "R",
    "linear": "Rd",
    "hidden": "RH",
    "hidden_bias": "H",
    "output": "Hd",
    "pair_model": "P",
    "weights": "BK",
    "position": "K",
    "factor": "BL",
    "deviation": "K",
    "explained": "K",
    "attribute": "K",
}


def check_arrays(arrays: Arrays) -> None:
    """Raise ValueError if an array is missing, does not fit to the others, or is not finite."""
    lengths: dict[str, int] = {}
    for name, axes in _AXES.items():
        if name not in arrays:
            raise ValueError(f"the alignment has no array {name!r}")
        array = arrays[name]
        if array.ndim != len(axes):
            raise ValueError(f"{name} must have {len(axes)} axes, got shape {array.shape}")
        for axis, length in zip(axes, array.shape, strict=True):
            if lengths.setdefault(axis, length) != length:
                raise ValueError(f"{name} has {length} where others have {lengths[axis]}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} contains numbers that are not finite")
    if lengths["P"] != 3:
        raise ValueError(f"pair_model must have 3 numbers, got {lengths['P']}")
    if lengths["B"] != lengths["R"] + lengths["d"]:
        raise ValueError(f"weights must have {lengths['R'] + lengths['d']} rows")
