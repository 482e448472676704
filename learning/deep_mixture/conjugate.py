"""Dirichlet and normal-inverse-Wishart in natural parameters (section 3.1, eq. 5).

With t(mu, Sigma) = (Sigma^-1 mu, -1/2 Sigma^-1, -1/2 mu' Sigma^-1 mu, -1/2 log|Sigma|) the
NIW's natural parameter is (kappa m, S + kappa m m', kappa, nu + d + 2), to which the
statistics of a component (sum r x, sum r x x', sum r, sum r) are simply added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class MixtureParameters:
    """Natural parameters of q(pi) and of K q(mu_k, Sigma_k), or a change of them.

    concentration: (K,) Dirichlet's (the natural parameter is one less, which no sum or
    difference of two of them notices); location (K, d) kappa m; scatter (K, d, d)
    S + kappa m m'; strength (K,) kappa; freedom (K,) nu + d + 2.
    """

    concentration: Tensor
    location: Tensor
    scatter: Tensor
    strength: Tensor
    freedom: Tensor

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return (self.concentration, self.location, self.scatter, self.strength, self.freedom)

    def plus(self, other: MixtureParameters, scale: float = 1.0) -> MixtureParameters:
        """self + scale * other."""
        pairs = zip(self.tensors(), other.tensors(), strict=True)
        return MixtureParameters(*(mine + scale * theirs for mine, theirs in pairs))

    def toward(self, target: MixtureParameters, step: float) -> MixtureParameters:
        """(1 - step) self + step target: a natural-gradient step when target is the optimum."""
        pairs = zip(self.tensors(), target.tensors(), strict=True)
        return MixtureParameters(*(torch.lerp(mine, theirs, step) for mine, theirs in pairs))

    def standard(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(m (K, d), S (K, d, d), kappa (K,), nu (K,))."""
        n_latent = self.location.shape[1]
        mean = self.location / self.strength[:, None]
        scale = self.scatter - self.strength[:, None, None] * mean[:, :, None] * mean[:, None, :]
        return mean, (scale + scale.mT) / 2, self.strength, self.freedom - n_latent - 2


@dataclass
class Expected:
    """E[t] of a mixture: the mean parameters, by which eq. 17's second term is taken.

    log_share (K,) E log pi; pull (K, d) E Sigma^-1 mu; curve (K, d, d) -1/2 E Sigma^-1;
    offset (K,) -1/2 E mu' Sigma^-1 mu; volume (K,) -1/2 E log|Sigma|.
    """

    log_share: Tensor
    pull: Tensor
    curve: Tensor
    offset: Tensor
    volume: Tensor

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return (self.log_share, self.pull, self.curve, self.offset, self.volume)

    def leaves(self) -> Expected:
        """A copy whose own gradient autograd will find."""
        return Expected(*(part.detach().clone().requires_grad_() for part in self.tensors()))

    def log_density(self, mean: Tensor, second: Tensor) -> Tensor:
        """(B, K) E log N(x | mu_k, Sigma_k) for E x (B, d) and E x x' (B, d, d)."""
        n_latent = mean.shape[1]
        curve = self.curve.reshape(len(self.curve), -1)
        constant = self.offset + self.volume - 0.5 * n_latent * math.log(2 * math.pi)
        return torch.addmm(constant, mean, self.pull.T) + second.flatten(1) @ curve.T


def prior_parameters(
    n_clusters: int, n_latent: int, concentration: float, spread: float, device: torch.device
) -> MixtureParameters:
    """Dir(concentration) and NIW(0, kappa = 0.05, S = spread (d + 2) I, nu = d + 2), K times."""
    kappa, nu = 0.05, n_latent + 2.0
    ones = torch.ones(n_clusters, dtype=torch.float64, device=device)
    identity = torch.eye(n_latent, dtype=torch.float64, device=device)
    return MixtureParameters(
        concentration * ones,
        torch.zeros(n_clusters, n_latent, dtype=torch.float64, device=device),
        spread * nu * identity.expand(n_clusters, -1, -1).clone(),
        kappa * ones,
        (nu + n_latent + 2) * ones,
    )


def statistics(weights: Tensor, mean: Tensor, second: Tensor) -> MixtureParameters:
    """What items add to natural parameters: weights (B, K), E x (B, d), E x x' (B, d, d)."""
    weights, mean, second = weights.double(), mean.double(), second.double()
    counts = weights.sum(dim=0)
    n_latent = mean.shape[1]
    scatter = (weights.T @ second.flatten(1)).view(-1, n_latent, n_latent)
    return MixtureParameters(counts, weights.T @ mean, scatter, counts, counts)


def expected(parameters: MixtureParameters) -> Expected:
    """E[t] in float32, computed in float64. Raises RuntimeError when S is not positive."""
    return Expected(*(part.float() for part in _expected(parameters).tensors()))


def _expected(parameters: MixtureParameters) -> Expected:
    mean, scale, kappa, nu = parameters.standard()
    n_latent = mean.shape[1]
    factor = torch.linalg.cholesky(scale)
    precision = nu[:, None, None] * torch.cholesky_inverse(factor)
    pull = (precision @ mean[:, :, None])[:, :, 0]
    steps = torch.arange(n_latent, device=mean.device)
    log_scale = 2 * torch.diagonal(factor, dim1=1, dim2=2).log().sum(dim=1)
    log_volume = (
        log_scale - n_latent * math.log(2) - torch.digamma((nu[:, None] - steps) / 2).sum(dim=1)
    )
    shares = parameters.concentration
    return Expected(
        torch.digamma(shares) - torch.digamma(shares.sum()),
        pull,
        -0.5 * precision,
        -0.5 * (n_latent / kappa + (pull * mean).sum(dim=1)),
        -0.5 * log_volume,
    )


def log_normaliser(parameters: MixtureParameters) -> Tensor:
    """log Z of the Dirichlet and of all NIWs together, up to constants of K and d alone."""
    _, scale, kappa, nu = parameters.standard()
    n_latent = scale.shape[1]
    log_scale = torch.linalg.slogdet(scale)[1]
    wishart = (
        0.5 * nu * n_latent * math.log(2)
        + torch.mvlgamma(nu / 2, n_latent)
        - 0.5 * nu * log_scale
        - 0.5 * n_latent * kappa.log()
    )
    shares = parameters.concentration
    total: Tensor = torch.lgamma(shares).sum() - torch.lgamma(shares.sum()) + wishart.sum()
    return total


def divergence(parameters: MixtureParameters, prior: MixtureParameters) -> float:
    """KL(q || p) of all global variables of the mixture, in nats."""
    change = parameters.plus(prior, -1.0)
    # In float64 throughout: the terms of many items are large and all but cancel.
    pairs = zip(change.tensors(), _expected(parameters).tensors(), strict=True)
    inner = sum((mine * theirs).sum() for mine, theirs in pairs)
    return float(inner - log_normaliser(parameters) + log_normaliser(prior))
