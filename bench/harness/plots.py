"""matplotlib, set up so that the same results give the same SVG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from matplotlib import pyplot as plt

__all__ = ["mean_line", "plt", "save"]

plt.switch_backend("svg")
plt.rcParams["svg.hashsalt"] = "likewise"


def mean_line(panel: Any, figures: Mapping[float, Sequence[float]], **style: Any) -> None:
    """Mean and standard deviation of the figures at each place; a gap where there are none."""
    middles = [mean(values) if values else float("nan") for values in figures.values()]
    errors = [stdev(values) if len(values) > 1 else 0.0 for values in figures.values()]
    panel.errorbar(list(figures), middles, errors, **style)


def save(figure: Any, path: Path, rect: tuple[float, float, float, float] | None = None) -> None:
    """Write the figure; rect: the part of it in which panels lie, all by default."""
    figure.tight_layout(rect=rect)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
