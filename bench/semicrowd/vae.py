"""A plain variational autoencoder, then a mixture of Gaussians of its codes, without pairs."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from bench.semicrowd.baselines import mixture_labels, scaled
from learning.arrays import IntArray
from learning.groupings import Pairs

_BATCH = 128


class AutoencoderMixture:
    """Kingma & Welling (2014) with a standard normal prior, then scikit-learn's mixture.

    It has the networks of SCDC with two hidden layers of 500, about `n_steps` steps of Adam, and at
    least ten passes. Values in 0..1 (images) are Bernoulli, others Gaussian with one learned
    variance per feature.
    """

    def __init__(
        self, n_clusters: int, random_state: int, n_steps: int = 2_000, n_latent: int = 8
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_steps = n_steps
        self.n_latent = n_latent

    def fit(self, X: ArrayLike, pairs: Pairs | None = None) -> Self:
        values = np.asarray(X, np.float32)
        images = values.ndim > 2
        points = values.reshape(len(values), -1) if images else scaled(values, each=True)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            codes = self._codes(torch.as_tensor(points, dtype=torch.float32), images)
        self.labels_: IntArray = mixture_labels(codes.double().numpy(), *self._mixture())
        return self

    def _mixture(self) -> tuple[int, int]:
        return self.n_clusters, self.random_state

    def _codes(self, points: Tensor, binary: bool) -> Tensor:
        width = min(self.n_latent, points.shape[1])
        network = _Network(points.shape[1], width, binary)
        adam = torch.optim.Adam(network.parameters(), lr=1e-3)
        for _ in range(max(10, round(self.n_steps * _BATCH / len(points)))):
            for rows in torch.randperm(len(points)).split(_BATCH):
                adam.zero_grad()
                network.loss(points[rows]).backward()
                adam.step()
        with torch.no_grad():
            return torch.cat([network.encode(part)[0] for part in points.split(4_096)])


class _Network(nn.Module):
    def __init__(self, n_features: int, n_latent: int, binary: bool) -> None:
        super().__init__()
        self.binary = binary
        self.encoder = _layers(n_features, 2 * n_latent)
        self.decoder = _layers(n_latent, n_features)
        self.log_variance = nn.Parameter(torch.zeros(n_features))

    def encode(self, points: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.encoder(points).chunk(2, dim=1)
        return mean, log_variance

    def loss(self, points: Tensor) -> Tensor:
        mean, log_variance = self.encode(points)
        codes = mean + (log_variance / 2).exp() * torch.randn_like(mean)
        decoded = self.decoder(codes)
        if self.binary:
            seen = torch.bernoulli(points)
            reconstruction = nn.functional.binary_cross_entropy_with_logits(
                decoded, seen, reduction="sum"
            )
        else:
            far = (points - decoded) ** 2 / self.log_variance.exp() + self.log_variance
            reconstruction = far.sum() / 2
        apart = (mean**2 + log_variance.exp() - 1 - log_variance).sum() / 2
        return (reconstruction + apart) / len(points)


def _layers(n_in: int, n_out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(n_in, 500), nn.ReLU(), nn.Linear(500, 500), nn.ReLU(), nn.Linear(500, n_out)
    )
