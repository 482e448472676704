"""The targets and the measured results."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import mean

from bench.harness.tables import Goal, Results, Row, goals_table, of, present, seeds, values
from bench.neucrowd.methods import ABLATIONS, ALONE, BASELINES, OURS
from bench.neucrowd.paper import TABLES

_FIT, _PREDICT = 60, 5
_NAMES = {"syn1": "Syn1", "syn2": "Syn2", "hotel": "Hotel"}
# Not in the paper.
_MORE = {"hotel_anew": "Hotel, other splits", "scenes1": "Scenes 1", "scenes2": "Scenes 2"}


def wanted(results: Results) -> list[str]:
    """A table of the targets for which there are results."""
    return ["## Targets and results", "", *goals_table("measured (mean)", _goals(results))]


def _goals(results: Results) -> Iterator[Goal]:
    for part, name in _NAMES.items():
        rows = results.get(part, [])
        own = of(rows, method=OURS)
        if own:
            yield _as_paper(part, name, own)
            yield from _ahead(name, rows, OURS)
            yield from _ahead(name, rows, ALONE)
            yield from _ordered(name, rows)
    for part, name in _MORE.items():
        yield from _ahead(name, results.get(part, []), OURS)
    yield from _quick(results.get("speed", []))


def _as_paper(part: str, name: str, own: list[Row]) -> Goal:
    accuracy, auc = mean(values(own, "accuracy")), mean(values(own, "auc"))
    asked = TABLES[OURS][part]
    result = f"{accuracy:.3f} / {auc:.3f}, {seeds(own)}"
    reached = accuracy >= asked[0] and auc >= asked[1]
    return f"{name}: accuracy / AUC", f"{asked[0]:.3f} / {asked[1]:.3f} (paper)", result, reached


def _ahead(name: str, rows: list[Row], method: str) -> Iterator[Goal]:
    baselines, own = present(rows, BASELINES), of(rows, method=method)
    if not baselines or not own:
        return
    for figure, label in (("accuracy", "accuracy"), ("auc", "AUC")):
        best = max(baselines, key=lambda baseline: mean(values(of(rows, method=baseline), figure)))
        most, ours = (
            mean(values(of(rows, method=compared), figure)) for compared in (best, method)
        )
        result = f"{ours:.3f} against {most:.3f} ({best})"
        yield f"{name}: {label} of {method}", "above all baselines", result, ours > most


def _ordered(name: str, rows: list[Row]) -> Iterator[Goal]:
    """Table 3: removing each part makes it worse."""
    order = present(rows, ABLATIONS)
    if len(order) > 1:
        means = [mean(values(of(rows, method=ablation), "auc")) for ablation in order]
        falls = all(auc >= other for auc, other in pairwise(means))
        result = ", ".join(f"{auc:.3f}" for auc in means)
        yield f"{name}: AUC whole, −SA, −SA−RA, −SA−RA−SN", "falls (paper)", result, falls


def _quick(rows: list[Row]) -> Iterator[Goal]:
    if rows:
        for name, what, most in (
            ("fit", "Fit, 1,000 × 1,200, 7 workers, 2 cores", _FIT),
            ("predict", "100,000 predictions, 2 cores", _PREDICT),
        ):
            seconds = values(rows, f"{name}_seconds")
            result = f"{max(seconds):.1f} s at most in {len(seconds)} runs"
            yield what, f"{most} s", result, max(seconds) <= most


def lower_than_paper(results: Results) -> list[str]:
    """Each of our figures that is below the published one."""
    lower = []
    for part, name in _NAMES.items():
        rows = results.get(part, [])
        for method in present(rows, TABLES):
            own = of(rows, method=method)
            for place, figure in enumerate(("accuracy", "auc")):
                ours, theirs = mean(values(own, figure)), TABLES[method][part][place]
                if ours < theirs:
                    what = "AUC" if figure == "auc" else figure
                    lower.append(f"{name}, {method}: {what} {ours:.3f} ({theirs:.3f})")
    return lower
