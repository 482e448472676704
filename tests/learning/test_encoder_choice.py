"""Encoders other than the built-in one: open_clip, DINOv2, and files of one's own."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from learning.encoder_choice import DINO_MODELS, check_choice, load_choice
from tests.support.encoder_files import converted_weights
from tests.support.encoder_images import scenes


class Means(nn.Module):
    """Features that are the mean colours."""

    def forward(self, input: Tensor) -> Tensor:
        return input.mean((2, 3))


class Maps(nn.Module):
    """No features: an image for an image."""

    def forward(self, input: Tensor) -> Tensor:
        return input * 2


def script(network: nn.Module, path: Path, **stated: Any) -> str:
    extra = {"likewise.json": json.dumps(stated)} if stated else {}
    torch.jit.save(torch.jit.trace(network, torch.zeros(2, 3, 32, 32)), path, _extra_files=extra)
    return str(path)


@pytest.mark.parametrize(
    "choice",
    [
        "open_clip:ViT-B-32/laion2b_s34b_b79k",
        "open_clip:ViT-B-32//models/clip.safetensors",
        "dino:dinov2_vits14",
        "dino:dinov2_vits14//models/dino.safetensors",
        "/models/encoder.safetensors",
        "encoder.pt",
    ],
)
def test_choices_of_a_known_form(choice: str) -> None:
    assert check_choice(choice) == choice


@pytest.mark.parametrize("choice", ["open_clip:ViT-B-32", "dino:", "clip", "weights.pth", ""])
def test_choices_of_no_form_are_refused(choice: str) -> None:
    with pytest.raises(ValueError, match="an encoder is chosen as open_clip:MODEL/PRETRAINED"):
        load_choice(choice)


def test_a_torchscript_file(tmp_path: Path) -> None:
    choice = script(Means(), tmp_path / "m.pt", side=48, mean=[0, 0, 0], deviation=[1, 1, 1])
    images = [np.full((10, 20, 3), (10, 20, 30), np.uint8), *scenes(3)]
    encoder = load_choice(choice, "cpu")
    assert encoder.preparation.side == 48
    features = encoder.encode(images)
    assert features.shape == (4, 3)
    assert np.allclose(features[0], (10, 20, 30))


def test_a_torchscript_file_that_states_nothing_gets_the_preparation_of_imagenet(
    tmp_path: Path,
) -> None:
    encoder = load_choice(script(Means(), tmp_path / "m.pt"), "cpu")
    (features,) = encoder.encode([np.full((9, 9, 3), 255, np.uint8)])
    assert np.allclose(features, (1 - np.array([0.485, 0.456, 0.406])) / (0.229, 0.224, 0.225))


def test_a_torchscript_file_without_features_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"into \(B, F\); got \(1, 3, 224, 224\)"):
        load_choice(script(Maps(), tmp_path / "maps.pt"))


@pytest.mark.parametrize(
    "stated",
    [
        {"side": 48},
        {"side": 48, "mean": [0, 0], "deviation": [1, 1, 1]},
        {"side": 48, "mean": [0, 0, 0], "deviation": [1, 0, 1]},
        {"side": 1e9, "mean": [0, 0, 0], "deviation": [1, 1, 1]},
        {"side": "x", "mean": "abc", "deviation": None},
    ],
)
def test_a_stated_preparation_that_cannot_be(tmp_path: Path, stated: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"likewise\.json in"):
        load_choice(script(Means(), tmp_path / "m.pt", **stated))


@pytest.mark.parametrize("content", [None, b"", b"no program"])
def test_a_file_that_is_no_torchscript(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "m.pt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot be read as TorchScript.*torch\.jit\.trace"):
        load_choice(str(path))


def test_a_file_with_the_built_in_weights(tmp_path: Path) -> None:
    encoder = load_choice(str(converted_weights(tmp_path)), "cpu")
    assert encoder.encode(scenes(2)).shape == (2, 1280)


@pytest.mark.parametrize(
    ("module", "choice", "package"),
    [
        ("open_clip", "open_clip:ViT-B-32/openai", "open_clip_torch"),
        ("timm", "dino:dinov2_vits14", "timm"),
    ],
)
def test_a_package_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, module: str, choice: str, package: str
) -> None:
    # As Python does for a module that cannot be imported.
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match=f"pip install {package}$"):
        load_choice(choice)


# The tests below need open_clip_torch and timm, which Likewise does not install.


def test_a_small_open_clip_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_clip = pytest.importorskip("open_clip")
    from safetensors.torch import save_file

    shape = {
        "embed_dim": 24,
        "vision_cfg": {
            "image_size": 32, "layers": 2, "width": 64, "head_width": 16, "patch_size": 8,
        },
        "text_cfg": {
            "context_length": 8, "vocab_size": 64, "width": 32, "heads": 2, "layers": 1,
        },
    }  # fmt: skip
    (tmp_path / "tiny-clip.json").write_text(json.dumps(shape))
    open_clip.add_model_config(tmp_path)
    torch.manual_seed(1)
    model = open_clip.create_model("tiny-clip", pretrained=None)
    path = tmp_path / "tiny.safetensors"
    save_file(model.state_dict(), path)
    encoder = load_choice(f"open_clip:tiny-clip/{path}", "cpu")
    images = scenes(5)
    features = encoder.encode(images)
    assert features.shape == (5, 24)
    pixels = torch.from_numpy(encoder.preparation.squares(images)).permute(0, 3, 1, 2) / 255
    mean, deviation = torch.tensor(model.visual.image_mean), torch.tensor(model.visual.image_std)
    with torch.inference_mode():
        expected = model.eval().encode_image(
            (pixels - mean[:, None, None]) / deviation[:, None, None]
        )
    assert np.abs(features - expected.numpy()).max() < 1e-4


def test_wrong_names_of_open_clip_name_similar_ones(tmp_path: Path) -> None:
    pytest.importorskip("open_clip")
    with pytest.raises(ValueError, match=r"no model 'ViT-B-23'; similar names: .*ViT-B-32"):
        load_choice("open_clip:ViT-B-23/openai")
    with pytest.raises(ValueError, match="no weights of ViT-B-32 named 'laion2b'; similar names"):
        load_choice("open_clip:ViT-B-32/laion2b")
    with pytest.raises(ValueError, match=r"there is no file /none\.safetensors"):
        load_choice("open_clip:ViT-B-32//none.safetensors")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"0")
    with pytest.raises(ValueError, match="open_clip could not load the weights"):
        load_choice(f"open_clip:ViT-B-32/{broken}")


def test_weights_that_cannot_be_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("timm")
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ValueError, match=r"cannot download, name a \.safetensors file instead"):
        load_choice("dino:dinov2_vits14")


def test_dino_from_a_file(tmp_path: Path) -> None:
    timm = pytest.importorskip("timm")
    from safetensors.torch import save_file

    torch.manual_seed(0)
    name = DINO_MODELS["dinov2_vits14"]
    network = timm.create_model(name, pretrained=False, num_classes=0, img_size=224)
    save_file(network.state_dict(), tmp_path / "dino.safetensors")
    encoder = load_choice(f"dino:dinov2_vits14/{tmp_path / 'dino.safetensors'}", "cpu")
    images = scenes(2)
    squares = torch.from_numpy(encoder.preparation.squares(images)).permute(0, 3, 1, 2) / 255
    mean, deviation = (
        torch.tensor(network.pretrained_cfg[key])[:, None, None] for key in ("mean", "std")
    )
    with torch.inference_mode():
        expected = network.eval()((squares - mean) / deviation)
    assert np.abs(encoder.encode(images) - expected.numpy()).max() < 1e-3
    with pytest.raises(ValueError, match="no DINO model 'dinov2_vits15'; similar names"):
        load_choice("dino:dinov2_vits15")
