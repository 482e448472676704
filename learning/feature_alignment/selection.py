"""Which map images that are held out support, or that features are of no use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from learning.arrays import FloatArray
from learning.feature_alignment.folds import (
    N_FOLDS,
    Fold,
    Gain,
    HeldPairs,
    calibration,
    gain_of,
    log_likelihood,
)
from learning.feature_alignment.pair_map import (
    MapSettings,
    PairMap,
    Squares,
    empty_map,
    fit_map,
    narrowed,
    widened,
)
from learning.metrics import pair_auc

# From weak to strong; the search starts at 1.
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
WIDE, RANKS, HIDDEN = 12, (4, 3, 2), 48
_ITERATIONS = 40
# Maps that the search fits at most, of all folds together.
MAX_TRIALS = (len(PENALTIES) - 2 + 2 * len(RANKS) + 2) * N_FOLDS
# Standard errors above chance that the best of the tried maps must reach.
MIN_DEVIATIONS = 2.4
# A more complicated map must gain this many standard errors of the difference.
_CLEARLY = 1.0

Step = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Tried:
    """A kind of map with its fits to the folds.

    models: one per fold; odds: (P,) of the held-out pairs; line: their calibration;
    likelihood: (P,) calibrated
    """

    settings: MapSettings
    models: list[PairMap]
    odds: FloatArray
    line: tuple[float, float]
    likelihood: FloatArray

    def score(self, pairs: HeldPairs) -> float:
        """Mean log likelihood of a held-out pair."""
        return float(np.average(self.likelihood, weights=pairs.weight))


class Trials:
    """Fits maps to all folds and compares them."""

    def __init__(self, folds: list[Fold], inputs: Tensor, seed: int, step: Step) -> None:
        self.folds, self.inputs, self.seed, self.step = folds, inputs, seed, step
        self.squares = [Squares.of(fold.train, seed) for fold in folds]
        self.pairs = HeldPairs.of(folds)

    def best(self) -> Tried:
        """The map that predicts pairs of held-out images best, the simpler one if in doubt."""
        best = self._best_penalty()
        best = self._best_rank(best)
        sparse = self._tried(best, replace(best.settings, sparse=True))
        if self.clearly_better(sparse, best):
            best = sparse
        curved = self._tried(best, replace(best.settings, hidden=HIDDEN, sparse=False))
        return curved if self.clearly_better(curved, best) else best

    def _best_penalty(self) -> Tried:
        """Towards stronger penalties as long as they are better, otherwise towards weaker ones."""
        middle = PENALTIES.index(1.0)
        best = self._tried(None, MapSettings(WIDE, PENALTIES[middle]))
        for way in (PENALTIES[middle + 1 :], PENALTIES[:middle][::-1]):
            before = best
            for penalty in way:
                tried = self._tried(None, MapSettings(WIDE, penalty))
                if tried.score(self.pairs) <= best.score(self.pairs):
                    break
                best = tried
            if best is not before:
                break
        return best

    def _best_rank(self, best: Tried) -> Tried:
        """Lower ranks, and with each a weaker penalty: a wide map needs a strong one to keep
        directions out that do not matter, which also weakens those that do."""
        wide = best
        for rank in RANKS:
            before = best
            for penalty in (wide.settings.penalty, wide.settings.penalty / 3):
                tried = self._tried(wide, replace(wide.settings, rank=rank, penalty=penalty))
                if tried.score(self.pairs) > best.score(self.pairs):
                    best = tried
            if best is before:
                break
        return best

    def gain(self, tried: Tried) -> Gain:
        """The gain over predicting the same probability for all pairs."""
        nothing = np.zeros_like(tried.odds)
        flat = log_likelihood(nothing, self.pairs, calibration(nothing, self.pairs))
        return gain_of(tried.likelihood - flat, self.pairs)

    def auc(self, tried: Tried) -> float:
        """Of the pairs of held-out images."""
        return pair_auc(self.pairs.same, -tried.odds)

    def clearly_better(self, first: Tried, second: Tried) -> bool:
        """Whether `first` predicts better by more than the standard error of the difference."""
        return gain_of(first.likelihood - second.likelihood, self.pairs).deviations > _CLEARLY

    def _tried(self, start: Tried | None, settings: MapSettings) -> Tried:
        models, odds = [], []
        for number, fold in enumerate(self.folds):
            before = None if start is None else start.models[number]
            model = learned(self.squares[number], self.inputs, settings, before, self.seed)
            places = model.places(self.inputs).numpy()
            odds.append(model.log_odds(places[fold.pairs.i], places[fold.pairs.j]))
            models.append(model)
            self.step()
        every = np.concatenate(odds)
        line = calibration(every, self.pairs)
        return Tried(settings, models, every, line, log_likelihood(every, self.pairs, line))


def learned(
    squares: Squares, inputs: Tensor, settings: MapSettings, start: PairMap | None, seed: int
) -> PairMap:
    """A map of some answers; start: a map of the same answers by other settings."""
    model = empty_map(squares, inputs, settings.rank) if start is None else start
    if model.linear.shape[1] > settings.rank:
        model = narrowed(model, settings.rank)
    if settings.hidden and not model.hidden.shape[1]:
        model = widened(model, settings.hidden, seed)
    return fit_map(model, squares, inputs, settings, _ITERATIONS)


def as_tensor(inputs: NDArray[np.floating]) -> Tensor:
    """Inputs in single precision."""
    return torch.as_tensor(np.asarray(inputs, np.float32))
