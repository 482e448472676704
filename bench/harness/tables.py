"""Rows of results and pieces of the reports made from them."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, stdev
from typing import Any

Row = dict[str, Any]
Results = dict[str, list[Row]]
# What, the target, what was measured, and whether the target was reached.
Goal = tuple[str, str, str, bool]


def spread(values: Iterable[float], digits: int = 3) -> str:
    """Mean ± standard deviation; empty if nothing was measured."""
    numbers = list(values)
    if not numbers:
        return ""
    around = f" ± {stdev(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return f"{mean(numbers):.{digits}f}{around}"


def mean_sd(rows: Iterable[Row], name: str, digits: int = 3) -> str:
    """The spread of one figure over the rows that have it."""
    return spread(values(rows, name), digits)


def table(head: Iterable[str], body: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table."""
    titles = list(head)
    rows = [f"| {' | '.join(cells)} |" for cells in body]
    return [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", *rows]


def of(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(k) == v for k, v in wanted.items())]


def values(rows: Iterable[Row], name: str) -> list[float]:
    return [row[name] for row in rows if name in row]


def distinct(rows: Iterable[Row], name: str) -> list[Any]:
    """The different values of a field, in the order of the rows."""
    return list(dict.fromkeys(row[name] for row in rows))


def present(rows: Iterable[Row], order: Iterable[str]) -> list[str]:
    """The methods that were measured, in the order of the tables."""
    measured = {row["method"] for row in rows}
    return [name for name in order if name in measured]


def seeds(rows: Iterable[Row]) -> str:
    n = len({row["seed"] for row in rows})
    return f"{n} seed{'s' if n > 1 else ''}"


def goals_table(measured: str, goals: Iterable[Goal]) -> list[str]:
    """Targets and results; measured: the title of what was measured."""
    body = [
        [what, target, result, "yes" if reached else "**no**"]
        for what, target, result, reached in goals
    ]
    return table(["", "target", measured, "reached"], body)
