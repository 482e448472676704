"""Small grids: the pooled pair model as a rival of the choice among bins.

A grid of three to five images says little through the centroids of its bins, for most bins
hold one or two images. There the log odds that two images are grouped together, linear in the
inner product of their places (`learning.pooled`), predict held-out answers better. Which model
holds is decided by the likelihood of the pairs that were held out, after the log odds of each
model are calibrated on them by the same logistic regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.linear_model import (
    LogisticRegression,
)
from torch import Tensor

from learning.answers import Answers, pair_index
from learning.arrays import BoolArray, FloatArray
from learning.binning.fitting import Fit, Step, narrowed
from learning.binning.held_out import hold_out
from learning.binning.likelihood import Shown, pair_log_odds
from learning.pooled.fitting import PooledSettings, most_probable, start, variational
from learning.pooled.model import PooledModel

# In wider grids the centroids predict better, and the pairs take many times as long.
_MOST_IMAGES = 8
# Directions in which places spread less than this part of the widest say nothing.
_LEAST_SPREAD = 0.02
# Reported by `fit_pairs`, and by `fit_all_pairs`.
STEPS, FINAL_STEPS = 2, 2


@dataclass(frozen=True, eq=False)
class PairFit:
    """model: fitted to the placements kept; settings: its own; log_odds: (G, S, S) that two
    images share a bin."""

    model: PooledModel
    settings: PooledSettings
    log_odds: Tensor


def suits_pairs(answers: Answers) -> bool:
    """Whether the grids are so small that pairs are worth their time."""
    return float(answers.n_shown().double().mean()) <= _MOST_IMAGES


def fit_pairs(answers: Answers, n_dimensions: int | None, seed: int, step: Step) -> PairFit:
    """The pooled model of the placements kept. Without `n_dimensions` those that the answers
    do not support shrink."""
    kept, _ = hold_out(answers, seed)
    settings = PooledSettings()
    if n_dimensions is not None:
        settings = PooledSettings(n_dimensions=n_dimensions)
    model = _fitted(kept, settings, seed, step)
    return PairFit(model, settings, _square(model.log_odds(answers), answers))


def fit_all_pairs(found: PairFit, answers: Answers, seed: int, step: Step) -> PooledModel:
    """The same from all answers, and from nothing: places that have shrunk for want of answers
    would not come back."""
    return _fitted(answers, found.settings, seed, step)


def _fitted(answers: Answers, settings: PooledSettings, seed: int, step: Step) -> PooledModel:
    generator = torch.Generator().manual_seed(seed)
    model = most_probable(start(answers, settings, generator), answers, settings)
    step()
    model = variational(model, answers, settings)
    step()
    return model


def pairs_predict_better(found: PairFit, fit: Fit, answers: Answers, seed: int) -> bool:
    """Whether the pooled model makes the held-out pairs likelier than the choice among bins."""
    _, held = hold_out(answers, seed)
    first, second = pair_index(answers.images.shape[1], answers.device)
    same, informative = answers.pair_labels()
    asked = informative & (held[:, first] | held[:, second])
    label = same[asked].cpu().numpy()
    if label.all() or not label.any():
        return False
    by_bins = torch.cat(
        [pair_log_odds(Shown.of(fit.embedding, block), fit.curve) for _, block in answers.blocks()]
    )
    worth = [
        _log_likelihood(odds[:, first, second][asked].double().cpu().numpy(), label)
        for odds in (found.log_odds, by_bins)
    ]
    return worth[0] > worth[1]


def _log_likelihood(log_odds: FloatArray, same: BoolArray) -> float:
    """Of pairs (M,) by their calibrated log odds (M,)."""
    calibrated = LogisticRegression(C=1e3).fit(log_odds[:, None], same)
    log_p = calibrated.predict_log_proba(log_odds[:, None])
    return float(np.where(same, log_p[:, 1], log_p[:, 0]).sum())


def pair_hits(found: PairFit, answers: Answers, seed: int) -> Tensor:
    """(G, 2) held-out placements predicted, and how many there are: an image goes to the bin
    to whose images its mean log odds are greatest."""
    kept, held = hold_out(answers, seed)
    n_bins = int(answers.groups.max()) + 1
    members = torch.nn.functional.one_hot(kept.groups.clamp(min=0), n_bins)
    members = (members * (kept.groups >= 0).unsqueeze(2)).to(found.log_odds.dtype)
    size = members.sum(dim=1).unsqueeze(1)
    mean = (found.log_odds @ members) / size.clamp(min=1)
    guess = mean.masked_fill(size == 0, -torch.inf).argmax(dim=2)
    own_size = size.expand_as(mean).gather(2, answers.groups.clamp(min=0).unsqueeze(2)).squeeze(2)
    asked = held & (own_size > 0) & ((size > 0).sum(dim=2) > 1)
    hit = asked & (guess == answers.groups)
    return torch.stack([hit.sum(dim=1), asked.sum(dim=1)], dim=1)


def pair_embedding(model: PooledModel, n_dimensions: int | None) -> Tensor:
    """(N, d) centred, root mean square 1, in principal directions."""
    spread = torch.linalg.svdvals(model.positions - model.positions.mean(dim=0))
    telling = int((spread > _LEAST_SPREAD * spread[0]).sum())
    return narrowed(model.positions, n_dimensions or max(1, telling))


def pair_uncertainty(model: PooledModel) -> Tensor:
    """(N,) deviation of each image's place in units of all images' spread, 1 where unknown."""
    variance = model.variance().sum(dim=1)
    total = ((model.positions**2).sum(dim=1) + variance).mean()
    known = (variance / total).sqrt().clamp(max=1.0)
    return torch.where(model.placements > 0, known, torch.ones_like(known))


def pair_carelessness(model: PooledModel) -> Tensor:
    """(W,) odds that an annotator's pair is a slip."""
    return model.errors(torch.arange(len(model.carelessness), device=model.positions.device))


def _square(log_odds: Tensor, answers: Answers) -> Tensor:
    """(G, S, S) of (G, P); 0 on the diagonal."""
    width = answers.images.shape[1]
    first, second = pair_index(width, answers.device)
    square = log_odds.new_zeros((len(answers), width, width))
    square[:, first, second] = log_odds
    square[:, second, first] = log_odds
    return square
