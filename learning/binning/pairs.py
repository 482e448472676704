"""The pooled pair model for small grids, combined with the choice of bins.

The centroids of bins carry little information in a grid of three to five images, because most
bins have one or two images. There the log odds that two images are grouped together, linear in
the inner product of their positions (`learning.pooled`), capture more of what people see. But if
annotators differ in the categories they join, this model may find too few. So its positions are
used alone unless the distances by bins add something to them on held-out pairs. Then both
positions are concatenated, scaled so that the squared distance predicts these pairs best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from learning.answers import Answers, pair_index
from learning.arrays import BoolArray, FloatArray
from learning.binning.fitting import Fit, Step, narrowed, unit
from learning.binning.held_out import hold_out
from learning.pooled.fitting import PooledSettings, most_probable, start, variational
from learning.pooled.model import PooledModel

# In wider grids the centroids predict better, and the pairs take many times as long.
_MOST_IMAGES = 8
# Directions with less than this share of the widest one's spread carry no information.
_LEAST_SPREAD = 0.02
# The likelihood ratio that chance exceeds once in twenty times.
_RATIO = 3.84
# Numbers of steps that `fit_pairs` and `fit_all_pairs` report.
STEPS, FINAL_STEPS = 2, 2


@dataclass(frozen=True, eq=False)
class PairFit:
    """model: fitted to the kept placements; settings: its own; log_odds: (G, S, S) that two
    images share a bin."""

    model: PooledModel
    settings: PooledSettings
    log_odds: Tensor


def suits_pairs(answers: Answers) -> bool:
    """Whether the grids are small enough that pairs are worth their time."""
    return float(answers.n_shown().double().mean()) <= _MOST_IMAGES


def fit_pairs(answers: Answers, n_dimensions: int | None, seed: int, step: Step) -> PairFit:
    """The pooled model of the kept placements. Without `n_dimensions`, dimensions that the answers
    do not support shrink."""
    kept, _ = hold_out(answers, seed)
    settings = PooledSettings()
    if n_dimensions is not None:
        settings = PooledSettings(n_dimensions=n_dimensions)
    model = _fitted(kept, settings, seed, step)
    return PairFit(model, settings, _square(model.log_odds(answers), answers))


def fit_all_pairs(pair_fit: PairFit, answers: Answers, seed: int, step: Step) -> PooledModel:
    """The same model fitted to all answers from scratch, because dimensions that have shrunk would
    not come back."""
    return _fitted(answers, pair_fit.settings, seed, step)


def _fitted(answers: Answers, settings: PooledSettings, seed: int, step: Step) -> PooledModel:
    generator = torch.Generator().manual_seed(seed)
    model = most_probable(start(answers, settings, generator), answers, settings)
    step()
    model = variational(model, answers, settings)
    step()
    return model


@dataclass(frozen=True)
class Weights:
    """Weights of squared distances, between positions of mean square 1, in a pair's log odds."""

    bins: float
    pairs: float


def weigh(pair_fit: PairFit, fit: Fit, answers: Answers, seed: int) -> Weights:
    """Weights of both models' squared distances for predicting the held-out pairs.

    Distances by bins count only if they add to the log odds of the pooled model, which models
    how annotators differ, by the likelihood ratio test.
    """
    _, held = hold_out(answers, seed)
    first, second = pair_index(answers.images.shape[1], answers.device)
    same, informative = answers.pair_labels()
    asked = informative & (held[:, first] | held[:, second])
    label = same[asked].cpu().numpy()
    if not len(label) or label.all() or not label.any():
        return Weights(1.0, 0.0)
    left, right = answers.images[:, first][asked], answers.images[:, second][asked]

    def nearness(places: Tensor) -> FloatArray:
        near = -((places[left] - places[right]) ** 2).sum(dim=1)
        return np.asarray(near.double().cpu().numpy())

    by_bins, by_pairs = nearness(fit.embedding), nearness(unit(pair_fit.model.positions))
    log_odds = pair_fit.log_odds[:, first, second][asked].double().cpu().numpy()
    _, by_chance = _regression(label, np.zeros(len(label)))
    _, by_log_odds = _regression(label, log_odds)
    if 2 * (by_log_odds - by_chance) < _RATIO:
        return Weights(1.0, 0.0)
    if 2 * (_regression(label, log_odds, by_bins)[1] - by_log_odds) < _RATIO:
        return Weights(0.0, 1.0)
    slopes, _ = _regression(label, by_bins, by_pairs)
    bins, pairs = (max(0.0, float(slope)) for slope in slopes)
    return Weights(bins, pairs) if bins + pairs > 0 else Weights(1.0, 0.0)


def _regression(same: BoolArray, *columns: FloatArray) -> tuple[FloatArray, float]:
    """Slopes of a logistic regression of `same` (M,) on columns (M,), and its log likelihood."""
    predictors = np.stack(columns, axis=1)
    model = LogisticRegression(C=1e3).fit(predictors, same)
    log_p = -np.logaddexp(0.0, np.where(same, -1.0, 1.0) * model.decision_function(predictors))
    return model.coef_[0], float(log_p.sum())


def side_by_side(
    by_bins: Tensor, model: PooledModel, weights: Weights, n_dimensions: int | None
) -> Tensor:
    """(N, d) positions by bins (N, b) and by pairs, centred, root mean square 1, in principal
    directions, without those of negligible spread."""
    both = torch.cat(
        [weights.bins**0.5 * by_bins, weights.pairs**0.5 * unit(model.positions)], dim=1
    )
    spread = torch.linalg.svdvals(both - both.mean(dim=0))
    telling = int((spread > _LEAST_SPREAD * spread[0]).sum())
    return narrowed(both, n_dimensions or max(1, telling))


def pair_hits(pair_fit: PairFit, answers: Answers, seed: int) -> Tensor:
    """(G, 2) how many held-out placements were predicted, and how many there are. An image goes to
    the bin for whose images its mean log odds are highest."""
    kept, held = hold_out(answers, seed)
    n_bins = int(answers.groups.max()) + 1
    members = torch.nn.functional.one_hot(kept.groups.clamp(min=0), n_bins)
    members = (members * (kept.groups >= 0).unsqueeze(2)).to(pair_fit.log_odds.dtype)
    size = members.sum(dim=1).unsqueeze(1)
    mean = (pair_fit.log_odds @ members) / size.clamp(min=1)
    guess = mean.masked_fill(size == 0, -torch.inf).argmax(dim=2)
    own_size = size.expand_as(mean).gather(2, answers.groups.clamp(min=0).unsqueeze(2)).squeeze(2)
    asked = held & (own_size > 0) & ((size > 0).sum(dim=2) > 1)
    hit = asked & (guess == answers.groups)
    return torch.stack([hit.sum(dim=1), asked.sum(dim=1)], dim=1)


def pair_uncertainty(model: PooledModel) -> Tensor:
    """(N,) deviation of each image's position in units of all images' spread, 1 if unknown."""
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
