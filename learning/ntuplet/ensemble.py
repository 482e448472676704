"""What the classifiers on top of a few networks have in common: their parameters, the embeddings
side by side, saving and loading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import FloatArray
from learning.base import Arrays, Estimator, State
from learning.features import as_features
from learning.ntuplet.products import FloatArray32
from learning.ntuplet.representation import ROWS_AT_ONCE, NeuCrowd, under

# Inverse strengths of the regression on the features, of which there are many.
PLAIN_STRENGTHS = 10.0 ** np.arange(-4, 1)
# Its share in the answer: if few items have votes, features may be better than a representation.
SHARES = (0.0, 0.5, 1.0)
# All features may be informative, or some, or few, alone or only in pairs. Held-out items decide.
CANDIDATES: tuple[dict[str, Any], ...] = (
    {"l2": 0.1, "feature_sparsity": 0.0},
    {"l2": 0.1, "feature_sparsity": 1.0},
    {"l2": 0.03, "feature_sparsity": 3.0},
    {"l2": 0.01, "feature_sparsity": 0.0, "products": 300},
)


class Ensemble(Estimator):
    """A few networks with the same inputs that answer together. `representations_` : the NeuCrowds;
    the first has the conversion of the features that all use."""

    parameters: Mapping[str, Any] | None
    candidates: Sequence[Mapping[str, Any]] | None
    validation_fraction: float
    representations_: list[NeuCrowd]

    def transform(self, X: ArrayLike) -> FloatArray:
        """(n, n_networks * e) positions in the embeddings. Raises NotFittedError, ValueError."""
        return np.concatenate([self._places(inputs) for inputs in self._inputs(X)])

    def _chosen_from(self) -> list[dict[str, Any]]:
        return [dict(candidate) for candidate in self.candidates or CANDIDATES]

    def _model(self, candidate: Mapping[str, Any], seed: int) -> NeuCrowd:
        given = {**(self.parameters or {}), **candidate}
        unknown = sorted(set(given) - set(NeuCrowd().get_params()))
        if unknown:
            raise ValueError(f"NeuCrowd has no parameter {unknown[0]!r}")
        fixed = {"validation_fraction": self.validation_fraction, "random_state": seed}
        return NeuCrowd(**{**fixed, **given})

    def _inputs(self, X: ArrayLike) -> Iterator[FloatArray32]:
        """The networks' inputs in blocks that stay in the cache."""
        self._check_fitted("coef_")
        common = self.representations_[0].prepared_
        features = as_features(X, len(common.mean))
        for start in range(0, len(features), ROWS_AT_ONCE):
            yield common(features[start : start + ROWS_AT_ONCE])

    def _places(self, inputs: FloatArray32) -> FloatArray:
        return np.hstack([model.embedded(inputs) for model in self.representations_])

    def _saved_networks(self) -> tuple[Arrays, list[State]]:
        arrays: Arrays = {}
        states: list[State] = []
        for number, model in enumerate(self.representations_):
            own, state = model._learned()
            kept = {key: own[key] for key in own if not number or not key.startswith("prepared.")}
            arrays |= {f"representations.{number}.{name}": value for name, value in kept.items()}
            states.append({"parameters": model.get_params(deep=False), "state": state})
        return arrays, states

    def _restore_networks(self, arrays: Arrays, states: Sequence[State]) -> None:
        first = under("representations.0.", arrays)
        common = {name: value for name, value in first.items() if name.startswith("prepared.")}
        self.representations_ = []
        for number, saved in enumerate(states):
            model = NeuCrowd(**saved["parameters"])
            own = under(f"representations.{number}.", arrays)
            model._restore({**common, **own}, saved["state"])
            self.representations_.append(model)

    def _check_fitted(self, attribute: str = "coef_") -> None:
        super()._check_fitted(attribute)
