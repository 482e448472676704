"""The methods of the tables, each a function from a task to clusters."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.harness.tables import Row
from bench.semicrowd import baselines
from bench.semicrowd.consensus import dawid_skene
from bench.semicrowd.data import Collection
from bench.semicrowd.vae import AutoencoderMixture
from learning.groupings import Pairs
from learning.metrics import clustering_scores
from learning.semicrowd import BayesianSemiCrowdClustering, SemiCrowdClustering

BAYES = "BayesSCDC"
SCDC = "SCDC"
BAYES_ALONE = "BayesSCDC without pairs"
SCDC_ALONE = "SCDC without pairs"
BAYES_BEST = "BayesSCDC, best of three"
BAYES_ALONE_BEST = "BayesSCDC without pairs, best of three"
SCDC_SHORT = "SCDC, 5 likeliest summed"
PAPER_START = "BayesSCDC, the paper's start"


@dataclass(frozen=True)
class Task:
    """n_clusters: for all methods but BayesSCDC; most: the number at the start of BayesSCDC;
    parameters: of both variants of SCDC."""

    collection: Collection
    pairs: Pairs
    n_clusters: int
    most: int
    seed: int
    parameters: dict[str, Any] = field(default_factory=dict)


Method = Callable[[Task], Any]


def _bayes(with_pairs: bool = True, **parameters: Any) -> Method:
    def run(task: Task) -> Any:
        model = BayesianSemiCrowdClustering(
            max_clusters=task.most,
            device="cpu",
            random_state=task.seed,
            **task.parameters | parameters,
        )
        return _fitted(model, task, with_pairs)

    return run


def _scdc(with_pairs: bool = True, **parameters: Any) -> Method:
    def run(task: Task) -> Any:
        model = SemiCrowdClustering(
            n_clusters=task.n_clusters,
            device="cpu",
            random_state=task.seed,
            **task.parameters | parameters,
        )
        return _fitted(model, task, with_pairs)

    return run


def _fitted(model: Any, task: Task, with_pairs: bool) -> Any:
    if with_pairs:
        return model.fit(task.collection.features, task.pairs)
    with warnings.catch_warnings():
        # It warns that it has no pairs, which is intended here.
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(task.collection.features)


def _baseline(kind: Any, **parameters: Any) -> Method:
    def run(task: Task) -> Any:
        model = kind(task.n_clusters, task.seed, **parameters)
        return model.fit(task.collection.features, task.pairs)

    return run


METHODS: dict[str, Method] = {
    BAYES: _bayes(),
    BAYES_BEST: _bayes(n_init=3),
    SCDC: _scdc(),
    SCDC_SHORT: _scdc(n_summed=5),
    PAPER_START: _bayes(start="random"),
    "SCDC, the paper's start": _scdc(start="random"),
    BAYES_ALONE: _bayes(False),
    BAYES_ALONE_BEST: _bayes(False, n_init=3),
    SCDC_ALONE: _scdc(False),
    "k-means": _baseline(baselines.FeatureKMeans),
    "Gaussian mixture": _baseline(baselines.FeatureMixture),
    "VAE, then Gaussian mixture": _baseline(AutoencoderMixture),
    "PCKMeans": _baseline(baselines.ConstrainedKMeans),
    "MPCKMeans": _baseline(baselines.ConstrainedKMeans, metric=True),
    "ITML, then k-means": _baseline(baselines.MetricKMeans),
    "Dawid–Skene, then PCKMeans": _baseline(baselines.ConstrainedKMeans, opinion=dawid_skene),
    "Dawid–Skene, spectral, neighbours": _baseline(baselines.CrowdThenNeighbours),
}
# Methods that ignore pairs have the same result for any pairs.
BLIND = (
    BAYES_ALONE,
    BAYES_ALONE_BEST,
    SCDC_ALONE,
    "k-means",
    "Gaussian mixture",
    "VAE, then Gaussian mixture",
)


def measured(name: str, task: Task) -> Row:
    """One fit: scores of its clusters, their number, and the core seconds that it took (without
    other work of the machine)."""
    began = time.process_time()
    model = METHODS[name](task)
    seconds = time.process_time() - began
    labels = model.labels_
    row: Row = {
        "method": name,
        "seed": task.seed,
        "seconds": seconds,
        "clusters": len(np.unique(labels)),
        "annotations": len(task.pairs),
        **clustering_scores(task.collection.classes, labels),
    }
    annotated = np.unique(np.concatenate([task.pairs.i, task.pairs.j]))
    rest = np.setdiff1d(np.arange(len(labels)), annotated)
    if len(rest):
        row["rest"] = clustering_scores(task.collection.classes[rest], labels[rest])
    if name not in BLIND and hasattr(model, "annotator_sensitivity_"):
        row["sensitivity"] = model.annotator_sensitivity_.tolist()
        row["specificity"] = model.annotator_specificity_.tolist()
    if hasattr(model, "n_clusters_"):
        row["effective"] = int(model.n_clusters_)
    if hasattr(model, "elbo_"):
        row["elbo"] = float(model.elbo_)
    return row | {"labels": labels.tolist()}
