"""Several fits of the same answers, averaged into one model."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from learning.answers import Answers
from learning.arrays import FloatArray
from learning.groupings import Groupings
from learning.metrics import pair_auc
from learning.pooled import fitting
from learning.pooled.consensus import consensus
from learning.pooled.model import PooledModel

N_IMAGES = 250
CPU = torch.device("cpu")


def few_answers(seed: int = 0) -> Groupings:
    """40 grids of 16 of 250 images in six classes, 10 % misplaced: two or three an image."""
    rng = np.random.default_rng(seed)
    classes = np.arange(N_IMAGES) % 6
    images = np.stack([rng.choice(N_IMAGES, 16, replace=False) for _ in range(40)])
    groups = classes[images]
    slip = rng.random(groups.shape) < 0.1
    groups = np.where(slip, rng.integers(0, 6, groups.shape), groups)
    return Groupings(images, groups, rng.integers(0, 10, 40), N_IMAGES, 10)


def fitted(answers: Answers, seed: int) -> PooledModel:
    settings = fitting.PooledSettings(n_dimensions=4, n_iterations=20).sparse()
    start = fitting.start(answers, settings, torch.Generator().manual_seed(seed))
    certain = fitting.most_probable(start, answers, settings)
    return fitting.variational(certain, answers, settings)


@pytest.fixture(scope="module")
def answers() -> Answers:
    return Answers.of(few_answers(), CPU)


def turned(model: PooledModel, seed: int) -> PooledModel:
    """The same model in other axes; its variances are alike in all of them."""
    raw = torch.randn(4, 4, generator=torch.Generator().manual_seed(seed))
    return replace(model, positions=model.positions @ torch.linalg.qr(raw).Q)


def close(value: Tensor, other: Tensor) -> bool:
    return bool(torch.allclose(value, other, atol=1e-3))


def test_the_consensus_of_one_arrangement_in_any_axes_is_that_arrangement(
    answers: Answers,
) -> None:
    model = replace(fitted(answers, 0), log_variance=torch.full((N_IMAGES, 4), -2.0))
    averaged = consensus([model, turned(model, 1), turned(model, 2)])
    assert averaged.positions.shape == averaged.log_variance.shape == (N_IMAGES, 4)
    assert close(averaged.log_odds(answers), model.log_odds(answers))


def test_the_consensus_averages_log_odds(answers: Answers) -> None:
    models = [replace(fitted(answers, seed), consistency=torch.zeros(10)) for seed in range(3)]
    certain = [replace(model, log_variance=torch.full((N_IMAGES, 4), -12.0)) for model in models]
    # In as many dimensions as the places of all have together, nothing is left out.
    wide = [
        replace(
            model,
            positions=torch.cat([model.positions, torch.zeros(N_IMAGES, 8)], dim=1),
            log_variance=torch.full((N_IMAGES, 12), -12.0),
        )
        for model in certain
    ]
    means = [model.moments(answers.images, answers.annotators)[0] for model in certain]
    averaged, _ = consensus(wide).moments(answers.images, answers.annotators)
    assert close(averaged, torch.stack(means).mean(dim=0))


def test_fits_of_few_images_keep_their_dimensions() -> None:
    answers = Answers.of(
        Groupings(np.array([[0, 1, 2]] * 3), np.array([[0, 0, 1]] * 3), np.zeros(3, int), 3, 1),
        CPU,
    )
    averaged = consensus([fitted(answers, seed) for seed in range(2)])
    assert averaged.positions.shape == averaged.log_variance.shape == (3, 4)
    assert torch.isfinite(averaged.log_odds(answers)).all()


def test_it_tells_more_of_new_answers_than_its_fits_and_seeds_agree() -> None:
    answers, new = (Answers.of(few_answers(seed), CPU) for seed in (0, 1))
    fits = [fitted(answers, seed) for seed in range(8)]
    same, informative = new.pair_labels()

    def predicted(models: list[PooledModel]) -> FloatArray:
        return consensus(models).log_odds(new)[informative].double().numpy()

    alone = np.stack([predicted([fit]) for fit in fits])
    together = np.stack([predicted(fits[:4]), predicted(fits[4:])])
    agreement = np.asarray(np.corrcoef(alone))[np.triu_indices(8, 1)]
    assert np.asarray(np.corrcoef(together))[0, 1] > agreement.max()
    labels = same[informative].numpy()
    scores = [pair_auc(labels, -odds) for odds in alone]
    assert min(pair_auc(labels, -odds) for odds in together) > np.mean(scores)
