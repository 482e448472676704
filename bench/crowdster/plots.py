"""Plots of the report, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.harness.plots import mean_line, plt, save
from bench.harness.tables import Results, Row, distinct, of, values

# For each part: what it varies, what it measures, and its label.
LINES = {
    "phases": ("phases", "found", "true neighbours found, of 10"),
    "noise": ("noise", "found", "true neighbours found, of 10"),
    "fonts": ("round", "wrong", "letters in the wrong cluster"),
    "triplets": ("triplets", "found", "true neighbours found, of 10"),
}


def draw_all(results: Results, folder: Path) -> None:
    """Draw the plots whose part was measured."""
    if results.get("budget"):
        _draw_budget(results["budget"], folder / "crowdster_budget.svg")
    for part, (over, what, label) in LINES.items():
        if results.get(part):
            path = folder / f"crowdster_{part}.svg"
            _draw_lines(results[part], over, what, label, path)


def _draw_budget(rows: list[Row], path: Path) -> None:
    """Neighbours found by number of answers, one panel per space."""
    spaces = distinct(rows, "space")
    figure, panels = plt.subplots(1, len(spaces), figsize=(4 * len(spaces), 4), squeeze=False)
    for panel, space in zip(panels[0], spaces, strict=True):
        _draw_methods(panel, of(rows, space=space), "answers", "found")
        panel.set(title=space, xlabel="answers", ylim=(0, 10))
    panels[0][0].set_ylabel("true neighbours found, of 10")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=3, fontsize=8)
    save(figure, path, (0, 0.14, 1, 1))


def _draw_lines(rows: list[Row], over: str, what: str, label: str, path: Path) -> None:
    """Mean and deviation of a figure over one variable, one line per method."""
    figure, panel = plt.subplots(figsize=(6, 4))
    _draw_methods(panel, rows, over, what)
    panel.set(xlabel=over, ylabel=label)
    panel.legend(fontsize=8)
    save(figure, path)


def _draw_methods(panel: Any, rows: list[Row], over: str, what: str) -> None:
    for method in distinct(rows, "method"):
        own = of(rows, method=method)
        places = sorted({row[over] for row in own})
        figures = {place: values(of(own, **{over: place}), what) for place in places}
        width = 2.5 if "default)" in method else 1.0
        mean_line(panel, figures, fmt="o-", ms=3, lw=width, label=method)
