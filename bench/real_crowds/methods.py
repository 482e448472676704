"""The compared methods, each a function from answers and a seed to a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, Protocol

import numpy as np

from app.strategies.cen import CenSettings
from bench.real_crowds.triplets import OrdinalEmbedding
from learning.arrays import BoolArray, FloatArray
from learning.baselines import (
    PUBLISHED_SETTINGS,
    BayesianCrowdClustering,
    PaperContextEmbedding,
    SiameseEmbedding,
    TripletEmbedding,
)
from learning.baselines.common import EmbeddingBaseline, distances
from learning.cen import ContextEmbeddingNetwork
from learning.crowdster import CrowdSter
from learning.groupings import Groupings

N_DIMENSIONS = 4
DEFAULT = "CEN, product default"
CONTRACT = "CEN, n_dimensions=4"
PRODUCT = (DEFAULT, CONTRACT)
ORDINAL = "SOE (cblearn)"


class Fitted(Protocol):
    """What the measures need from a model."""

    @property
    def embedding(self) -> FloatArray:
        """(N, d) one position for each image."""
        ...

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, P) in numpy.triu_indices order, NaN for an uninformative pair."""
        ...

    def predict_same(self, groupings: Groupings) -> BoolArray | None:
        """(G, P) the method's own rule; None if it has none."""
        ...

    def attribute_share(self) -> FloatArray | None:
        """(K,) part of the answers about each attribute; None if it models none."""
        ...


@dataclass(frozen=True)
class Estimated:
    """A fitted estimator with `pair_distance`; `calibrated` when its threshold was fitted."""

    model: Any
    calibrated: bool = True

    @property
    def embedding(self) -> FloatArray:
        return np.asarray(self.model.embedding_, np.float64)

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        return np.asarray(self.model.pair_distance(groupings))

    def predict_same(self, groupings: Groupings) -> BoolArray | None:
        return np.asarray(self.model.predict_same(groupings)) if self.calibrated else None

    def attribute_share(self) -> FloatArray | None:
        return getattr(self.model, "attribute_share_", None)


@dataclass(frozen=True)
class Places:
    """An embedding that describes a pair only by its Euclidean distance."""

    embedding: FloatArray

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        return distances(groupings, lambda rows: self.embedding[groupings.images[rows]])

    def predict_same(self, groupings: Groupings) -> BoolArray | None:
        return None

    def attribute_share(self) -> FloatArray | None:
        return None


# calibrate: whether the method's own threshold is wanted, which may take an extra fit.
Method = Callable[[Groupings, int, bool], Fitted]


def _network(parameters: Mapping[str, Any], answers: Groupings, seed: int, _: bool) -> Fitted:
    return Estimated(ContextEmbeddingNetwork(random_state=seed, **parameters).fit(answers))


def product_settings() -> dict[str, Any]:
    """Defaults of a campaign's settings that are parameters of the model."""
    known = signature(ContextEmbeddingNetwork).parameters
    return {name: value for name, value in CenSettings(features="nothing") if name in known}


def _baseline(
    kind: type[EmbeddingBaseline],
    parameters: Mapping[str, Any],
    answers: Groupings,
    seed: int,
    calibrate: bool,
) -> Fitted:
    model = kind(random_state=seed, **parameters)
    if calibrate:
        model.fit(answers)
    else:
        # Its own threshold takes one more fit.
        model._learn(answers, None)
    return Estimated(model, calibrate)


def _crowdster(answers: Groupings, seed: int, _: bool) -> Fitted:
    model = CrowdSter(answers.n_images, answers.grid_size, random_state=seed)
    return Places(model.update(answers).embedding_)


def _ordinal(answers: Groupings, seed: int, _: bool) -> Fitted:
    return Places(OrdinalEmbedding(N_DIMENSIONS, random_state=seed).fit(answers).embedding_)


def _bayesian(n_dimensions: int) -> Method:
    return partial(_baseline, BayesianCrowdClustering, {"n_dimensions": n_dimensions})


def _paper(**parameters: Any) -> Method:
    return partial(_baseline, PaperContextEmbedding, {"n_dimensions": N_DIMENSIONS, **parameters})


METHODS: Mapping[str, Method] = {
    DEFAULT: partial(_network, product_settings()),
    CONTRACT: partial(_network, {"n_dimensions": N_DIMENSIONS}),
    "paper's network, annotator": _paper(variant="annotator"),
    "paper's network, annotator, γ = 2": _paper(variant="annotator", gamma=2.0),
    "paper's network, context": _paper(variant="context"),
    "paper's network, mixture": _paper(variant="mixture"),
    "paper's network, mixture, as published": _paper(**PUBLISHED_SETTINGS),
    "Bayesian crowd clustering, K=2": _bayesian(2),
    "Bayesian crowd clustering, K=4": _bayesian(4),
    "Bayesian crowd clustering, K=8": _bayesian(8),
    "Siamese": partial(_baseline, SiameseEmbedding, {"n_dimensions": N_DIMENSIONS}),
    "triplet": partial(_baseline, TripletEmbedding, {"n_dimensions": N_DIMENSIONS}),
    "CrowdSter": _crowdster,
    ORDINAL: _ordinal,
}
QUICK = (
    DEFAULT,
    "paper's network, annotator",
    "Bayesian crowd clustering, K=4",
    "CrowdSter",
)
BASELINES = tuple(name for name in METHODS if name not in PRODUCT)
