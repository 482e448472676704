"""Positions of the images that a space is fitted to."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike

from learning.answers import Answers
from learning.arrays import BoolArray, FloatArray
from learning.groupings import Groupings
from learning.pooled import fitting

# More answers than this take long and hardly move an image.
_MAX_ANSWERS = 20_000


def checked_targets(
    embedding: ArrayLike, error: ArrayLike | None, shown: BoolArray
) -> tuple[FloatArray, FloatArray | None]:
    """(N, K) positions and standard deviations. Raises ValueError for shapes that do not match
    and, in rows of `shown` (N,), numbers that are not finite or deviations below 0."""
    positions = np.asarray(embedding, np.float64)
    if positions.ndim != 2 or len(positions) != len(shown) or not positions.shape[1]:
        raise ValueError(f"embedding must be ({len(shown)}, K), got shape {positions.shape}")
    if not np.isfinite(positions[shown]).all():
        raise ValueError("the embedding of an image in a grid is not finite")
    if error is None:
        return positions, None
    deviation = np.asarray(error, np.float64)
    if deviation.shape != positions.shape:
        raise ValueError(
            f"embedding_error must be {positions.shape}, like the embedding, "
            f"got shape {deviation.shape}"
        )
    if not (np.isfinite(deviation[shown]) & (deviation[shown] >= 0)).all():
        raise ValueError("embedding_error must be finite and at least 0")
    return positions, deviation


def pooled_targets(groupings: Groupings, seed: int) -> tuple[FloatArray, FloatArray]:
    """(N, d) positions and deviations by the pooled model (`learning.pooled`)."""
    answers = Answers.of(groupings.subset(groupings.informative_grids()), torch.device("cpu"))
    generator = torch.Generator().manual_seed(seed)
    if len(answers) > _MAX_ANSWERS:
        answers = answers.rows(torch.randperm(len(answers), generator=generator)[:_MAX_ANSWERS])
    settings = fitting.PooledSettings()
    start = fitting.start(answers, settings, generator)
    model = fitting.variational(fitting.most_probable(start, answers, settings), answers, settings)
    # Along principal axes, so that an axis that answers do not support is one column.
    axes = torch.linalg.eigh(model.positions.T @ model.positions).eigenvectors.flip(1)
    positions = (model.positions @ axes).numpy().astype(np.float64)
    deviation = (model.variance() @ axes**2).sqrt().numpy().astype(np.float64)
    return positions, deviation
