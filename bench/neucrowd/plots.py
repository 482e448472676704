"""Plots of the report, as SVG."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from bench.harness.plots import plt, save
from bench.harness.tables import Results, Row, of, present, values
from bench.neucrowd.methods import ABLATIONS, METHODS, OURS
from bench.neucrowd.paper import TABLES

PANELS = {"syn1": "Syn1", "syn2": "Syn2", "hotel": "Hotel"}


def draw_all(results: Results, folder: Path) -> None:
    """Draw the plots whose part was measured."""
    shown = [part for part in PANELS if results.get(part)]
    drawn = [("neucrowd_methods.svg", _methods(results, shown))] if shown else []
    if results.get("hotel"):
        drawn.append(("neucrowd_loss.svg", _losses(results["hotel"])))
    for name, figure in drawn:
        save(figure, folder / name)


def _methods(results: Results, shown: list[str]) -> Any:
    """AUC of every method, and the paper's."""
    figure, panels = plt.subplots(
        1, len(shown), figsize=(4.2 * len(shown) + 1.5, 6), sharey=True, squeeze=False
    )
    order = [m for m in METHODS if any(of(results[part], method=m) for part in shown)]
    height = {method: -place for place, method in enumerate(order)}
    for panel, part in zip(panels[0], shown, strict=True):
        for method in present(results[part], order):
            scores = values(of(results[part], method=method), "auc")
            error = stdev(scores) if len(scores) > 1 else 0.0
            colour = "tab:red" if method.startswith(OURS) else "tab:blue"
            panel.errorbar(
                mean(scores), height[method], xerr=error, fmt="o", color=colour, capsize=2, ms=4
            )
            if part in TABLES.get(method, {}):
                panel.plot(TABLES[method][part][1], height[method], "kx", ms=5)
        panel.set(title=f"{PANELS[part]}: AUC (× paper)")
        panel.grid(alpha=0.3)
    panels[0][0].set_yticks(list(height.values()), list(height), fontsize=8)
    return figure


def _losses(rows: list[Row]) -> Any:
    """Fig. 2: training loss by epoch, mean over seeds as long as all train."""
    figure, panel = plt.subplots(figsize=(6, 3.6))
    for method in ABLATIONS:
        histories = [row["history"] for row in of(rows, method=method) if "history" in row]
        if histories:
            length = min(map(len, histories))
            middle = np.mean([history[:length] for history in histories], axis=0)
            panel.plot(np.arange(1, length + 1), middle, label=method)
    panel.set(xlabel="epoch of ten steps", ylabel="training loss", title="Hotel", ylim=(0, None))
    panel.legend(fontsize=8)
    return figure
