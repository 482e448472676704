"""Classes of a whole collection from a few votes, combined with a classifier for all images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from learning.arrays import FloatArray, check_count
from learning.base import Arrays, Estimator, Progress, State
from learning.class_vote_model import hear_classes, scaled_logs
from learning.class_votes import as_class_votes, assured_by_class_votes, class_counts
from learning.crowd_labels import (
    LEAST_IN_A_REFIT,
    LEAST_OF_A_CLASS,
    CrowdLabels,
    drawn_folds,
    standardised,
)
from learning.features import as_features
from learning.neucrowd import NeuCrowdClasses
from learning.ntuplet.class_classifier import frequent_classes
from learning.ntuplet.representation import under
from learning.votes import MISSING, Votes


class CrowdClasses(Estimator):
    """NeuCrowd for K classes combined with the votes, as `CrowdLabels` does for yes and no.

    The classifier is fitted to all votes. Its probabilities for an item with votes come from fits
    that have not seen them (cross-fitting), on the scale that explains the votes best. They are the
    prior probabilities in `learning.class_vote_model`.

    Parameters
    ----------
    n_classes : K.
    classifier : parameters of NeuCrowdClasses.
    n_folds : number of cross-fits for items with votes.
    random_state : int for a repeatable fit.

    Attributes
    ----------
    classifier_ : the NeuCrowdClasses, None if the votes have (almost) only one class.
    embedding_ : (n, e) its representation, or standardised features without a classifier.
    prior_ : (n, K) probabilities by the classifier, before any vote on the item.
    probability_ : (n, K) with the votes. confusion_ : (d, K, K) of the annotators: probability of
    each vote (last axis) on an item of each class. mean_confusion_ : (K, K) of an average one.
    """

    def __init__(
        self,
        n_classes: int = 2,
        classifier: Mapping[str, Any] | None = None,
        n_folds: int = 4,
        random_state: int | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.classifier = classifier
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: ArrayLike, votes: ArrayLike, progress: Progress | None = None) -> Self:
        """X: (n, D) features; votes: (n, d) class 0..K-1, -1 none. Raises ValueError for features
        that are not finite or invalid votes. Without votes, every probability is 1 / K."""
        check_count("n_folds", self.n_folds, minimum=2)
        features, given = as_features(X), as_class_votes(votes, self.n_classes)
        if len(given) != len(features):
            raise ValueError(f"X has {len(features)} rows, but votes has {len(given)}")

        def report(done: int) -> None:
            if progress is not None:
                progress(done, self.n_folds + 1, {})

        self.classifier_ = self._fitted(features, given, LEAST_OF_A_CLASS)
        report(1)
        if self.classifier_ is None:
            prior = np.tile(_base_rates(given, self.n_classes), (len(features), 1))
            self.embedding_ = standardised(features)
        else:
            prior = self._cross_fitted(self.classifier_, features, given, report)
            self.embedding_ = self.classifier_.transform(features)
        model = hear_classes(given, prior, scaled=self.classifier_ is not None)
        self.probability_, self.prior_, self._scale = model.probability, model.prior, model.scale
        self.confusion_, self.mean_confusion_ = model.confusion, model.mean
        report(self.n_folds + 1)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """(n, K) probabilities for items without votes. Raises NotFittedError, or ValueError, for
        example if the votes had one class."""
        self._check_fitted()
        if self.classifier_ is None:
            raise ValueError("(almost) all votes were for one class, so no classifier was trained")
        logs = np.log(np.clip(self.classifier_.predict_proba(X), 1e-6, 1.0))
        return np.asarray(softmax(scaled_logs(logs, self._scale), axis=1), np.float64)

    def _fitted(
        self, features: FloatArray, votes: Votes, least: int, **fixed: Any
    ) -> NeuCrowdClasses | None:
        """The classifier, or None without two classes that have enough items."""
        assured = assured_by_class_votes(votes, self.n_classes)
        if len(frequent_classes(assured, least)) < 2 or not (features.std(axis=0) > 0).any():
            return None
        given = {"random_state": self.random_state, **(self.classifier or {}), **fixed}
        return NeuCrowdClasses(self.n_classes, **given).fit(features, votes)

    def _cross_fitted(
        self, model: NeuCrowdClasses, features: FloatArray, votes: Votes, report: Any
    ) -> FloatArray:
        """(n, K) predictions by fits that have not seen the item's votes."""
        label = assured_by_class_votes(votes, self.n_classes).label
        predicted = model.predict_proba(features)
        folds = drawn_folds(votes, label, self.n_folds, self.random_state)
        for fold, unseen in enumerate(folds):
            others = votes.copy()
            others[unseen] = MISSING
            again = self._fitted(
                features, others, LEAST_IN_A_REFIT, candidates=[model.chosen_], n_networks=1
            )
            if again is not None:
                predicted[unseen] = again.predict_proba(features[unseen])
            else:
                predicted[unseen] = _base_rates(others, self.n_classes)
            report(fold + 2)
        return predicted

    def _learned(self) -> tuple[Arrays, State]:
        arrays: Arrays = {
            "embedding": self.embedding_,
            "prior": self.prior_,
            "probability": self.probability_,
            "confusion": self.confusion_,
            "mean_confusion": self.mean_confusion_,
            "scale": self._scale,
        }
        state: State = {"classifier": None}
        if self.classifier_ is not None:
            own, classifier_state = self.classifier_._learned()
            arrays |= {f"classifier.{name}": value for name, value in own.items()}
            state["classifier"] = classifier_state
        return arrays, state

    def _restore(self, arrays: Arrays, state: State) -> None:
        self.embedding_, self.prior_ = arrays["embedding"], arrays["prior"]
        self.probability_, self._scale = arrays["probability"], arrays["scale"]
        self.confusion_, self.mean_confusion_ = arrays["confusion"], arrays["mean_confusion"]
        self.classifier_ = None
        if state["classifier"] is not None:
            self.classifier_ = NeuCrowdClasses(self.n_classes, **(self.classifier or {}))
            self.classifier_._restore(under("classifier.", arrays), state["classifier"])

    def _check_fitted(self, attribute: str = "probability_") -> None:
        super()._check_fitted(attribute)


class CrowdTags(Estimator):
    """Several labels for each item: one `CrowdLabels`, which knows yes and no, for each label.

    Parameters
    ----------
    n_labels : L. classifier, n_folds, random_state : parameters of each CrowdLabels.

    Attributes
    ----------
    models_ : the L CrowdLabels. embedding_ : (n, e) their embeddings side by side.
    prior_, probability_ : (n, L) of each label, before and with the item's votes.
    sensitivity_, specificity_ : (L, d) of the annotators on each label. mean_annotator_ : (L, 2) of
    an average one.
    """

    def __init__(
        self,
        n_labels: int = 1,
        classifier: Mapping[str, Any] | None = None,
        n_folds: int = 4,
        random_state: int | None = None,
    ) -> None:
        self.n_labels = n_labels
        self.classifier = classifier
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: ArrayLike, votes: ArrayLike, progress: Progress | None = None) -> Self:
        """X: (n, D) features; votes: (L, n, d) 1 on, 0 off, -1 none. Raises ValueError as
        CrowdLabels does, or for another number of labels."""
        given = np.asarray(votes)
        if given.ndim != 3 or len(given) != self.n_labels:
            raise ValueError(f"votes must be ({self.n_labels}, n, d), got shape {given.shape}")
        steps = self.n_folds + 1
        self.models_ = []
        for number, of_label in enumerate(given):

            def report(done: int, _: int, metrics: Mapping[str, float], at: int = number) -> None:
                if progress is not None:
                    progress(at * steps + done, self.n_labels * steps, metrics)

            model = CrowdLabels(self.classifier, self.n_folds, self.random_state)
            self.models_.append(model.fit(X, of_label, progress=report))
        self._take()
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """(n, L) probability of each label for items without votes. Raises as CrowdLabels does."""
        self._check_fitted()
        return np.stack([model.predict_proba(X)[:, 1] for model in self.models_], axis=1)

    def _take(self) -> None:
        models = self.models_
        self.embedding_: FloatArray = np.hstack([model.embedding_ for model in models])
        self.prior_: FloatArray = np.stack([model.prior_ for model in models], axis=1)
        self.probability_: FloatArray = np.stack([model.probability_ for model in models], axis=1)
        self.sensitivity_: FloatArray = np.stack([model.sensitivity_ for model in models])
        self.specificity_: FloatArray = np.stack([model.specificity_ for model in models])
        self.mean_annotator_: FloatArray = np.array([model.mean_annotator_ for model in models])

    def _learned(self) -> tuple[Arrays, State]:
        arrays: Arrays = {}
        states = []
        for number, model in enumerate(self.models_):
            own, state = model._learned()
            arrays |= {f"labels.{number}.{name}": value for name, value in own.items()}
            states.append(state)
        return arrays, {"labels": states}

    def _restore(self, arrays: Arrays, state: State) -> None:
        self.models_ = []
        for number, saved in enumerate(state["labels"]):
            model = CrowdLabels(self.classifier, self.n_folds, self.random_state)
            model._restore(under(f"labels.{number}.", arrays), saved)
            self.models_.append(model)
        self._take()

    def _check_fitted(self, attribute: str = "probability_") -> None:
        super()._check_fitted(attribute)


def _base_rates(votes: Votes, n_classes: int) -> FloatArray:
    """(K,) smoothed share of each class among all votes."""
    counts = class_counts(votes, n_classes).sum(axis=0) + 1.0
    return np.asarray(counts / counts.sum(), np.float64)
