"""A fit to all answers from scratch, which chooses dimensions and the strength of features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from learning.answers import Answers
from learning.arrays import FloatArray, IntArray
from learning.base import Progress
from learning.binning import pairs
from learning.binning.certainty import uncertainty
from learning.binning.dimension import (
    CANDIDATES,
    Candidate,
    best,
    enough_for_features,
    n_epochs,
    refined,
    settled,
    try_candidates,
    try_features,
)
from learning.binning.fitting import Fit, climb, enough_epochs
from learning.binning.held_out import Tried
from learning.devices import cores_for, pick_device
from learning.groupings import Groupings

_FINAL_EPOCHS = 25
# Temperatures for a known number of dimensions, soft ones first.
_TEMPERATURES = (1.0, 0.6, 0.3)


@dataclass(frozen=True)
class Learned:
    """embedding: (N, d); uncertainty: (N,); carelessness: (W,); held_out: (G, 2).

    `CrowdSter` describes them.
    """

    embedding: FloatArray
    uncertainty: FloatArray
    carelessness: FloatArray
    held_out: IntArray

    @classmethod
    def of(
        cls, embedding: Tensor, deviation: Tensor, carelessness: Tensor, hits: Tensor
    ) -> Learned:
        """The tensors as arrays."""
        return cls(
            embedding.double().cpu().numpy(),
            deviation.double().cpu().numpy(),
            carelessness.double().cpu().numpy(),
            hits.cpu().numpy(),
        )


def learn(
    groupings: Groupings,
    n_dimensions: int | None,
    seed: int,
    device: str,
    progress: Progress | None = None,
    features: FloatArray | None = None,
) -> Learned:
    """The embedding of all images that explains all answers.

    Without `n_dimensions` the answers decide the number. features: (N, F), used if they help
    to predict held-out placements.
    """
    with cores_for(len(groupings)):
        answers = Answers.of(groupings, pick_device(device))
        return _learn(answers, n_dimensions, seed, progress, features)


def _learn(
    answers: Answers,
    n_dimensions: int | None,
    seed: int,
    progress: Progress | None,
    features: FloatArray | None,
) -> Learned:
    n_bins = int(answers.groups.max()) + 1
    if features is not None and not enough_for_features(answers, seed):
        features = None
    small = pairs.suits_pairs(answers)
    step = _Steps(_n_steps(len(answers), n_dimensions, features is not None, small), progress)
    chosen = _search(answers, n_bins, n_dimensions, seed, features, step)
    if small:
        rival = pairs.fit_pairs(answers, n_dimensions, seed, step)
        weights = pairs.weigh(rival, chosen.fit, answers, seed)
        if weights.pairs > 0:
            learned = _with_pairs(chosen, rival, weights, answers, n_dimensions, seed, step)
            step.complete()
            return learned
    fit = _of_all(chosen, answers, n_bins, seed, step)
    step.complete()
    deviation = uncertainty(fit, answers, n_bins)
    return Learned.of(fit.embedding, deviation, fit.trust.carelessness, chosen.hits)


def _of_all(chosen: Tried, answers: Answers, n_bins: int, seed: int, step: _Steps) -> Fit:
    generator = torch.Generator().manual_seed(seed)
    return climb(chosen.fit, answers, n_bins, _FINAL_EPOCHS, generator, step)


def _search(
    answers: Answers,
    n_bins: int,
    n_dimensions: int | None,
    seed: int,
    features: FloatArray | None,
    step: _Steps,
) -> Tried:
    if n_dimensions is None:
        tried = try_candidates(answers, n_bins, CANDIDATES, seed, step)
        tried = settled(tried, answers, n_bins, seed, step)
    else:
        tried = try_candidates(answers, n_bins, _towards(n_dimensions), seed, step)
        # The wider fits only lead to this one.
        tried = tried[-len(_TEMPERATURES) :]
    if features is None:
        chosen = best(tried)
    else:
        chosen = try_features(tried, features, answers, n_bins, seed, step)
    return refined(chosen, answers, n_bins, seed, step)


def _with_pairs(
    chosen: Tried,
    rival: pairs.PairFit,
    weights: pairs.Weights,
    answers: Answers,
    n_dimensions: int | None,
    seed: int,
    step: _Steps,
) -> Learned:
    """The positions by the pooled pair model, with those by bins if these count as well."""
    model = pairs.fit_all_pairs(rival, answers, seed, step)
    by_bins = chosen.fit.embedding
    if weights.bins > 0:
        n_bins = int(answers.groups.max()) + 1
        by_bins = _of_all(chosen, answers, n_bins, seed, step).embedding
    return Learned.of(
        pairs.side_by_side(by_bins, model, weights, n_dimensions),
        pairs.pair_uncertainty(model),
        pairs.pair_carelessness(model),
        pairs.pair_hits(rival, answers, seed),
    )


def _n_steps(n_answers: int, n_dimensions: int | None, with_features: bool, small: bool) -> int:
    """The maximum number of epochs and stages of the pooled model."""
    n_candidates = len(CANDIDATES if n_dimensions is None else _towards(n_dimensions))
    n_rivals = len(CANDIDATES) + 1 if n_dimensions is None else len(_TEMPERATURES)
    steps = n_epochs(n_answers, n_candidates, n_rivals if with_features else 0)
    steps += enough_epochs(_FINAL_EPOCHS, n_answers)
    return steps + (pairs.STEPS + pairs.FINAL_STEPS if small else 0)


def _towards(n_dimensions: int) -> tuple[Candidate, ...]:
    """Candidates from many dimensions to the given number; the start avoids local minima."""
    wide = max(2 * n_dimensions, 10)
    soft = _TEMPERATURES[0]
    way = ((wide, soft), (round((wide * n_dimensions) ** 0.5), soft))
    return (*way, *((n_dimensions, temperature) for temperature in _TEMPERATURES))


class _Steps:
    """Counts epochs and reports them."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done, self.total, self.progress = 0, total, progress

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total, {})

    def complete(self) -> None:
        """Count the steps that were not needed as done."""
        while self.done < self.total:
            self()
