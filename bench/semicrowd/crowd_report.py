"""The report's section about workers."""

from __future__ import annotations

from statistics import mean

import numpy as np

from bench.harness.tables import Row, mean_sd, of, seeds, spread, table
from bench.semicrowd.data import FACE_WORKERS
from bench.semicrowd.methods import BAYES, SCDC
from learning.arrays import FloatArray


def worker_weights(row: Row) -> FloatArray:
    """(W,) log a / (1 - a) + log b / (1 - b): how much a worker's labels count (eq. 2)."""
    rates = np.clip([row["sensitivity"], row["specificity"]], 1e-3, 1 - 1e-3)
    return np.asarray(np.log(rates / (1 - rates)).sum(axis=0))


def true_weights() -> FloatArray:
    rates = np.array(FACE_WORKERS)
    return np.asarray(2 * np.log(rates / (1 - rates)))


def weights(rows: list[Row]) -> list[str]:
    """Fig. 3c, from the faces with all annotated."""
    here = [row for row in of(rows, annotated=None) if "sensitivity" in row]
    if not here:
        return []
    most = max(row["budget"] for row in here)
    body = [["true", "", *(f"{weight:.2f}" for weight in true_weights())]]
    for method in (BAYES, SCDC):
        for budget in sorted({row["budget"] for row in here}):
            own = of(here, method=method, budget=budget)
            if own and budget in (min(row["budget"] for row in here), most):
                estimated = np.array([worker_weights(row) for row in own])
                cells = [spread(column.tolist(), 2) for column in estimated.T]
                body.append([method, f"{budget:,}", *cells])
    head = ["weights of the workers", "pairs", *(f"α = β = {worker}" for worker in FACE_WORKERS)]
    return [
        "Weights log α/(1−α) + log β/(1−β), all faces annotated (fig. 3c):",
        "",
        *table(head, body),
        "",
        "![Weights of the workers](semicrowd_weights.svg)",
    ]


def workers(rows: list[Row]) -> list[str]:
    """Recovery of alpha and beta; what a bad worker does."""
    lines = [
        "## Estimated workers (BayesSCDC)",
        "",
        "Five workers with α = β = 0.95, 0.9, 0.85, 0.8, 0.75 and 500 labels each, half of them",
        "of same pairs, over all items. *Counted* is the share of their labels that is right,",
        "which can only be computed with the true classes. It deviates from α and β too, and no",
        f"estimate can be nearer. {seeds(rows)}.",
        "",
    ]
    body = []
    for collection in sorted({row["collection"] for row in rows}, reverse=True):
        for case in dict.fromkeys(row["case"] for row in rows):
            own = of(rows, collection=collection, case=case)
            if own:
                body.append([collection, case, *_recovered(own), mean_sd(own, "nmi")])
    head = ["items", "workers", "mean error of α, β", "of the counted", "within 0.05"]
    head += ["counted within 0.05", "within 0.05 of the counted", "true value in the 95 % interval"]
    head += ["order right", "NMI"]
    return [*lines, *table(head, body), "", *_others(rows)]


def recovered(rows: list[Row]) -> tuple[FloatArray, list[bool]]:
    """((S, 2, 5) estimate less truth of the five usual workers, whether their weights are in
    the right order)."""
    n = len(FACE_WORKERS)
    true = np.array([[row["alpha"][:n], row["beta"][:n]] for row in rows])
    estimated = np.array([[row["sensitivity"][:n], row["specificity"][:n]] for row in rows])
    ordered = [bool((np.diff(worker_weights(row)[:n]) < 0).all()) for row in rows]
    return estimated - true, ordered


def _recovered(rows: list[Row]) -> list[str]:
    n = len(FACE_WORKERS)
    errors, ordered = recovered(rows)
    true = np.array([[row["alpha"][:n], row["beta"][:n]] for row in rows])
    counted = np.array([[row["counted_alpha"][:n], row["counted_beta"][:n]] for row in rows])
    intervals = np.array(
        [[row["sensitivity_interval"][:n], row["specificity_interval"][:n]] for row in rows]
    )
    inside = (intervals[..., 0] <= true) & (true <= intervals[..., 1])
    drawn = counted - true
    return [
        f"{np.abs(errors).mean():.3f}",
        f"{np.abs(drawn).mean():.3f}",
        f"{(np.abs(errors) <= 0.05).mean():.1%}",
        f"{(np.abs(drawn) <= 0.05).mean():.1%}",
        f"{(np.abs(errors - drawn) <= 0.05).mean():.1%}",
        f"{inside.mean():.1%}",
        f"{sum(ordered)} of {len(ordered)}",
    ]


def _others(rows: list[Row]) -> list[str]:
    """The sixth worker of the other cases."""
    body = []
    for collection in sorted({row["collection"] for row in rows}, reverse=True):
        for case in dict.fromkeys(row["case"] for row in rows):
            own = [
                row for row in of(rows, collection=collection, case=case) if len(row["alpha"]) > 5
            ]
            if not own:
                continue
            usual = {row["seed"]: row["nmi"] for row in _usual(rows, collection)}
            harm = [row["nmi"] - usual[row["seed"]] for row in own if row["seed"] in usual]
            wide = mean(
                high - low
                for row in own
                for low, high in (row["sensitivity_interval"][5], row["specificity_interval"][5])
            )
            body.append(
                [
                    collection,
                    case,
                    f"{own[0]['alpha'][5]:g}, {own[0]['beta'][5]:g}",
                    spread(row["sensitivity"][5] for row in own),
                    spread(row["specificity"][5] for row in own),
                    f"{wide:.2f}",
                    spread([worker_weights(row)[5] for row in own], 2),
                    spread(harm),
                ]
            )
    head = ["items", "sixth worker", "true α, β", "α found", "β found", "width of the interval"]
    return ["The sixth worker:", "", *table([*head, "weight", "NMI with minus without"], body)]


def _usual(rows: list[Row], collection: str) -> list[Row]:
    return of(rows, collection=collection, case="five workers")
