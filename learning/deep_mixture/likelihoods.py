"""p(o | x): Gaussian for real features, Bernoulli for nearly binary pixels (section 2.1)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from learning.deep_mixture.networks import Shape, decoder_network

# The minimum variance of a standardised feature; below it a Gaussian would fit single items.
_LEAST_VARIANCE = 1e-3
# The noise, as a share of a standard deviation.
_BLUR = 0.1


class BernoulliDecoder(nn.Module):
    """log p(o | x) = sum of Bernoulli log-likelihoods with the decoder's logits."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.network = decoder_network(shape)

    def log_likelihood(self, features: Tensor, x: Tensor) -> Tensor:
        """(B,) of features (B, D) in 0..1 given x (B, d)."""
        logits = self.network(x)
        loss = functional.binary_cross_entropy_with_logits(logits, features, reduction="none")
        return -loss.sum(dim=1)

    def observe(self, features: Tensor, generator: torch.Generator | None) -> Tensor:
        """Pixels drawn again as black or white, so that the networks cannot learn shades."""
        if generator is None:
            return features
        drawn = torch.rand(features.shape, generator=generator, device=features.device)
        return (drawn < features).to(features.dtype)


class GaussianDecoder(nn.Module):
    """log p(o | x) = sum of log N(o | mean(x), variance), one learned variance per feature.

    The paper's variance is also a network of x. One per feature cannot collapse onto single
    items, and was as good in all measurements.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.network = decoder_network(shape)
        self.log_variance = nn.Parameter(torch.full((shape.n_features,), -0.5))

    def log_likelihood(self, features: Tensor, x: Tensor) -> Tensor:
        """(B,) of standardised features (B, D) given x (B, d)."""
        log_variance = self.log_variance.clamp(min=math.log(_LEAST_VARIANCE))
        squares = (features - self.network(x)) ** 2 * torch.exp(-log_variance)
        fit: Tensor = -0.5 * (squares + log_variance + math.log(2 * math.pi)).sum(dim=1)
        return fit

    def observe(self, features: Tensor, generator: torch.Generator | None) -> Tensor:
        """The features with slight noise, so that the networks do not memorise items."""
        if generator is None:
            return features
        noise = torch.randn(features.shape, generator=generator, device=features.device)
        return features + _BLUR * noise


Decoder = BernoulliDecoder | GaussianDecoder


def make_decoder(shape: Shape, likelihood: str) -> Decoder:
    """The decoder of a likelihood, "bernoulli" or "gaussian"."""
    return BernoulliDecoder(shape) if likelihood == "bernoulli" else GaussianDecoder(shape)
