"""The classifier on top: logistic regression in the embedding, calibrated on held-out items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from learning.arrays import BoolArray, FloatArray, IntArray, check_count
from learning.base import Arrays, Estimator, Progress, State
from learning.features import as_features
from learning.ntuplet.products import Prepared
from learning.ntuplet.representation import ROWS_AT_ONCE, NeuCrowd, under
from learning.votes import Assured

# Section 4.3: the inverse of the strength of its regularisation, 1e-4 to 1e4.
_STRENGTHS = 10.0 ** np.arange(-4, 5)
# All features may tell something, or some, or few, each alone or only in pairs: held-out items
# say which.
CANDIDATES: tuple[dict[str, Any], ...] = (
    {"l2": 0.1, "feature_sparsity": 0.0},
    {"l2": 0.1, "feature_sparsity": 1.0},
    {"l2": 0.03, "feature_sparsity": 3.0},
    {"l2": 0.01, "feature_sparsity": 0.0, "products": 300},
)


class NeuCrowdClassifier(Estimator):
    """NeuCrowd with the parameters that do best on held-out items, and logistic regression.

    A few networks, each with other items held out, answer together: the log-odds that each is
    calibrated to on its own held-out items are averaged.

    Parameters
    ----------
    parameters : of NeuCrowd, for all candidates.
    candidates : parameters that are tried; None: more or less regularisation, and products.
    n_networks : that answer together.
    validation_fraction : of the items with votes, to choose among candidates and to calibrate.
    random_state : int for a repeatable fit.

    Attributes
    ----------
    chosen_ : the candidate that was chosen. losses_ : held-out log loss of each.
    representations_ : the NeuCrowds. coef_ (n_networks * e,), intercept_: the regression in their
    embeddings side by side, after calibration. probability_ : (n,) of yes, of the items of the
    fit.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any] | None = None,
        candidates: Sequence[Mapping[str, Any]] | None = None,
        n_networks: int = 3,
        validation_fraction: float = 0.2,
        random_state: int | None = None,
    ) -> None:
        self.parameters = parameters
        self.candidates = candidates
        self.n_networks = n_networks
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: ArrayLike, votes: ArrayLike, progress: Progress | None = None) -> Self:
        """As NeuCrowd.fit. Raises ValueError, also for candidates that are none of its
        parameters."""
        check_count("n_networks", self.n_networks)
        chosen_from = [dict(one) for one in self.candidates or CANDIDATES]
        seeds = np.random.default_rng(self.random_state).integers(2**31, size=self.n_networks)
        models = [self._model(candidate, int(seeds[0])) for candidate in chosen_from]
        # All are checked before the first is fitted.
        data = [model.checked(X, votes) for model in models]
        done, total = 0, len(models) + self.n_networks - 1

        # What several networks learn from is the same, so that new items are prepared once.
        prepared: dict[int, Prepared] = {}

        def tried(model: NeuCrowd, features: FloatArray, assured: Assured) -> _Trial:
            nonlocal done
            held_out = model.drawn_to_hold_out(assured)
            if model.products not in prepared:
                seen, rng = features[assured.known], np.random.default_rng(self.random_state)
                prepared[model.products] = Prepared.of(seen, model.products, rng)
            common = prepared[model.products]
            trial = _trial(model.fit_on(features, assured, held_out, prepared=common), held_out)
            done += 1
            if progress is not None:
                progress(done, total, {"held_out_loss": trial.loss})
            return trial

        trials = [tried(model, *given) for model, given in zip(models, data, strict=True)]
        best = min(range(len(trials)), key=lambda place: trials[place].loss)
        self.chosen_, self.losses_ = chosen_from[best], [trial.loss for trial in trials]
        others = [tried(self._model(self.chosen_, int(seed)), *data[best]) for seed in seeds[1:]]
        self._take([trials[best], *others])
        self.probability_ = self.predict_proba(X)[:, 1]
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """(n, n_networks * e) places in the embeddings. Raises NotFittedError, ValueError."""
        self._check_fitted("coef_")
        common = self.representations_[0].prepared_
        features = as_features(X, len(common.mean))
        parts = []
        for start in range(0, len(features), ROWS_AT_ONCE):
            inputs = common(features[start : start + ROWS_AT_ONCE])
            parts.append(np.hstack([model.embedded(inputs) for model in self.representations_]))
        return np.concatenate(parts)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """(n, 2) probabilities of no and yes. Raises NotFittedError, ValueError."""
        yes = expit(self.transform(X) @ self.coef_ + self.intercept_)
        return np.stack([1 - yes, yes], axis=1)

    def predict(self, X: ArrayLike) -> IntArray:
        """(n,) 1 where yes is likelier. Raises NotFittedError, ValueError."""
        return (self.predict_proba(X)[:, 1] > 0.5).astype(np.int64)

    def _model(self, candidate: Mapping[str, Any], seed: int) -> NeuCrowd:
        given = {**(self.parameters or {}), **candidate}
        unknown = sorted(set(given) - set(NeuCrowd().get_params()))
        if unknown:
            raise ValueError(f"NeuCrowd has no parameter {unknown[0]!r}")
        fixed = {"validation_fraction": self.validation_fraction, "random_state": seed}
        return NeuCrowd(**{**fixed, **given})

    def _take(self, trials: list[_Trial]) -> None:
        """The mean of their calibrated log-odds."""
        slopes = [trial.slope or (1.0, 0.0) for trial in trials]
        both = list(zip(trials, slopes, strict=True))
        self.representations_ = [trial.model for trial in trials]
        self.coef_: FloatArray = np.concatenate(
            [factor * trial.line.coef_[0] / len(trials) for trial, (factor, _) in both]
        )
        self.intercept_ = float(
            np.mean([factor * trial.line.intercept_[0] + shift for trial, (factor, shift) in both])
        )

    def _learned(self) -> tuple[Arrays, State]:
        arrays: Arrays = {"coef": self.coef_, "probability": self.probability_}
        told: list[State] = []
        for number, model in enumerate(self.representations_):
            its, state = model._learned()
            if number:
                its = {name: one for name, one in its.items() if not name.startswith("prepared.")}
            arrays |= {f"representations.{number}.{name}": value for name, value in its.items()}
            told.append({"parameters": model.get_params(deep=False), "state": state})
        return arrays, {
            "representations": told,
            "intercept": self.intercept_,
            "chosen": self.chosen_,
            "losses": self.losses_,
        }

    def _restore(self, arrays: Arrays, state: State) -> None:
        self.representations_ = []
        for number, told in enumerate(state["representations"]):
            model = NeuCrowd(**told["parameters"])
            common = {
                name: one
                for name, one in under("representations.0.", arrays).items()
                if name.startswith("prepared.")
            }
            own = under(f"representations.{number}.", arrays)
            model._restore({**common, **own}, told["state"])
            self.representations_.append(model)
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
    loss: float
    slope: tuple[float, float] | None


def _trial(model: NeuCrowd, held_out: BoolArray) -> _Trial:
    known = (model.assurance_ > 0) & ~held_out
    if not held_out.any():
        return _Trial(model, _regression(model, known, 1.0), float("inf"), None)
    found = []
    places, label = model.embedding_[held_out], model.label_[held_out]
    sure = model.assurance_[held_out]
    for strength in _STRENGTHS:
        line = _regression(model, known, strength)
        margin = places @ line.coef_[0] + line.intercept_[0]
        slope = _calibration(margin, label, sure)
        found.append((_log_loss(slope[0] * margin + slope[1], label, sure), line, slope))
    loss, line, slope = min(found, key=lambda one: one[0])
    return _Trial(model, line, loss, slope)


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
