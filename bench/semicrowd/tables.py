"""Pieces of the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean, stdev
from typing import Any

Row = dict[str, Any]


def spread(values: Iterable[float], digits: int = 3) -> str:
    """Mean ± deviation over seeds; empty if nothing was measured."""
    numbers = list(values)
    if not numbers:
        return ""
    around = f" ± {stdev(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return f"{mean(numbers):.{digits}f}{around}"


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    rows = [f"| {' | '.join(cells)} |" for cells in body]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *rows]


def of(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(k) == v for k, v in wanted.items())]


def values(rows: Iterable[Row], name: str) -> list[float]:
    return [row[name] for row in rows if name in row]


def present(rows: Iterable[Row], order: Iterable[str]) -> list[str]:
    """The methods that were measured, in the order of the tables."""
    measured = {row["method"] for row in rows}
    return [name for name in order if name in measured]


def seeds(rows: Iterable[Row]) -> str:
    n = len({row["seed"] for row in rows})
    return f"{n} seed{'s' if n > 1 else ''}"
