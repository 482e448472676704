"""Pieces of the report: paired differences and tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from bench.real_crowds.methods import BASELINES
from bench.real_crowds.store import Row


@dataclass(frozen=True)
class Gap:
    """A method minus the baseline that is best by mean, over the same splits.

    difference, error: mean and paired standard error, nan with fewer than two splits.
    """

    baseline: str
    difference: float
    error: float

    @property
    def verdict(self) -> str:
        if self.difference > self.error:
            return "ahead"
        return "behind" if self.difference < -self.error else "level"

    def __str__(self) -> str:
        return f"{self.difference:+.3f} ± {self.error:.3f}"


def of(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(k) == v for k, v in wanted.items())]


def values(rows: Iterable[Row], name: str) -> list[float]:
    return [row[name] for row in rows if name in row]


def spread(numbers: list[float], digits: int = 3) -> str:
    """Mean ± standard deviation; empty if nothing was measured."""
    if not numbers:
        return ""
    around = f" ± {stdev(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return f"{mean(numbers):.{digits}f}{around}"


def gap(rows: list[Row], method: str, measure: str) -> Gap | None:
    """The method compared with the best baseline on rows of one set; None without either.

    Rows are paired by split and seed; a baseline counts if it has all of the method's.
    """
    own = _by_case(of(rows, method=method), measure)
    others = {name: _by_case(of(rows, method=name), measure) for name in BASELINES}
    complete = {name: found for name, found in others.items() if own.keys() <= found.keys()}
    if not own or not complete:
        return None
    means = {name: mean(found[case] for case in own) for name, found in complete.items()}
    best = max(means, key=lambda name: means[name])
    differences = [own[case] - complete[best][case] for case in own]
    n = len(differences)
    error = stdev(differences) / sqrt(n) if n > 1 else float("nan")
    return Gap(best, mean(differences), error)


def _by_case(rows: list[Row], measure: str) -> dict[tuple[int, int], float]:
    return {(row["split"], row["seed"]): row[measure] for row in rows if measure in row}


def table(head: Iterable[str], body: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table."""
    titles = list(head)
    rows = [f"| {' | '.join(cells)} |" for cells in body]
    return [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", *rows]


def present(rows: Iterable[Row], order: Iterable[str]) -> list[str]:
    """The methods that were measured, in the order of the tables."""
    measured = {row["method"] for row in rows}
    return [name for name in order if name in measured]
