"""Strategy `neucrowd`: labels of a whole collection from as few votes as possible.

Votes go to images where they change most. An image that people agree on, and that looks like others
with its label, is asked about once. A contested image is asked about several times.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.kinds import AnswerForm
from app.strategies import class_votes
from app.strategies.base import Learned, LearningData, Progress, StrategySettings, register
from app.strategies.class_labels import ClassLabels
from app.strategies.class_votes import ClassResult, learn_classes, learn_labels
from app.strategies.grids import FirstRound, NextGrids
from app.strategies.labels import Labels
from app.strategies.neucrowd_settings import Effort, NeuCrowdSettings
from app.strategies.votes_insight import insight_of, metrics_of
from learning import select_queries as queries

if TYPE_CHECKING:
    from learning.aggregation import Aggregated
    from learning.arrays import IntArray
    from learning.crowd_labels import CrowdLabels
    from learning.votes import Votes

# Parameters of NeuCrowdClassifier: what is tried, and how many networks are averaged.
_EFFORTS: dict[Effort, dict[str, Any]] = {
    "quick": {"candidates": [{}], "n_networks": 1, "parameters": {"n_epochs": 12}},
    "normal": {
        "candidates": [{}, {"feature_sparsity": 1.0}],
        "n_networks": 2,
        "parameters": {"n_epochs": 20},
    },
    "thorough": {},
}


class NeuCrowdStrategy:
    name: ClassVar[str] = "neucrowd"
    title: ClassVar[str] = "Labels by votes"
    summary: ClassVar[str] = (
        "Labels every image of a collection by whether it shows what was asked for. Uses votes on "
        "some images, more votes where people disagree, and a classifier. Ends automatically when "
        "the labels are good enough."
    )
    learns_from: ClassVar[AnswerForm] = "votes"
    settings_model: ClassVar[type[StrategySettings]] = NeuCrowdSettings
    default_rounds: ClassVar[int] = 8
    features_setting: ClassVar[str | None] = "features"

    def first_grids(self, n: int, first: FirstRound, settings: dict[str, Any]) -> NextGrids:
        """Return grids that show each image once before any is shown twice."""
        grids = queries.covering_selections(n, first.grid_size, first.n_images, first.rng)
        return NextGrids.of_purpose(grids, "random")

    def settings_of_part(self, settings: dict[str, Any], share: float) -> dict[str, Any]:
        """Return settings with little effort that use the whole budget."""
        return {**settings, "effort": "quick", "target": 1.0, "least_gain": 0.0}

    def learn(self, data: LearningData, settings: dict[str, Any], progress: Progress) -> Learned:
        # This is imported here so that the web server can list strategies without loading torch.
        from learning.aggregation import METHODS, aggregate
        from learning.ballots import counts_of, votes_of
        from learning.crowd_labels import CrowdLabels

        chosen = NeuCrowdSettings.stored(settings)
        if data.features is None:
            raise ValueError("Labels by votes needs features of the images.")
        features = np.asarray(data.features, np.float64).reshape(data.n_images, -1)
        if data.ballot == "one_of" or data.ballot == "any_of":
            learn = learn_classes if data.ballot == "one_of" else learn_labels
            return _class_model(
                data, chosen, learn(data, features, _EFFORTS[chosen.effort], progress)
            )
        votes = votes_of(data.all_answers)
        model = CrowdLabels(classifier=_EFFORTS[chosen.effort], random_state=data.seed)
        model.fit(features, votes, progress=lambda done, total, _: progress(0.9 * done / total))
        aggregated = {method: aggregate(votes, method) for method in METHODS}
        labels = _labels(model, aggregated, votes, counts_of(data.all_answers))
        gain = _gain(model, labels, chosen)
        metrics = metrics_of(model, labels, gain[data.candidates], data.grid_size)
        enough = _enough(model, labels, metrics, chosen)
        return Learned(
            embedding=np.asarray(model.embedding_, np.float64),
            metrics=metrics,
            select_grids=_selecting(gain, chosen, data),
            save=model.save,
            insight=insight_of(model, labels, votes, aggregated)
            | {
                "features": chosen.features,
                "enough": enough,
            },
            labels=labels,
            enough=enough,
        )


def _class_model(data: LearningData, settings: NeuCrowdSettings, result: ClassResult) -> Learned:
    """Return the model of a campaign whose annotators choose from classes."""
    gain = _asked_often(result.gain, result.labels, settings)
    metrics = result.metrics(data.grid_size, data.candidates)
    enough = class_votes.enough(result, metrics, settings.target)
    if enough is None:
        enough = _no_more_gain(result.has_classifier, result.labels, metrics, settings)
    insight = {**result.insight(), "features": settings.features, "enough": enough}
    return Learned(
        embedding=np.asarray(result.model.embedding_, np.float64),
        metrics=metrics,
        select_grids=_selecting(gain, settings, data),
        save=result.model.save,
        insight=insight,
        labels=result.labels,
        enough=enough,
    )


def _labels(
    model: "CrowdLabels",
    aggregated: "Mapping[str, Aggregated]",
    votes: "Votes",
    counts: "tuple[IntArray, IntArray, IntArray]",
) -> Labels:
    asked = (votes >= 0).any(axis=1)
    by = {
        method: np.where(asked, result.probability, np.nan) for method, result in aggregated.items()
    }
    yes, no, unsure = counts
    return Labels(
        probability=model.probability_, prior=model.prior_, yes=yes, no=no, unsure=unsure, **by
    )


def _gain(model: "CrowdLabels", labels: Labels, settings: NeuCrowdSettings) -> NDArray[np.float64]:
    """Return (N,) how many labels a vote is expected to correct. Images that already have the
    maximum number of votes come last."""
    from learning.redundancy import gain_per_vote

    return _asked_often(gain_per_vote(labels.probability, *model.mean_annotator_), labels, settings)


def _asked_often(
    gain: NDArray[np.float64], labels: Labels | ClassLabels, settings: NeuCrowdSettings
) -> NDArray[np.float64]:
    n_shown = labels.n_votes + labels.unsure
    return np.where(n_shown >= settings.most_votes, -1.0 - n_shown, gain)


def _selecting(
    gain: NDArray[np.float64], settings: NeuCrowdSettings, data: LearningData
) -> Callable[[int, int], NextGrids]:
    def select(n: int, number: int) -> NextGrids:
        rng = np.random.default_rng([data.seed, number])
        candidates = data.candidates
        grids = queries.telling_selections(
            gain[candidates], n, data.grid_size, rng, settings.random_share
        )
        return NextGrids.of_purpose(candidates[grids], "uncertain")

    return select


def _enough(
    model: "CrowdLabels", labels: Labels, metrics: dict[str, float], settings: NeuCrowdSettings
) -> str | None:
    if not labels.n_votes.any():
        return None
    right = min(metrics["expected_right"], metrics["expected_balanced"])
    if settings.target < 1 and right >= settings.target:
        return (
            f"{right:.1%} of the labels are expected to be right, for yes and for no. The target "
            f"is {settings.target:.1%}."
        )
    return _no_more_gain(model.classifier_ is not None, labels, metrics, settings)


def _no_more_gain(
    has_classifier: bool,
    labels: Labels | ClassLabels,
    metrics: dict[str, float],
    settings: NeuCrowdSettings,
) -> str | None:
    """Return why more votes add too little, in a sentence, or None."""
    if not labels.n_votes.any():
        return None
    # If an image was never shown and there is no classifier, a small gain only means that yes is
    # rare.
    is_known = has_classifier or bool((labels.n_votes + labels.unsure > 0).all())
    if is_known and metrics["gain_of_next_grid"] < settings.least_gain:
        return (
            f"The most informative grid is expected to correct {metrics['gain_of_next_grid']:.2f} "
            f"labels. The minimum is {settings.least_gain:g}."
        )
    return None


register(NeuCrowdStrategy())
