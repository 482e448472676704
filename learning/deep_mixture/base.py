"""The base of the two public estimators of semi-crowdsourced clustering."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike

from learning.arrays import FloatArray, IntArray
from learning.base import Arrays, Estimator, Progress, State
from learning.deep_mixture.bayes_engine import BayesEngine
from learning.deep_mixture.checks import check_parameters, checked_pairs, resolved_network
from learning.deep_mixture.features import Scaling, fit_scaling, scaling_arrays
from learning.deep_mixture.networks import Shape
from learning.deep_mixture.outcome import DIVERGED, Outcome
from learning.deep_mixture.pair_graph import PairGraph, make_graph
from learning.deep_mixture.scdc_engine import ScdcEngine
from learning.deep_mixture.settings import Settings, steps_of_epochs
from learning.devices import pick_device
from learning.groupings import Pairs

# Training steps if n_epochs is not given, and the limits of the number of epochs.
_STEPS, _LEAST_EPOCHS, _MOST_EPOCHS = 6_000, 15, 200
_PRETRAIN_STEPS, _LEAST_PRETRAIN, _MOST_PRETRAIN = 3_000, 5, 300
# Widths of the two hidden layers for more than _FEW features, and for fewer.
_WIDE, _NARROW, _FEW = 500, 200, 100

Engine = BayesEngine | ScdcEngine


class DeepMixture(Estimator):
    """Checks, restarts, predictions and artifacts; subclasses choose the engine."""

    likelihood: str
    network: str
    hidden: tuple[int, ...] | None
    n_latent: int
    n_epochs: int | None
    pretrain_epochs: int | None
    batch_size: int
    n_init: int
    learning_rate: float
    start: str
    guidance: float
    worker_prior: tuple[float, float]
    device: str
    random_state: int | None

    labels_: IntArray
    responsibilities_: FloatArray
    proportions_: FloatArray
    embedding_: FloatArray
    elbo_: float
    history_: list[dict[str, float]]
    annotator_sensitivity_: FloatArray
    annotator_specificity_: FloatArray

    _clusters_name: str

    def fit(
        self, X: ArrayLike, pairs: Pairs | None = None, progress: Progress | None = None
    ) -> Self:
        """Learn clusters of all items from features and the crowd's pairs.

        X: (N, D) features or (N, H, W[, C]) images; pairs: over the same N items, or None.
        progress: called with (epochs done, epochs, metrics) over all restarts.

        Raises ValueError for features that are not finite, pairs of items that do not
        exist, or an invalid parameter; FloatingPointError if training diverges. Warns
        (UserWarning) if there are no pairs.
        """
        check_parameters(self, self._clusters_name)
        device = pick_device(self.device)
        scaling, features = fit_scaling(X, self.likelihood)
        known = checked_pairs(pairs, len(features))
        graph = make_graph(known, device)
        features = features.to(device)
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        best: tuple[Engine, Outcome] | None = None
        for restart in range(self.n_init):
            heard = _shifted(progress, restart, self.n_init)
            engine, outcome = self._fit_once(scaling, features, graph, seed + restart, heard)
            if best is None or outcome.bound > best[1].bound:
                best = engine, outcome
        assert best is not None
        # This comes last, so that a fit that fails keeps what was learned before.
        self._keep(scaling, *best)
        return self

    def _fit_once(
        self,
        scaling: Scaling,
        features: torch.Tensor,
        graph: PairGraph,
        seed: int,
        progress: Progress | None,
    ) -> tuple[Engine, Outcome]:
        settings = self._settings(scaling, len(features), features.device)
        generator = torch.Generator(device=features.device)
        generator.manual_seed(seed)
        devices = [features.device] if features.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            engine = self._engine_for(_shape(scaling, settings), settings, graph.n_annotators)
            try:
                outcome = engine.fit(features, graph, generator, progress)
            except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
                # Numbers that are not finite have no Cholesky factor.
                raise FloatingPointError(DIVERGED) from error
        if not np.isfinite(outcome.bound):
            raise FloatingPointError(DIVERGED)
        return engine, outcome

    def _settings(self, scaling: Scaling, n_items: int, device: torch.device) -> Settings:
        """The parameters with the values of "auto" and None for these items."""
        n_epochs = self.n_epochs
        if n_epochs is None:
            n_epochs = steps_of_epochs(
                n_items, self.batch_size, _STEPS, _LEAST_EPOCHS, _MOST_EPOCHS
            )
        before = self.pretrain_epochs
        if before is None:
            before = steps_of_epochs(
                n_items, self.batch_size, _PRETRAIN_STEPS, _LEAST_PRETRAIN, _MOST_PRETRAIN
            )
        return Settings(
            n_clusters=min(getattr(self, self._clusters_name), n_items),
            n_latent=min(self.n_latent, scaling.n_features),
            hidden=self._widths(scaling),
            network=resolved_network(self.network, scaling.shape),
            likelihood=scaling.likelihood,
            n_epochs=n_epochs,
            pretrain_epochs=before,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            start=self.start,
            guidance=self.guidance,
            worker_prior=(float(self.worker_prior[0]), float(self.worker_prior[1])),
            device=device,
            **self._own_settings(),
        )

    def _widths(self, scaling: Scaling) -> tuple[int, ...]:
        """The paper's layers; narrower ones for items of few features."""
        if self.hidden is not None:
            return tuple(self.hidden)
        return (_WIDE, _WIDE) if scaling.n_features > _FEW else (_NARROW, _NARROW)

    def _own_settings(self) -> dict[str, Any]:
        raise NotImplementedError

    def _engine_for(self, shape: Shape, settings: Settings, n_annotators: int) -> Engine:
        raise NotImplementedError

    def _keep(self, scaling: Scaling, engine: Engine, outcome: Outcome) -> None:
        beliefs = outcome.beliefs.cpu().numpy().astype(np.float64)
        self._scaling, self._engine = scaling, engine
        self.responsibilities_ = beliefs / beliefs.sum(axis=1, keepdims=True)
        self.labels_ = self.responsibilities_.argmax(axis=1).astype(np.int64)
        self.proportions_ = self.responsibilities_.mean(axis=0)
        self.embedding_ = outcome.codes.cpu().numpy().astype(np.float64)
        self.elbo_ = float(outcome.bound)
        self.history_ = outcome.history
        self.annotator_sensitivity_, self.annotator_specificity_ = engine.workers.mean()

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """(n, K) P(cluster) of items from their features alone."""
        beliefs = self._inferred(X)[0].cpu().numpy().astype(np.float64)
        shares: FloatArray = beliefs / beliefs.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: ArrayLike) -> IntArray:
        """(n,) most likely cluster of items from their features alone."""
        labels: IntArray = self.predict_proba(X).argmax(axis=1).astype(np.int64)
        return labels

    def transform(self, X: ArrayLike) -> FloatArray:
        """(n, d) posterior mean of x from features alone."""
        codes: FloatArray = self._inferred(X)[1].cpu().numpy().astype(np.float64)
        return codes

    def _inferred(self, X: ArrayLike) -> tuple[torch.Tensor, torch.Tensor]:
        self._check_fitted()
        features = self._scaling.apply(X).to(self._engine.settings.device)
        return self._engine.infer(features)

    def _learned(self) -> tuple[Arrays, State]:
        arrays: Arrays = {
            name: getattr(self, name)
            for name in (
                "responsibilities_",
                "embedding_",
                "annotator_sensitivity_",
                "annotator_specificity_",
            )
        }
        arrays |= scaling_arrays(self._scaling)
        kept = self._engine.state()
        arrays |= {f"engine.{name}": part.cpu().numpy() for name, part in kept.items()}
        state: State = {
            "elbo": self.elbo_,
            "history": self.history_,
            "likelihood": self._scaling.likelihood,
            "shape": list(self._scaling.shape),
            "n_items": len(self.labels_),
        }
        return arrays, state

    def _restore(self, arrays: Arrays, state: State) -> None:
        self.hidden = None if self.hidden is None else tuple(self.hidden)
        self.worker_prior = (self.worker_prior[0], self.worker_prior[1])
        scaling = Scaling(
            state["likelihood"],
            tuple(state["shape"]),
            arrays["scaling.centre"],
            arrays["scaling.scale"],
        )
        settings = self._settings(scaling, state["n_items"], pick_device(self.device))
        with torch.random.fork_rng(devices=[]):
            n_annotators = len(arrays["annotator_sensitivity_"])
            engine = self._engine_for(_shape(scaling, settings), settings, n_annotators)
        prefix = "engine."
        engine.take_state(
            {
                name[len(prefix) :]: torch.from_numpy(np.array(part)).to(settings.device)
                for name, part in arrays.items()
                if name.startswith(prefix)
            }
        )
        outcome = Outcome(
            torch.from_numpy(np.array(arrays["responsibilities_"])),
            torch.from_numpy(np.array(arrays["embedding_"])),
            state["elbo"],
            state["history"],
        )
        self._keep(scaling, engine, outcome)


def _shape(scaling: Scaling, settings: Settings) -> Shape:
    return Shape(scaling.shape, settings.n_latent, settings.hidden, settings.network)


def _shifted(progress: Progress | None, restart: int, n_init: int) -> Progress | None:
    """A progress function for one restart that reports progress over all restarts."""
    if progress is None:
        return None
    return lambda done, total, metrics: progress(restart * total + done, n_init * total, metrics)
