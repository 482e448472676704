"""The three encoders of a Context Embedding Network (section 3.1, supplement A)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Sizes:
    """Sizes and variant of the networks; variant: "mixture", "annotator" or "context"."""

    n_images: int
    n_annotators: int
    n_dimensions: int
    n_hidden: int
    variant: str


class PaperNetwork(nn.Module):
    """Image, annotator and context encoders; each variant only has those that it uses.

    Weights start with Glorot and Bengio's uniform rule and biases at zero, which was the default
    of libraries at the paper's time. With a wider start, the first distances exceed the margin
    and the output units die.
    """

    def __init__(self, sizes: Sizes, generator: torch.Generator) -> None:
        super().__init__()
        self.sizes = sizes
        hidden, k = sizes.n_hidden, sizes.n_dimensions
        self.image_table = glorot(sizes.n_images, hidden, generator)
        self.image_bias = nn.Parameter(torch.zeros(hidden))
        self.image_out = glorot(hidden, k, generator)
        self.annotator_encoder: AttributeEncoder | None = None
        self.context_encoder: AttributeEncoder | None = None
        if sizes.variant != "context":
            self.annotator_encoder = AttributeEncoder(sizes.n_annotators, hidden, k, generator)
        if sizes.variant != "annotator":
            self.context_encoder = AttributeEncoder(sizes.n_images, hidden, k, generator)

    def embedding(self) -> Tensor:
        """(N, K) x_i of all images."""
        return functional.relu(self.image_table + self.image_bias) @ self.image_out

    def embed(self, images: Tensor) -> Tensor:
        """(..., K) x_i of some images; -1 reads the last one."""
        return functional.relu(self.image_table[images] + self.image_bias) @ self.image_out

    def annotator_activation(self, annotators: Tensor) -> Tensor:
        """(B, K) a_w; zero in the "context" variant."""
        if self.annotator_encoder is None:
            return self.image_out.new_zeros((len(annotators), self.sizes.n_dimensions))
        activation: Tensor = self.annotator_encoder(annotators.unsqueeze(1))
        return activation

    def grid_activation(self, images: Tensor) -> Tensor:
        """(B, K) a_g of grids (B, S), -1 pads; zero in the "annotator" variant."""
        if self.context_encoder is None:
            return self.image_out.new_zeros((len(images), self.sizes.n_dimensions))
        activation: Tensor = self.context_encoder(images)
        return activation


class AttributeEncoder(nn.Module):
    """Two hidden ReLU layers and a ReLU output over one-hot or S-hot input.

    An S-hot vector times a matrix is the sum of S of its rows, so the first layer is a table
    of rows: the paper's layer without its multiplications by zero.
    """

    def __init__(self, n_inputs: int, hidden: int, k: int, generator: torch.Generator) -> None:
        super().__init__()
        self.table = glorot(n_inputs, hidden, generator)
        self.table_bias = nn.Parameter(torch.zeros(hidden))
        self.middle = glorot(hidden, hidden, generator)
        self.middle_bias = nn.Parameter(torch.zeros(hidden))
        self.out = glorot(hidden, k, generator)
        self.out_bias = nn.Parameter(torch.zeros(k))

    def forward(self, indices: Tensor) -> Tensor:
        """(B, K) activations >= 0 of the inputs that are one at `indices` (B, S); -1 pads."""
        present = (indices >= 0).to(self.table.dtype)
        rows = functional.embedding_bag(
            indices.clamp(min=0), self.table, mode="sum", per_sample_weights=present
        )
        first = functional.relu(rows + self.table_bias)
        second = functional.relu(first @ self.middle + self.middle_bias)
        return functional.relu(second @ self.out + self.out_bias)


def glorot(n_inputs: int, n_outputs: int, generator: torch.Generator) -> nn.Parameter:
    """(n_inputs, n_outputs) weights of Glorot and Bengio's (2010) uniform start."""
    weight = torch.empty(n_inputs, n_outputs)
    return nn.Parameter(nn.init.xavier_uniform_(weight, generator=generator))
