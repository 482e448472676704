"""The local optimum of the surrogate objective, by alternating eqs. 12 and 14."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from learning.deep_mixture.conjugate import Expected


@dataclass
class Local:
    """q*(z_i) and q*(x_i) of B items.

    belief: (B, K) E z; log_belief (B, K); mean (B, d) E x; second (B, d, d) E x x';
    factor (B, d, d): lower Cholesky factor of the precision.
    """

    belief: Tensor
    log_belief: Tensor
    mean: Tensor
    second: Tensor
    factor: Tensor

    def sample(self, generator: torch.Generator) -> Tensor:
        """(B, d) one draw of x, reparameterised: mean + L^-T noise."""
        noise = torch.randn(self.mean.shape, generator=generator, device=self.mean.device)
        spread = torch.linalg.solve_triangular(self.factor.mT, noise[:, :, None], upper=True)
        drawn: Tensor = self.mean + spread[:, :, 0]
        return drawn

    def entropy(self) -> Tensor:
        """(B,) of q(x)."""
        n_latent = self.mean.shape[1]
        half_log_precision = torch.diagonal(self.factor, dim1=1, dim2=2).log().sum(dim=1)
        return 0.5 * n_latent * (1 + math.log(2 * math.pi)) - half_log_precision


def update_x(belief: Tensor, mixture: Expected, mean: Tensor, precision: Tensor) -> Local:
    """Eq. 12: natural parameters of x are the components' expected ones plus the potential.

    belief (B, K); potential of mean (B, d) and diagonal precision (B, d).
    """
    n_latent = mean.shape[1]
    curve = (belief @ mixture.curve.flatten(1)).view(-1, n_latent, n_latent)
    total = torch.diag_embed(precision) - 2 * curve
    factor = torch.linalg.cholesky(total)
    right = precision * mean + belief @ mixture.pull
    centre = torch.cholesky_solve(right[:, :, None], factor)[:, :, 0]
    second = torch.cholesky_inverse(factor) + centre[:, :, None] * centre[:, None, :]
    return Local(belief, belief, centre, second, factor)


def update_z(local: Local, mixture: Expected, messages: Tensor | None) -> Local:
    """Eq. 14: log-odds of the clusters from shares, from x and from annotated neighbours."""
    logits = mixture.log_share + mixture.log_density(local.mean, local.second)
    if messages is not None:
        logits = logits + messages
    log_belief = torch.log_softmax(logits, dim=1)
    return Local(log_belief.exp(), log_belief, local.mean, local.second, local.factor)


def features_alone(mixture: Expected, mean: Tensor, precision: Tensor) -> Tensor:
    """(B, K) log P(z | potential) with x at its mean, where the sweeps start.

    The public code starts every pass at random, and four sweeps then often end in a worse
    local optimum than the one near the potential.
    """
    second = torch.diag_embed(1 / precision) + mean[:, :, None] * mean[:, None, :]
    return torch.log_softmax(mixture.log_share + mixture.log_density(mean, second), dim=1)


def local_optimum(
    mixture: Expected,
    mean: Tensor,
    precision: Tensor,
    messages: Tensor | None,
    n_sweeps: int,
) -> Local:
    """Sweeps of eqs. 12 and 14 from the potential; the last of each carries gradients.

    mean, precision: (B, d) potential; messages: (B, K) of annotated neighbours, or None.
    """
    with torch.no_grad():
        start = features_alone(mixture, mean, precision)
        if messages is not None:
            start = torch.log_softmax(start + messages, dim=1)
        belief = start.exp()
        for _ in range(n_sweeps - 1):
            local = update_x(belief, mixture, mean, precision)
            belief = update_z(local, mixture, messages).belief
    local = update_z(update_x(belief, mixture, mean, precision), mixture, messages)
    last = update_x(local.belief, mixture, mean, precision)
    return Local(local.belief, local.log_belief, last.mean, last.second, last.factor)
