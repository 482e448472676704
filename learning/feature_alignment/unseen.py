"""Features as a prior of a crowd model: places for images never shown, better ones for the others.

Images that were never shown are placed by a regression of the model's positions on the features,
with its uncertainty. For all images, a pooled model is learned whose positions have a prior around
what the features predict; and what it and the features alone predict is combined with the crowd
model's predictions if that improves predictions of held-out answers. If the features predict
nothing about held-out images, nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from learning import blend
from learning.answers import Answers
from learning.arrays import BoolArray, FloatArray
from learning.base import Progress
from learning.crowd_model import ATTRIBUTES, POOLED, CrowdModel
from learning.crowd_places import place_variance
from learning.evidence import Evidence, answer_log_likelihood
from learning.feature_alignment.folds import enough_answers, only_images
from learning.feature_alignment.inputs import checked_features
from learning.feature_alignment.model import MIN_IMAGES, FeatureAlignment, in_grids
from learning.feature_alignment.pair_map import PairMap, Squares
from learning.feature_alignment.selection import as_tensor, learned
from learning.feature_prior import FeaturePrior, map_log_odds
from learning.groupings import Groupings
from learning.pooled import fitting
from learning.pooled.model import PooledModel

_N_DIMENSIONS = 8
# Deviation of a position from what features predict, before the answers tell it.
_DEVIATION = 0.5
_FREE_START = 0.1
# The inner product of places by the pair map counts twice in its log odds.
_SCALE = 2.0**0.5
# Standard errors by which predictions of held-out answers must improve.
_CLEARLY = 3.0
# Weights for pairs with an image that no answer shows: held-out answers do not tell about those.
_EQUAL = (1 / 3, 1 / 3, 1 / 3, 0.0)
_CPU = torch.device("cpu")
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class _Given:
    """What is learned from. groupings: answers that contain a pair; table: (N, F); known,
    shown: (N,) bool, images with features, and those of them in answers."""

    groupings: Groupings
    table: NDArray[np.floating]
    known: BoolArray
    shown: BoolArray
    seed: int


@dataclass(frozen=True, eq=False)
class Parts:
    """The positions of a model, side by side. positions, deviation: (N, M) of all; names: of each
    part; widths: their numbers of columns.

    Attributes and views have a deviation of 0: their positions are the most probable ones, which
    no strong prior pulls to the centre. With the deviations that follow from the numbers of
    answers, places of images never shown are as good, and their intervals cover as much
    (docs/decisions/0042-features-as-a-prior.md; measured by `bench.features coverage`).
    """

    positions: FloatArray
    deviation: FloatArray
    names: list[str]
    widths: list[int]

    def of(self, name: str, columns: FloatArray) -> FloatArray:
        """The columns (n, M') of a part, of (n, M)."""
        number = self.names.index(name)
        start = sum(self.widths[:number])
        return columns[:, start : start + self.widths[number]]


def with_features(
    model: CrowdModel,
    groupings: Groupings,
    features: ArrayLike,
    known: ArrayLike | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> tuple[CrowdModel, FeatureAlignment | None]:
    """The model, with what features (N, F) add to it, and their alignment if they vary.

    groupings: what the model was fitted to; known: (N,) bool, images that have features. The
    model's `trace` tells `features_used`, `features_auc` (of pairs of held-out images) and
    `features_gain` with its error (of held-out answers, in nats per pair). Raises ValueError for
    features that do not match the images, or are not finite.
    """
    table, mask = checked_features(features, known, groupings.n_images)
    answers = groupings.subset(groupings.informative_grids())
    given = _Given(answers, table, mask, mask & in_grids(answers), random_state)
    trace = {**model.trace, "features_used": 0.0, "features_auc": 0.5}
    unused = replace(model, trace=trace)
    if given.shown.sum() < MIN_IMAGES or not np.ptp(table[given.shown], axis=0).any():
        return unused, None
    parts = parts_of(model)
    alignment = _aligned(given, parts, progress)
    if not alignment.used_:
        return unused, alignment
    trace |= {"features_used": 1.0, "features_auc": alignment.auc_}
    trial = _Trial.of(model, given, alignment)
    if trial is not None:
        trace |= {"features_gain": trial.gain.gain, "features_gain_error": trial.gain.error}
    return _guided(replace(model, trace=trace), given, parts, alignment, trial), alignment


def parts_of(model: CrowdModel) -> Parts:
    """Everything that features predict."""
    pieces: list[tuple[str, Tensor, Tensor | None]] = [
        ("pooled", model.pooled.positions, model.pooled.variance()),
        ("places", model.places, place_variance(model.pooled, model.places)),
    ]
    if model.latent is not None:
        pieces.append(("latent", model.latent.pairs.positions, None))
    if model.views is not None:
        pieces += [(f"view {n}", places, None) for n, places in enumerate(model.views.positions)]
    positions = [places.numpy().astype(np.float64) for _, places, _ in pieces]
    errors = [
        np.zeros(places.shape) if variance is None else variance.sqrt().numpy().astype(np.float64)
        for _, places, variance in pieces
    ]
    names, widths = [name for name, _, _ in pieces], [each.shape[1] for each in positions]
    return Parts(np.hstack(positions), np.hstack(errors), names, widths)


def _aligned(given: _Given, parts: Parts, progress: Progress | None) -> FeatureAlignment:
    return FeatureAlignment(given.seed).fit(
        given.table,
        enough_answers(given.groupings, given.seed),
        given.known,
        embedding=parts.positions,
        embedding_error=parts.deviation,
        progress=progress,
    )


@dataclass(frozen=True, eq=False)
class _Trial:
    """Whether features improve predictions of held-out answers. gain: of the combination over the
    crowd model; lead: of the pooled model with a prior over the crowd model; weights: of the
    combination; log_odds: (G, P) of the held-out answers by it."""

    gain: Evidence
    lead: Evidence
    evidence: Evidence
    weights: Tensor
    log_odds: Tensor

    @classmethod
    def of(cls, model: CrowdModel, given: _Given, alignment: FeatureAlignment) -> _Trial | None:
        """None if no answers were held out."""
        if model.held_out is None:
            return None
        every = Answers.of(given.groupings, _CPU)
        held, by_prior, by_map = [], [], []
        for rows in model.held_out.parts:
            rest = np.setdiff1d(np.arange(len(given.groupings)), rows.numpy())
            part = replace(given, groupings=given.groupings.subset(rest))
            pair_map = _map_of(part, alignment)
            places = as_tensor(_map_places(pair_map, given, alignment))
            own = every.rows(rows)
            held.append(own)
            by_prior.append(_with_prior(places, Answers.of(part.groupings, _CPU), given.seed))
            by_map.append(map_log_odds(places, _pair_model(pair_map, alignment), own))
        joined = every.rows(torch.cat(list(model.held_out.parts)))
        guided = torch.cat([m.log_odds(own) for m, own in zip(by_prior, held, strict=True)])
        odds = [model.held_out.log_odds, guided, torch.cat(by_map)]
        weights = blend.fit_blend(torch.stack(odds), joined)
        combined = blend.blended(odds, weights)
        crowd, alone = (_score([odds[n]], joined) for n in (0, 1))
        flat = _score([torch.zeros_like(guided)], joined)
        return cls(
            Evidence.of(answer_log_likelihood(combined, joined) - crowd),
            Evidence.of(alone - crowd),
            Evidence.of(alone - flat),
            weights,
            combined,
        )


def _score(odds: list[Tensor], held: Answers) -> Tensor:
    """(G,) of log odds calibrated on the same answers."""
    return answer_log_likelihood(
        blend.blended(odds, blend.fit_blend(torch.stack(odds), held)), held
    )


def _map_of(given: _Given, alignment: FeatureAlignment) -> PairMap:
    """The pair map of some answers, with the settings that held-out images support."""
    squares = Squares.of(only_images(given.groupings, given.shown), given.seed)
    inputs = as_tensor(_inputs(given, alignment))
    return learned(squares, inputs, alignment.settings_, None, given.seed)


def _inputs(given: _Given, alignment: FeatureAlignment) -> NDArray[np.float32]:
    return alignment.inputs_of(given.table, given.known)


def _map_places(
    pair_map: PairMap, given: _Given, alignment: FeatureAlignment
) -> NDArray[np.float32]:
    """(N, d), the origin for images without features."""
    places = pair_map.places(as_tensor(_inputs(given, alignment))).numpy()
    places = places - places[given.shown].mean(axis=0)
    places[~given.known] = 0.0
    return np.asarray(places, np.float32)


def _pair_model(pair_map: PairMap, alignment: FeatureAlignment) -> Tensor:
    return torch.tensor([float(pair_map.bias), float(pair_map.share), *alignment.calibration_])


def _with_prior(places: Tensor, answers: Answers, seed: int) -> PooledModel:
    """A pooled model whose positions are expected at the places (N, d) by the pair map, in some
    more dimensions, for what features do not describe."""
    n_dimensions = max(places.shape[1], _N_DIMENSIONS)
    settings = fitting.PooledSettings(n_dimensions=n_dimensions, place_deviation=_DEVIATION)
    free = n_dimensions - places.shape[1]
    expected = torch.nn.functional.pad(_SCALE * places, (0, free))
    start = fitting.start(answers, settings, torch.Generator().manual_seed(seed))
    moved = expected + _FREE_START * start.positions
    certain = fitting.most_probable(replace(start, positions=moved), answers, settings, expected)
    return fitting.variational(certain, answers, settings, expected)


def _guided(
    model: CrowdModel,
    given: _Given,
    parts: Parts,
    alignment: FeatureAlignment,
    trial: _Trial | None,
) -> CrowdModel:
    pair_map = _map_of(given, alignment)
    places = as_tensor(_map_places(pair_map, given, alignment))
    pooled = _with_prior(places, Answers.of(given.groupings, _CPU), given.seed)
    improves = trial is not None and trial.gain.exceeds(_CLEARLY)
    unseen = given.known & ~in_grids(given.groupings)
    placed, variance = _with_unseen(model, given, parts, alignment, unseen)
    prior = FeaturePrior(
        pooled,
        places,
        _pair_model(pair_map, alignment),
        trial.weights if trial is not None and improves else torch.zeros(0),
        torch.tensor(_EQUAL),
        torch.as_tensor(unseen),
        variance,
    )
    placed = replace(placed, prior=prior)
    if trial is None or not improves or model.held_out is None:
        return placed
    held_out = replace(model.held_out, log_odds=trial.log_odds)
    placed = replace(placed, held_out=held_out)
    if model.structure == ATTRIBUTES or trial.lead.gain <= 0:
        return placed
    return replace(
        placed,
        structure=POOLED,
        places=pooled.positions,
        evidence=(trial.evidence,),
        prior=replace(prior, variance=variance.new_zeros(0)),
    )


def _with_unseen(
    model: CrowdModel,
    given: _Given,
    parts: Parts,
    alignment: FeatureAlignment,
    unseen: BoolArray,
) -> tuple[CrowdModel, Tensor]:
    """The model with unseen images placed in all its parts, and (n, M) variances of those that it
    shows."""
    places = alignment.places(given.table[unseen])

    def put(name: str, tensor: Tensor, values: FloatArray) -> Tensor:
        changed = tensor.clone()
        own = parts.of(name, values)
        changed[torch.as_tensor(unseen)] = torch.as_tensor(own, dtype=tensor.dtype)
        return changed

    latent, pooled, views = model.latent, model.pooled, model.views
    is_pooled = torch.equal(model.places, pooled.positions)
    pooled = replace(pooled, positions=put("pooled", pooled.positions, places.positions))
    if not pooled.certain:
        logs = 2.0 * np.log(np.maximum(places.deviations, _LEAST_VARIANCE))
        pooled = replace(pooled, log_variance=put("pooled", pooled.log_variance, logs))
    shown = pooled.positions if is_pooled else put("places", model.places, places.positions)
    if latent is not None:
        moved = put("latent", latent.pairs.positions, places.positions)
        latent = replace(latent, pairs=replace(latent.pairs, positions=moved))
    if views is not None:
        each = [put(f"view {n}", p, places.positions) for n, p in enumerate(views.positions)]
        views = replace(views, positions=torch.stack(each))
    name = "latent" if model.structure == ATTRIBUTES else "places"
    variance = torch.as_tensor(parts.of(name, places.deviations) ** 2, dtype=torch.float32)
    return replace(model, latent=latent, pooled=pooled, views=views, places=shown), variance
