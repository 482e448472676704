"""Fits the positions of the images: the most probable ones first, then their distribution.

`most_probable` maximises the posterior. With many dimensions it overfits, and a tight prior pulls
everything to the origin, so it is only the start of `variational`: a normal distribution of every
position by the bound of Jaakkola and Jordan. This needs no choice of the number of dimensions,
because those that answers do not support shrink (automatic relevance determination). On very
sparse answers (an image in two or three) the variational bound explains everything as slips,
unless the pairs of a grid have more weight (`sparse`). The caller decides by held-out answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from learning.answers import Answers
from learning.latent.pair_model import minimise, pair_weight
from learning.pooled.model import PooledModel

# Standard deviations of the priors.
_COARSENESS = 1.0
_ERROR, _ERROR_DEVIATION = -3.0, 0.5
_MIN_RELEVANCE = 0.3
_START_VARIANCE = 0.02
# With more pairs than this, learning uses batches.
_MAX_PAIRS = 4_000_000
_BATCH_PAIRS = 200_000
_N_EPOCHS = 4
_LEARNING_RATE = 0.03

Loss = Callable[[Answers, PooledModel], Tensor]
_PLACE_NAMES = ("positions", "log_variance")
_ANNOTATOR_NAMES = ("consistency", "coarseness", "carelessness")


@dataclass(frozen=True)
class PooledSettings:
    """n_dimensions: d of the fit; annotators: whether they differ; n_iterations: of each stage;
    place_deviation: of the prior; min_pair_weight: of a pair if positions have a distribution.

    The pairs of a wide grid count less than independent ones, but if they only counted as the
    grid's images, every position would stay unknown.
    """

    n_dimensions: int = 8
    annotators: bool = True
    n_iterations: int = 60
    place_deviation: float = 1.4
    min_pair_weight: float = 0.5

    def sparse(self) -> PooledSettings:
        """Settings for images in few answers, with a larger weight of every pair."""
        return replace(
            self,
            n_iterations=2 * self.n_iterations,
            place_deviation=2.0,
            min_pair_weight=2.0,
        )


def start(answers: Answers, settings: PooledSettings, generator: torch.Generator) -> PooledModel:
    """A model with small random positions."""
    shape = (answers.n_images, settings.n_dimensions)
    nobody = torch.zeros(answers.n_annotators, device=answers.device)
    rate = _same_rate(answers)
    places = 0.3 * torch.randn(shape, generator=generator)
    return PooledModel(
        places.to(answers.device),
        nobody.new_zeros((0, settings.n_dimensions)),
        torch.logit(rate),
        nobody.new_tensor(_ERROR),
        nobody,
        nobody,
        nobody,
        rate,
        _placements(answers),
    )


def most_probable(
    model: PooledModel, answers: Answers, settings: PooledSettings, expected: Tensor | None = None
) -> PooledModel:
    """The most probable model, starting at `model`, with positions without variance.

    expected: (N, d) means of the prior of the positions, by default the origin.
    """
    certain = replace(model, log_variance=model.log_variance[:0], placements=_placements(answers))
    relevance = model.positions.new_full((settings.n_dimensions,), settings.place_deviation)
    names = ["positions", "bias"]
    if settings.annotators:
        names += ["consistency", "coarseness"]
    return _minimised(certain, answers, names, settings, _Prior(relevance, expected))


def variational(
    model: PooledModel, answers: Answers, settings: PooledSettings, expected: Tensor | None = None
) -> PooledModel:
    """The distribution of the positions, starting at the most probable or an earlier one.

    At first every dimension has the same prior, then each has one by the spread of the positions
    of the images in answers around `expected`, (N, d), by default the origin.
    """
    relevance = model.positions.new_full((settings.n_dimensions,), settings.place_deviation)
    if model.certain:
        start = torch.full_like(model.positions, _START_VARIANCE).log()
        model = replace(model, log_variance=start)
    model = replace(model, placements=_placements(answers))
    names = ["positions", "log_variance", "bias", "error"]
    if settings.annotators:
        names += list(_ANNOTATOR_NAMES)
    model = _minimised(model, answers, names, settings, _Prior(relevance, expected))
    return _minimised(model, answers, names, settings, _Prior.by_spread(model, expected))


@dataclass(frozen=True, eq=False)
class _Prior:
    """The prior of the positions. deviation: (d,); expected: (N, d), or None for the origin."""

    deviation: Tensor
    expected: Tensor | None

    @classmethod
    def by_spread(cls, model: PooledModel, expected: Tensor | None) -> _Prior:
        """With the deviation of the positions along each dimension, including their uncertainty.

        Images in no answer keep the prior of before, which says nothing about the others.
        """
        prior = cls(model.positions, expected)
        squares = (prior.gaps(model) ** 2 + model.variance())[model.placements > 0]
        return cls(squares.mean(dim=0).sqrt().clamp(min=_MIN_RELEVANCE), expected)

    def gaps(self, model: PooledModel) -> Tensor:
        """(N, d) from the expected positions."""
        return model.positions if self.expected is None else model.positions - self.expected


def _placements(answers: Answers) -> Tensor:
    """(N,) number of answers that show each image."""
    shown = answers.images[answers.present]
    return torch.bincount(shown, minlength=answers.n_images).float()


def _same_rate(answers: Answers) -> Tensor:
    """() weighted share of same pairs, clipped away from 0 and 1."""
    same_weight, weight = 1.0, 2.0
    for _, block in answers.blocks():
        same, informative = block.pair_labels()
        each = pair_weight(block).unsqueeze(1)
        same_weight += float((each * same).sum())
        weight += float((each * informative).sum())
    return torch.tensor(same_weight / weight, device=answers.device)


def _minimised(
    model: PooledModel,
    answers: Answers,
    names: list[str],
    settings: PooledSettings,
    places: _Prior,
) -> PooledModel:
    free = {name: getattr(model, name).clone().requires_grad_() for name in names}
    n_pairs = len(answers) * answers.images.shape[1] * (answers.images.shape[1] - 1) // 2
    if n_pairs > _MAX_PAIRS:
        _by_batches(model, answers, free, settings, places)
    else:
        blocks = answers.labelled_blocks()

        def loss() -> Tensor:
            prior = _prior(replace(model, **free), places)
            prior.backward()
            total = prior.detach()
            for block in blocks:
                value = -_log_likelihood(block, replace(model, **free), settings)
                value.backward()
                total = total + value.detach()
            return total

        minimise(list(free.values()), loss, settings.n_iterations)
    return replace(model, **{name: tensor.detach() for name, tensor in free.items()})


def _by_batches(
    model: PooledModel,
    answers: Answers,
    free: dict[str, Tensor],
    settings: PooledSettings,
    places: _Prior,
) -> None:
    """Adam over shuffled batches with decaying steps; changes `free` in place."""
    width = answers.images.shape[1]
    size = max(1, _BATCH_PAIRS // max(1, width * (width - 1) // 2))
    adam = torch.optim.Adam(free.values(), lr=_LEARNING_RATE)
    n_steps = _N_EPOCHS * -(-len(answers) // size)
    decay = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: max(0.02, 1 - step / n_steps))
    generator = torch.Generator().manual_seed(len(answers))
    for _ in range(_N_EPOCHS):
        order = torch.randperm(len(answers), generator=generator).to(answers.device)
        for rows in order.split(size):
            adam.zero_grad()
            block = answers.rows(rows)
            current = replace(model, **free)
            share = len(rows) / len(answers)
            value = _prior(current, places) * share - _log_likelihood(block, current, settings)
            (value / len(rows)).backward()
            adam.step()
            decay.step()


def _log_likelihood(block: Answers, model: PooledModel, settings: PooledSettings) -> Tensor:
    """() lower bound of the expected log likelihood of the answers, tempered.

    log sigmoid(l) is bounded by log sigmoid(xi) + (l - xi) / 2 at xi^2 = E[l^2]; the mixture
    with slips by Jensen's inequality.
    """
    mean, variance = model.moments(block.images, block.annotators)
    same, informative = block.pair_labels()
    signed = torch.where(same, mean, -mean)
    xi = (mean**2 + variance + 1e-8).sqrt()
    clean = functional.logsigmoid(xi) + (signed - xi) / 2
    error = model.errors(block.annotators).unsqueeze(1)
    chance = torch.where(same, model.rate, 1 - model.rate)
    both = torch.logaddexp(torch.log1p(-error) + clean, (error * chance).log())
    each = pair_weight(block)
    if not model.certain:
        each = each.clamp(min=settings.min_pair_weight)
    return (both * informative * each.unsqueeze(1)).sum()


def _prior(model: PooledModel, places: _Prior) -> Tensor:
    """() minus the log of the priors; for uncertain positions the divergence from the prior."""
    squares = places.gaps(model) ** 2 + model.variance()
    total = 0.5 * (squares / places.deviation**2).sum()
    if not model.certain:
        total = total - model.variance().log().sum() / 2
    total = total + 0.5 * ((model.error - _ERROR) / _ERROR_DEVIATION) ** 2
    total = total + 0.5 * (model.coarseness**2).sum() / _COARSENESS**2
    total = total + 0.5 * (model.consistency**2).sum() + 0.05 * model.bias**2
    return total + 0.5 * (model.carelessness**2).sum() / _ERROR_DEVIATION**2
