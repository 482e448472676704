"""The three encoders of a Context Embedding Network (section 3.1, supplement A)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

# With a bias of zero about half of the output ReLUs are dead from the start and stay so.
_AWAKE = 0.5


@dataclass(frozen=True)
class Sizes:
    """Sizes and kind of the networks; variant: "mixture", "annotator" or "context"."""

    n_images: int
    n_annotators: int
    n_dimensions: int
    n_hidden: int
    variant: str


class PaperNetwork(nn.Module):
    """Annotator, context and image encoders.

    A one-hot vector times a matrix is a row of it, and an S-hot vector the sum of S rows:
    the first layers are tables (the paper's layers, without its multiplications by zero).
    """

    def __init__(self, sizes: Sizes, generator: torch.Generator) -> None:
        super().__init__()
        self.sizes = sizes
        hidden, k = sizes.n_hidden, sizes.n_dimensions
        self.image_table = nn.Parameter(_normal((sizes.n_images, hidden), 1.0, generator))
        self.image_out = nn.Parameter(_normal((hidden, k), (6.0 / hidden) ** 0.5, generator))
        self.annotator_table = nn.Parameter(_normal((sizes.n_annotators, hidden), 1.0, generator))
        self.annotator_head = _Head(hidden, k, generator)
        self.grid_table = nn.Parameter(_normal((sizes.n_images, hidden), 0.2, generator))
        self.grid_head = _Head(hidden, k, generator)

    def embedding(self) -> Tensor:
        """(N, K) x_i of all images."""
        return functional.relu(self.image_table) @ self.image_out

    def embed(self, images: Tensor) -> Tensor:
        """(..., K) x_i of some images; -1 reads the last one."""
        return functional.relu(self.image_table[images]) @ self.image_out

    def annotator_activation(self, annotators: Tensor) -> Tensor:
        """(B, K) a_w; zero in the "context" variant."""
        table = self.annotator_table[annotators]
        if self.sizes.variant == "context":
            return table.new_zeros(len(table), self.sizes.n_dimensions)
        activation: Tensor = self.annotator_head(table)
        return activation

    def grid_activation(self, images: Tensor) -> Tensor:
        """(B, K) a_g of grids (B, S), -1 pads; zero in the "annotator" variant."""
        if self.sizes.variant == "annotator":
            return self.grid_table.new_zeros((len(images), self.sizes.n_dimensions))
        present = (images >= 0).unsqueeze(-1)
        activation: Tensor = self.grid_head((self.grid_table[images] * present).sum(dim=1))
        return activation


class _Head(nn.Module):
    """ReLU, second hidden layer, ReLU, output ReLU."""

    def __init__(self, hidden: int, k: int, generator: torch.Generator) -> None:
        super().__init__()
        deviation = (2.0 / hidden) ** 0.5
        self.middle = nn.Parameter(_normal((hidden, hidden), deviation, generator))
        self.middle_bias = nn.Parameter(torch.zeros(hidden))
        self.out = nn.Parameter(_normal((hidden, k), deviation * 0.5, generator))
        self.out_bias = nn.Parameter(torch.full((k,), _AWAKE))

    def forward(self, first: Tensor) -> Tensor:
        second = functional.relu(functional.relu(first) @ self.middle + self.middle_bias)
        return functional.relu(second @ self.out + self.out_bias)


def _normal(shape: tuple[int, ...], deviation: float, generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator) * deviation
