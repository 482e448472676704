"""The latent attribute model: fit, posterior and prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from learning.answers import BLOCK, Answers
from learning.latent.behaviour import AnnotatorBehaviour, all_spreads, fit_behaviour, grid_spread
from learning.latent.discovery import find_attributes
from learning.latent.pair_model import (
    N_LEVELS,
    Assigned,
    PairModel,
    fit_noise,
    fit_positions,
    fit_thresholds,
    minimise,
    pair_weight,
)
from learning.latent.sweeps import MANY, Attributes, settle

_N_FOLDS = 4
_TINY = 1e-6
# Fewer answers than this cannot spare a quarter for calibration.
_MIN_CALIBRATION_ANSWERS = 20
_WARM_SWEEPS = 8

Step = Callable[[], None]


@dataclass(frozen=True, eq=False)
class LatentAttributes:
    """A fitted model of A attributes in M columns.

    pairs, behaviour: the two parts; calibration: (2,) slope and offset of the log odds of
    P(same), fitted to held-out answers; information: (N, M) fractional number of answers
    about each image for each column.
    """

    pairs: PairModel
    behaviour: AnnotatorBehaviour
    calibration: Tensor
    information: Tensor

    @property
    def n_attributes(self) -> int:
        """A."""
        return self.pairs.n_attributes

    def class_log_probability(self, images: Tensor, present: Tensor, who: Tensor) -> Tensor:
        """(B, C) independent of a grouping. images, present: (B, S); who: (B,) annotators."""
        spread = grid_spread(self.pairs, images, present)
        return self.behaviour.log_probability(who, spread)

    def prior(self, answers: Answers) -> Tensor:
        """(G, C) log probability of the hidden classes, before the groupings."""
        parts = [
            self.class_log_probability(b.images, b.present, b.annotators)
            for _, b in answers.blocks()
        ]
        return torch.cat(parts)

    def posterior(self, answers: Answers) -> Tensor:
        """(G, C) log probability of the hidden classes, given the groupings."""
        log_likelihood = self.pairs.class_log_likelihood(answers)
        return torch.log_softmax(log_likelihood + self.prior(answers), dim=1)

    def attributes(self, log_probability: Tensor) -> Tensor:
        """(G, A) of the attributes, from (G, C) of the classes; the rest to 1 is none."""
        n_clean = self.n_attributes * N_LEVELS
        levels = log_probability[:, :n_clean].reshape(-1, self.n_attributes, N_LEVELS)
        return levels.exp().sum(dim=2)

    def log_odds(self, answers: Answers) -> Tensor:
        """(G, P) log odds that two images are grouped together, independent of the groupings."""
        parts = [self._log_odds(block) for _, block in answers.blocks(BLOCK // 4)]
        return torch.cat(parts)

    def probability_same_after(self, answers: Answers) -> Tensor:
        """(G, P) P(same) of an answer about the attribute that each grouping shows."""
        n_clean = self.n_attributes * N_LEVELS
        parts = []
        for _, block in answers.blocks(BLOCK // 4):
            posterior = self.posterior(block)
            clean = torch.softmax(posterior[:, :n_clean], dim=1)
            none = clean.new_zeros((len(block), posterior.shape[1] - n_clean))
            parts.append(self.pairs.predict(block.images, torch.cat([clean, none], dim=1)))
        return torch.cat(parts)

    def _log_odds(self, block: Answers) -> Tensor:
        prior = self.class_log_probability(block.images, block.present, block.annotators)
        p = self.pairs.predict(block.images, prior.exp()).clamp(1e-6, 1 - 1e-6)
        odds: Tensor = self.calibration[0] * torch.logit(p) + self.calibration[1]
        return odds

    def tensors(self) -> dict[str, Tensor]:
        """Everything that was learned, by name."""
        result = {"calibration": self.calibration, "information": self.information}
        for part in (self.pairs, self.behaviour):
            result |= {field.name: getattr(part, field.name) for field in fields(part)}
        return result

    def to(self, device: torch.device) -> LatentAttributes:
        """The same on another device."""
        moved = {name: tensor.to(device) for name, tensor in self.tensors().items()}
        return LatentAttributes.from_tensors(moved)

    def keep(self, attributes: Tensor) -> LatentAttributes:
        """The model with some of its attributes, (A',) int64, in the given order."""
        owner, n = self.pairs.owner, self.n_attributes
        chosen = [(owner == k).nonzero()[:, 0] for k in attributes.tolist()]
        columns = torch.cat([owner[:0], *chosen])
        number = torch.zeros(max(n, 1), dtype=torch.int64, device=owner.device)
        number[attributes] = torch.arange(len(attributes), device=owner.device)
        pairs = replace(
            self.pairs,
            positions=self.pairs.positions[:, columns],
            owner=number[owner[columns]],
            thresholds=self.pairs.thresholds[attributes],
        )
        information = self.information[:, columns]
        behaviour = self.behaviour.keep(attributes)
        return replace(self, pairs=pairs, behaviour=behaviour, information=information)

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> LatentAttributes:
        """Restore the model from what `tensors` returned."""
        pairs = PairModel(**{field.name: tensors[field.name] for field in fields(PairModel)})
        behaviour = AnnotatorBehaviour(
            **{field.name: tensors[field.name] for field in fields(AnnotatorBehaviour)}
        )
        return cls(pairs, behaviour, tensors["calibration"], tensors["information"])


def n_steps(n_starts: int) -> int:
    """How often `fit` calls its `step` with this number of starts."""
    return n_starts + _N_FOLDS


def fit(
    answers: Answers,
    n_attributes: int,
    variant: str,
    n_starts: int,
    generator: torch.Generator,
    step: Step = lambda: None,
) -> LatentAttributes:
    """A model of all answers from scratch, with at most `n_attributes`."""
    attributes = find_attributes(answers, n_attributes, n_starts, generator, step)
    pairs = PairModel.start(attributes.positions, attributes.owner)
    behaviour = AnnotatorBehaviour.start(answers.n_annotators, attributes.n, answers.device)
    n_rounds = _N_FOLDS - 1 if len(answers) < MANY else 1
    return _Fit(answers, attributes, variant, generator).run(pairs, behaviour, n_rounds, step)


def refit(
    answers: Answers,
    previous: LatentAttributes,
    variant: str,
    generator: torch.Generator,
) -> LatentAttributes:
    """Learn the same attributes from all answers, most of which `previous` has seen."""
    pairs = previous.pairs
    scale = pairs.positions.std(dim=0, unbiased=False) + _TINY
    attributes = settle(answers, Attributes(pairs.positions / scale, pairs.owner), _WARM_SWEEPS)
    run = _Fit(answers, attributes, variant, generator)
    return run.run(pairs, previous.behaviour, 0, lambda: None, previous.calibration)


class _Fit:
    """The fit of pair model and behaviour for given attributes."""

    def __init__(
        self,
        answers: Answers,
        attributes: Attributes,
        variant: str,
        generator: torch.Generator,
    ) -> None:
        self.answers, self.variant = answers, variant
        self._attributes = attributes
        order = torch.randperm(len(answers), generator=generator) % _N_FOLDS
        self.fold = order.to(answers.device)

    def run(
        self,
        pairs: PairModel,
        behaviour: AnnotatorBehaviour,
        n_rounds: int,
        step: Step,
        calibration: Tensor | None = None,
    ) -> LatentAttributes:
        """Fit thresholds and slips to held-out answers, then everything to all answers."""
        many = len(self.answers) >= MANY
        n_iterations = 8 if many else 30
        identity = pairs.positions.new_tensor([1.0, 0.0])
        calibration = identity if calibration is None else calibration
        n_rounds = n_rounds if self._attributes.n > 0 else 0
        calibrate = len(self.answers) >= _MIN_CALIBRATION_ANSWERS
        for number in range(n_rounds if calibrate else 0):
            held = self.fold == number
            data = self._assigned(pairs)
            pairs = fit_positions(pairs, data.where(~held[data.rows]), n_iterations)
            pairs = fit_thresholds(pairs, data.where(held[data.rows]))
            if number == n_rounds - 1:
                calibration = self._calibration(pairs, behaviour, ~held)
            step()
        if self._attributes.n > 0:
            pairs = fit_positions(pairs, self._assigned(pairs), n_iterations)
        log_likelihood = pairs.class_log_likelihood(self.answers)
        spread = all_spreads(pairs, self.answers)
        behaviour = fit_behaviour(
            behaviour,
            self.answers,
            log_likelihood,
            spread,
            self.variant,
            n_rounds=2 if n_rounds else 1,
        )
        prior = behaviour.log_probability(self.answers.annotators, spread)
        scattered = torch.softmax(log_likelihood + prior, dim=1)[:, -1]
        pairs = fit_noise(pairs, self.answers, scattered)
        step()
        information = (
            self._attributes.sums.weights if self._attributes.sums is not None else pairs.positions
        )
        return LatentAttributes(pairs, behaviour, calibration, information)

    def _assigned(self, pairs: PairModel) -> Assigned:
        assert self._attributes.sums is not None
        log_likelihood = pairs.class_log_likelihood(self.answers)
        return Assigned.of(self.answers, self._attributes.sums.responsibility, log_likelihood)

    def _calibration(self, pairs: PairModel, behaviour: AnnotatorBehaviour, kept: Tensor) -> Tensor:
        """(2,) slope and offset of the log odds for answers to which nothing was fitted."""
        train, held = self.answers.rows(kept), self.answers.rows(~kept)
        log_likelihood = pairs.class_log_likelihood(train)
        spread = all_spreads(pairs, train)
        behaviour = fit_behaviour(behaviour, train, log_likelihood, spread, self.variant)
        identity = pairs.positions.new_tensor([1.0, 0.0])
        model = LatentAttributes(pairs, behaviour, identity, pairs.positions)
        sample = held.rows(slice(0, BLOCK))
        odds = model.log_odds(sample)
        same, informative = sample.pair_labels()
        weight = informative * pair_weight(sample).unsqueeze(1)
        line = identity.clone().requires_grad_()

        def loss() -> Tensor:
            fitted = line[0] * odds + line[1]
            error = torch.nn.functional.binary_cross_entropy_with_logits(
                fitted, same.float(), weight, reduction="sum"
            )
            total = error + 10.0 * ((line - identity) ** 2).sum()
            total.backward()
            return total.detach()

        minimise([line], loss, 20)
        return line.detach()
