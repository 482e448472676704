"""Where torch computes."""

from __future__ import annotations

import torch


def pick_device(device: str) -> torch.device:
    """The device of a setting: "auto" takes a GPU when there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}") from error
