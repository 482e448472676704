"""The latent attribute model: fit, posterior and prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from learning.answers import BLOCK, Answers
from learning.latent.discovery import Attributes, find_attributes, settle
from learning.latent.habits import Habits, all_spreads, fit_habits, grid_spread
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

_N_FOLDS = 4
_TINY = 1e-6
# Fewer answers than this cannot spare a quarter for calibration.
_MIN_CALIBRATION_ANSWERS = 20
_MANY = 50_000
_WARM_SWEEPS = 5
_WARM_ITERATIONS = 15
# Log odds of an attribute that no answer is about.
_NEVER = -50.0

Step = Callable[[], None]


@dataclass(frozen=True, eq=False)
class LatentAttributes:
    """A fitted model.

    pairs, habits: see there; calibration: (2,) slope and offset of the log odds of
    P(same), fitted on answers that were held out; information: (N, K) answers, in
    fractions, that placed each image on each attribute.
    """

    pairs: PairModel
    habits: Habits
    calibration: Tensor
    information: Tensor

    @property
    def n_dimensions(self) -> int:
        """K."""
        return self.pairs.n_dimensions

    def class_log_probability(self, images: Tensor, present: Tensor, who: Tensor) -> Tensor:
        """(B, C) before seeing a grouping. images, present: (B, S); who: (B,)."""
        spread = grid_spread(self.pairs.positions, images, present)
        return self.habits.log_probability(who, spread)

    def attribute_before(self, answers: Answers) -> Tensor:
        """(G, K) what each answer will be about, if it is about any attribute."""
        parts = [
            self.attributes(self.class_log_probability(b.images, b.present, b.annotators))
            for _, b in answers.blocks()
        ]
        return torch.cat(parts)

    def class_posterior(self, answers: Answers) -> Tensor:
        """(G, C) log probability of the hidden classes, given the groupings."""
        log_likelihood = self.pairs.class_log_likelihood(answers)
        prior = [
            self.class_log_probability(b.images, b.present, b.annotators)
            for _, b in answers.blocks()
        ]
        return torch.log_softmax(log_likelihood + torch.cat(prior), dim=1)

    def attribute_after(self, answers: Answers) -> Tensor:
        """(G, K) what each answer is about, given its grouping."""
        return self.attributes(self.class_posterior(answers))

    def probability_same(self, answers: Answers) -> Tensor:
        """(G, P) that two images are grouped together, not looking at the groupings."""
        parts = [self._same(block) for _, block in answers.blocks(BLOCK // 4)]
        return torch.cat(parts)

    def probability_same_after(self, answers: Answers) -> Tensor:
        """(G, P) of an answer about the attribute that each grouping shows."""
        n_clean = self.n_dimensions * N_LEVELS
        parts = []
        for _, block in answers.blocks(BLOCK // 4):
            posterior = self.class_posterior(block)
            clean = torch.softmax(posterior[:, :n_clean], dim=1)
            none = clean.new_zeros((len(block), posterior.shape[1] - n_clean))
            parts.append(self.pairs.predict(block.images, torch.cat([clean, none], dim=1)))
        return torch.cat(parts)

    def _same(self, block: Answers) -> Tensor:
        prior = self.class_log_probability(block.images, block.present, block.annotators)
        p = self.pairs.predict(block.images, prior.exp()).clamp(1e-6, 1 - 1e-6)
        return torch.sigmoid(self.calibration[0] * torch.logit(p) + self.calibration[1])

    def attributes(self, log_probability: Tensor) -> Tensor:
        n_clean = self.n_dimensions * N_LEVELS
        levels = log_probability[:, :n_clean].reshape(-1, self.n_dimensions, N_LEVELS)
        return torch.softmax(torch.logsumexp(levels, dim=2), dim=1)

    def tensors(self) -> dict[str, Tensor]:
        """All that was learned, by name."""
        result = {"calibration": self.calibration, "information": self.information}
        for part in (self.pairs, self.habits):
            result |= {field.name: getattr(part, field.name) for field in fields(part)}
        return result

    def to(self, device: torch.device) -> LatentAttributes:
        """The same on another device."""
        moved = {name: tensor.to(device) for name, tensor in self.tensors().items()}
        return LatentAttributes.from_tensors(moved)

    def columns(self, order: Tensor, sign: Tensor | None = None) -> LatentAttributes:
        """Some of its attributes in the order given, turned round where sign is -1.

        order: (M,) int64, -1 for an attribute that no answer is about; sign: (M,).
        """
        device = self.calibration.device
        order = order.to(device)
        kept, place = order[order >= 0], (order >= 0).nonzero()[:, 0]
        turn = torch.ones(len(order), device=device) if sign is None else sign.to(device)

        def spread_out(values: Tensor, fill: float) -> Tensor:
            wide = values.new_full((*values.shape[:-1], len(order)), fill)
            wide[..., place] = values[..., kept]
            return wide

        n_clean = self.n_dimensions * N_LEVELS
        by_level = self.habits.bias[:n_clean].reshape(-1, N_LEVELS).T
        bias = spread_out(by_level, _NEVER).T.reshape(-1)
        pairs = replace(
            self.pairs,
            positions=spread_out(self.pairs.positions, 0.0) * turn,
            thresholds=spread_out(self.pairs.thresholds.T, 0.0).T,
        )
        habits = replace(
            self.habits,
            bias=torch.cat([bias, self.habits.bias[n_clean:]]),
            preference=spread_out(self.habits.preference, 0.0),
            spread_mean=spread_out(self.habits.spread_mean, 0.0),
            spread_deviation=spread_out(self.habits.spread_deviation, 1.0),
        )
        information = spread_out(self.information, 0.0)
        return replace(self, pairs=pairs, habits=habits, information=information)

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> LatentAttributes:
        """What `tensors` gave."""
        pairs = PairModel(**{field.name: tensors[field.name] for field in fields(PairModel)})
        habits = Habits(**{field.name: tensors[field.name] for field in fields(Habits)})
        return cls(pairs, habits, tensors["calibration"], tensors["information"])


def n_steps(n_starts: int) -> int:
    """How often a fit of `n_starts` starts calls its `step`."""
    return n_starts + _N_FOLDS


def fit(
    answers: Answers,
    n_dimensions: int,
    variant: str,
    n_starts: int,
    generator: torch.Generator,
    step: Step = lambda: None,
) -> LatentAttributes:
    """A model of all answers from nothing."""
    found = find_attributes(answers, n_dimensions, n_starts, generator, step)
    pairs = PairModel.start(found.positions)
    habits = Habits.start(answers.n_annotators, found.n, answers.device)
    n_rounds = _N_FOLDS - 1 if len(answers) < _MANY else 1
    model = _Fit(answers, found, variant, generator).run(pairs, habits, n_rounds, step)
    order = torch.arange(n_dimensions)
    return model.columns(torch.where(order < found.n, order, -1))


def refit(
    answers: Answers,
    previous: LatentAttributes,
    variant: str,
    generator: torch.Generator,
    step: Step = lambda: None,
) -> LatentAttributes:
    """A model of all answers from that of most of them; images and annotators may be new."""
    used = (previous.information.sum(dim=0) > 0).nonzero()[:, 0]
    narrow = previous.columns(used)
    pairs = narrow.pairs
    missing = pairs.positions.new_zeros((answers.n_images - len(pairs.positions), len(used)))
    positions = torch.cat([pairs.positions, missing])
    known = torch.cat([narrow.information, missing]).sum(dim=1, keepdim=True) > 0
    scale = positions[known[:, 0]].std(dim=0, unbiased=False) + _TINY
    found = settle(answers, Attributes(positions / scale), _WARM_SWEEPS)
    placed = torch.where(known, positions, found.positions * scale)
    habits = narrow.habits.widened(answers.n_annotators)
    run = _Fit(answers, found, variant, generator)
    model = run.run(replace(pairs, positions=placed), habits, 0, step, previous.calibration)
    order = torch.full((previous.n_dimensions,), -1)
    order[used.cpu()] = torch.arange(len(used))
    return model.columns(order)


class _Fit:
    """Pair model and habits, given the attributes found."""

    def __init__(
        self,
        answers: Answers,
        found: Attributes,
        variant: str,
        generator: torch.Generator,
    ) -> None:
        self.answers, self.variant = answers, variant
        self.found = found
        order = torch.randperm(len(answers), generator=generator) % _N_FOLDS
        self.fold = order.to(answers.device)

    def run(
        self,
        pairs: PairModel,
        habits: Habits,
        n_rounds: int,
        step: Step,
        calibration: Tensor | None = None,
    ) -> LatentAttributes:
        """Thresholds and slips from held-out answers, then everything from all answers."""
        many = len(self.answers) >= _MANY
        n_iterations = 8 if many else 30
        if n_rounds == 0:
            n_iterations = min(n_iterations, _WARM_ITERATIONS)
        identity = pairs.positions.new_tensor([1.0, 0.0])
        calibration = identity if calibration is None else calibration
        calibrate = len(self.answers) >= _MIN_CALIBRATION_ANSWERS and self.found.n > 0
        for number in range(n_rounds if calibrate else 0):
            held = self.fold == number
            data = self._assigned(pairs)
            pairs = fit_positions(pairs, data.where(~held[data.rows]), n_iterations)
            pairs = fit_thresholds(pairs, data.where(held[data.rows]))
            if number == n_rounds - 1:
                calibration = self._calibration(pairs, habits, ~held)
            step()
        if self.found.n > 0:
            pairs = fit_positions(pairs, self._assigned(pairs), n_iterations)
        log_likelihood = pairs.class_log_likelihood(self.answers)
        spread = all_spreads(pairs.positions, self.answers)
        habits = fit_habits(
            habits,
            self.answers,
            log_likelihood,
            spread,
            self.variant,
            n_rounds=2 if n_rounds else 1,
        )
        prior = habits.log_probability(self.answers.annotators, spread)
        scattered = torch.softmax(log_likelihood + prior, dim=1)[:, -1]
        pairs = fit_noise(pairs, self.answers, scattered)
        step()
        information = self.found.sums.weights if self.found.sums is not None else pairs.positions
        return LatentAttributes(pairs, habits, calibration, information)

    def _assigned(self, pairs: PairModel) -> Assigned:
        assert self.found.sums is not None
        log_likelihood = pairs.class_log_likelihood(self.answers)
        return Assigned.of(self.answers, self.found.sums.responsibility, log_likelihood)

    def _calibration(self, pairs: PairModel, habits: Habits, kept: Tensor) -> Tensor:
        """(2,) slope and offset of the log odds that suit answers nothing was fitted to."""
        train, held = self.answers.rows(kept), self.answers.rows(~kept)
        log_likelihood = pairs.class_log_likelihood(train)
        spread = all_spreads(pairs.positions, train)
        habits = fit_habits(habits, train, log_likelihood, spread, self.variant)
        identity = pairs.positions.new_tensor([1.0, 0.0])
        model = LatentAttributes(pairs, habits, identity, pairs.positions)
        sample = held.rows(slice(0, BLOCK))
        odds = torch.logit(model.probability_same(sample))
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
