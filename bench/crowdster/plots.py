"""Plots of the report, as SVG."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import Any

import matplotlib as mpl

mpl.use("svg")
# This makes the same results give the same file.
mpl.rcParams["svg.hashsalt"] = "likewise"

from matplotlib import pyplot as plt  # noqa: E402

Row = dict[str, Any]


# For each part: what it varies, what it measures, and its label.
LINES = {
    "phases": ("phases", "found", "true neighbours found, of 10"),
    "noise": ("noise", "found", "true neighbours found, of 10"),
    "fonts": ("round", "wrong", "letters in the wrong cluster"),
    "triplets": ("triplets", "found", "true neighbours found, of 10"),
}


def draw_all(results: dict[str, list[Row]], folder: Path) -> None:
    """Draw the plots whose part was measured."""
    if results.get("budget"):
        _draw_budget(results["budget"], folder / "crowdster_budget.svg")
    for part, (over, what, label) in LINES.items():
        if results.get(part):
            path = folder / f"crowdster_{part}.svg"
            _draw_lines(results[part], over, what, label, path)


def _draw_budget(rows: list[Row], path: Path) -> None:
    """Neighbours found by number of answers, one panel per space."""
    spaces = list(dict.fromkeys(row["space"] for row in rows))
    figure, panels = plt.subplots(1, len(spaces), figsize=(4 * len(spaces), 4), squeeze=False)
    for panel, space in zip(panels[0], spaces, strict=True):
        here = [row for row in rows if row["space"] == space]
        for method in dict.fromkeys(row["method"] for row in here):
            own = [row for row in here if row["method"] == method]
            counts = sorted({row["answers"] for row in own})
            found = [[r["found"] for r in own if r["answers"] == n] for n in counts]
            errors = [stdev(values) if len(values) > 1 else 0.0 for values in found]
            width = 2.5 if "default)" in method else 1.0
            middle = [mean(values) for values in found]
            panel.errorbar(counts, middle, errors, fmt="o-", ms=3, lw=width, label=method)
        panel.set(title=space, xlabel="answers", ylim=(0, 10))
    panels[0][0].set_ylabel("true neighbours found, of 10")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=3, fontsize=8)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _draw_lines(rows: list[Row], over: str, what: str, label: str, path: Path) -> None:
    """Mean and deviation of a figure over one variable, one line per method."""
    figure, panel = plt.subplots(figsize=(6, 4))
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        values = sorted({row[over] for row in own})
        figures = [[row[what] for row in own if row[over] == value] for value in values]
        errors = [stdev(one) if len(one) > 1 else 0.0 for one in figures]
        width = 2.5 if "default)" in method else 1.0
        middle = [mean(one) for one in figures]
        panel.errorbar(values, middle, errors, fmt="o-", ms=3, lw=width, label=method)
    panel.set(xlabel=over, ylabel=label)
    panel.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
