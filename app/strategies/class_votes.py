"""What the strategy `neucrowd` learns if annotators choose from classes: one for each image, or
several."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.strategies.base import LearningData, Progress
from app.strategies.class_labels import ClassLabels
from app.strategies.labels import SURE
from app.strategies.votes_insight import by_tenths, gain_of_grid

if TYPE_CHECKING:
    from pathlib import Path

    from learning.class_labels import CrowdClasses, CrowdTags

Classifier = Mapping[str, Any]

# As long as fewer images have answers of two people, nobody's errors are known well enough to end
# a campaign by: a classifier and single answers can be wrong together.
LEAST_COMPARED = 50


class Fitted(Protocol):
    """What campaigns with classes need of an estimator."""

    embedding_: NDArray[np.float64]

    def save(self, path: "str | Path") -> None: ...


@dataclass(frozen=True)
class ClassResult:
    """A model of a campaign with classes.

    gain: (N,) how many labels one more vote is expected to correct.
    has_classifier: whether there is a classifier for every class that has some images.
    voters: what the model says about each annotator, as JSON.
    """

    model: Fitted
    labels: ClassLabels
    gain: NDArray[np.float64]
    has_classifier: bool
    voters: list[dict[str, Any]]

    def metrics(self, grid_size: int, candidates: NDArray[np.int64]) -> dict[str, float]:
        """Return metrics of the labels, with the same meaning as those of yes and no
        (app/strategies/votes_insight.py). `expected_balanced` is the mean over classes.
        candidates: (M,) images that the next grids may show."""
        labels = self.labels
        return {
            "expected_right": labels.expected_right(),
            "expected_balanced": _mean(labels.expected_by_class(), labels.expected_right()),
            "gain_of_next_grid": gain_of_grid(self.gain[candidates], grid_size),
            "votes_per_image": float(labels.answers.mean()),
            "contested": float((labels.sureness < SURE).sum()),
            **self._classifier_scores(),
        }

    def _classifier_scores(self) -> dict[str, float]:
        """Return the mean over classes of the classifier's AUC for telling a class from the others,
        on images whose votes it had not seen."""
        from sklearn.metrics import roc_auc_score

        asked = self.labels.answers > 0
        if not self.has_classifier or not asked.any():
            return {}
        voted = self.labels.votes[asked] * 2 > self.labels.answers[asked, None]
        prior = self.labels.prior[asked]
        scores = [
            float(roc_auc_score(voted[:, number], prior[:, number]))
            for number in range(self.labels.n_classes)
            if len(np.unique(voted[:, number])) > 1
        ]
        return {"held_out_auc": float(np.mean(scores))} if scores else {}

    def insight(self) -> dict[str, Any]:
        return {
            "voters": self.voters,
            "has_classifier": self.has_classifier,
            "expected_by_class": [_rounded(x) for x in self.labels.expected_by_class()],
            "reliability": self._reliability(),
        }

    def _reliability(self) -> list[dict[str, float]]:
        """Compare the classifier's probabilities of all classes, in tenths, with the share of votes
        for them, on images with votes."""
        asked = self.labels.answers > 0
        prior = self.labels.prior[asked].ravel()
        share = (self.labels.votes[asked] / self.labels.answers[asked, None]).ravel()
        return [
            {"probability": round(mean, 6), "vote_share": round(voted, 6), "n_images": n}
            for mean, voted, n in by_tenths(prior, share)
        ]


def enough(result: ClassResult, metrics: dict[str, float], target: float) -> str | None:
    """Return why the labels are good enough, in a sentence, or None. Those of all classes must be.
    Classes that hardly any image is expected to have count only in the share of all labels. Without
    LEAST_COMPARED images with two answers (at most half of all), they never are."""
    answers = result.labels.answers
    if (answers > 1).sum() < min(LEAST_COMPARED, len(answers) / 2) or target >= 1:
        return None
    by_class = result.labels.expected_by_class()
    known = by_class[~np.isnan(by_class)]
    # With several labels there is one model for each, and the worst must be good enough too.
    worst = known.min(initial=1.0) if result.labels.can_have_several else 1.0
    if min(metrics["expected_right"], metrics["expected_balanced"], worst) < target:
        return None
    return (
        f"{metrics['expected_right']:.1%} of the labels are expected to be right, and "
        f"{metrics['expected_balanced']:.1%} on average over the classes. The target is "
        f"{target:.1%}."
    )


def learn_classes(
    data: LearningData, features: NDArray[np.float64], classifier: Classifier, progress: Progress
) -> ClassResult:
    """Learn one of several classes for each image."""
    from learning.aggregation import METHODS
    from learning.class_ballots import class_votes_of, unanswered
    from learning.class_labels import CrowdClasses
    from learning.class_votes import aggregate_classes, class_counts
    from learning.redundancy import gain_per_class_vote

    n_classes = data.n_groups
    votes = class_votes_of(data.all_answers)
    model = CrowdClasses(n_classes, classifier=classifier, random_state=data.seed)
    model.fit(features, votes, progress=_share_of(progress))
    asked = np.asarray((votes >= 0).any(axis=1))
    aggregated = {method: aggregate_classes(votes, n_classes, method) for method in METHODS}
    labels = ClassLabels(
        several=np.array([0]),
        probability=model.probability_,
        prior=model.prior_,
        votes=class_counts(votes, n_classes),
        answers=np.asarray((votes >= 0).sum(axis=1), np.int64),
        unsure=unanswered(data.all_answers),
        **{
            method: np.where(asked[:, None], result.probability, np.nan)
            for method, result in aggregated.items()
        },
    )
    quality = {method: result.quality for method, result in aggregated.items()}
    return ClassResult(
        model=model,
        labels=labels,
        gain=gain_per_class_vote(labels.probability, model.mean_confusion_),
        has_classifier=model.classifier_ is not None,
        voters=_voters_of_classes(model, votes, quality),
    )


def learn_labels(
    data: LearningData, features: NDArray[np.float64], classifier: Classifier, progress: Progress
) -> ClassResult:
    """Learn several labels for each image, with one model for each label."""
    from learning.aggregation import METHODS, aggregate
    from learning.class_ballots import label_votes_of, unanswered
    from learning.class_labels import CrowdTags
    from learning.redundancy import gain_per_vote

    n_labels = data.n_groups
    votes = label_votes_of(data.all_answers, n_labels)
    model = CrowdTags(n_labels, classifier=classifier, random_state=data.seed)
    model.fit(features, votes, progress=_share_of(progress))
    answers = np.asarray((votes[0] >= 0).sum(axis=1), np.int64)
    by: dict[str, NDArray[np.float64]] = {}
    quality: dict[str, NDArray[np.float64]] = {}
    for method in METHODS:
        each = [aggregate(of_label, method) for of_label in votes]
        chances = np.stack([result.probability for result in each], axis=1)
        by[method] = np.where(answers[:, None] > 0, chances, np.nan)
        quality[method] = np.mean([result.quality for result in each], axis=0)
    labels = ClassLabels(
        several=np.array([1]),
        probability=model.probability_,
        prior=model.prior_,
        votes=np.asarray((votes == 1).sum(axis=2).T, np.int64),
        answers=answers,
        unsure=unanswered(data.all_answers),
        **by,
    )
    gains = [
        gain_per_vote(labels.probability[:, number], *model.mean_annotator_[number])
        for number in range(n_labels)
    ]
    return ClassResult(
        model=model,
        labels=labels,
        gain=np.sum(gains, axis=0),
        has_classifier=all(of_label.classifier_ is not None for of_label in model.models_),
        voters=_voters_of_labels(model, votes, quality),
    )


def _voters_of_classes(
    model: "CrowdClasses", votes: NDArray[np.int8], quality: dict[str, NDArray[np.float64]]
) -> list[dict[str, Any]]:
    cast = (votes >= 0).sum(axis=0)
    return [
        {
            "annotator": who,
            "n_votes": int(cast[who]),
            "right": _rounded(np.diag(model.confusion_[who]).mean()),
            "confusion": [[_rounded(x) for x in row] for row in model.confusion_[who]],
            "quality": {name: _rounded(values[who]) for name, values in quality.items()},
        }
        for who in np.flatnonzero(cast).tolist()
    ]


def _voters_of_labels(
    model: "CrowdTags", votes: NDArray[np.int8], quality: dict[str, NDArray[np.float64]]
) -> list[dict[str, Any]]:
    cast = (votes[0] >= 0).sum(axis=0)
    return [
        {
            "annotator": who,
            "n_votes": int(cast[who]),
            "right": _rounded((model.sensitivity_[:, who] + model.specificity_[:, who]).mean() / 2),
            "sensitivity": [_rounded(x) for x in model.sensitivity_[:, who]],
            "specificity": [_rounded(x) for x in model.specificity_[:, who]],
            "quality": {name: _rounded(values[who]) for name, values in quality.items()},
        }
        for who in np.flatnonzero(cast).tolist()
    ]


def _share_of(progress: Progress) -> Callable[[int, int, Mapping[str, float]], None]:
    return lambda done, total, _: progress(0.9 * done / total)


def _mean(by_class: NDArray[np.float64], otherwise: float) -> float:
    known = by_class[~np.isnan(by_class)]
    return float(known.mean()) if len(known) else otherwise


def _rounded(value: Any) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
