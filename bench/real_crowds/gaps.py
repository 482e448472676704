"""Paired differences of the report."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from bench.harness.tables import Row, of
from bench.real_crowds.methods import BASELINES


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


def gap(rows: list[Row], method: str, measure: str) -> Gap | None:
    """The method compared with the best baseline on rows of one set; None without either.

    Rows are paired by split and seed; a baseline counts if it has all of the method's.
    """
    own = _by_case(of(rows, method=method), measure)
    others = {name: _by_case(of(rows, method=name), measure) for name in BASELINES}
    complete = {name: scores for name, scores in others.items() if own.keys() <= scores.keys()}
    if not own or not complete:
        return None
    means = {name: mean(scores[case] for case in own) for name, scores in complete.items()}
    best = max(means, key=lambda name: means[name])
    differences = [own[case] - complete[best][case] for case in own]
    n = len(differences)
    error = stdev(differences) / sqrt(n) if n > 1 else float("nan")
    return Gap(best, mean(differences), error)


def _by_case(rows: list[Row], measure: str) -> dict[tuple[int, int], float]:
    return {(row["split"], row["seed"]): row[measure] for row in rows if measure in row}
