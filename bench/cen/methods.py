"""The compared methods, each a function from training answers to predictions of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.arrays import BoolArray, FloatArray, IntArray
from learning.baselines import (
    BayesianCrowdClustering,
    ConditionalSimilarity,
    PaperContextEmbedding,
    SiameseEmbedding,
    TripletEmbedding,
)
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings

DEFAULT = "latent attribute, mixture (default)"
KNOWN_ATTRIBUTE = "CSN, attribute known"


@dataclass(frozen=True)
class Task:
    """One training set and one test set; attributes (G,) are for methods that use them."""

    train: Groupings
    test: Groupings
    train_attributes: IntArray
    test_attributes: IntArray
    n_dimensions: int
    seed: int


@dataclass(frozen=True)
class Predicted:
    """Predictions for the test answers, (G, P) distance and same, and the fitted model."""

    distance: FloatArray
    same: BoolArray
    model: Any


Method = Callable[[Task], Predicted]


def _network(**parameters: Any) -> Method:
    def run(task: Task) -> Predicted:
        model = ContextEmbeddingNetwork(
            n_dimensions=task.n_dimensions, random_state=task.seed, **parameters
        ).fit(task.train)
        return Predicted(model.pair_distance(task.test), model.predict_same(task.test), model)

    return run


def _baseline(kind: Any, **parameters: Any) -> Method:
    def run(task: Task) -> Predicted:
        model = kind(n_dimensions=task.n_dimensions, random_state=task.seed, **parameters)
        model.fit(task.train)
        return Predicted(model.pair_distance(task.test), model.predict_same(task.test), model)

    return run


def _known_attribute(task: Task) -> Predicted:
    model = ConditionalSimilarity(random_state=task.seed)
    model.fit(task.train, task.train_attributes)
    distance = model.pair_distance(task.test, task.test_attributes)
    return Predicted(distance, model.predict_same(task.test, task.test_attributes), model)


METHODS: dict[str, Method] = {
    "Siamese": _baseline(SiameseEmbedding),
    "triplet": _baseline(TripletEmbedding),
    "Bayesian crowd clustering": _baseline(BayesianCrowdClustering),
    "paper's CEN, annotator": _baseline(PaperContextEmbedding, variant="annotator"),
    # Without the context encoder it is better with a smaller weight than the published one.
    "paper's CEN, annotator, γ = 2": _baseline(
        PaperContextEmbedding, variant="annotator", gamma=2.0
    ),
    "paper's CEN, context": _baseline(PaperContextEmbedding, variant="context"),
    "paper's CEN, mixture": _baseline(PaperContextEmbedding, variant="mixture"),
    "latent attribute, annotator": _network(variant="annotator"),
    "latent attribute, context": _network(variant="context"),
    DEFAULT: _network(variant="mixture"),
    KNOWN_ATTRIBUTE: _known_attribute,
}


def methods_named(only: str) -> dict[str, Method]:
    """The methods whose name contains `only`."""
    return {name: method for name, method in METHODS.items() if only in name}


def uses_attributes(method: str) -> bool:
    """Whether a method gets the attribute of each answer."""
    return method == KNOWN_ATTRIBUTE


def split_with(
    groupings: Groupings, attributes: IntArray, seed: int, fraction: float
) -> tuple[Groupings, Groupings, IntArray, IntArray]:
    """(training, test, their attributes): 15 % test, a fraction of the rest to train on."""
    order = np.random.default_rng([seed, 99]).permutation(len(groupings))
    n_test = round(0.15 * len(groupings))
    test, rest = order[:n_test], order[n_test:]
    train = rest[: max(1, round(fraction * len(rest)))]
    return (
        groupings.subset(train),
        groupings.subset(test),
        attributes[train],
        attributes[test],
    )
