"""Features of images aligned with what annotators see."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from learning.arrays import BoolArray, FloatArray, IntArray, check_count
from learning.base import Arrays, Estimator, Progress, State
from learning.devices import cores_for
from learning.feature_alignment.folds import Fold, Gain, image_folds, only_images
from learning.feature_alignment.inputs import (
    LIMIT,
    Inputs,
    checked_features,
    checked_rows,
)
from learning.feature_alignment.pair_map import MapSettings, PairMap, Squares
from learning.feature_alignment.selection import (
    MAX_TRIALS,
    MIN_DEVIATIONS,
    Trials,
    Tried,
    as_tensor,
    learned,
)
from learning.feature_alignment.space import Space, SpaceFold, Targets, fit_space
from learning.feature_alignment.targets import checked_targets, pooled_targets
from learning.groupings import Groupings
from learning.neighbors import nearest_points

FORMAT = 1
# With fewer images in grids than this, none can be held out.
MIN_IMAGES = 16
_BLOCK = 4_096


@dataclass(frozen=True, eq=False)
class Places:
    """positions: (M, K) in the campaign's space; deviations: (M, K) their standard deviations."""

    positions: FloatArray
    deviations: FloatArray


@dataclass(frozen=True, eq=False)
class Neighbours:
    """images: (M, k) nearest first; distances: (M, k); deviations: (M, k) of the distances, from
    the uncertainty of the new image's place."""

    images: IntArray
    distances: FloatArray
    deviations: FloatArray


class FeatureAlignment(Estimator):
    """A map from features to the space that groupings imply, for images that nobody was shown.

    Two things are learned. A *pair map* from the features to a space in which distances explain
    which images are put together (`learning.feature_alignment.pair_map`); and a regression to the
    campaign's space, whose basis are the features and the places by the pair map
    (`learning.feature_alignment.space`). Rank, penalty, sparsity and a hidden layer are those
    that best predict pairs of images that were held out, with all their answers, and so are the
    uncertainties. If no map is better than chance by MIN_DEVIATIONS standard errors, features are
    not used: every image is at the centre.

    Parameters
    ----------
    random_state : int, for the folds.

    Attributes
    ----------
    used_ : whether features predict what annotators put together.
    settings_ : the chosen map (rank, penalty, sparse, hidden).
    gain_ : gain in log likelihood over chance, per pair of held-out images; with its error.
    auc_ : of pairs of held-out images, 0.5 without use.
    explained_ : (K,) share of the variance of held-out images' positions.
    attribute_ : (K,) the attribute of each column, -1 for an empty one.
    calibration_ : slope and offset of the log odds, by held-out images.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    used_: bool
    settings_: MapSettings
    gain_: Gain
    auc_: float
    explained_: FloatArray
    attribute_: IntArray
    calibration_: tuple[float, float]
    _inputs: Inputs
    _map: PairMap
    _space: Space

    def fit(
        self,
        features: ArrayLike,
        groupings: Groupings,
        known: ArrayLike | None = None,
        embedding: ArrayLike | None = None,
        embedding_error: ArrayLike | None = None,
        attribute: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """features: (N, F); known: (N,) bool, images that have them, by default all.

        embedding, embedding_error: (N, K) the campaign's positions and their standard deviations
        (of images in grids; other rows are ignored); without them a pooled embedding of the
        answers is learned. attribute: (K,) the attribute of each column.

        Raises ValueError for shapes that do not match, numbers that are not finite, features
        without any variation, and fewer than MIN_IMAGES images with features in grids.
        """
        check_count("random_state", self.random_state, minimum=0)
        table, mask = checked_features(features, known, groupings.n_images)
        shown = mask & in_grids(groupings)
        if shown.sum() < MIN_IMAGES:
            raise ValueError(
                f"only {shown.sum()} images with features are in answered grids; "
                f"at least {MIN_IMAGES} are needed"
            )
        with cores_for(len(groupings)):
            targets, self.attribute_ = self._targets(
                groupings, shown, embedding, embedding_error, attribute
            )
            self._inputs = Inputs.fit(table, self.random_state, np.flatnonzero(shown))
            self._learn(table, groupings, shown, targets, progress)
        return self

    def _targets(
        self,
        groupings: Groupings,
        shown: BoolArray,
        embedding: ArrayLike | None,
        embedding_error: ArrayLike | None,
        attribute: ArrayLike | None,
    ) -> tuple[Targets, IntArray]:
        deviation: FloatArray | None
        if embedding is None:
            positions, deviation = pooled_targets(groupings, self.random_state)
        else:
            positions, deviation = checked_targets(embedding, embedding_error, shown)
        numbers = np.zeros(positions.shape[1], np.int64)
        if attribute is not None:
            numbers = np.asarray(attribute, np.int64)
            if numbers.shape != (positions.shape[1],):
                raise ValueError(
                    f"attribute must be ({positions.shape[1]},), got shape {numbers.shape}"
                )
        errors = None if deviation is None else deviation[shown]
        return Targets.of(positions[shown], errors), numbers

    def _learn(
        self,
        table: NDArray[np.floating],
        groupings: Groupings,
        shown: BoolArray,
        targets: Targets,
        progress: Progress | None,
    ) -> None:
        inputs = self.inputs_of(table, shown)
        step = _Steps(progress)
        folds = image_folds(groupings, shown, self.random_state)
        trials = Trials(folds, as_tensor(inputs), self.random_state, step)
        self.settings_, self.gain_ = MapSettings(), Gain(0.0, 0.0)
        if not trials.pairs.informative:
            self._use_nothing(targets, groupings)
            step.finish()
            return
        best = trials.best()
        self.settings_, self.gain_ = best.settings, trials.gain(best)
        if self.gain_.deviations < MIN_DEVIATIONS:
            self._use_nothing(targets, groupings)
        else:
            self.used_, self.auc_ = True, trials.auc(best)
            self.calibration_ = best.line
            self._map = self._of_all(groupings, shown, inputs, best.settings)
            self._space = self._fit_space(inputs, shown, targets, folds, best)
        self.explained_ = self._space.explained
        step.finish()

    def _of_all(
        self,
        groupings: Groupings,
        shown: BoolArray,
        inputs: NDArray[np.floating],
        settings: MapSettings,
    ) -> PairMap:
        squares = Squares.of(only_images(groupings, shown), self.random_state)
        return learned(squares, as_tensor(inputs), settings, None, self.random_state)

    def _fit_space(
        self,
        inputs: NDArray[np.floating],
        shown: BoolArray,
        targets: Targets,
        folds: list[Fold],
        best: Tried,
    ) -> Space:
        own = as_tensor(inputs[shown])
        parts = [
            SpaceFold(fold.held[shown], model.places(own).numpy().astype(np.float64))
            for fold, model in zip(folds, best.models, strict=True)
        ]
        places = self._map.places(own).numpy().astype(np.float64)
        return fit_space(inputs[shown].astype(np.float64), places, targets, parts)

    def _use_nothing(self, targets: Targets, groupings: Groupings) -> None:
        none = torch.zeros((self._inputs.n_components, 1))
        self.used_, self.auc_, self.calibration_ = False, 0.5, (0.0, _log_odds(groupings))
        self._map = PairMap.zero(none)
        self._space = Space.empty(targets, len(none) + 1)
        self.explained_ = self._space.explained

    def places(self, features: ArrayLike) -> Places:
        """Places of new images, from their features (M, F); memory is that of the result.

        Raises NotFittedError before fit, ValueError for another F and numbers not finite.
        """
        self._check_fitted("used_")
        table = checked_rows(features, self._inputs.n_features)
        n_columns = len(self._space.position)
        result = Places(np.empty((len(table), n_columns)), np.empty((len(table), n_columns)))
        for start in range(0, len(table), _BLOCK):
            rows = slice(start, start + _BLOCK)
            inputs = self._inputs.transform(table[rows])
            basis = np.concatenate([inputs, self._map_places(inputs)], axis=1)
            result.positions[rows], result.deviations[rows] = self._space.places(basis)
        return result

    def inputs_of(self, features: NDArray[np.floating], known: BoolArray) -> NDArray[np.float32]:
        """(N, R) scaled and reduced features, 0 for images that are not in `known` (N,)."""
        inputs = np.zeros((len(features), self._inputs.n_components), np.float32)
        inputs[known] = self._inputs.transform(features, np.flatnonzero(known))
        return inputs

    @property
    def n_metric(self) -> int:
        """d, the columns of `metric_places`."""
        self._check_fitted("used_")
        return int(self._map.linear.shape[1])

    def metric_places(self, features: ArrayLike) -> FloatArray:
        """(M, d) places by the pair map, in which distances are those of annotators' pairs."""
        self._check_fitted("used_")
        table = checked_rows(features, self._inputs.n_features)
        return np.asarray(self._map_places(self._inputs.transform(table)), np.float64)

    def attribute_places(self, features: ArrayLike) -> dict[int, Places]:
        """`places` in the columns of each attribute."""
        every = self.places(features)
        return {
            int(number): Places(
                every.positions[:, self.attribute_ == number],
                every.deviations[:, self.attribute_ == number],
            )
            for number in np.unique(self.attribute_[self.attribute_ >= 0])
        }

    def probability_same(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """(P,) probability that a typical annotator puts two images together.

        first, second: (P, F) features of the pairs. It is calibrated by held-out images, and
        the same for all pairs if features are not used.
        """
        left, right = self.metric_places(first), self.metric_places(second)
        if left.shape != right.shape:
            raise ValueError(f"{len(left)} first but {len(right)} second images")
        return self.probability_of_places(left, right)

    def probability_of_places(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """(P,) as `probability_same`, from `metric_places` (P, d)."""
        self._check_fitted("used_")
        slope, offset = self.calibration_
        odds = slope * np.clip(self._map.log_odds(first, second), -12.0, 12.0) + offset
        return np.asarray(1.0 / (1.0 + np.exp(-odds)), np.float64)

    def neighbours(self, features: ArrayLike, embedding: FloatArray, k: int) -> Neighbours:
        """The k nearest of a campaign's images, by their positions `embedding` (N, K).

        Raises ValueError for a k outside 1..N or another K.
        """
        check_count("k", k)
        known = np.ascontiguousarray(embedding, np.float64)
        if known.ndim != 2 or known.shape[1] != len(self._space.position) or k > len(known):
            raise ValueError(
                f"embedding must be (N, {len(self._space.position)}) with N >= {k}, "
                f"got shape {known.shape}"
            )
        places = self.places(features)
        nearest = nearest_points(known, k, places.positions)
        gaps = known[nearest] - places.positions[:, None, :]
        distances = np.sqrt((gaps**2).sum(axis=2))
        along = (gaps**2 * places.deviations[:, None, :] ** 2).sum(axis=2)
        deviations = np.sqrt(along) / np.maximum(distances, 1e-12)
        return Neighbours(nearest, distances, deviations)

    def _map_places(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(self._map.places(as_tensor(inputs)).numpy(), np.float32)

    def to_arrays(self) -> Arrays:
        """Everything that a place needs, for safetensors; docs/learned_alignment.md shows a
        loader of ten lines."""
        self._check_fitted("used_")
        arrays: Arrays = {
            "centre": self._inputs.centre,
            "inverse_scale": self._inputs.inverse_scale,
            "components": self._inputs.components,
            "offset": self._inputs.offset,
            "weights": self._space.weights,
            "position": self._space.position,
            "factor": self._space.factor,
            "deviation": self._space.deviation,
            "explained": self._space.explained,
            "attribute": self.attribute_,
        }
        return {
            name: np.array(array, order="C")
            for name, array in (arrays | self._map.arrays()).items()
        }

    def metadata(self) -> State:
        """What describes the arrays, for JSON."""
        self._check_fitted("used_")
        return {
            "format": FORMAT,
            "limit": LIMIT,
            "used": self.used_,
            "settings": asdict(self.settings_),
            "gain": [self.gain_.value, self.gain_.error],
            "auc": self.auc_,
            "calibration": list(self.calibration_),
            "random_state": self.random_state,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, metadata: dict[str, Any]) -> Self:
        """The alignment that `to_arrays` and `metadata` describe. Raises ValueError if an array
        is missing, does not fit to the others, or is not finite, and for another format."""
        if metadata.get("format") != FORMAT:
            raise ValueError(f"format must be {FORMAT}, got {metadata.get('format')!r}")
        model = cls(random_state=int(metadata["random_state"]))
        model._restore(arrays, metadata)
        return model

    def _learned(self) -> tuple[Arrays, State]:
        return self.to_arrays(), self.metadata()

    def _restore(self, arrays: Arrays, state: State) -> None:
        from learning.feature_alignment.stored import check_arrays

        check_arrays(arrays)
        self._inputs = Inputs(
            *(arrays[name] for name in ("centre", "inverse_scale", "components", "offset"))
        )
        self._map = PairMap.of(arrays)
        self._space = Space(
            *(arrays[name] for name in ("weights", "position", "factor", "deviation", "explained"))
        )
        self.attribute_, self.explained_ = arrays["attribute"], arrays["explained"]
        self.used_, self.auc_ = bool(state["used"]), float(state["auc"])
        self.settings_ = MapSettings(**state["settings"])
        self.gain_ = Gain(*map(float, state["gain"]))
        slope, offset = state["calibration"]
        self.calibration_ = (float(slope), float(offset))

    def _check_fitted(self, attribute: str = "used_") -> None:
        super()._check_fitted(attribute)


def _log_odds(groupings: Groupings) -> float:
    """Log odds that a pair is together."""
    pairs = groupings.pairs()
    together = float(pairs.same.sum())
    return float(np.log((together + 1.0) / (len(pairs) - together + 1.0)))


def in_grids(groupings: Groupings) -> BoolArray:
    """(N,) images in answers that contain a pair."""
    shown = np.zeros(groupings.n_images, np.bool_)
    images = groupings.images[groupings.informative_grids()]
    shown[images[images >= 0]] = True
    return shown


class _Steps:
    """Counts fits and reports them."""

    def __init__(self, progress: Progress | None) -> None:
        self.done, self.progress = 0, progress

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(min(self.done, MAX_TRIALS), MAX_TRIALS + 1, {})

    def finish(self) -> None:
        if self.progress is not None:
            self.progress(MAX_TRIALS + 1, MAX_TRIALS + 1, {})
