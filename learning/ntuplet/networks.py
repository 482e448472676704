"""The two networks: one embeds examples, the other predicts how hard an n-tuplet is."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
}


class EmbeddingNetwork(nn.Module):
    """Two fully connected layers with dropout (section 4.3), the same for all of an n-tuplet."""

    def __init__(
        self, n_features: int, layers: tuple[int, int], dropout: float, activation: str
    ) -> None:
        super().__init__()
        wide, narrow = layers
        self.layers = nn.Sequential(
            nn.Linear(n_features, wide),
            ACTIVATIONS[activation](),
            nn.Dropout(dropout),
            nn.Linear(wide, narrow),
            ACTIVATIONS[activation]() if activation != "relu" else nn.Identity(),
        )

    def forward(self, examples: Tensor) -> Tensor:
        """(..., D) features to (..., e) positions."""
        places: Tensor = self.layers(examples)
        return places

    @torch.no_grad()
    def shrink_features(self, amount: float) -> None:
        """Reduce the norm of each feature's weights by `amount`, down to zero: the proximal step
        of a group lasso, which removes uninformative features."""
        first = self.layers[0].weight
        assert isinstance(first, Tensor)
        norms = first.norm(dim=0, keepdim=True)
        first.mul_((1 - amount / norms.clamp_min(1e-12)).clamp_min(0.0))

    def weight_decay(self) -> Tensor:
        """Half the sum of squares of the weights, without biases."""
        weights = [
            parameter for name, parameter in self.named_parameters() if name.endswith("weight")
        ]
        return torch.stack([(weight**2).sum() for weight in weights]).sum() / 2


class SamplingNetwork(nn.Module):
    """Predicts the hardness of n-tuplets (section 3.3.4): shared layers embed every element, and
    the concatenated elements give one number."""

    def __init__(
        self, n_features: int, layers: tuple[int, int], n: int, dropout: float, activation: str
    ) -> None:
        super().__init__()
        self.embed = EmbeddingNetwork(n_features, layers, dropout, activation)
        self.score = nn.Linear(n * layers[1], 1)

    def forward(self, places: Tensor) -> Tensor:
        """(b, n, e) embedded elements to (b,) hardness."""
        hardness: Tensor = self.score(places.flatten(1)).squeeze(1)
        return hardness
