"""The foreign simulator's part of the report."""

from __future__ import annotations

from bench.harness.tables import Row, of, present, table
from bench.real_crowds.foreign import SHOWN_SHARE, noise_table, scene_table
from bench.real_crowds.gaps import gap
from bench.real_crowds.methods import PRODUCT
from learning.simulation.foreign_crowd_scenes import FOREIGN_SCENES


def foreign_section(rows: list[Row]) -> list[str]:
    """Every method on every scene, and the product compared with the best baseline."""
    if not rows:
        return []
    return [
        "",
        "## Foreign simulator",
        "",
        "Crowds of `learning/simulation/foreign_crowd_scenes.py`, which share no structure with "
        "any model here. 15 % of the grids are held out; accuracy by each method's rule. K-means "
        "on `embedding_` is compared with every category column and with the classes, which are "
        f"combinations of all columns. An attribute counts above {SHOWN_SHARE:.0%} of the answers.",
        "",
        *_differences(rows),
        "",
        *scene_table(rows),
    ]


def _differences(rows: list[Row]) -> list[str]:
    body = []
    for method in PRODUCT:
        for name in FOREIGN_SCENES:
            cells = []
            for measure in ("auc", "class_mcc"):
                difference = gap(of(rows, data=name), method, measure)
                if difference is not None:
                    cells += [difference.baseline, str(difference), difference.verdict]
            if cells:
                body.append([method, name, *cells])
    head = ["method", "scene", "best by AUC", "minus the best", "verdict"]
    second = ["best by MCC of classes", "minus the best", "verdict"]
    return table([*head, *second], body) if body else []


def noise_section(rows: list[Row]) -> list[str]:
    """How many crowds of pure noise yield an attribute."""
    lines = []
    for method in present(rows, PRODUCT):
        lines += ["", f"### {method}", "", *noise_table(of(rows, method=method))]
    return ["", "## Pure noise", *lines] if lines else []
