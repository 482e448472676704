"""How many coordinates the answers ask for: the likelihood of placements held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from learning.answers import Answers
from learning.arrays import FloatArray
from learning.binning.certainty import uncertainty
from learning.binning.fitting import Fit, Step, climb, enough_epochs, narrowed, unit
from learning.binning.likelihood import PairCurve, Shown, placements
from learning.binning.prior import describe, prior_of
from learning.binning.start import spectral_start
from learning.binning.trust import Trust, honest

CANDIDATES = (12, 8, 6, 5, 4, 3, 2)
_SHARE = 0.1
# That a regression on features can be judged by.
_FEWEST_IMAGES = 20
_WIDE, _WIDE_EPOCHS = 16, 10
EPOCHS = 6
# Of a prior from features, in units of the trust that its errors ask for.
OTHER_STRENGTHS = (0.1, 10.0)
# At a first guess everybody looks careless.
_EPOCHS_OF_GRACE = 5


@dataclass(frozen=True)
class Tried:
    """A number of dimensions with its fit to the placements kept and its worth.

    log_likelihood: (G,) of each grid's held-out placements
    hits: (G, 2) how many of them it foretold, and how many there are
    """

    n_dimensions: int
    fit: Fit
    log_likelihood: Tensor
    hits: Tensor


def n_epochs(n_answers: int, n_candidates: int, n_with_features: int = 0) -> int:
    """Epochs that `try_dimensions` takes, and `try_features` with so many of the fits."""
    n_trials = n_candidates
    if n_with_features:
        n_trials += n_with_features + len(OTHER_STRENGTHS)
    return enough_epochs(_WIDE_EPOCHS, n_answers) + n_trials * enough_epochs(EPOCHS, n_answers)


def enough_for_features(answers: Answers, seed: int) -> bool:
    """Whether a regression on features can be judged."""
    kept, _ = _held_out(answers, seed)
    return int(_placed(kept).sum()) >= _FEWEST_IMAGES


def try_dimensions(
    answers: Answers, n_bins: int, candidates: Sequence[int], seed: int, step: Step
) -> list[Tried]:
    """Fits in ever fewer dimensions, each begun at the one before.

    Nothing, not even the start, may see the placements that are to judge.
    """
    generator = torch.Generator().manual_seed(seed)
    kept, held = _held_out(answers, seed)
    wide = max(_WIDE, *candidates)
    fit = _begin(spectral_start(kept, wide, seed), kept, generator)
    fit = climb(fit, kept, n_bins, _WIDE_EPOCHS, generator, step, _EPOCHS_OF_GRACE)
    tried: list[Tried] = []
    for n_dimensions in candidates:
        fit = replace(fit, embedding=narrowed(fit.embedding, n_dimensions))
        fit = climb(fit, kept, n_bins, EPOCHS, generator, step)
        tried.append(_judged(fit, answers, held, n_bins))
    return tried


def try_features(
    tried: list[Tried], features: FloatArray, answers: Answers, n_bins: int, seed: int, step: Step
) -> Tried:
    """The best of the fits, each also tried with trust in features (N, F), more or less.

    Features must help by more than one standard error: the best of many trials helps by
    chance.
    """
    kept, held = _held_out(answers, seed)
    placed = _placed(kept)
    described = describe(features, placed, seed)

    def trusting(one: Tried, strength: float) -> Tried:
        variance = (uncertainty(one.fit, kept, n_bins) ** 2)[placed].mean() / one.n_dimensions
        # From a fit without it: a prior that has drawn the images would confirm itself.
        prior = prior_of(described, one.fit.embedding, float(variance), seed)
        generator = torch.Generator().manual_seed(seed)
        start = replace(one.fit, prior=prior.times(strength))
        rival = climb(start, kept, n_bins, EPOCHS, generator, step)
        return _judged(rival, answers, held, n_bins)

    without = best(tried)
    found = best([trusting(one, 1.0) for one in tried])
    plain = next(one for one in tried if one.n_dimensions == found.n_dimensions)
    rivals = [found, *(trusting(plain, strength) for strength in OTHER_STRENGTHS)]
    found = max(rivals, key=lambda one: float(one.log_likelihood.sum()))
    gain, error = _gap(found, without)
    return found if gain > error else without


def _placed(answers: Answers) -> Tensor:
    """(N,) bool, images that were put in a bin."""
    return answers.images[answers.groups >= 0].bincount(minlength=answers.n_images) > 0


def _judged(fit: Fit, answers: Answers, held: Tensor, n_bins: int) -> Tried:
    fit = replace(fit, trust=_honest(fit, answers, held, n_bins))
    return Tried(fit.embedding.shape[1], fit, *_held_out_worth(fit, answers, held, n_bins))


def _held_out(answers: Answers, seed: int) -> tuple[Answers, Tensor]:
    """Answers without a tenth of their placements, and (G, S) bool, which those are."""
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


def _begin(places: FloatArray, answers: Answers, generator: torch.Generator) -> Fit:
    start = torch.as_tensor(places.astype(np.float32))
    # Images no answer has placed must not all lie on one point.
    start = start + 1e-3 * torch.randn(start.shape, generator=generator)
    embedding = unit(start.to(answers.device))
    return Fit(embedding, PairCurve.start(answers.device), Trust.start(answers))


def best(tried: list[Tried]) -> Tried:
    """That of the fewest dimensions within one standard error of the best."""
    top = max(tried, key=lambda one: float(one.log_likelihood.sum()))
    for one in reversed(tried):
        gap, error = _gap(top, one)
        if gap <= error:
            return one
    return top


def _gap(one: Tried, other: Tried) -> tuple[float, float]:
    """How much likelier one makes the held-out placements, and the standard error of that."""
    gap = one.log_likelihood - other.log_likelihood
    # One answer alone tells nothing of how much answers differ.
    if len(gap) < 2:
        return float(gap.sum()), float("inf")
    return float(gap.sum()), float(gap.std()) * len(gap) ** 0.5


@torch.no_grad()
def _honest(fit: Fit, answers: Answers, held: Tensor, n_bins: int) -> Trust:
    ps, who, used = [], [], []
    for rows, block in answers.blocks():
        told = placements(
            Shown.of(fit.embedding, block), fit.trust.genuine[rows] * ~held[rows], n_bins
        )
        asked = told.counted & held[rows]
        ps.append(told.log_own[asked].exp())
        who.append(block.annotators.unsqueeze(1).expand_as(asked)[asked])
        used.append(told.n_used.unsqueeze(1).expand_as(asked)[asked])
    return honest(fit.trust, torch.cat(ps), torch.cat(who), torch.cat(used))


@torch.no_grad()
def _held_out_worth(fit: Fit, answers: Answers, held: Tensor, n_bins: int) -> tuple[Tensor, Tensor]:
    gains, hits = [], []
    for rows, block in answers.blocks():
        genuine = fit.trust.genuine[rows] * ~held[rows]
        told = placements(Shown.of(fit.embedding, block), genuine, n_bins)
        p = told.probability(fit.trust.carelessness[block.annotators])
        asked = told.counted & held[rows]
        gains.append((p.clamp(min=1e-8).log() * asked).sum(dim=1))
        hit = (told.log_bins.argmax(dim=2) == block.groups) & asked
        hits.append(torch.stack([hit.sum(dim=1), asked.sum(dim=1)], dim=1))
    return torch.cat(gains), torch.cat(hits)
