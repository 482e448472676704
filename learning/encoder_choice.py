"""Encoders other than the built-in one, by name: open_clip, DINOv2, or a file of one's own.

open_clip (open_clip_torch) and timm are not dependencies of Likewise; they download weights the
first time. Where nothing can be downloaded, the weights are named as a safetensors file.
"""

from __future__ import annotations

import difflib
import importlib
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from learning.encoder import Encoder, Preparation

OPEN_CLIP, DINO = "open_clip:", "dino:"
FORMS = (
    "open_clip:MODEL/PRETRAINED (open_clip:ViT-B-32/laion2b_s34b_b79k), dino:MODEL "
    "(dino:dinov2_vits14), or the path of a .safetensors or TorchScript (.pt) file"
)
# Names of the DINOv2 paper's code, and timm's for the same weights.
DINO_MODELS = {
    "dinov2_vits14": "vit_small_patch14_dinov2.lvd142m",
    "dinov2_vitb14": "vit_base_patch14_dinov2.lvd142m",
    "dinov2_vitl14": "vit_large_patch14_dinov2.lvd142m",
    "dinov2_vits14_reg": "vit_small_patch14_reg4_dinov2.lvd142m",
    "dinov2_vitb14_reg": "vit_base_patch14_reg4_dinov2.lvd142m",
}
# DINOv2 is offered at 518 pixels, which takes six times as long and helps dense tasks only.
_DINO_SIDE = 224
_IMAGENET = Preparation(224, (123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
SUFFIXES = (".safetensors", ".pt")


def check_choice(choice: str) -> str:
    """Return the choice; raises ValueError if it has none of the possible forms. Nothing is
    loaded."""
    kind, _, rest = choice.partition(":")
    if f"{kind}:" in (OPEN_CLIP, DINO):
        model, _, weights = rest.partition("/")
        if model and (weights or f"{kind}:" == DINO):
            return choice
    elif choice.endswith(SUFFIXES):
        return choice
    raise ValueError(f"an encoder is chosen as {FORMS}; got {choice!r}")


def load_choice(choice: str, device: str = "auto") -> Encoder:
    """Load an encoder that is not the built-in one.

    Raises ValueError that says what to do if the name is unknown, the package is not installed,
    weights cannot be downloaded, or a file is missing or cannot be used.
    """
    check_choice(choice)
    if choice.startswith(OPEN_CLIP):
        model, _, weights = choice.removeprefix(OPEN_CLIP).partition("/")
        return _open_clip(model, weights, device)
    if choice.startswith(DINO):
        model, _, weights = choice.removeprefix(DINO).partition("/")
        return _dino(model, weights, device)
    path = Path(choice)
    if path.suffix == ".safetensors":
        return Encoder.load(path, device)
    return _torchscript(path, device)


class _ImagePart(nn.Module):
    """The part of a CLIP model that sees images."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.visual = model.visual

    def forward(self, input: Tensor) -> Tensor:
        output: Tensor = self.visual(input)
        return output


def _open_clip(name: str, weights: str, device: str) -> Encoder:
    library = _import("open_clip", "open_clip_torch")
    _check_name(name, library.list_models(), "open_clip has no model")
    if not weights.endswith(".safetensors"):
        tags = library.list_pretrained_tags_by_model(name)
        _check_name(weights, tags, f"open_clip has no weights of {name} named")
    model = _loaded(
        lambda: library.create_model(name, pretrained=weights, device="cpu"), weights, "open_clip"
    )
    visual = model.visual
    side = visual.image_size[0] if isinstance(visual.image_size, tuple) else visual.image_size
    preparation = _of_unit_scale(side, visual.image_mean, visual.image_std)
    return Encoder(_ImagePart(model), preparation, _width(_ImagePart(model), side), device)


def _dino(name: str, weights: str, device: str) -> Encoder:
    library = _import("timm", "timm")
    _check_name(name, list(DINO_MODELS), "there is no DINO model")
    options: dict[str, Any] = {"num_classes": 0, "img_size": _DINO_SIDE}
    if weights:
        _check_safetensors(weights)
        options["checkpoint_path"] = weights
    else:
        options["pretrained"] = True
    network = _loaded(lambda: library.create_model(DINO_MODELS[name], **options), weights, "timm")
    given = network.pretrained_cfg
    preparation = _of_unit_scale(_DINO_SIDE, given["mean"], given["std"])
    return Encoder(network, preparation, network.num_features, device)


def _torchscript(path: Path, device: str) -> Encoder:
    """A TorchScript file, a program of the server's administrator. likewise.json in it can state
    side, mean and deviation (of values from 0 to 255); the default is that of ImageNet."""
    extra = {"likewise.json": ""}
    try:
        # Only who sets environment variables names this file, as with LIKEWISE_FEATURES.
        network = torch.jit.load(path, map_location="cpu", _extra_files=extra)  # noqa: TID251
    except (RuntimeError, ValueError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{path} cannot be read as TorchScript: {reason}. Write it with "
            "torch.jit.trace(network, example).save(path)"
        ) from error
    preparation = _stated_preparation(path, extra["likewise.json"])
    return Encoder(network, preparation, _width(network, preparation.side), device)


def _stated_preparation(path: Path, text: str | bytes) -> Preparation:
    if not text:
        return _IMAGENET
    try:
        stated = json.loads(text)
        mean, deviation = (tuple(map(float, stated[key])) for key in ("mean", "deviation"))
        side = int(stated["side"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"likewise.json in {path} must have side, mean and deviation") from error
    if len(mean) != 3 or len(deviation) != 3 or min(deviation) <= 0 or not 8 <= side <= 2_048:
        raise ValueError(
            f"likewise.json in {path}: side must be 8 to 2048, mean and deviation three numbers "
            "each, for values from 0 to 255, deviation positive"
        )
    return Preparation(side, mean, deviation)


def _width(network: nn.Module, side: int) -> int:
    """The number of features, by encoding an empty image."""
    try:
        with torch.inference_mode():
            output = network.eval()(torch.zeros(1, 3, side, side))
    except RuntimeError as error:
        reason = str(error).strip().split("\n")[-1]
        raise ValueError(f"the network takes no images of {side} pixels: {reason}") from error
    if not isinstance(output, Tensor) or output.ndim != 2 or len(output) != 1 or not output.numel():
        shape = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise ValueError(f"the network must turn (B, 3, side, side) into (B, F); got {shape}")
    return output.shape[1]


def _of_unit_scale(side: int, mean: Any, deviation: Any) -> Preparation:
    scaled = [tuple(255 * float(value) for value in values) for values in (mean, deviation)]
    return Preparation(side, *scaled)  # type: ignore[arg-type]


def _import(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"the package {package} is not installed ({error}). Run: pip install {package}"
        ) from error


def _check_name(name: str, known: list[str], problem: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, 5, 0.3) or known[:5]
        raise ValueError(f"{problem} {name!r}; similar names: {', '.join(near)}")


def _check_safetensors(path: str) -> None:
    if not path.endswith(".safetensors"):
        raise ValueError(f"weights are read from .safetensors files only; got {path!r}")
    if not Path(path).is_file():
        raise ValueError(f"there is no file {path}")


def _loaded(load: Any, weights: str, library: str) -> Any:
    """What `load` returns, with errors of a download or of a file said as such."""
    if weights.endswith(".safetensors"):
        _check_safetensors(weights)
    try:
        return load()
    except Exception as error:
        # A library's errors of the network have no common type, and the administrator reads them.
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{library} could not load the weights ({type(error).__name__}: {reason}). If this "
            "machine cannot download, name a .safetensors file instead: "
            "open_clip:MODEL/PATH or dino:MODEL/PATH"
        ) from error
