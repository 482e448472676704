"""The classifier on top: logistic regression in the embedding, calibrated on held-out items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from learning.arrays import BoolArray, FloatArray, IntArray
from learning.base import Arrays, Estimator, Progress, State
from learning.ntuplet.representation import NeuCrowd
from learning.votes import Assured

# Section 4.3: the inverse of the strength of its regularisation, 1e-4 to 1e4.
_STRENGTHS = 10.0 ** np.arange(-4, 5)
CANDIDATES: tuple[dict[str, Any], ...] = (
    {"l2": 0.003},
    {"l2": 0.01},
    {"l2": 0.03},
    {"l2": 0.01, "feature_sparsity": 0.1},
)


class NeuCrowdClassifier(Estimator):
    """NeuCrowd with the parameters that do best on held-out items, and logistic regression.

    Parameters
    ----------
    parameters : of NeuCrowd, for all candidates.
    candidates : parameters that are tried; None: some strengths of regularisation.
    validation_fraction : of the items with votes, to choose among them and to calibrate.
    refit : whether the chosen one learns from all items at the end.
    random_state : int for a repeatable fit.

    Attributes
    ----------
    chosen_ : the candidate that was chosen. losses_ : held-out log loss of each.
    representation_ : the NeuCrowd. coef_ (e,), intercept_: the regression in its embedding, after
    calibration. probability_ : (n,) of yes, of the items of the fit.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any] | None = None,
        candidates: Sequence[Mapping[str, Any]] | None = None,
        validation_fraction: float = 0.2,
        refit: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.parameters = parameters
        self.candidates = candidates
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.random_state = random_state

    def fit(self, X: ArrayLike, votes: ArrayLike, progress: Progress | None = None) -> Self:
        """As NeuCrowd.fit. Raises ValueError, also for candidates that are none of its
        parameters."""
        chosen_from = [dict(one) for one in self.candidates or CANDIDATES]
        models = [self._model(candidate) for candidate in chosen_from]
        checked = [model.checked(X, votes) for model in models]
        held_out = models[0].drawn_to_hold_out(checked[0][1])
        total = len(models) + int(self.refit)
        trials = []
        for model, (features, assured) in zip(models, checked, strict=True):
            trials.append(_trial(model.fit_on(features, assured, held_out), held_out))
            if progress is not None:
                progress(len(trials), total, {"held_out_loss": trials[-1].loss})
        best = min(range(len(trials)), key=lambda place: trials[place].loss)
        self.chosen_, self.losses_ = chosen_from[best], [trial.loss for trial in trials]
        self._take(trials[best], *checked[best])
        if progress is not None:
            progress(total, total, {"held_out_loss": self.losses_[best]})
        self.probability_ = self.predict_proba(X)[:, 1]
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """(n, e) places in the embedding. Raises NotFittedError, ValueError."""
        self._check_fitted("coef_")
        return self.representation_.transform(X)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """(n, 2) probabilities of no and yes. Raises NotFittedError, ValueError."""
        yes = expit(self.transform(X) @ self.coef_ + self.intercept_)
        return np.stack([1 - yes, yes], axis=1)

    def predict(self, X: ArrayLike) -> IntArray:
        """(n,) 1 where yes is likelier. Raises NotFittedError, ValueError."""
        return (self.predict_proba(X)[:, 1] > 0.5).astype(np.int64)

    def _model(self, candidate: Mapping[str, Any]) -> NeuCrowd:
        given = {**(self.parameters or {}), **candidate}
        unknown = sorted(set(given) - set(NeuCrowd().get_params()))
        if unknown:
            raise ValueError(f"NeuCrowd has no parameter {unknown[0]!r}")
        fixed = {
            "validation_fraction": self.validation_fraction,
            "random_state": self.random_state,
        }
        return NeuCrowd(**{**fixed, **given})

    def _take(self, trial: _Trial, features: FloatArray, assured: Assured) -> None:
        model, line = trial.model, trial.line
        if self.refit and trial.slope is not None:
            longest = {**model.get_params(), "n_epochs": model.n_epochs_}
            nobody = np.zeros(len(features), np.bool_)
            model = NeuCrowd(**longest).fit_on(features, assured, nobody)
            line = _regression(model, assured.known, trial.strength)
        slope, shift = trial.slope or (1.0, 0.0)
        self.representation_ = model
        self.coef_: FloatArray = slope * line.coef_[0]
        self.intercept_ = float(slope * line.intercept_[0] + shift)

    def _learned(self) -> tuple[Arrays, State]:
        arrays, state = self.representation_._learned()
        own: Arrays = {"coef": self.coef_, "probability": self.probability_}
        told: State = {
            "representation": state,
            "of_representation": self.representation_.get_params(deep=False),
            "intercept": self.intercept_,
            "chosen": self.chosen_,
            "losses": self.losses_,
        }
        return own | {f"representation.{name}": value for name, value in arrays.items()}, told

    def _restore(self, arrays: Arrays, state: State) -> None:
        prefix = "representation."
        self.representation_ = NeuCrowd(**state["of_representation"])
        self.representation_._restore(
            {
                name.removeprefix(prefix): value
                for name, value in arrays.items()
                if name.startswith(prefix)
            },
            state["representation"],
        )
        self.coef_, self.intercept_ = arrays["coef"], float(state["intercept"])
        self.probability_ = arrays["probability"]
        self.chosen_, self.losses_ = state["chosen"], state["losses"]

    def _check_fitted(self, attribute: str = "coef_") -> None:
        super()._check_fitted(attribute)


@dataclass(frozen=True)
class _Trial:
    """A candidate that was fitted. loss: log loss on held-out items, weighted by assurance;
    slope: factor and shift that calibrate there, None where nothing was held out."""

    model: NeuCrowd
    line: LogisticRegression
    strength: float
    loss: float
    slope: tuple[float, float] | None


def _trial(model: NeuCrowd, held_out: BoolArray) -> _Trial:
    known = (model.assurance_ > 0) & ~held_out
    if not held_out.any():
        return _Trial(model, _regression(model, known, 1.0), 1.0, float("inf"), None)
    found = []
    places, label = model.embedding_[held_out], model.label_[held_out]
    sure = model.assurance_[held_out]
    for strength in _STRENGTHS:
        line = _regression(model, known, strength)
        margin = places @ line.coef_[0] + line.intercept_[0]
        slope = _calibration(margin, label, sure)
        found.append((_log_loss(slope[0] * margin + slope[1], label, sure), strength, line, slope))
    loss, strength, line, slope = min(found, key=lambda one: one[0])
    return _Trial(model, line, float(strength), loss, slope)


def _regression(model: NeuCrowd, rows: BoolArray, strength: float) -> LogisticRegression:
    line = LogisticRegression(C=strength, max_iter=2_000)
    return line.fit(model.embedding_[rows], model.label_[rows], model.assurance_[rows])


def _calibration(margin: FloatArray, label: IntArray, sure: FloatArray) -> tuple[float, float]:
    """Factor and shift of Platt (1999), whose targets keep them finite."""
    n_yes, n_no = int((label == 1).sum()), int((label == 0).sum())
    target = np.where(label == 1, (n_yes + 1) / (n_yes + 2), 1 / (n_no + 2))
    doubled = np.concatenate([margin, margin])[:, None]
    labels = np.repeat([1, 0], len(margin))
    weight = np.concatenate([target * sure, (1 - target) * sure])
    line = LogisticRegression(C=1e6, max_iter=2_000).fit(doubled, labels, weight)
    # A negative factor would say that the model is wrong whenever it is sure.
    return max(float(line.coef_[0, 0]), 0.0), float(line.intercept_[0])


def _log_loss(margin: FloatArray, label: IntArray, sure: FloatArray) -> float:
    each = np.logaddexp(0.0, np.where(label == 1, -margin, margin))
    return float((each * sure).sum() / sure.sum())
