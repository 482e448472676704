"""The three encoders of a Context Embedding Network (section 3.1, supplement A)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

# Softplus(0.5413) = 1: every dimension starts awake, at the weight of a plain distance.
_AWAKE = 0.5413
_TINY = 1e-8


@dataclass(frozen=True)
class CenSettings:
    """Sizes and kind of the networks."""

    n_images: int
    n_annotators: int
    n_dimensions: int
    n_hidden: int
    variant: str
    context_encoder: str


class CenNetwork(nn.Module):
    """Annotator, context and image encoders.

    A one-hot vector times a matrix is a row of it, and an S-hot vector the sum of S rows:
    the first layers are tables (the paper's layers, without its multiplications by zero).
    """

    def __init__(self, settings: CenSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.settings = settings
        hidden, k = settings.n_hidden, settings.n_dimensions
        self.image_table = nn.Parameter(_normal((settings.n_images, hidden), 1.0, generator))
        self.image_out = nn.Parameter(_normal((hidden, k), (6.0 / hidden) ** 0.5, generator))
        self.annotator_table = nn.Parameter(
            _normal((settings.n_annotators, hidden), 1.0, generator)
        )
        self.annotator_head = _Head(hidden, k, generator)
        if settings.context_encoder == "s_hot":
            self.grid_table = nn.Parameter(_normal((settings.n_images, hidden), 0.2, generator))
            self.grid_head = _Head(hidden, k, generator)
        else:
            self.spread_gain = nn.Parameter(torch.zeros(k))
            self.spread_bias = nn.Parameter(torch.full((k,), _AWAKE))
        self.spread_mean: Tensor
        self.spread_deviation: Tensor
        # Mean and deviation of the spread over grids: 1 and 0.15 are those of random ones.
        self.register_buffer("spread_mean", torch.ones(k))
        self.register_buffer("spread_deviation", torch.full((k,), 0.15))

    def embedding(self) -> Tensor:
        """(N, K) x_i of all images."""
        return functional.relu(self.image_table) @ self.image_out

    def embed(self, images: Tensor) -> Tensor:
        """(..., K) x_i of some images; -1 reads the last one."""
        return functional.relu(self.image_table[images]) @ self.image_out

    def annotator_activation(self, annotators: Tensor | None = None) -> Tensor:
        """(W, K) a_w of the given annotators or all; zero in the "context" variant."""
        table = self.annotator_table if annotators is None else self.annotator_table[annotators]
        if self.settings.variant == "context":
            return table.new_zeros(len(table), self.settings.n_dimensions)
        activation: Tensor = self.annotator_head(table)
        return activation

    def grid_activation(self, images: Tensor, spread: Tensor) -> Tensor:
        """(G, K) a_g of grids (G, S) whose images spread (G, K) along the dimensions."""
        if self.settings.variant == "annotator":
            return spread.new_zeros(spread.shape)
        if self.settings.context_encoder == "s_hot":
            present = (images >= 0).unsqueeze(-1)
            summed = (self.grid_table[images] * present).sum(dim=1)
            activation: Tensor = self.grid_head(summed)
            return activation
        # "attribute variance in the collection of images should influence which attributes
        # are more noticeable" (3.1.2): more spread never makes an attribute stand out less.
        score = (spread - self.spread_mean) / self.spread_deviation
        return functional.softplus(self.spread_bias + functional.softplus(self.spread_gain) * score)

    def context_state(self) -> dict[str, Tensor]:
        """What grid_activation needs, to be kept with the model."""
        return {
            name: tensor
            for name, tensor in self.state_dict().items()
            if name.startswith(("spread", "grid"))
        }

    def load_context(self, state: dict[str, Tensor]) -> None:
        """Take back what `context_state` gave."""
        self.load_state_dict(state, strict=False)


class _Head(nn.Module):
    """ReLU, second hidden layer, ReLU, non-negative output.

    The paper ends in a ReLU; its dead dimensions never come back, a softplus's do.
    """

    def __init__(self, hidden: int, k: int, generator: torch.Generator) -> None:
        super().__init__()
        deviation = (2.0 / hidden) ** 0.5
        self.middle = nn.Parameter(_normal((hidden, hidden), deviation, generator))
        self.middle_bias = nn.Parameter(torch.zeros(hidden))
        self.out = nn.Parameter(_normal((hidden, k), deviation * 0.5, generator))
        self.out_bias = nn.Parameter(torch.full((k,), _AWAKE))

    def forward(self, first: Tensor) -> Tensor:
        second = functional.relu(functional.relu(first) @ self.middle + self.middle_bias)
        return functional.softplus(second @ self.out + self.out_bias)


def grid_spread(embedding: Tensor, images: Tensor) -> Tensor:
    """(G, K) deviation of each grid's images along each dimension, over the collection's.

    embedding: (N, K); images: (G, S), -1 pads. 1 is an ordinary grid.
    """
    present = (images >= 0).unsqueeze(-1)
    points = embedding[images]
    count = present.sum(dim=1).clamp(min=1)
    mean = (points * present).sum(dim=1) / count
    variance = (((points - mean.unsqueeze(1)) ** 2) * present).sum(dim=1) / count
    overall = embedding.var(dim=0, unbiased=False)
    return torch.sqrt((variance + _TINY) / (overall + _TINY))


def pick_device(device: str) -> torch.device:
    """The device of a setting: "auto" takes a GPU when there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}") from error


def _normal(shape: tuple[int, ...], deviation: float, generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator) * deviation
