"""The base of all estimators: scikit-learn's conventions, saving and loading."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

Progress = Callable[[int, int, Mapping[str, float]], None]
Arrays = dict[str, NDArray[Any]]
State = dict[str, Any]

_FORMAT = 1


class Estimator(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """An estimator that keeps its parameters unchanged, with learned attributes named `…_`.

    Subclasses return what a fit has learned in `_learned` (arrays and plain values) and
    restore it in `_restore`.
    """

    def _learned(self) -> tuple[Arrays, State]:
        raise NotImplementedError

    def _restore(self, arrays: Arrays, state: State) -> None:
        raise NotImplementedError

    def _check_fitted(self, attribute: str = "embedding_") -> None:
        if not hasattr(self, attribute):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet. Fit it to answers first."
            )

    def save(self, path: str | Path) -> None:
        """Write arrays.safetensors and model.json to the folder `path`.

        Raises NotFittedError before a fit.
        """
        self._check_fitted()
        arrays, state = self._learned()
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(contiguous, folder / "arrays.safetensors")
        about = {
            "format": _FORMAT,
            "estimator": type(self).__name__,
            "parameters": self.get_params(deep=False),
            "state": state,
        }
        (folder / "model.json").write_text(json.dumps(about, indent=1, default=_plain))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load the estimator that `save` wrote. Raises ValueError if another class wrote it."""
        folder = Path(path)
        about = json.loads((folder / "model.json").read_text())
        if about.get("estimator") != cls.__name__ or about.get("format") != _FORMAT:
            stored = f"{about.get('estimator')} format {about.get('format')}"
            raise ValueError(f"{folder} contains a {stored}, not a {cls.__name__} format {_FORMAT}")
        model = cls(**about["parameters"])
        model._restore(load_file(folder / "arrays.safetensors"), about["state"])
        return model


def _plain(value: object) -> object:
    """Convert a numpy scalar to a Python number for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot write {type(value).__name__} to model.json")
