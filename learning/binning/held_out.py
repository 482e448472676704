"""Scores of a fit's predictions of held-out placements."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from learning.answers import Answers
from learning.binning.fitting import Fit
from learning.binning.likelihood import Shown, placements
from learning.binning.trust import honest

_SHARE = 0.1
# A fit is overconfident about placements that it has not seen.
_SHARPNESS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
_TINY = 1e-8


@dataclass(frozen=True)
class Tried:
    """A fit to the kept placements, and how well it predicts the held-out ones.

    log_likelihood: (G,) of each grid's held-out placements
    hits: (G, 2) how many of them it predicted, and how many there are
    """

    fit: Fit
    log_likelihood: Tensor
    hits: Tensor

    @property
    def n_dimensions(self) -> int:
        """Coordinates of the fit."""
        return self.fit.embedding.shape[1]

    @property
    def total(self) -> float:
        """Log likelihood of all held-out placements."""
        return float(self.log_likelihood.sum())


def hold_out(answers: Answers, seed: int) -> tuple[Answers, Tensor]:
    """Answers without a tenth of their placements, and (G, S) whether each is held out."""
    generator = torch.Generator().manual_seed(seed)
    grouped = answers.groups >= 0
    chance = torch.rand(grouped.shape, generator=generator).to(answers.device)
    held = grouped & (chance < _SHARE)
    kept = replace(
        answers,
        present=answers.present & ~held,
        groups=answers.groups.masked_fill(held, -1),
    )
    return kept, held


@torch.no_grad()
def judged(fit: Fit, answers: Answers, held: Tensor, n_bins: int) -> Tried:
    """The fit with its trust scaled to the held-out placements, and its score.

    One number, which the held-out placements choose, scales the fit's confidence, so that fits
    are compared by their knowledge and not by their confidence.
    """
    log_bins, own, who, used, grid = _predicted(fit, answers, held, n_bins)
    hit = torch.zeros(len(answers), device=answers.device, dtype=torch.int64)
    hit.index_add_(0, grid, (log_bins.argmax(dim=1) == own).long())
    hits = torch.stack([hit, torch.bincount(grid, minlength=len(answers))], dim=1)
    best: tuple[float, Tried] | None = None
    for sharpness in _SHARPNESS:
        scaled = torch.log_softmax(sharpness * log_bins, dim=1)
        p = scaled.gather(1, own.unsqueeze(1)).squeeze(1).exp()
        trust = honest(fit.trust, p, who, used)
        stray = trust.carelessness[who]
        log_p = ((1 - stray) * p + stray / used).clamp(min=_TINY).log()
        per_grid = log_p.new_zeros(len(answers)).index_add_(0, grid, log_p)
        tried = Tried(replace(fit, trust=trust), per_grid, hits)
        if best is None or tried.total > best[0]:
            best = tried.total, tried
    assert best is not None
    return best[1]


def _predicted(
    fit: Fit, answers: Answers, held: Tensor, n_bins: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Log probability (M, C) of the bins for the M held-out placements, and for each its bin,
    annotator, number of used bins, and grid, all (M,)."""
    parts: list[tuple[Tensor, ...]] = []
    for rows, block in answers.blocks():
        genuine = fit.trust.genuine[rows] * ~held[rows]
        predicted = placements(Shown.of(fit.embedding, block), genuine, n_bins, fit.temperature)
        grid, place = (predicted.counted & held[rows]).nonzero(as_tuple=True)
        parts.append(
            (
                predicted.log_bins[grid, place],
                block.groups[grid, place],
                block.annotators[grid],
                predicted.n_used[grid],
                grid + rows.start,
            )
        )
    log_bins, own, who, used, grids = (torch.cat(column) for column in zip(*parts, strict=True))
    return log_bins, own, who, used, grids


def gap(trial: Tried, other: Tried) -> tuple[float, float]:
    """By how much `trial` makes the held-out placements more likely, and its standard error."""
    difference = trial.log_likelihood - other.log_likelihood
    # One answer does not show how much answers differ.
    if len(difference) < 2:
        return float(difference.sum()), float("inf")
    return float(difference.sum()), float(difference.std()) * len(difference) ** 0.5
