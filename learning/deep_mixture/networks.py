"""Encoders and decoders: fully connected (sections 2.1 and 5.3) and small convolutional ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

_CHANNELS = (32, 64)


@dataclass(frozen=True)
class Shape:
    """The shape of the networks. item: (D,) or (H, W, C); hidden: layer widths."""

    item: tuple[int, ...]
    n_latent: int
    hidden: tuple[int, ...]
    network: str

    @property
    def n_features(self) -> int:
        size = 1
        for side in self.item:
            size *= side
        return size


def dense(sizes: Sequence[int]) -> nn.Sequential:
    """Linear layers of these sizes with ReLU between; Glorot weights, zero biases."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [_glorot(nn.Linear(before, after)), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _glorot(layer: nn.Linear) -> nn.Linear:
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class ConvolutionTrunk(nn.Module):
    """(B, H W C) pixels to (B, last of hidden): two strided convolutions and a dense layer."""

    def __init__(self, item: tuple[int, ...], n_out: int) -> None:
        super().__init__()
        self.item = item
        height, width, channels = item
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, _CHANNELS[0], 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(_CHANNELS[0], _CHANNELS[1], 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Flatten(),
        )
        flat = _CHANNELS[1] * _quarter(height) * _quarter(width)
        self.head = _glorot(nn.Linear(flat, n_out))

    def forward(self, flat: Tensor) -> Tensor:
        height, width, channels = self.item
        pixels = flat.view(-1, height, width, channels).permute(0, 3, 1, 2)
        result: Tensor = self.head(self.convolutions(pixels))
        return result


class ConvolutionDecoder(nn.Module):
    """(B, d) to (B, H W C): the reversed trunk, cropped to the image's size."""

    def __init__(self, item: tuple[int, ...], n_latent: int, n_hidden: int) -> None:
        super().__init__()
        self.item = item
        height, width, channels = item
        self.sides = (_quarter(height), _quarter(width))
        flat = _CHANNELS[1] * self.sides[0] * self.sides[1]
        self.dense = nn.Sequential(dense((n_latent, n_hidden, flat)), nn.ReLU())
        self.convolutions = nn.Sequential(
            nn.ConvTranspose2d(_CHANNELS[1], _CHANNELS[0], 4, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(_CHANNELS[0], channels, 4, stride=2, padding=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        height, width, _ = self.item
        maps = self.dense(x).view(-1, _CHANNELS[1], *self.sides)
        pixels: Tensor = self.convolutions(maps)[:, :, :height, :width]
        return pixels.permute(0, 2, 3, 1).reshape(len(x), -1)


def _quarter(side: int) -> int:
    return (side + 3) // 4


def encoder_trunk(shape: Shape) -> tuple[nn.Module, int]:
    """(network from pixels or features to a hidden layer, width of that layer)."""
    width = shape.hidden[-1]
    if shape.network == "conv":
        return nn.Sequential(ConvolutionTrunk(shape.item, width), nn.ReLU()), width
    return nn.Sequential(dense((shape.n_features, *shape.hidden)), nn.ReLU()), width


def decoder_network(shape: Shape) -> nn.Module:
    """x (B, d) to one number per feature (B, D): a logit or a mean."""
    if shape.network == "conv":
        return ConvolutionDecoder(shape.item, shape.n_latent, shape.hidden[-1])
    return dense((shape.n_latent, *reversed(shape.hidden), shape.n_features))


class Recognition(nn.Module):
    """r(o; phi): the Gaussian potential of x (eq. 9) as mean (B, d) and precision (B, d) > 0.

    The potential's natural parameter is (precision * mean, -precision / 2); the mean as the
    output keeps its scale whatever the precision.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.trunk, width = encoder_trunk(shape)
        self.mean = _glorot(nn.Linear(width, shape.n_latent))
        self.precision = _glorot(nn.Linear(width, shape.n_latent))

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.trunk(features)
        precision = nn.functional.softplus(self.precision(hidden)) + 1e-3
        return self.mean(hidden), precision


def arrays_of(module: nn.Module, prefix: str) -> dict[str, Tensor]:
    """Weights by name, to be saved."""
    return {f"{prefix}.{name}": value.detach() for name, value in module.state_dict().items()}


def restore_weights(module: nn.Module, prefix: str, arrays: dict[str, Tensor]) -> None:
    """Restore what `arrays_of` returned."""
    start = len(prefix) + 1
    kept = {name[start:]: value for name, value in arrays.items() if name.startswith(f"{prefix}.")}
    module.load_state_dict({name: torch.as_tensor(value) for name, value in kept.items()})
