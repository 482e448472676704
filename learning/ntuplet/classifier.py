"""The classifier on top: logistic regression in the embedding, calibrated on held-out items, and
one on the features themselves, as far as that helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from learning.arrays import BoolArray, FloatArray, IntArray, check_count
from learning.base import Arrays, Progress, State
from learning.ntuplet.ensemble import PLAIN_STRENGTHS, SHARES, Ensemble
from learning.ntuplet.products import Prepared
from learning.ntuplet.regression import STRENGTHS, Line, fitted_line, log_loss
from learning.ntuplet.representation import ROWS_AT_ONCE, NeuCrowd
from learning.votes import Assured


class NeuCrowdClassifier(Ensemble):
    """NeuCrowd with the parameters that are best on held-out items, and logistic regression.

    A few networks, each with different held-out items, answer together: their log-odds, each
    calibrated on its own held-out items, are averaged.

    Parameters
    ----------
    parameters : parameters of NeuCrowd for all candidates.
    candidates : parameters that are tried; None: more or less regularisation, and products.
    n_networks : number of networks that answer together.
    validation_fraction : share of the items with votes that choose candidates and calibrate.
    regression : whether a logistic regression on the features can have a share of the answer, or
        all of it; held-out items decide. Not in the paper.
    random_state : int for a repeatable fit.

    Attributes
    ----------
    chosen_ : the candidate that was chosen. losses_ : held-out log loss of each.
    representations_ : the NeuCrowds. coef_ (n_networks * e,), intercept_: the regression in their
    concatenated embeddings, after calibration; plain_coef_ (n_inputs,): that on the features, 0
    if it has no share. share_ : share of the regression on the features. probability_ : (n,) of
    yes for the items of the fit.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any] | None = None,
        candidates: Sequence[Mapping[str, Any]] | None = None,
        n_networks: int = 3,
        validation_fraction: float = 0.2,
        regression: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.parameters = parameters
        self.candidates = candidates
        self.n_networks = n_networks
        self.validation_fraction = validation_fraction
        self.regression = regression
        self.random_state = random_state

    def fit(self, X: ArrayLike, votes: ArrayLike, progress: Progress | None = None) -> Self:
        """Fit as NeuCrowd.fit does. Also raises ValueError for candidates with parameters that are
        not NeuCrowd's."""
        check_count("n_networks", self.n_networks)
        chosen_from = self._chosen_from()
        seeds = np.random.default_rng(self.random_state).integers(2**31, size=self.n_networks)
        models = [self._model(candidate, int(seeds[0])) for candidate in chosen_from]
        # All candidates are checked before the first is fitted.
        data = [model.checked(X, votes) for model in models]
        done, total = 0, len(models) + self.n_networks - 1

        # All networks use the same inputs, so that new items are prepared only once.
        prepared: dict[int, Prepared] = {}
        plain: dict[tuple[int, str, int | None], Line] = {}

        def tried(model: NeuCrowd, features: FloatArray, assured: Assured) -> _Trial:
            nonlocal done
            held_out = model.drawn_to_hold_out(assured)
            if model.products not in prepared:
                seen, rng = features[assured.known], np.random.default_rng(self.random_state)
                prepared[model.products] = Prepared.of(seen, model.products, rng)
            common = prepared[model.products]
            variant = model.products, model.assurance, model.random_state
            if variant not in plain:
                plain[variant] = _plain_line(common, features, assured, held_out, self.regression)
            model.fit_on(features, assured, held_out, prepared=common)
            trial = _trial(model, held_out, plain[variant])
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

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """(n, 2) probabilities of no and yes. Raises NotFittedError, ValueError."""
        margins = []
        for inputs in self._inputs(X):
            margin = np.full(len(inputs), self.intercept_)
            # Networks and the regression are only evaluated if they have a share.
            if self.share_ < 1:
                margin += self._places(inputs) @ self.coef_
            if self.share_ > 0:
                margin += inputs @ self.plain_coef_
            margins.append(margin)
        yes = expit(np.concatenate(margins))
        return np.stack([1 - yes, yes], axis=1)

    def predict(self, X: ArrayLike) -> IntArray:
        """(n,) 1 if yes is more likely. Raises NotFittedError, ValueError."""
        return (self.predict_proba(X)[:, 1] > 0.5).astype(np.int64)

    def _take(self, trials: list[_Trial]) -> None:
        """The mean of their calibrated log-odds."""
        self.representations_ = [trial.model for trial in trials]
        self.share_ = float(np.mean([trial.share for trial in trials]))
        self.coef_: FloatArray = np.concatenate(
            [(1 - trial.share) * trial.line.coef / len(trials) for trial in trials]
        )
        self.plain_coef_: FloatArray = np.mean(
            [trial.share * trial.plain.coef for trial in trials], axis=0
        )
        self.intercept_ = float(
            np.mean(
                [
                    (1 - trial.share) * trial.line.intercept + trial.share * trial.plain.intercept
                    for trial in trials
                ]
            )
        )

    def _learned(self) -> tuple[Arrays, State]:
        arrays, representations = self._saved_networks()
        arrays |= {
            "coef": self.coef_,
            "plain_coef": self.plain_coef_,
            "probability": self.probability_,
        }
        return arrays, {
            "representations": representations,
            "intercept": self.intercept_,
            "share": self.share_,
            "chosen": self.chosen_,
            "losses": self.losses_,
        }

    def _restore(self, arrays: Arrays, state: State) -> None:
        self._restore_networks(arrays, state["representations"])
        self.coef_, self.intercept_ = arrays["coef"], float(state["intercept"])
        # Models saved before the regression on the features was added have none.
        n_inputs = self.representations_[0].prepared_.n_inputs
        self.plain_coef_ = arrays.get("plain_coef", np.zeros(n_inputs))
        self.share_ = float(state.get("share", 0.0))
        self.probability_ = arrays["probability"]
        self.chosen_, self.losses_ = state["chosen"], state["losses"]


@dataclass(frozen=True)
class _Trial:
    """A fitted candidate: its regression, the one on the features and the share of the latter.

    loss: log loss on held-out items, weighted by assurance
    """

    model: NeuCrowd
    line: Line
    plain: Line
    share: float
    loss: float


def _trial(model: NeuCrowd, held_out: BoolArray, plain: Line) -> _Trial:
    label, sure = model.label_, model.assurance_
    line = fitted_line(model.embedding_, label, sure, held_out, STRENGTHS)
    if not held_out.any():
        return _Trial(model, line, plain, 0.0, float("inf"))
    losses = {
        share: log_loss(
            (1 - share) * line.margin + share * plain.margin, label[held_out], sure[held_out]
        )
        for share in (SHARES if plain.coef.any() else SHARES[:1])
    }
    share = min(losses, key=lambda strength: losses[strength])
    return _Trial(model, line, plain, share, losses[share])


def _plain_line(
    common: Prepared, features: FloatArray, assured: Assured, held_out: BoolArray, wanted: bool
) -> Line:
    """The regression on the networks' inputs, with zeros if it is not used."""
    if not wanted or not held_out.any():
        zeros = np.zeros(common.n_inputs)
        return Line(zeros, 0.0, np.zeros(int(held_out.sum())))
    parts = [
        common(features[start : start + ROWS_AT_ONCE])
        for start in range(0, len(features), ROWS_AT_ONCE)
    ]
    inputs = np.concatenate(parts).astype(np.float64)
    return fitted_line(inputs, assured.label, assured.assurance, held_out, PLAIN_STRENGTHS)
