"""A fit to all answers, from nothing: how many dimensions, with what trust in features."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from learning.answers import Answers
from learning.arrays import FloatArray, IntArray
from learning.base import Progress
from learning.binning.certainty import uncertainty
from learning.binning.dimension import (
    CANDIDATES,
    best,
    enough_for_features,
    n_epochs,
    try_dimensions,
    try_features,
)
from learning.binning.fitting import climb, enough_epochs
from learning.devices import cores_for, pick_device
from learning.groupings import Groupings

_FINAL_EPOCHS = 25


@dataclass(frozen=True)
class Learned:
    """embedding: (N, d); uncertainty: (N,); carelessness: (W,); held_out: (G, 2).

    `CrowdSter` says what they are.
    """

    embedding: FloatArray
    uncertainty: FloatArray
    carelessness: FloatArray
    held_out: IntArray


def learn(
    groupings: Groupings,
    n_dimensions: int | None,
    seed: int,
    device: str,
    progress: Progress | None = None,
    features: FloatArray | None = None,
) -> Learned:
    """The embedding of all images that explains all answers.

    Without `n_dimensions` the answers say how many. features: (N, F), taken into account
    if that foretells held-out placements better.
    """
    with cores_for(len(groupings)):
        return _learn(groupings, n_dimensions, seed, device, progress, features)


def _learn(
    groupings: Groupings,
    n_dimensions: int | None,
    seed: int,
    device: str,
    progress: Progress | None,
    features: FloatArray | None,
) -> Learned:
    answers = Answers.of(groupings, pick_device(device))
    n_bins = int(answers.groups.max()) + 1
    candidates = CANDIDATES if n_dimensions is None else _towards(n_dimensions)
    n = len(answers)
    # Of a known number of dimensions the wider fits are only the way there.
    n_rivals = len(candidates) if n_dimensions is None else 1
    if features is not None and not enough_for_features(answers, seed):
        features = None
    epochs = n_epochs(n, len(candidates), 0 if features is None else n_rivals)
    step = _Steps(epochs + enough_epochs(_FINAL_EPOCHS, n), progress)
    tried = try_dimensions(answers, n_bins, candidates, seed, step)[-n_rivals:]
    if features is None:
        chosen = best(tried)
    else:
        chosen = try_features(tried, features, answers, n_bins, seed, step)
    generator = torch.Generator().manual_seed(seed)
    found = climb(chosen.fit, answers, n_bins, _FINAL_EPOCHS, generator, step)
    return Learned(
        found.embedding.double().cpu().numpy(),
        uncertainty(found, answers, n_bins).double().cpu().numpy(),
        found.trust.carelessness.double().cpu().numpy(),
        chosen.hits.cpu().numpy(),
    )


def _towards(n_dimensions: int) -> tuple[int, ...]:
    """From many to the number wanted: a start in many dimensions avoids local minima."""
    wide = max(2 * n_dimensions, 10)
    return (wide, round((wide * n_dimensions) ** 0.5), n_dimensions)


class _Steps:
    """Counts epochs and reports them."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done, self.total, self.progress = 0, total, progress

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total, {})
