"""Cells of the report's tables."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, stdev
from typing import Any


def mean_sd(rows: list[dict[str, Any]], name: str) -> str:
    """Mean and standard deviation of one result over the rows."""
    return values_sd([row[name] for row in rows])


def values_sd(values: Iterable[float]) -> str:
    """Mean and, if there are several, standard deviation."""
    numbers = list(values)
    spread = f" ± {stdev(numbers):.3f}" if len(numbers) > 1 else ""
    return f"{mean(numbers):.3f}{spread}"
