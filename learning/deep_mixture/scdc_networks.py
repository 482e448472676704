"""q(z | o) and q(x | z, o) of SCDC (section 2.3), and the mixture and annotators as weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from learning.deep_mixture.networks import (
    ConvolutionTrunk,
    Recognition,
    Shape,
    dense,
    encoder_trunk,
)

_MOST_LOG_DEVIATION = 4.0


class Classifier(nn.Module):
    """log q(z | o): (B, D) to (B, K)."""

    def __init__(self, shape: Shape, n_clusters: int) -> None:
        super().__init__()
        self.trunk, width = encoder_trunk(shape)
        self.head = nn.Linear(width, n_clusters)

    def forward(self, features: Tensor) -> Tensor:
        return torch.log_softmax(self.head(self.trunk(features)), dim=1)


class ConditionalEncoder(nn.Module):
    """q(x | z, o): mean and log standard deviation of x for chosen clusters of every item.

    The first layer of [o; one-hot z] is a layer of o plus a row per cluster, so that the
    costly product with o is taken once per item, not once per item and cluster.
    """

    def __init__(self, shape: Shape, n_clusters: int) -> None:
        super().__init__()
        widths = shape.hidden[-1:] if shape.network == "conv" else shape.hidden
        self.first: nn.Module
        if shape.network == "conv":
            self.first = ConvolutionTrunk(shape.item, widths[0])
        else:
            self.first = nn.Linear(shape.n_features, widths[0])
        self.cluster = nn.Embedding(n_clusters, widths[0])
        nn.init.normal_(self.cluster.weight, std=0.05)
        self.rest = nn.Sequential(nn.ReLU(), dense(widths), nn.ReLU())
        self.mean = nn.Linear(widths[-1], shape.n_latent)
        self.log_deviation = nn.Linear(widths[-1], shape.n_latent)

    def forward(self, features: Tensor, clusters: Tensor) -> tuple[Tensor, Tensor]:
        """features (B, D), clusters (B, T): (mean, log deviation), each (B, T, d)."""
        hidden = self.first(features)[:, None, :] + self.cluster(clusters)
        hidden = self.rest(hidden)
        limit = _MOST_LOG_DEVIATION
        return self.mean(hidden), self.log_deviation(hidden).clamp(-limit, limit)


class MixtureWeights(nn.Module):
    """pi, mu and diagonal Sigma of p(z) and p(x | z), free weights."""

    def __init__(self, n_clusters: int, n_latent: int) -> None:
        super().__init__()
        self.share_logits = nn.Parameter(0.1 * torch.randn(n_clusters))
        self.mean = nn.Parameter(torch.randn(n_clusters, n_latent))
        self.log_deviation = nn.Parameter(torch.zeros(n_clusters, n_latent))

    def log_share(self) -> Tensor:
        """(K,) log pi."""
        return torch.log_softmax(self.share_logits, dim=0)

    def log_density(self, x: Tensor, clusters: Tensor) -> Tensor:
        """(B, T) log p(x | z) of draws (B, T, d) under their clusters (B, T)."""
        deviation = self.log_deviation[clusters]
        return log_normal(x, self.mean[clusters], deviation)


class WorkerWeights(nn.Module):
    """Logits of alpha and beta (W, 2); no prior but the one that the loss adds."""

    def __init__(self, n_annotators: int, start: tuple[float, float]) -> None:
        super().__init__()
        logits = [math.log(chance / (1 - chance)) for chance in start]
        self.logits = nn.Parameter(torch.tensor(logits).repeat(n_annotators, 1))

    def log_likelihood(self, annotator: Tensor, same: Tensor, together: Tensor) -> Tensor:
        """(S,) E log p(L | z_i, z_j) of eq. 1 for P(z_i = z_j) = together (S,)."""
        hit, rejection = self.logits[annotator].unbind(dim=1)
        sign = same.to(hit.dtype) * 2 - 1
        joined = functional.logsigmoid(sign * hit)
        parted = functional.logsigmoid(-sign * rejection)
        return together * joined + (1 - together) * parted

    def log_prior(self, prior: tuple[float, float]) -> Tensor:
        """Log density of Beta(prior) for every alpha and beta, in their logits, summed."""
        right, wrong = prior
        return (
            right * functional.logsigmoid(self.logits) + wrong * functional.logsigmoid(-self.logits)
        ).sum()


def log_normal(x: Tensor, mean: Tensor, log_deviation: Tensor) -> Tensor:
    """log N(x | mean, diag exp(2 log_deviation)), summed over the last axis."""
    squares = ((x - mean) * torch.exp(-log_deviation)) ** 2
    return -0.5 * (squares + 2 * log_deviation + math.log(2 * math.pi)).sum(dim=-1)


@torch.no_grad()
def take_over(
    recognition: Recognition, classifier: Classifier, encoder: ConditionalEncoder, shape: Shape
) -> None:
    """Start both networks at the weights of a trained recognition network."""
    classifier.trunk.load_state_dict(recognition.trunk.state_dict())
    encoder.mean.load_state_dict(recognition.mean.state_dict())
    nn.init.zeros_(encoder.log_deviation.weight)
    nn.init.constant_(encoder.log_deviation.bias, -1.0)
    linear = [layer for layer in recognition.trunk.modules() if isinstance(layer, nn.Linear)]
    if shape.network == "conv":
        trunk = next(m for m in recognition.trunk.modules() if isinstance(m, ConvolutionTrunk))
        encoder.first.load_state_dict(trunk.state_dict())
        return
    encoder.first.load_state_dict(linear[0].state_dict())
    own = [layer for layer in encoder.rest.modules() if isinstance(layer, nn.Linear)]
    for target, source in zip(own, linear[1:], strict=True):
        target.load_state_dict(source.state_dict())
