"""The foreign simulator's part of the report."""

from __future__ import annotations

from statistics import mean

from bench.real_crowds.methods import METHODS, PRODUCT
from bench.real_crowds.store import Row
from bench.real_crowds.tables import gap, of, present, spread, table, values

TITLES = {
    "nominal20": "Twenty nominal categories, 400 images, 60 annotators, 600 grids of 20",
    "two_at_once": "Two attributes at once in most answers, 300 images, 600 grids of 16",
    "hierarchy": "Parents or children of a hierarchy, 300 images, 600 grids of 16",
    "drifting": "Preferences and granularity that drift, 300 images, 600 grids of 15",
    "lazy": "45 % lazy annotators, 240 images, 600 grids of 12",
    "copying": "40 % copying annotators, 240 images, 600 answers to 120 grids of 14",
    "small_grids": "Grids of 3 to 5, 240 images, 150 annotators, 3,000 answers",
    "mixed_grids": "Grids of 3 to 24, 300 images, 60 annotators, 700 answers",
    "one_annotator": "One annotator, 200 images, 120 grids of 20",
    "thousand_annotators": "A thousand annotators, one grid of 12 each, 250 images",
}
_MEASURES = {"auc": "AUC", "mcc": "MCC", "ami": "AMI", "purity": "purity"}


def foreign_section(rows: list[Row]) -> list[str]:
    """Every method on every scene, and the product against the best baseline."""
    if not rows:
        return []
    lines = [
        "",
        "## Foreign simulator",
        "",
        "Crowds of `learning/simulation/foreign_crowd_scenes.py`, which share no structure with "
        "any model here. 15 % of the grids held out; classes are combinations of all attributes. "
        "*Attributes* are those with a share above 0, seed by seed.",
        "",
        *_differences(rows),
    ]
    for name in (title for title in TITLES if of(rows, data=title)):
        here = of(rows, data=name)
        body = []
        for method in present(here, METHODS):
            own = of(here, method=method)
            shown = ", ".join(str(row["attributes"]) for row in own if method in PRODUCT)
            cells = [spread(values(own, measure)) for measure in _MEASURES]
            body.append([method, *cells, shown, f"{mean(values(own, 'seconds')):.1f}"])
        head = ["method", *_MEASURES.values(), "attributes", "fit, s"]
        lines += ["", f"### {TITLES[name]}", "", *table(head, body)]
    return lines


def _differences(rows: list[Row]) -> list[str]:
    body = []
    for method in PRODUCT:
        for name in TITLES:
            cells = []
            for measure in ("auc", "mcc"):
                difference = gap(of(rows, data=name), method, measure)
                if difference is not None:
                    cells += [difference.baseline, str(difference), difference.verdict]
            if cells:
                body.append([method, name, *cells])
    head = ["method", "scene", "best by AUC", "minus the best", "", "best by MCC"]
    return table([*head, "minus the best", ""], body) if body else []


def noise_section(rows: list[Row]) -> list[str]:
    """How many crowds of pure noise yield an attribute."""
    if not rows:
        return []
    body = []
    for name in dict.fromkeys(row["data"] for row in rows):
        for method in present(rows, PRODUCT):
            own = of(rows, data=name, method=method)
            if own:
                shown = sum(row["attributes"] > 0 for row in own)
                cells = [f"{shown} of {len(own)}", spread(values(own, "auc"))]
                body.append([name, method, *cells])
    head = ["crowd", "method", "crowds that show an attribute", "AUC"]
    return ["", "## Pure noise", "", *table(head, body)]
