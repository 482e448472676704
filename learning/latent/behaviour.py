"""The hidden class of an answer, from its annotator's behaviour and its grid.

    log odds = bias + preference[annotator, attribute] + gain * spread[grid, attribute]
               (+ or -) detail[annotator] / 2            fine or coarse
    or         bias + carelessness[annotator]            noise

Preferences, detail and carelessness are normal across annotators. How much annotators
differ in each is learned (empirical Bayes), so that an annotator with few answers stays near
the crowd's behaviour, and one with many answers can be far from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from learning.answers import Answers, table_rows
from learning.latent.pair_model import N_LEVELS, N_NOISE, PairModel, minimise

_MIN_SPREAD_DEVIATION = 0.02
_GAIN_DEVIATION = 1.0
_BIAS_SHRINKAGE = 0.05


@dataclass(frozen=True, eq=False)
class AnnotatorBehaviour:
    """bias: (C,); preference: (W, A); detail, carelessness: (W,); gain: () >= 0;
    deviations: (3,) how much annotators differ in the three;
    spread_mean, spread_deviation: (A,) of the grids that were answered."""

    bias: Tensor
    preference: Tensor
    detail: Tensor
    carelessness: Tensor
    gain: Tensor
    deviations: Tensor
    spread_mean: Tensor
    spread_deviation: Tensor

    @classmethod
    def start(
        cls, n_annotators: int, n_dimensions: int, device: torch.device
    ) -> AnnotatorBehaviour:
        """Behaviour of annotators who do not differ."""
        zeros = torch.zeros(n_annotators, device=device)
        return cls(
            torch.zeros(n_dimensions * N_LEVELS + N_NOISE, device=device),
            torch.zeros((n_annotators, n_dimensions), device=device),
            zeros,
            zeros,
            torch.zeros((), device=device),
            torch.tensor([1.5, 1.0, 1.0], device=device),
            torch.ones(n_dimensions, device=device),
            torch.ones(n_dimensions, device=device),
        )

    def log_probability(self, annotators: Tensor, spread: Tensor) -> Tensor:
        """(G, C) log probability of the classes. annotators: (G,); spread: (G, A) `grid_spread`."""
        score = (spread - self.spread_mean) / self.spread_deviation
        return torch.log_softmax(
            _log_odds(
                self.bias,
                self.preference[annotators],
                self.detail[annotators],
                self.carelessness[annotators],
                self.gain * score,
            ),
            dim=1,
        )

    def keep(self, attributes: Tensor) -> AnnotatorBehaviour:
        """The behaviour for some of the attributes, in the given order."""
        n_clean = self.preference.shape[1] * N_LEVELS
        levels = self.bias[:n_clean].reshape(-1, N_LEVELS)[attributes]
        return replace(
            self,
            bias=torch.cat([levels.reshape(-1), self.bias[n_clean:]]),
            preference=self.preference[:, attributes],
            spread_mean=self.spread_mean[attributes],
            spread_deviation=self.spread_deviation[attributes],
        )

    def typical(self) -> AnnotatorBehaviour:
        """The behaviour of one average annotator (index 0)."""
        return replace(
            self,
            preference=torch.zeros_like(self.preference[:1]),
            detail=torch.zeros_like(self.detail[:1]),
            carelessness=torch.zeros_like(self.carelessness[:1]),
        )


def grid_spread(pairs: PairModel, images: Tensor, present: Tensor) -> Tensor:
    """(B, A) deviation of each grid's images in every attribute's subspace.

    images, present: (B, S). CEN 3.1.2: "attribute variance in the collection of images should
    influence which attributes are more noticeable".
    """
    shown = present.unsqueeze(2)
    places = pairs.positions[images]
    n = shown.sum(dim=1).clamp(min=1)
    mean = (places * shown).sum(dim=1) / n
    squares = ((places - mean.unsqueeze(1)) ** 2 * shown).sum(dim=1) / n
    total = squares.new_zeros((len(images), pairs.n_attributes))
    return total.index_add_(1, pairs.owner, squares).sqrt()


def all_spreads(pairs: PairModel, answers: Answers) -> Tensor:
    """(G, A) `grid_spread` of all answers."""
    parts = [grid_spread(pairs, b.images, b.present) for _, b in answers.blocks()]
    return torch.cat(parts)


def fit_behaviour(
    behaviour: AnnotatorBehaviour,
    answers: Answers,
    log_likelihood: Tensor,
    spread: Tensor,
    variant: str,
    n_iterations: int = 40,
    n_rounds: int = 2,
) -> AnnotatorBehaviour:
    """Behaviour under which the (G, C) class likelihoods of the answers are most probable.

    variant: "annotator" fits no gain, "context" no preference. MAP given the deviations,
    then the deviations given the fit and its curvature, `n_rounds` times.
    """
    behaviour = replace(
        behaviour,
        spread_mean=spread.mean(dim=0),
        spread_deviation=_deviation(spread),
    )
    for _ in range(n_rounds):
        behaviour = _fit_map(behaviour, answers, log_likelihood, spread, variant, n_iterations)
        behaviour = replace(behaviour, deviations=_fit_deviations(behaviour, answers, spread))
    return behaviour


def _fit_map(
    behaviour: AnnotatorBehaviour,
    answers: Answers,
    log_likelihood: Tensor,
    spread: Tensor,
    variant: str,
    n_iterations: int,
) -> AnnotatorBehaviour:
    who = answers.annotators
    score = (spread - behaviour.spread_mean) / behaviour.spread_deviation
    bias, preference, detail, carelessness, gain = (
        t.clone().requires_grad_()
        for t in (
            behaviour.bias,
            behaviour.preference,
            behaviour.detail,
            behaviour.carelessness,
            behaviour.gain,
        )
    )
    chosen = 0.0 if variant == "context" else 1.0
    shown = 0.0 if variant == "annotator" else 1.0

    def loss() -> Tensor:
        odds = _log_odds(
            bias,
            chosen * table_rows(preference, who),
            table_rows(detail.unsqueeze(1), who).squeeze(1),
            table_rows(carelessness.unsqueeze(1), who).squeeze(1),
            shown * gain * score,
        )
        evidence = torch.logsumexp(log_likelihood + torch.log_softmax(odds, dim=1), dim=1)
        precision = 0.5 / behaviour.deviations**2
        prior = (
            precision[0] * (preference**2).sum()
            + precision[1] * (detail**2).sum()
            + precision[2] * (carelessness**2).sum()
            + _BIAS_SHRINKAGE * (bias**2).sum()
            + 0.5 * (gain / _GAIN_DEVIATION) ** 2
        )
        total = prior - evidence.sum()
        total.backward()
        return total.detach()

    minimise([bias, preference, detail, carelessness, gain], loss, n_iterations)
    return replace(
        behaviour,
        bias=bias.detach(),
        preference=chosen * preference.detach(),
        detail=detail.detach(),
        carelessness=carelessness.detach(),
        # The gain cannot be negative: more spread never makes an attribute stand out less.
        gain=shown * gain.detach().clamp(min=0),
    )


def _fit_deviations(behaviour: AnnotatorBehaviour, answers: Answers, spread: Tensor) -> Tensor:
    """(3,) from the estimates' squares and their uncertainty (Laplace, diagonal)."""
    probability = behaviour.log_probability(answers.annotators, spread).exp()
    n_clean = behaviour.preference.shape[1] * N_LEVELS
    levels = probability[:, :n_clean].reshape(len(probability), -1, N_LEVELS)
    attribute, noise = levels.sum(dim=2), probability[:, n_clean:].sum(dim=1)
    fine = levels[:, :, 1].sum(dim=1)
    information = [attribute * (1 - attribute), 0.25 * fine * (1 - fine), noise * (1 - noise)]
    estimates = [behaviour.preference, behaviour.detail, behaviour.carelessness]
    answered = torch.bincount(answers.annotators, minlength=len(behaviour.detail)) > 0
    result = []
    for value, known, deviation in zip(estimates, information, behaviour.deviations, strict=True):
        total = torch.zeros_like(value).index_add_(0, answers.annotators, known)
        variance = value**2 + 1.0 / (total + deviation**-2)
        result.append(variance[answered].mean().sqrt().clamp(0.2, 3.0))
    return torch.stack(result)


def _log_odds(
    bias: Tensor, preference: Tensor, detail: Tensor, carelessness: Tensor, salience: Tensor
) -> Tensor:
    """(G, C). bias: (C,); preference, salience: (G, A); detail, carelessness: (G,)."""
    n_clean = preference.shape[1] * N_LEVELS
    half = detail.unsqueeze(1) / 2
    by_attribute = preference + salience
    levels = torch.stack([by_attribute - half, by_attribute + half], dim=2)
    noise = carelessness.unsqueeze(1).expand(-1, N_NOISE)
    return bias + torch.cat([levels.reshape(-1, n_clean), noise], dim=1)


def _deviation(spread: Tensor) -> Tensor:
    if len(spread) < 2:
        return torch.ones_like(spread[0])
    return spread.std(dim=0).clamp(min=_MIN_SPREAD_DEVIATION)
