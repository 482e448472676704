"""Plots of the report, as SVG."""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from bench.harness.plots import mean_line, plt, save
from bench.harness.tables import Results, Row, of, present, values
from bench.semicrowd.crowd_report import true_weights, worker_weights
from bench.semicrowd.data import FACE_WORKERS, pinwheel
from bench.semicrowd.methods import BAYES, METHODS, SCDC


def draw_all(results: Results, folder: Path) -> None:
    """Draw the plots whose part was measured."""
    drawn = {
        "pinwheel": [("semicrowd_pinwheel.svg", _pinwheel)],
        "faces": [("semicrowd_faces.svg", _faces), ("semicrowd_weights.svg", _weights)],
        "size": [("semicrowd_size.svg", _sizes)],
    }
    for part, files in drawn.items():
        for name, draw in files:
            if results.get(part):
                save(draw(results[part]), folder / name)


def _pinwheel(rows: list[Row]) -> Any:
    """Fig. 2: the first seed, coloured by cluster."""
    shown = [row for row in rows if "labels" in row]
    measured = present(shown, METHODS)
    names = [name for name in measured if "BayesSCDC" in name] or measured[:1]
    figure, panels = plt.subplots(1, len(names), figsize=(4 * len(names), 4), squeeze=False)
    for panel, name in zip(panels[0], names, strict=True):
        row = of(shown, method=name)[0]
        places = pinwheel(row["seed"]).features
        panel.scatter(*places.T, c=row["labels"], cmap="tab20", s=6)
        panel.set(title=f"{name}: {row['accuracy']:.1%}", aspect="equal", xticks=[], yticks=[])
    return figure


def _faces(rows: list[Row]) -> Any:
    """Fig. 3a and b: NMI by number of pairs."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 5.6), sharey=True)
    for panel, annotated in zip(panels, (None, 100), strict=True):
        here = of(rows, annotated=annotated)
        budgets = sorted({row["budget"] for row in here})
        for number, method in enumerate(present(here, METHODS)):
            own = of(here, method=method)
            width = 2.5 if method in (BAYES, SCDC) else 1.0
            colour = plt.get_cmap("tab20")(number)
            if len({row["budget"] for row in own}) == 1:
                middle = mean(values(own, "nmi"))
                panel.axhline(middle, color=colour, ls=":", lw=width, label=method)
                continue
            scores = {budget: values(of(own, budget=budget), "nmi") for budget in budgets}
            mean_line(panel, scores, color=colour, lw=width, label=method, capsize=2)
        panel.set(
            title="all faces annotated" if annotated is None else "100 faces annotated",
            xlabel="pairs of each of five workers",
        )
    panels[0].set_ylabel("NMI")
    handles, labels = panels[0].get_legend_handles_labels()
    panels[1].legend(handles, labels, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _weights(rows: list[Row]) -> Any:
    """Fig. 3c: weights of the workers, true and found."""
    figure, panel = plt.subplots(figsize=(5, 3.4))
    here = [row for row in of(rows, annotated=None) if "sensitivity" in row]
    most = max((row["budget"] for row in here), default=0)
    place = np.arange(len(FACE_WORKERS))
    panel.plot(place, true_weights(), "s-", color="green", label="true")
    for method, colour in ((BAYES, "red"), (SCDC, "orange")):
        own = of(here, method=method, budget=most)
        if own:
            weights = np.array([worker_weights(row) for row in own])
            error = weights.std(axis=0, ddof=min(1, len(own) - 1))
            panel.errorbar(
                place, weights.mean(axis=0), error, color=colour, label=method, capsize=3
            )
    panel.set(xlabel="worker", ylabel="weight", title=f"{most:,} pairs each")
    panel.set_xticks(place, [f"{worker}" for worker in FACE_WORKERS])
    panel.legend(fontsize=8)
    return figure


def _sizes(rows: list[Row]) -> Any:
    """Time and peak memory by number of images."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.2))
    rows = sorted(rows, key=lambda row: row["images"])
    images = [row["images"] for row in rows]
    for panel, name, title in (
        (panels[0], "seconds", "fit, s"),
        (panels[1], "peak_gib", "peak memory, GiB"),
    ):
        panel.plot(images, [row[name] for row in rows], "o-")
        panel.set(xlabel="images", ylabel=title, ylim=(0, None))
        panel.grid(alpha=0.3)
    return figure
