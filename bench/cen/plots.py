"""Plots of the report, as SVG."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import numpy as np

from bench.harness.plots import plt, save
from bench.harness.tables import Row


def draw_learning_curves(rows: list[Row], methods: list[str], path: Path) -> None:
    """Held-out accuracy by number of training grids, one panel per crowd (paper fig. 9, S3)."""
    scenes = [s for s in ("celeba", "birds", "retina") if any(row["scene"] == s for row in rows)]
    figure, panels = plt.subplots(1, len(scenes), figsize=(4.6 * len(scenes), 4), squeeze=False)
    colours = plt.get_cmap("tab20")
    for panel, scene in zip(panels[0], scenes, strict=True):
        for number, method in enumerate(methods):
            own = [row for row in rows if row["scene"] == scene and row["method"] == method]
            sizes = sorted({row["grids"] for row in own})
            accuracy = [mean(r["accuracy"] for r in own if r["grids"] == size) for size in sizes]
            width = 2.5 if "default" in method else 1.0
            panel.plot(sizes, accuracy, "o-", ms=3, lw=width, color=colours(number), label=method)
        here = [row for row in rows if row["scene"] == scene]
        best = [r["accuracy"] for r in here if r["method"] == "oracle, annotator and grid"]
        if best:
            panel.axhline(mean(best), color="black", ls="--", lw=1, label="oracle")
        majority = mean(row["majority_rate"] for row in here)
        panel.axhline(majority, color="grey", ls=":", lw=1, label="majority rate")
        panel.set(title=f"{scene.upper()}-like", xlabel="training grids", xscale="log")
    panels[0][0].set_ylabel("held-out pair accuracy")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=4, fontsize=8)
    save(figure, path, (0, 0.2, 1, 1))


def draw_confusion(rows: list[Row], path: Path) -> None:
    """Used attributes (rows) and predicted dimensions (columns), mean of the seeds."""
    if not rows:
        return
    table = np.mean([np.array(row["confusion"])[:4, :4] for row in rows], axis=0)
    figure, panel = plt.subplots(figsize=(3.6, 3.2))
    panel.imshow(table, cmap="Blues", vmin=0, vmax=1)
    names = ("gender", "expression", "skin", "gaze")
    panel.set_xticks(range(4), [f"dim {k + 1}" for k in range(4)])
    panel.set_yticks(range(4), names)
    for i, j in np.ndindex(4, 4):
        colour = "white" if table[i, j] > 0.5 else "black"
        panel.text(j, i, f"{table[i, j]:.1%}", ha="center", va="center", color=colour, fontsize=8)
    save(figure, path)


def draw_sizes(rows: list[Row], path: Path) -> None:
    """Time and peak memory by the number of answers, with logarithmic axes."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.2))
    answers = [row["answers"] for row in rows]
    for panel, name, title in (
        (panels[0], "seconds", "fit, s"),
        (panels[1], "peak_gib", "peak memory, GiB"),
    ):
        panel.loglog(answers, [row[name] for row in rows], "o-")
        panel.set(xlabel="answers", ylabel=title)
        panel.grid(alpha=0.3)
    slope = rows[-1]["seconds"] / rows[-1]["answers"]
    panels[0].loglog(answers, [slope * n for n in answers], ls=":", color="grey", label="linear")
    panels[0].legend()
    save(figure, path)
