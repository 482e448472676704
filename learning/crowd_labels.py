"""Labels of a whole collection from a few votes, combined with a classifier for all images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from learning.arrays import FloatArray, IntArray, check_count
from learning.base import Arrays, Estimator, Progress, State
from learning.features import as_features
from learning.neucrowd import NeuCrowdClassifier
from learning.ntuplet.representation import under
from learning.vote_model import VoteModel, hear
from learning.votes import MISSING, Assured, Votes, as_votes, assured_by_votes

# With fewer items of a class, nothing can be held out to check whether the classifier helps.
LEAST_OF_A_CLASS = 8
LEAST_IN_A_REFIT = 4


class CrowdLabels(Estimator):
    """NeuCrowd combined with the votes.

    The classifier is fitted to all votes. Its probability for an item with votes comes from fits
    that have not seen them (cross-fitting), on the scale that explains the votes best. It is the
    prior probability in `learning.vote_model`.

    Parameters
    ----------
    classifier : parameters of NeuCrowdClassifier.
    n_folds : number of cross-fits for items with votes.
    random_state : int for a repeatable fit.

    Attributes
    ----------
    classifier_ : the NeuCrowdClassifier, None if the votes have (almost) only one class.
    embedding_ : (n, e) its representation, or standardised features without a classifier.
    prior_ : (n,) probability of yes by the classifier, before any vote on the item.
    probability_ : (n,) with the votes. sensitivity_, specificity_: (d,) of the annotators.
    mean_annotator_ : sensitivity and specificity of an average one.
    """

    def __init__(
        self,
        classifier: Mapping[str, Any] | None = None,
        n_folds: int = 4,
        random_state: int | None = None,
    ) -> None:
        self.classifier = classifier
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: ArrayLike, votes: ArrayLike, progress: Progress | None = None) -> Self:
        """X: (n, D) features; votes: (n, d) 1 yes, 0 no, -1 none. Raises ValueError for features
        that are not finite or invalid votes. Without votes, every probability is 0.5."""
        check_count("n_folds", self.n_folds, minimum=2)
        features = as_features(X)
        given = as_votes(votes)
        if len(given) != len(features):
            raise ValueError(f"X has {len(features)} rows, but votes has {len(given)}")
        tell = _Steps(progress, self.n_folds + 1)
        assured = assured_by_votes(given)
        self.classifier_ = self._fitted(features, given, assured)
        tell(1)
        if self.classifier_ is None:
            n_yes = (given == 1).sum() + 1.0
            base = n_yes / ((given >= 0).sum() + 2.0)
            self.prior_: FloatArray = np.full(len(features), base)
            self.embedding_ = standardised(features)
        else:
            self.prior_ = self._cross_fitted(self.classifier_, features, given, assured, tell)
            self.embedding_ = self.classifier_.transform(features)
        self._take(hear(given, self.prior_, scaled=self.classifier_ is not None))
        tell(self.n_folds + 1)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """(n, 2) probabilities of no and yes for items without votes. Raises NotFittedError, or
        ValueError, for example if the votes had one class."""
        self._check_fitted()
        if self.classifier_ is None:
            raise ValueError("(almost) all votes were for one class, so no classifier was trained")
        yes = self._scaled(self.classifier_.predict_proba(X)[:, 1])
        return np.stack([1 - yes, yes], axis=1)

    def _fitted(
        self,
        features: FloatArray,
        votes: Votes,
        assured: Assured,
        least: int = LEAST_OF_A_CLASS,
        **fixed: Any,
    ) -> NeuCrowdClassifier | None:
        label = assured.label[assured.known]
        if min((label == 0).sum(), (label == 1).sum()) < least:
            return None
        # A constant feature carries no information.
        if not (features.std(axis=0) > 0).any():
            return None
        given = {"random_state": self.random_state, **(self.classifier or {}), **fixed}
        return NeuCrowdClassifier(**given).fit(features, votes)

    def _cross_fitted(
        self,
        model: NeuCrowdClassifier,
        features: FloatArray,
        votes: Votes,
        assured: Assured,
        tell: _Steps,
    ) -> FloatArray:
        """(n,) predictions by fits that have not seen the item's votes."""
        predicted = model.predict_proba(features)[:, 1]
        folds = drawn_folds(votes, assured.label, self.n_folds, self.random_state)
        for fold, unseen in enumerate(folds):
            others = votes.copy()
            others[unseen] = -1
            again = self._fitted(
                features,
                others,
                assured_by_votes(others),
                least=LEAST_IN_A_REFIT,
                candidates=[model.chosen_],
                n_networks=1,
            )
            if again is not None:
                predicted[unseen] = again.predict_proba(features[unseen])[:, 1]
            else:
                predicted[unseen] = (others == 1).sum() / max((others >= 0).sum(), 1)
            tell(fold + 2)
        return predicted

    def _scaled(self, probability: FloatArray) -> FloatArray:
        factor, shift = self._scale
        return np.asarray(expit(factor * _log_odds(probability) + shift), np.float64)

    def _take(self, model: VoteModel) -> None:
        self.probability_, self.prior_, self._scale = model.probability, model.prior, model.scale
        self.sensitivity_, self.specificity_ = model.sensitivity, model.specificity
        self.mean_annotator_ = model.mean

    def _learned(self) -> tuple[Arrays, State]:
        arrays: Arrays = {
            "embedding": self.embedding_,
            "prior": self.prior_,
            "probability": self.probability_,
            "sensitivity": self.sensitivity_,
            "specificity": self.specificity_,
        }
        state: State = {"mean_annotator": list(self.mean_annotator_), "classifier": None}
        if self.classifier_ is not None:
            own, classifier_state = self.classifier_._learned()
            arrays |= {f"classifier.{name}": value for name, value in own.items()}
            state |= {"classifier": classifier_state, "scale": list(self._scale)}
        return arrays, state

    def _restore(self, arrays: Arrays, state: State) -> None:
        self.embedding_, self.prior_ = arrays["embedding"], arrays["prior"]
        self.probability_ = arrays["probability"]
        self.sensitivity_, self.specificity_ = arrays["sensitivity"], arrays["specificity"]
        sensitivity, specificity = state["mean_annotator"]
        self.mean_annotator_ = (float(sensitivity), float(specificity))
        self.classifier_ = None
        if state["classifier"] is not None:
            self.classifier_ = NeuCrowdClassifier(**(self.classifier or {}))
            self.classifier_._restore(under("classifier.", arrays), state["classifier"])
            factor, shift = state["scale"]
            self._scale = (float(factor), float(shift))

    def _check_fitted(self, attribute: str = "probability_") -> None:
        super()._check_fitted(attribute)


class _Steps:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total = progress, total

    def __call__(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.total, {})


def _log_odds(chance: FloatArray) -> FloatArray:
    return np.asarray(logit(np.clip(chance, 1e-6, 1 - 1e-6)), np.float64)


def drawn_folds(
    votes: Votes, label: IntArray, n_folds: int, random_state: int | None
) -> list[IntArray]:
    """The items with votes in folds that have all labels if there are enough."""
    rng = np.random.default_rng(random_state)
    asked = rng.permutation(np.flatnonzero((votes != MISSING).any(axis=1)))
    asked = asked[np.argsort(label[asked], kind="stable")]
    return [asked[fold::n_folds] for fold in range(n_folds)]


def standardised(features: FloatArray) -> FloatArray:
    """(n, d) features with mean 0 and deviation 1; constant ones are left out."""
    flat = np.asarray(features, np.float64).reshape(len(features), -1)
    spread = flat.std(axis=0)
    varied = spread > 0
    if not varied.any():
        return np.zeros((len(flat), 1))
    scaled: FloatArray = (flat[:, varied] - flat[:, varied].mean(axis=0)) / spread[varied]
    return scaled
