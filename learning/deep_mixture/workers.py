"""Two-coin annotators with Beta posteriors (eqs. 1, 2 and 6)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy.stats import beta as beta_distribution
from torch import Tensor

from learning.arrays import FloatArray


@dataclass
class Workers:
    """q(alpha_m) and q(beta_m): (W, 2) Beta parameters, right answers first.

    sensitivity: of P(same | z_i = z_j); specificity: of P(different | z_i != z_j).
    """

    sensitivity: Tensor
    specificity: Tensor

    def evidence(self) -> tuple[Tensor, Tensor]:
        """(W,) expected weights of eq. 14 for a label "same" and for a label "different"."""
        hit, miss = _expected_logs(self.sensitivity)
        rejection, false_alarm = _expected_logs(self.specificity)
        return hit - false_alarm, miss - rejection

    def background(self) -> tuple[Tensor, Tensor]:
        """(W,) E log P(same) and E log P(different) when the clusters differ."""
        rejection, false_alarm = _expected_logs(self.specificity)
        return false_alarm, rejection

    def mean(self) -> tuple[FloatArray, FloatArray]:
        """(sensitivity (W,), specificity (W,)): posterior means."""
        return _mean(self.sensitivity), _mean(self.specificity)

    def intervals(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Central intervals (W, 2) of sensitivity and specificity."""
        return _interval(self.sensitivity, level), _interval(self.specificity, level)

    def toward(self, target: Workers, step: float) -> Workers:
        """The natural-gradient step of eq. 17, its first term."""
        return Workers(
            torch.lerp(self.sensitivity, target.sensitivity, step),
            torch.lerp(self.specificity, target.specificity, step),
        )

    def divergence(self, prior: Workers) -> float:
        """KL(q || p) of all annotators, in nats."""
        return _divergence(self.sensitivity, prior.sensitivity) + _divergence(
            self.specificity, prior.specificity
        )


def prior_workers(n_annotators: int, prior: tuple[float, float], device: torch.device) -> Workers:
    """The same Beta prior for every annotator's sensitivity and specificity."""
    row = torch.tensor(prior, dtype=torch.float64, device=device)
    rows = row.expand(n_annotators, 2).clone()
    return Workers(rows, rows.clone())


def updated_workers(
    prior: Workers, annotator: Tensor, same: Tensor, together: Tensor, scale: float = 1.0
) -> Workers:
    """The Beta posteriors given P(z_i = z_j) of every pair: together (P,).

    annotator (P,) int, same (P,) bool; scale: number of pairs that each of these represents.
    """
    same_vote = same.double()
    same_cluster = together.double()
    counts = torch.stack(
        [
            same_vote * same_cluster,
            (1 - same_vote) * same_cluster,
            (1 - same_vote) * (1 - same_cluster),
            same_vote * (1 - same_cluster),
        ],
        dim=1,
    )
    sums = torch.zeros(len(prior.sensitivity), 4, dtype=torch.float64, device=counts.device)
    sums.index_add_(0, annotator, counts)
    return Workers(prior.sensitivity + scale * sums[:, :2], prior.specificity + scale * sums[:, 2:])


def _expected_logs(parameters: Tensor) -> tuple[Tensor, Tensor]:
    logs = torch.digamma(parameters) - torch.digamma(parameters.sum(dim=1, keepdim=True))
    return logs[:, 0], logs[:, 1]


def _mean(parameters: Tensor) -> FloatArray:
    means: FloatArray = (parameters[:, 0] / parameters.sum(dim=1)).cpu().numpy()
    return means


def _interval(parameters: Tensor, level: float) -> FloatArray:
    right, wrong = parameters.cpu().numpy().T
    tail = (1 - level) / 2
    ends = beta_distribution.ppf([[tail], [1 - tail]], right, wrong)
    interval: FloatArray = ends.T.copy()
    return interval


def _divergence(posterior: Tensor, prior: Tensor) -> float:
    logs = torch.stack(_expected_logs(posterior), dim=1)
    inner = ((posterior - prior) * logs).sum()
    return float(inner + _log_beta(prior).sum() - _log_beta(posterior).sum())


def _log_beta(parameters: Tensor) -> Tensor:
    return torch.lgamma(parameters).sum(dim=1) - torch.lgamma(parameters.sum(dim=1))
