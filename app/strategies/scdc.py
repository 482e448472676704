"""Strategy `scdc`: semi-crowdsourced clustering, for collections larger than the budget.

Answers about some of the images, and features of all of them, give every image a cluster.
"""

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.kinds import AnswerForm
from app.strategies.base import (
    Learned,
    LearningData,
    Progress,
    StrategySettings,
    register,
)
from app.strategies.grids import FirstRound, NextGrids
from app.strategies.held_out import HELD_OUT_FROM, TEST_SHARE, held_out_scores
from app.strategies.memberships import memberships_of
from app.strategies.scdc_settings import Effort, ScdcSettings
from app.strategies.semicrowd_insight import CERTAIN, effective_clusters, insight_of
from learning import semicrowd_queries as queries
from learning.asked import AskedGrids
from learning.queries import random_grids

if TYPE_CHECKING:
    from learning.groupings import Groupings
    from learning.semicrowd import BayesianSemiCrowdClustering, SemiCrowdClustering

    Model: TypeAlias = BayesianSemiCrowdClustering | SemiCrowdClustering


# Hidden layers, pretraining steps and training steps, in minibatches of _BATCH images.
_EFFORTS: dict[Effort, tuple[tuple[int, ...], int, int]] = {
    "quick": ((128,), 150, 300),
    "normal": ((256, 256), 500, 1_000),
    "thorough": ((500, 500), 3_000, 6_000),
}
_BATCH, _LEAST_EPOCHS = 128, 5


class ScdcStrategy:
    name: ClassVar[str] = "scdc"
    title: ClassVar[str] = "Semi-crowdsourced clustering"
    summary: ClassVar[str] = (
        "Sorts a whole collection into clusters from answers about part of it. The other images "
        "are placed by their features. For collections larger than the budget."
    )
    learns_from: ClassVar[AnswerForm] = "groupings"
    settings_model: ClassVar[type[StrategySettings]] = ScdcSettings
    default_rounds: ClassVar[int] = 4
    features_setting: ClassVar[str | None] = "features"

    def first_grids(self, n: int, first: FirstRound, settings: dict[str, Any]) -> NextGrids:
        """Return grids of the images that are asked about. Each grid shares images with earlier
        grids."""
        chosen = ScdcSettings.stored(settings)
        subset = _subset(chosen, first.n_images, first.grid_size, first.seed)
        grids = queries.linked_grids(subset, n, first.grid_size, first.rng)
        return NextGrids.of_purpose(grids, "random")

    def settings_of_part(self, settings: dict[str, Any], share: float) -> dict[str, Any]:
        """Return settings with little effort that ask about the same share of the images."""
        asked = settings.get("n_annotated")
        part = None if asked is None else max(2, round(share * asked))
        return {**settings, "n_annotated": part, "effort": "quick"}

    def learn(self, data: LearningData, settings: dict[str, Any], progress: Progress) -> Learned:
        chosen = ScdcSettings.stored(settings)
        if data.features is None:
            raise ValueError("Semi-crowdsourced clustering needs features of the images.")
        features, answers = data.features, data.all_answers
        metrics: dict[str, float] = {}
        start = 0.0
        if len(answers) >= HELD_OUT_FROM:
            start = 0.5
            metrics = _held_out(chosen, features, answers, data.seed, progress)
        model = _fitted(
            chosen, features, answers, data.seed, lambda done: progress(start + (1 - start) * done)
        )
        asked = np.zeros(data.n_images, np.bool_)
        asked[answers.images[answers.images >= 0]] = True
        memberships, components = memberships_of(model.responsibilities_, asked)
        metrics |= {
            "clusters": effective_clusters(model, memberships),
            "certain_share": float((memberships.probability >= CERTAIN).mean()),
        }
        n_answers = np.bincount(answers.annotators, minlength=answers.n_annotators)
        return Learned(
            embedding=np.asarray(model.embedding_, np.float64),
            metrics=metrics,
            select_grids=lambda n, number: _next_grids(model, chosen, data, n, number),
            save=model.save,
            insight={
                **insight_of(model, components, memberships, answers.pairs(), n_answers),
                "features": chosen.features,
            },
            memberships=memberships,
        )

    def positions(self, data: LearningData, settings: dict[str, Any]) -> NDArray[np.float64]:
        if data.features is None:
            raise ValueError("Semi-crowdsourced clustering needs features of the images.")
        chosen, answers = ScdcSettings.stored(settings), data.all_answers
        model = _fitted(chosen, data.features, answers, data.seed, lambda _: None)
        return np.asarray(model.embedding_, np.float64)


def _subset(settings: ScdcSettings, n_images: int, grid_size: int, seed: int) -> NDArray[np.int64]:
    wanted = settings.n_annotated
    least = None if wanted is None else max(wanted, grid_size)
    return queries.annotated_subset(n_images, least, seed)


def _fitted(
    settings: ScdcSettings,
    features: NDArray[np.floating[Any]],
    answers: "Groupings",
    seed: int,
    progress: Progress,
) -> "Model":
    # This is imported here so that the web server can list strategies without loading torch.
    from learning.semicrowd import BayesianSemiCrowdClustering, SemiCrowdClustering

    n_clusters = min(settings.max_clusters, len(features))
    hidden, *steps = _EFFORTS[settings.effort]
    per_epoch = -(-len(features) // _BATCH)
    before, after = (max(_LEAST_EPOCHS, count // per_epoch) for count in steps)
    common: dict[str, Any] = {
        "n_latent": settings.n_latent,
        "hidden": hidden,
        "pretrain_epochs": before,
        "n_epochs": after,
        "batch_size": _BATCH,
        "random_state": seed,
    }
    model: Model
    if settings.variant == "bayesian":
        model = BayesianSemiCrowdClustering(max_clusters=n_clusters, **common)
    else:
        model = SemiCrowdClustering(n_clusters=n_clusters, **common)
    pairs = answers.pairs()
    with warnings.catch_warnings():
        if not len(pairs):
            # Nobody has grouped anything yet, so the model uses features alone, as the metrics
            # show.
            warnings.simplefilter("ignore", UserWarning)
        try:
            model.fit(features, pairs, progress=lambda done, total, _: progress(done / total))
        except FloatingPointError as error:
            # A repeated training would fail again, because it uses the same seed.
            raise ValueError(f"The model can't learn from these features: {error}.") from error
    return model


def _held_out(
    settings: ScdcSettings,
    features: NDArray[np.floating[Any]],
    answers: "Groupings",
    seed: int,
    progress: Progress,
) -> dict[str, float]:
    """Return scores on 15 % of the grids, for a model that has seen none of their answers."""
    train, test = answers.split(TEST_SHARE, seed)
    labels = test.pair_labels()
    if not len(train.pairs()) or not (labels >= 0).any():
        return {}
    probe = _fitted(settings, features, train, seed, lambda done: progress(0.5 * done))
    first, second = np.triu_indices(test.grid_size, 1)
    shown = np.asarray(probe.responsibilities_, np.float64)[np.maximum(test.images, 0)]
    same = (shown @ shown.transpose(0, 2, 1))[:, first, second]
    return held_out_scores(labels, same > 0.5, 1.0 - same, seed)


def _next_grids(
    model: "Model", settings: ScdcSettings, data: LearningData, n: int, number: int
) -> NextGrids:
    """Return n grids for round `number` in the shares of the settings."""
    size = data.grid_size
    # As in the first round, these are some of the images that the campaign asks about.
    candidates = data.candidates
    subset = candidates[_subset(settings, len(candidates), size, data.seed)]
    rng = np.random.default_rng([data.seed, number])
    begun = np.empty((0, size), np.int64) if data.begun is None else data.begun
    asked = AskedGrids(begun, data.n_images)
    table = np.asarray(model.responsibilities_, np.float64)
    places = np.asarray(model.embedding_, np.float64)
    n_random = round(n * settings.random_share)
    n_uncertain = min(round(n * settings.uncertain_share), n - n_random)
    n_between = min(round(n * settings.between_share), n - n_random - n_uncertain)
    random = subset[random_grids(n_random, size, len(subset), rng)]
    uncertain = queries.uncertain_grids(table, subset, n_uncertain, size, rng, asked)
    asked = asked.plus(uncertain)
    between = queries.between_grids(table, places, subset, n_between, size, rng, asked)
    n_left = n - n_random - n_uncertain - len(between)
    covering = queries.covering_grids(table, subset, n_left, size, rng, asked.plus(between))
    parts = {"random": random, "uncertain": uncertain, "between": between, "covering": covering}
    return NextGrids.mixed(
        [(purpose, None, grids) for purpose, grids in parts.items()], data.seed + number
    )


register(ScdcStrategy())
