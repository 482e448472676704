"""Learns attributes and a pooled embedding, and decides which of them the answers support.

Both models are fitted to most of the answers and judged by the rest, in whole grids.
Attributes that do not predict held-out answers are dropped. If the remaining ones predict
worse than one embedding for everyone, the embedding is shown instead; if neither predicts,
nothing is shown. If there are not several attributes and grids are wide, annotators' own views
of one embedding (`learning.pooled.views`) are learned too. Predictions combine all models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from learning import blend
from learning.answers import Answers
from learning.binning.pairs import suits_pairs
from learning.crowd_places import pooled_places
from learning.evidence import (
    MIN_DEVIATIONS,
    MIN_POOLED_DEVIATIONS,
    Evidence,
    answer_log_likelihood,
    attribute_evidence,
    pooled_evidence,
    seen_images,
)
from learning.feature_prior import FeaturePrior
from learning.latent import model as latent_model
from learning.latent.model import LatentAttributes
from learning.pooled import fitting
from learning.pooled.consensus import consensus
from learning.pooled.model import PooledModel
from learning.pooled.views import Views, affordable_starts, fit_views

# The structures that answers can support.
ATTRIBUTES, POOLED, NONE = "attributes", "pooled", "none"
# With fewer answers than this, none can be held out.
MIN_ANSWERS = 12
# Up to this many answers, each is held out in one of several folds.
_FEW, _N_FOLDS = 400, 3
_HELD_OUT = 0.2
# The maximum number of held-out answers; more do not change the result.
_MOST_HELD_OUT = 4_000
# The maximum number of answers for the trial of a pooled embedding.
_TRIAL = 20_000
# Iterations of each stage of a trial with many answers, which are enough to compare.
_TRIAL_ITERATIONS = 30
# If images were shown less often than this, a larger weight of the pairs is tried as well.
_SPARSE = 12.0
# Numbers of averaged fits below _FEW answers and above, and the maximum of all their pairs.
_MOST_FITS, _FITS = 6, 3
_FITTED_PAIRS = 240_000
# A model that is worse on held-out answers by this many standard errors is not used.
_CLEARLY = 2.0

Step = Callable[[], None]


@dataclass(frozen=True)
class Settings:
    """n_attributes: maximum number; variant: "mixture", "annotator" or "context"; n_starts: of
    the attributes; pooled: settings of the embedding."""

    n_attributes: int
    variant: str
    n_starts: int
    pooled: fitting.PooledSettings = field(default_factory=fitting.PooledSettings)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The answers that judged the models, before the models also learned from them.

    labels: (G, P) int8, 1 same, 0 different, -1 no pair; log_odds: (G, P) predicted; parts: of
    each fold, the rows of its held-out answers among those that the models learned from.
    """

    labels: Tensor
    log_odds: Tensor
    parts: tuple[Tensor, ...]

    @classmethod
    def of(cls, answers: Answers, log_odds: Tensor, parts: tuple[Tensor, ...]) -> HeldOut:
        same, informative = answers.pair_labels()
        return cls(torch.where(informative, same.to(torch.int8), -1), log_odds, parts)

    def to(self, device: torch.device) -> HeldOut:
        """The same on another device."""
        parts = tuple(part.to(device) for part in self.parts)
        return HeldOut(self.labels.to(device), self.log_odds.to(device), parts)


@dataclass(frozen=True, eq=False)
class CrowdModel:
    """Fitted to all answers.

    latent: the supported attributes, None without any; pooled: one embedding for everyone;
    views: each annotator's view of it, None if not learned; places: (N, d) positions of the
    images in one embedding; weights: of the log odds of latent, pooled and views, if they exist,
    and an offset, see `learning.blend`; structure: ATTRIBUTES, POOLED or NONE; evidence: for
    each attribute, or for the pooled embedding; trace: the values that were compared; held_out:
    None if nothing was held out, and in a loaded model; prior: what features of the images add,
    None without any.
    """

    latent: LatentAttributes | None
    pooled: PooledModel
    views: Views | None
    places: Tensor
    weights: Tensor
    structure: str
    evidence: tuple[Evidence, ...]
    trace: dict[str, float]
    held_out: HeldOut | None = None
    prior: FeaturePrior | None = None

    @property
    def shown_pooled(self) -> PooledModel:
        """The pooled model whose positions are shown if there are no attributes."""
        return self.prior.pooled if self.prior is not None and self.prior.is_shown else self.pooled

    def log_odds(self, answers: Answers) -> Tensor:
        """(G, P) log odds that two images are grouped together, independent of the groupings."""
        odds = self._crowd_log_odds(answers)
        return odds if self.prior is None else self.prior.log_odds(answers, odds)

    def _crowd_log_odds(self, answers: Answers) -> Tensor:
        odds, weights = [], []
        members = [model for model in (self.latent, self.pooled, self.views) if model is not None]
        for weight, member in zip(self.weights[:-1], members, strict=True):
            if weight > 0:
                odds.append(member.log_odds(answers))
                weights.append(weight)
        return blend.blended(odds, torch.stack([*weights, self.weights[-1]]))


@dataclass(frozen=True, eq=False)
class _Trial:
    """Models of the answers of one fold, judged by the held-out answers.

    pooled: one model per tried setting; rows: of the held-out answers among all; odds: of the
    attributes and of these models; views: log odds by the annotators' views, None if not tried.
    """

    latent: LatentAttributes
    evidence: list[Evidence]
    pooled: list[PooledModel]
    train: Answers
    held: Answers
    rows: Tensor
    odds: list[Tensor]
    pooled_evidence: list[Evidence]
    views: Tensor | None = None

    def attributes(self) -> list[int]:
        """The supported attributes."""
        return [k for k, each in enumerate(self.evidence) if each.exceeds(MIN_DEVIATIONS)]

    def gain(self) -> float:
        """Nats per answer gained by the supported attributes."""
        return sum(self.evidence[k].gain for k in self.attributes())


def learn(
    answers: Answers, settings: Settings, generator: torch.Generator, step: Step = lambda: None
) -> CrowdModel:
    """Learn the models of all answers and what they support; calls `step` `n_steps` times."""
    if len(answers) < MIN_ANSWERS:
        return _unjudged(answers, settings, generator)
    kinds = _pooled_settings(answers, settings)
    trials = [
        _trial(answers, held, settings, kinds, generator, step)
        for held in _folds(len(answers), generator, answers.device)
    ]
    best = max(trials, key=_Trial.gain)
    kept = best.attributes()
    n_views = _n_views(answers, settings, len(kept))
    if n_views:
        trials = [_with_views(trial, n_views, generator) for trial in trials]
    verdict = _Verdict.of(trials, len(kept))
    latent = None
    if verdict.uses_attributes:
        chosen = best.latent.keep(torch.tensor(kept, device=answers.device))
        latent = latent_model.refit(answers, chosen, settings.variant, generator)
    step()
    pooled = best.pooled[verdict.shown]
    if verdict.uses_pooled:
        pooled = _pooled_of_all(pooled, answers, kinds[verdict.shown], generator)
    views = fit_views(answers, n_views, generator) if verdict.uses_views else None
    evidence, places = [best.evidence[k] for k in kept], pooled.positions
    if verdict.structure != ATTRIBUTES:
        evidence = [best.pooled_evidence[verdict.shown]]
        places = pooled_places(pooled, answers, generator)
    step()
    return CrowdModel(
        latent,
        pooled,
        views,
        places,
        verdict.weights,
        verdict.structure,
        tuple(evidence),
        verdict.trace,
        verdict.held_out,
    )


def n_steps(n_answers: int, n_starts: int) -> int:
    """How often `learn` calls its `step`."""
    if n_answers < MIN_ANSWERS:
        return 0
    n_folds, n_starts = (_N_FOLDS, 1) if n_answers < _FEW else (1, n_starts)
    return n_folds * (latent_model.n_steps(n_starts) + 1) + 2


def _folds(n: int, generator: torch.Generator, device: torch.device) -> list[Tensor]:
    """(G,) masks of the held-out answers."""
    order = torch.randperm(n, generator=generator)
    if n < _FEW:
        return [(order % _N_FOLDS == fold).to(device) for fold in range(_N_FOLDS)]
    n_held = min(round(_HELD_OUT * n), _MOST_HELD_OUT)
    return [(order < n_held).to(device)]


def _trial(
    answers: Answers,
    held_out: Tensor,
    settings: Settings,
    kinds: list[fitting.PooledSettings],
    generator: torch.Generator,
    step: Step,
) -> _Trial:
    train, held = answers.rows(~held_out), answers.rows(held_out)
    seen = seen_images(train)
    # Several folds already give as many starts to choose from.
    n_starts = settings.n_starts if len(answers) >= _FEW else 1
    latent = latent_model.fit(
        train, settings.n_attributes, settings.variant, n_starts, generator, step
    )
    evidence = attribute_evidence(latent, held, seen, generator)
    part = train.rows(slice(0, _TRIAL)) if len(train) > _TRIAL else train
    pooled = [_pooled(part, kind, generator) for kind in kinds]
    step()
    odds = [latent.log_odds(held), *[model.log_odds(held) for model in pooled]]
    of_pooled = [pooled_evidence(model, held, seen, generator) for model in pooled]
    rows = held_out.nonzero()[:, 0]
    return _Trial(latent, evidence, pooled, train, held, rows, odds, of_pooled)


def _n_views(answers: Answers, settings: Settings, n_attributes: int) -> int:
    """The number of fits of annotators' views that are worth their time.

    In grids of few images, the pooled model already captures what they would. With several
    attributes, each answer and not each annotator has its own view.
    """
    if n_attributes > 1 or not settings.pooled.annotators or suits_pairs(answers):
        return 0
    return affordable_starts(answers)


def _with_views(trial: _Trial, n_starts: int, generator: torch.Generator) -> _Trial:
    views = fit_views(trial.train, n_starts, generator)
    return replace(trial, views=views.log_odds(trial.held))


def _pooled(
    answers: Answers, kind: fitting.PooledSettings, generator: torch.Generator
) -> PooledModel:
    if len(answers) > _FEW:
        kind = replace(kind, n_iterations=_TRIAL_ITERATIONS)
    return _fitted(answers, kind, generator)


def _fitted(
    answers: Answers, kind: fitting.PooledSettings, generator: torch.Generator
) -> PooledModel:
    certain = fitting.most_probable(fitting.start(answers, kind, generator), answers, kind)
    return fitting.variational(certain, answers, kind)


def _pooled_of_all(
    trial: PooledModel,
    answers: Answers,
    kind: fitting.PooledSettings,
    generator: torch.Generator,
) -> PooledModel:
    """Fit from scratch, with several starts.

    A fit that continues from the trial keeps merged what fewer answers did not separate, and if
    images are in few answers, no single start finds everything. With very many answers there is
    no time for either.
    """
    if len(answers) > _TRIAL:
        return fitting.variational(trial, answers, kind)
    return consensus([_fitted(answers, kind, generator) for _ in range(_n_fits(answers))])


def _n_fits(answers: Answers) -> int:
    """The number of fits of the pooled embedding that are averaged."""
    width = answers.images.shape[1]
    affordable = _FITTED_PAIRS // max(1, len(answers) * width * (width - 1) // 2)
    most = _MOST_FITS if len(answers) < _FEW else _FITS
    return int(min(max(affordable, 1), most))


def _pooled_settings(answers: Answers, settings: Settings) -> list[fitting.PooledSettings]:
    """The settings that are worth trying for this number of answers."""
    n_seen = max(1, len(seen_images(answers)))
    if float(answers.n_shown().sum()) / n_seen < _SPARSE:
        return [settings.pooled, settings.pooled.sparse()]
    return [settings.pooled]


@dataclass(frozen=True, eq=False)
class _Verdict:
    """The decision by the held-out answers.

    shown: the chosen pooled embedding; uses_attributes, uses_pooled, uses_views: the models that
    are used; the rest as in CrowdModel.
    """

    structure: str
    shown: int
    uses_attributes: bool
    uses_pooled: bool
    uses_views: bool
    weights: Tensor
    trace: dict[str, float]
    held_out: HeldOut

    @classmethod
    def of(cls, trials: list[_Trial], n_attributes: int) -> _Verdict:
        """Decide from the trials. n_attributes: number of supported attributes."""
        held = _joined([trial.held for trial in trials])
        n_models = len(trials[0].odds)
        odds = [torch.cat([trial.odds[m] for trial in trials]) for m in range(n_models)]
        viewed = [trial.views for trial in trials if trial.views is not None]
        views = [torch.cat(viewed)] if viewed else []
        scores = [_calibrated_score([trial_odds], held) for trial_odds in odds]
        shown = int(torch.stack([score.mean() for score in scores[1:]]).argmax())
        gap = Evidence.of(scores[0] - scores[1 + shown])
        # A single attribute has no other to be distinguished from. It is shown only if it predicts
        # better than all models of one embedding.
        rival = _calibrated_score([odds[1 + shown], *views], held)
        lead = Evidence.of(scores[0] - rival)
        pooled_holds = any(
            trial.pooled_evidence[shown].exceeds(MIN_POOLED_DEVIATIONS) for trial in trials
        )
        uses_attributes = n_attributes > 0 and gap.deviations > -_CLEARLY
        structure = POOLED if pooled_holds or n_attributes else NONE
        if uses_attributes and lead.gain > 0:
            structure = ATTRIBUTES
        uses_pooled = structure != ATTRIBUTES or gap.deviations < _CLEARLY
        # If nothing is supported, views would only make predictions overconfident.
        views = views if structure != NONE else []
        members = [odds[0]] * uses_attributes + [odds[1 + shown]] * uses_pooled + views
        fitted = blend.fit_blend(torch.stack(members), held)
        weights = fitted
        if not uses_pooled:
            weights = torch.cat([fitted[:1], torch.zeros_like(fitted[:1]), fitted[1:]])
        return cls(
            structure,
            shown,
            uses_attributes,
            uses_pooled,
            bool(views),
            weights,
            {
                "attributes_log_likelihood": float(scores[0].mean()),
                "pooled_log_likelihood": float(rival.mean()),
                "difference_error": lead.error,
                "held_out_answers": float(len(held)),
            },
            HeldOut.of(held, blend.blended(members, fitted), tuple(trial.rows for trial in trials)),
        )


def _calibrated_score(odds: list[Tensor], held: Answers) -> Tensor:
    """(G,) mean log likelihood of each held-out answer's pairs by the blend of some models."""
    weights = blend.fit_blend(torch.stack(odds), held)
    return answer_log_likelihood(blend.blended(odds, weights), held)


def _joined(parts: list[Answers]) -> Answers:
    first = parts[0]
    return Answers(
        torch.cat([part.images for part in parts]),
        torch.cat([part.present for part in parts]),
        torch.cat([part.groups for part in parts]),
        torch.cat([part.annotators for part in parts]),
        first.n_images,
        first.n_annotators,
    )


def _unjudged(answers: Answers, settings: Settings, generator: torch.Generator) -> CrowdModel:
    """Learn an embedding without attributes, because there are too few answers to judge by."""
    pooled = fitting.most_probable(
        fitting.start(answers, settings.pooled, generator), answers, settings.pooled
    )
    weights = torch.tensor([1.0, 0.0], device=answers.device)
    unknown = Evidence(0.0, float("inf"), 0)
    trace = {"held_out_answers": 0.0}
    return CrowdModel(None, pooled, None, pooled.positions, weights, NONE, (unknown,), trace)
