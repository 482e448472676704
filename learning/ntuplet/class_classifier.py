"""The classifier on top for several classes: multinomial logistic regression in the embedding,
calibrated on held-out items, and one on the features themselves, as far as that helps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from learning.arrays import BoolArray, FloatArray, IntArray, check_count
from learning.base import Arrays, Progress, State
from learning.class_votes import as_class_votes, assured_by_class_votes
from learning.features import as_features
from learning.ntuplet.ensemble import PLAIN_STRENGTHS, SHARES, Ensemble
from learning.ntuplet.products import Prepared
from learning.ntuplet.representation import NeuCrowd
from learning.votes import Assured

# Inverse strengths of the regularisation that are tried in the embedding.
_STRENGTHS = 10.0 ** np.arange(-3, 4)
# A class with fewer items with votes cannot be learned; its probability is that of a smoothed
# count.
LEAST_OF_A_CLASS = 2


class NeuCrowdClasses(Ensemble):
    """NeuCrowd for K classes. The representation (`learning.ntuplet.representation.NeuCrowd`) takes
    the classes as anchors in turn, with negatives of all other classes; on top is multinomial
    logistic regression. As in `NeuCrowdClassifier`, a few networks with different held-out items
    answer together, each calibrated on its own held-out items.

    Parameters
    ----------
    n_classes : K. parameters : parameters of NeuCrowd for all candidates.
    candidates : parameters that are tried; None: those of NeuCrowdClassifier.
    n_networks : number of networks that answer together.
    validation_fraction : share of each class's items that chooses candidates and calibrates.
    regression : whether a regression on the features can have a share of the answer.
    random_state : int for a repeatable fit.

    Attributes
    ----------
    chosen_ : the candidate that was chosen. losses_ : held-out log loss of each.
    representations_ : the NeuCrowds. coef_ (K, n_networks * e), intercept_ (K,): the regression in
    their concatenated embeddings, after calibration; plain_coef_ (K, n_inputs): that on the
    features. share_ : share of the regression on the features. smoothing_ : weight of equal
    probabilities, so that a class without items is not ruled out.
    """

    def __init__(
        self,
        n_classes: int = 2,
        parameters: Mapping[str, Any] | None = None,
        candidates: Sequence[Mapping[str, Any]] | None = None,
        n_networks: int = 3,
        validation_fraction: float = 0.2,
        regression: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.parameters = parameters
        self.candidates = candidates
        self.n_networks = n_networks
        self.validation_fraction = validation_fraction
        self.regression = regression
        self.random_state = random_state

    def fit(self, X: ArrayLike, votes: ArrayLike, progress: Progress | None = None) -> Self:
        """X: (n, D) finite; votes: (n, d) class 0..K-1, -1 none.

        Raises ValueError for values that are not finite, features that are all constant, votes of
        only one class, and parameters that are not NeuCrowd's.
        """
        check_count("n_networks", self.n_networks)
        features = as_features(X)
        assured = self._learnable(as_class_votes(votes, self.n_classes), len(features))
        chosen_from = self._chosen_from()
        seeds = np.random.default_rng(self.random_state).integers(2**31, size=self.n_networks)
        models = [self._model(candidate, int(seeds[0])) for candidate in chosen_from]
        for model in models:
            model._check_parameters()
        done, total = 0, len(models) + self.n_networks - 1
        prepared: dict[int, Prepared] = {}

        def tried(model: NeuCrowd) -> _Trial:
            nonlocal done
            if model.products not in prepared:
                rng = np.random.default_rng(self.random_state)
                prepared[model.products] = Prepared.of(features[assured.known], model.products, rng)
            held_out = self._drawn_to_hold_out(assured, model.random_state)
            trial = self._trial(model, features, assured, held_out, prepared[model.products])
            done += 1
            if progress is not None:
                progress(done, total, {"held_out_loss": trial.loss})
            return trial

        trials = [tried(model) for model in models]
        best = min(range(len(trials)), key=lambda place: trials[place].loss)
        self.chosen_, self.losses_ = chosen_from[best], [trial.loss for trial in trials]
        others = [tried(self._model(self.chosen_, int(seed))) for seed in seeds[1:]]
        self._take([trials[best], *others])
        self.smoothing_ = self.n_classes / (float(assured.known.sum()) + self.n_classes)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """(n, K) probabilities. Raises NotFittedError, ValueError."""
        margins = []
        for inputs in self._inputs(X):
            margin = np.tile(self.intercept_, (len(inputs), 1))
            if self.share_ < 1:
                margin += self._places(inputs) @ self.coef_.T
            if self.share_ > 0:
                margin += inputs @ self.plain_coef_.T
            margins.append(margin)
        chances = softmax(np.concatenate(margins), axis=1)
        return np.asarray((1 - self.smoothing_) * chances + self.smoothing_ / self.n_classes)

    def predict(self, X: ArrayLike) -> IntArray:
        """(n,) the most likely class. Raises NotFittedError, ValueError."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), np.int64)

    def _learnable(self, votes: ArrayLike, n_items: int) -> Assured:
        """Labels by the votes, undecided for items of classes that are too rare to be learned."""
        given = as_class_votes(votes, self.n_classes)
        if len(given) != n_items:
            raise ValueError(f"X has {n_items} items, but votes are about {len(given)}")
        assured = assured_by_class_votes(given, self.n_classes)
        frequent = frequent_classes(assured, LEAST_OF_A_CLASS)
        if len(frequent) < 2:
            raise ValueError(
                f"at least two classes need {LEAST_OF_A_CLASS} items with mostly their votes, got "
                f"{len(frequent)}"
            )
        return Assured(
            assured.label, np.where(np.isin(assured.label, frequent), assured.assurance, 0.0)
        )

    def _drawn_to_hold_out(self, assured: Assured, seed: int | None) -> BoolArray:
        """(n,) whether each item is held out: a fraction of each class that has enough of them."""
        rng = np.random.default_rng(seed)
        chosen = np.zeros(len(assured.label), np.bool_)
        n_classes = 0
        for label in np.unique(assured.label[assured.known]):
            items = np.flatnonzero(assured.known & (assured.label == label))
            n_held = round(self.validation_fraction * len(items))
            if min(n_held, len(items) - n_held) >= LEAST_OF_A_CLASS:
                chosen[rng.permutation(items)[:n_held]] = True
                n_classes += 1
        return chosen if n_classes > 1 else np.zeros_like(chosen)

    def _trial(
        self,
        model: NeuCrowd,
        features: FloatArray,
        assured: Assured,
        held_out: BoolArray,
        prepared: Prepared,
    ) -> _Trial:
        model.fit_on(features, assured, held_out, prepared=prepared)
        known = assured.known
        fitted = _Fit(assured.label[known], assured.assurance[known], held_out[known])
        planes = fitted_planes(model.embedding_[known], fitted, self.n_classes, _STRENGTHS)
        inputs = np.asarray(prepared(features[known]), np.float64)
        none = Planes.none(self.n_classes, inputs.shape[1], int(fitted.held_out.sum()))
        if not held_out.any():
            return _Trial(model, planes, none, 0.0, float("inf"))
        plain = none
        if self.regression:
            plain = fitted_planes(inputs, fitted, self.n_classes, PLAIN_STRENGTHS)
        losses = {
            share: fitted.loss((1 - share) * planes.margin + share * plain.margin)
            for share in (SHARES if self.regression else SHARES[:1])
        }
        share = min(losses, key=lambda key: losses[key])
        return _Trial(model, planes, plain, share, losses[share])

    def _take(self, trials: list[_Trial]) -> None:
        """The mean of their calibrated log-probabilities."""
        n = len(trials)
        self.representations_ = [trial.model for trial in trials]
        self.share_ = float(np.mean([trial.share for trial in trials]))
        self.coef_: FloatArray = np.hstack([(1 - t.share) * t.planes.coef / n for t in trials])
        self.plain_coef_: FloatArray = np.mean([t.share * t.plain.coef for t in trials], axis=0)
        self.intercept_: FloatArray = np.mean(
            [(1 - t.share) * t.planes.intercept + t.share * t.plain.intercept for t in trials],
            axis=0,
        )

    def _learned(self) -> tuple[Arrays, State]:
        arrays, representations = self._saved_networks()
        arrays |= {
            "coef": self.coef_,
            "plain_coef": self.plain_coef_,
            "intercept": self.intercept_,
        }
        return arrays, {
            "representations": representations,
            "share": self.share_,
            "smoothing": self.smoothing_,
            "chosen": self.chosen_,
            "losses": self.losses_,
        }

    def _restore(self, arrays: Arrays, state: State) -> None:
        self._restore_networks(arrays, state["representations"])
        self.coef_, self.plain_coef_ = arrays["coef"], arrays["plain_coef"]
        self.intercept_ = arrays["intercept"]
        self.share_, self.smoothing_ = float(state["share"]), float(state["smoothing"])
        self.chosen_, self.losses_ = state["chosen"], state["losses"]


def frequent_classes(assured: Assured, least: int) -> IntArray:
    """The classes with at least `least` items that the votes decide."""
    classes, counts = np.unique(assured.label[assured.known], return_counts=True)
    return np.asarray(classes[counts >= least], np.int64)


@dataclass(frozen=True)
class Planes:
    """A multinomial regression, calibrated on held-out items. coef: (K, e); intercept: (K,);
    margin: (h, K) log-probabilities of the held-out items, up to a constant for each."""

    coef: FloatArray
    intercept: FloatArray
    margin: FloatArray

    @classmethod
    def none(cls, n_classes: int, n_inputs: int, n_held: int) -> Planes:
        return cls(
            np.zeros((n_classes, n_inputs)), np.zeros(n_classes), np.zeros((n_held, n_classes))
        )


@dataclass(frozen=True)
class _Fit:
    """The labelled items of a fit: label (n,), assurance (n,) above 0, and which are held out."""

    label: IntArray
    sure: FloatArray
    held_out: BoolArray

    def loss(self, margin: FloatArray) -> float:
        """Log loss of (h, K) margins of the held-out items, weighted by assurance."""
        logs = log_softmax(margin, axis=1)
        own = logs[np.arange(len(margin)), self.label[self.held_out]]
        sure = self.sure[self.held_out]
        return float(-(own * sure).sum() / sure.sum())


@dataclass(frozen=True)
class _Trial:
    """A fitted candidate: its regression, the one on the features, the share of the latter, and the
    log loss on held-out items."""

    model: NeuCrowd
    planes: Planes
    plain: Planes
    share: float
    loss: float


def fitted_planes(
    places: FloatArray, given: _Fit, n_classes: int, strengths: Iterable[float]
) -> Planes:
    """A regression on items (n, e), with the strength that is best on the held-out ones."""
    seen = ~given.held_out

    def fitted(strength: float) -> Planes:
        line = LogisticRegression(C=strength, max_iter=2_000)
        line.fit(places[seen], given.label[seen], given.sure[seen])
        coef, intercept = line.coef_, line.intercept_
        if len(line.classes_) == 2:
            # The regression of two classes has one line.
            coef, intercept = np.vstack([-coef, coef]) / 2, np.concatenate([-intercept, intercept])
            intercept = intercept / 2
        planes = Planes.none(n_classes, places.shape[1], int(given.held_out.sum()))
        planes.coef[line.classes_], planes.intercept[line.classes_] = coef, intercept
        absent = np.setdiff1d(np.arange(n_classes), line.classes_)
        # No item with enough votes has these classes.
        planes.intercept[absent] = intercept.min() - np.log(len(places) + 1)
        margin = places[given.held_out] @ planes.coef.T + planes.intercept
        return Planes(planes.coef, planes.intercept, margin)

    if not given.held_out.any():
        return fitted(1.0)
    calibrated = [_calibrated(fitted(strength), given) for strength in strengths]
    return min(calibrated, key=lambda planes: given.loss(planes.margin))


def _calibrated(planes: Planes, given: _Fit) -> Planes:
    """Temperature scaling (Guo et al. 2017): one factor, which held-out items choose."""
    best = minimize_scalar(
        lambda log: given.loss(np.exp(log) * planes.margin), bounds=(-4.0, 2.0), method="bounded"
    )
    factor = float(np.exp(best.x))
    return Planes(factor * planes.coef, factor * planes.intercept, factor * planes.margin)
