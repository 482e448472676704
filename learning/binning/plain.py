"""Positions by the choice of bins, without a search for the number of dimensions.

With many dimensions and a soft choice, the positions from wide grids separate what people
separate nearly as well as the best of all fits, in a fraction of the time. The average of
several such fits is also more stable than the one fit that a search finds.
"""

from __future__ import annotations

import torch
from torch import Tensor

from learning.answers import Answers
from learning.binning.dimension import begin
from learning.binning.fitting import climb, unit
from learning.binning.start import spectral_start

_CANDIDATE = (24, 1.0)
_N_EPOCHS, _EPOCHS_OF_GRACE = 35, 5
_N_FITS = 3


def plain_places(answers: Answers, generator: torch.Generator) -> Tensor:
    """(N, 3 * 24) the concatenated positions of three fits, centred, root mean square 1, so that
    squared distances are the average of theirs."""
    n_bins = int(answers.groups.max()) + 1
    fits = [_fit(answers, n_bins, generator) for _ in range(_N_FITS)]
    places: Tensor = torch.cat(fits, dim=1) / _N_FITS**0.5
    return places


def _fit(answers: Answers, n_bins: int, generator: torch.Generator) -> Tensor:
    n_dimensions, temperature = _CANDIDATE
    seed = int(torch.randint(2**31, (), generator=generator))
    start = begin(spectral_start(answers, n_dimensions, seed), temperature, answers, generator)
    fit = climb(start, answers, n_bins, _N_EPOCHS, generator, trust_from=_EPOCHS_OF_GRACE)
    return unit(fit.embedding)
