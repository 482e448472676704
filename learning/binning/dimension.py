"""Chooses the number of dimensions and the softness of the choice of bins by the likelihood of
held-out placements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from learning.answers import Answers
from learning.arrays import FloatArray
from learning.binning.certainty import uncertainty
from learning.binning.fitting import Fit, Step, climb, enough_epochs, narrowed, unit
from learning.binning.held_out import Tried, gap, hold_out, judged
from learning.binning.likelihood import PairCurve
from learning.binning.prior import describe, prior_of
from learning.binning.start import spectral_start
from learning.binning.trust import Trust

# Number of dimensions, and temperature of the choice of bins.
Candidate = tuple[int, float]

# The fits that are tried, each starting from the previous one. In many dimensions, images are
# about equally far from every bin, so the choice is softer. In few dimensions, a soft choice
# first frees images from the folds into which they were pressed; then a sharp one refines them.
CANDIDATES: tuple[Candidate, ...] = (
    (24, 1.0),
    (12, 0.8),
    (6, 0.6),
    (4, 0.6),
    (4, 0.3),
    (3, 0.6),
    (3, 0.3),
    (2, 0.3),
)
# A fit with more dimensions converges in a few epochs, a fit with fewer does not.
_FEW_DIMENSIONS = 6
# The number of images that are needed to judge a regression on features.
_FEWEST_IMAGES = 20
_WIDE_EPOCHS = 10
EPOCHS, _REFINING_EPOCHS, _SETTLING_EPOCHS = 6, 3, 10
# Strengths of a prior from features, in units of the trust that its errors justify.
OTHER_STRENGTHS = (0.1, 10.0)
# With a first guess, all annotators look careless.
_EPOCHS_OF_GRACE = 5
# Variations of the best candidate, tried one after the other: factors of its temperature and
# shares of the pairs.
_TEMPERATURES = (1.7, 1 / 1.7)
_PAIR_SHARES = (0.2, 0.7)


def n_epochs(n_answers: int, n_candidates: int, n_with_features: int = 0) -> int:
    """The maximum number of epochs of a search with features tried on this many fits."""
    n_trials = n_candidates
    if n_with_features:
        n_trials += n_with_features + len(OTHER_STRENGTHS)
    n_refining = len(_TEMPERATURES) + len(_PAIR_SHARES)
    epochs = enough_epochs(_WIDE_EPOCHS, n_answers) + n_trials * enough_epochs(EPOCHS, n_answers)
    epochs += n_refining * enough_epochs(_REFINING_EPOCHS, n_answers)
    return epochs + enough_epochs(_SETTLING_EPOCHS, n_answers)


def enough_for_features(answers: Answers, seed: int) -> bool:
    """Whether a regression on features can be judged."""
    kept, _ = hold_out(answers, seed)
    return int(_placed(kept).sum()) >= _FEWEST_IMAGES


def try_candidates(
    answers: Answers, n_bins: int, candidates: Sequence[Candidate], seed: int, step: Step
) -> list[Tried]:
    """Fits in fewer and fewer dimensions, each starting from the previous one.

    Nothing, not even the start, may see the placements that judge them.
    """
    generator = torch.Generator().manual_seed(seed)
    kept, held = hold_out(answers, seed)
    wide, soft = candidates[0]
    fit = begin(spectral_start(kept, wide, seed), soft, kept, generator)
    fit = climb(fit, kept, n_bins, _WIDE_EPOCHS, generator, step, _EPOCHS_OF_GRACE)
    tried: list[Tried] = []
    for n_dimensions, temperature in candidates:
        narrow = narrowed(fit.embedding, n_dimensions)
        fit = replace(fit, embedding=narrow, temperature=temperature)
        fit = climb(fit, kept, n_bins, EPOCHS, generator, step)
        tried.append(judged(fit, answers, held, n_bins))
    return tried


def settled(
    tried: list[Tried], answers: Answers, n_bins: int, seed: int, step: Step
) -> list[Tried]:
    """The candidates. If one with many dimensions is best, the best one with few is also fitted
    to convergence."""
    narrow = [trial for trial in tried if trial.n_dimensions <= _FEW_DIMENSIONS]
    if not narrow or best(tried).n_dimensions <= _FEW_DIMENSIONS:
        return tried
    kept, held = hold_out(answers, seed)
    generator = torch.Generator().manual_seed(seed)
    start = max(narrow, key=lambda trial: trial.total).fit
    fit = climb(start, kept, n_bins, _SETTLING_EPOCHS, generator, step)
    return [*tried, judged(fit, answers, held, n_bins)]


def refined(candidate: Tried, answers: Answers, n_bins: int, seed: int, step: Step) -> Tried:
    """The candidate with the temperature and the share of the pairs that predict best."""
    kept, held = hold_out(answers, seed)
    generator = torch.Generator().manual_seed(seed)

    def better(leader: Tried, starts: list[Fit]) -> Tried:
        for start in starts:
            fit = climb(start, kept, n_bins, _REFINING_EPOCHS, generator, step)
            rival = judged(fit, answers, held, n_bins)
            gain, error = gap(rival, leader)
            if gain > error:
                leader = rival
        return leader

    fit = candidate.fit
    candidate = better(
        candidate, [replace(fit, temperature=factor * fit.temperature) for factor in _TEMPERATURES]
    )
    return better(candidate, [replace(candidate.fit, pair_share=share) for share in _PAIR_SHARES])


def try_features(
    tried: list[Tried], features: FloatArray, answers: Answers, n_bins: int, seed: int, step: Step
) -> Tried:
    """The best of the fits, each also tried with several strengths of the features (N, F).

    Features must help by more than one standard error, because the best of many trials helps
    by chance.
    """
    kept, held = hold_out(answers, seed)
    placed = _placed(kept)
    described = describe(features, placed, seed)

    def trusting(trial: Tried, strength: float) -> Tried:
        variance = (uncertainty(trial.fit, kept, n_bins) ** 2)[placed].mean()
        # The prior comes from a fit without it, because otherwise it would confirm itself.
        error = float(variance) / trial.n_dimensions
        prior = prior_of(described, trial.fit.embedding, error, seed)
        generator = torch.Generator().manual_seed(seed)
        start = replace(trial.fit, prior=prior.times(strength))
        rival = climb(start, kept, n_bins, EPOCHS, generator, step)
        return judged(rival, answers, held, n_bins)

    without = best(tried)
    trusted = [trusting(trial, 1.0) for trial in tried]
    winner = best(trusted)
    plain = tried[next(k for k, trial in enumerate(trusted) if trial is winner)]
    rivals = [winner, *(trusting(plain, strength) for strength in OTHER_STRENGTHS)]
    winner = max(rivals, key=lambda trial: trial.total)
    gain, error = gap(winner, without)
    return winner if gain > error else without


def _placed(answers: Answers) -> Tensor:
    """(N,) whether each image was put in a bin."""
    return answers.images[answers.groups >= 0].bincount(minlength=answers.n_images) > 0


def begin(
    places: FloatArray, temperature: float, answers: Answers, generator: torch.Generator
) -> Fit:
    """The first guess (N, d) as a fit, before any fitting."""
    start = torch.as_tensor(places.astype(np.float32))
    # Images that no answer has placed must not all have one position.
    start = start + 1e-3 * torch.randn(start.shape, generator=generator)
    embedding = unit(start.to(answers.device))
    curve, trust = PairCurve.start(answers.device), Trust.start(answers)
    return Fit(embedding, curve, trust, temperature=temperature)


def best(tried: list[Tried]) -> Tried:
    """The fit with the fewest dimensions within one standard error of the best."""
    top = max(tried, key=lambda trial: trial.total)
    for trial in sorted(tried, key=lambda trial: (trial.n_dimensions, -trial.total)):
        loss, error = gap(top, trial)
        if loss <= error:
            return trial
    return top
