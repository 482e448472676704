"""The prior of a pooled embedding depends only on the images that answers show."""

from dataclasses import replace

import numpy as np
import torch

from learning.answers import Answers
from learning.groupings import Groupings
from learning.pooled import fitting
from learning.pooled.model import PooledModel

SHOWN, NEVER, D = 60, 240, 4
CPU = torch.device("cpu")
SETTINGS = fitting.PooledSettings(n_dimensions=D)


def answers_about(n_images: int) -> Answers:
    """40 grids of 12 of the first SHOWN images in three classes, 10 % misplaced."""
    rng = np.random.default_rng(0)
    images = np.stack([rng.choice(SHOWN, 12, replace=False) for _ in range(40)])
    groups = np.where(rng.random(images.shape) < 0.1, rng.integers(0, 3, images.shape), images % 3)
    return Answers.of(Groupings(images, groups, rng.integers(0, 8, 40), n_images, 8), CPU)


def fitted(n_images: int) -> PooledModel:
    """From the same start of the shown images, whatever the number of the others."""
    answers = answers_about(n_images)
    start = fitting.start(answers_about(SHOWN), SETTINGS, torch.Generator().manual_seed(0))
    never = torch.zeros((n_images - SHOWN, D))
    start = replace(start, positions=torch.cat([start.positions, never]))
    certain = fitting.most_probable(start, answers, SETTINGS)
    return fitting.variational(certain, answers, SETTINGS)


def similarity(model: PooledModel) -> torch.Tensor:
    """(SHOWN, SHOWN) inner products, whatever the axes."""
    return model.positions[:SHOWN] @ model.positions[:SHOWN].T


def test_images_in_no_answer_do_not_change_the_others() -> None:
    alone, among = fitted(SHOWN), fitted(SHOWN + NEVER)
    scale = float(similarity(alone).abs().mean())
    assert float((similarity(among) - similarity(alone)).abs().mean()) < 0.05 * scale
    spread = alone.variance().sum(dim=1).mean()
    assert abs(float(among.variance()[:SHOWN].sum(dim=1).mean() / spread) - 1) < 0.05


def test_images_in_no_answer_vary_along_each_axis_as_the_others_do() -> None:
    model = fitted(SHOWN + NEVER)
    wide = (model.positions[:SHOWN] ** 2).sum(dim=0).argsort()
    never = model.variance()[SHOWN:]
    # Three classes need two of the four axes.
    assert bool((never[:, wide[-2:]] > 3 * never[:, wide[:2]]).all())
