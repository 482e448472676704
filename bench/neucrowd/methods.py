"""The methods of the tables, each a function from a question to rows of figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from bench.harness.tables import Row
from bench.neucrowd import labels, lines
from bench.neucrowd.data import Question
from bench.neucrowd.embeddings import LOSSES, embedded
from bench.neucrowd.paper import TABLES
from learning.arrays import FloatArray, IntArray
from learning.neucrowd import NeuCrowdClassifier

Margin = Callable[[Question, int], FloatArray]
OURS = "NeuCrowd"
ALONE = "NeuCrowd, without our additions"
PRINTED = "NeuCrowd as printed"
ONE_NETWORK = "NeuCrowd, one network, without our additions"
ABLATIONS: dict[str, dict[str, Any]] = {
    ONE_NETWORK: {},
    "NeuCrowd−SA": {"safe_sampling": False},
    "NeuCrowd−SA−RA": {"safe_sampling": False, "robust_anchors": False},
    "NeuCrowd−SA−RA−SN": {
        "safe_sampling": False,
        "robust_anchors": False,
        "sampling_network": False,
    },
}
# From section 4.3, or the public code if the paper does not give a number.
AS_PRINTED: dict[str, Any] = {
    "layers": (128, 32),
    "activation": "sigmoid",
    "optimizer": "adadelta",
    "learning_rate": 1e-3,
    "n_epochs": 50,
    "patience": 50,
    "n_steps": 10,
    "l2": 0.01,
    "feature_sparsity": 0.0,
}
WITHOUT_ADDITIONS = [{"l2": l2, "feature_sparsity": 0.0} for l2 in (0.01, 0.03, 0.1)]


def _line(kind: Any, labelling: labels.Labelling) -> Margin:
    return partial(kind, labelling)


BASELINES: dict[str, Margin] = {
    "SoftProb": _line(lines.regression, labels.all_votes),
    "EM": _line(lines.regression, labels.dawid_skene),
    "GLAD": _line(lines.regression, labels.glad),
    **{name: partial(embedded, name, labels.majority) for name in LOSSES},
    **{f"{name}+EM": partial(embedded, name, labels.dawid_skene) for name in LOSSES},
}
# Not in the paper: a plain regression with our additions to NeuCrowd.
EXTRAS: dict[str, Margin] = {
    "SoftProb, sparse": _line(lines.sparse_regression, labels.all_votes),
    "SoftProb on products": _line(lines.regression_on_products, labels.all_votes),
}
FAMILIES = (OURS, ALONE, PRINTED)
# The order of the tables.
METHODS = (*BASELINES, OURS, ALONE, PRINTED, *ABLATIONS, *EXTRAS)
RUNS = (*FAMILIES, *BASELINES, *EXTRAS)
assert set(TABLES) <= set(METHODS)


def measured(run: str, question: Question, seed: int) -> list[Row]:
    """Measure a baseline or NeuCrowd; the ablations use the parameters that `ALONE` has chosen."""
    return list(_neucrowd(run, question, seed) if run in FAMILIES else _other(run, question, seed))


def _other(name: str, question: Question, seed: int) -> Iterator[Row]:
    began = time.process_time()
    margin = (BASELINES | EXTRAS)[name](question, seed)
    yield _row(name, seed, question, margin, time.process_time() - began)


def _neucrowd(name: str, question: Question, seed: int) -> Iterator[Row]:
    if name == OURS:
        yield _fitted(name, question, seed, {}, None)
    elif name == PRINTED:
        yield _fitted(name, question, seed, AS_PRINTED, [{}], n_networks=1, regression=False)
    else:
        row = _fitted(name, question, seed, {}, WITHOUT_ADDITIONS, regression=False)
        yield row
        for variant, without in ABLATIONS.items():
            chosen = [row["chosen"]]
            yield _fitted(variant, question, seed, without, chosen, n_networks=1, regression=False)


def _fitted(
    name: str,
    question: Question,
    seed: int,
    parameters: Mapping[str, Any],
    candidates: list[dict[str, Any]] | None,
    **options: Any,
) -> Row:
    began = time.process_time()
    settings = {"device": "cpu", **parameters}
    model = NeuCrowdClassifier(settings, candidates, random_state=seed, **options)
    model.fit(question.features, question.votes)
    seconds = time.process_time() - began
    chance = np.clip(model.predict_proba(question.unseen)[:, 1], 1e-9, 1 - 1e-9)
    row = _row(name, seed, question, np.log(chance / (1 - chance)), seconds)
    row |= {"chosen": dict(model.chosen_), "held_out": list(model.losses_)}
    row["share"] = model.share_
    if name in ABLATIONS:
        row["history"] = [epoch["loss"] for epoch in model.representations_[0].history_]
    return row


def _row(name: str, seed: int, question: Question, margin: FloatArray, seconds: float) -> Row:
    predicted: IntArray = (margin > 0).astype(np.int64)
    return {
        "method": name,
        "seed": seed,
        "accuracy": float((predicted == question.truth).mean()),
        "balanced": float(balanced_accuracy_score(question.truth, predicted)),
        "auc": float(roc_auc_score(question.truth, margin)),
        "majority_rate": float(max(question.truth.mean(), 1 - question.truth.mean())),
        "unseen": len(question.truth),
        "seconds": seconds,
    }
