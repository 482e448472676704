"""The rows as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import mean

from bench.harness.tables import Row, mean_sd, of, present, table, values
from bench.real_crowds.foreign_report import foreign_section, noise_section
from bench.real_crowds.gaps import gap
from bench.real_crowds.methods import METHODS, PRODUCT

TITLES = {
    "birds_grid4": "Birds, grids of 4: 342 images of 6 species, 300 annotators, 4,500 answers",
    "birds_grid3_choice": "Birds, grids of 3: 342 images of 6 species, 300 annotators, "
    "6,000 answers",
    "dogs_grid4": "Dogs, grids of 4: 473 images of 3 breeds, 300 annotators, 4,500 answers",
    "labelme": "LabelMe: 1,000 scenes of 8 classes, 59 workers, labels as grids of up to 24",
    "mnist": "MNIST: 2,759 digits of 10 classes, 48 workers, 91 grids of 36",
    "dogs4": "Dogs by label: 807 images of 4 breeds, 109 workers, grids of up to 24",
    "face_sentiment": "Faces by label: 584 images of 4 sentiments, 27 workers, grids of up to 24",
    "bluebirds": "Bluebirds by label: 108 images of 2 species, 39 workers, grids of up to 24",
}
MEASURES = {
    "accuracy": "pair accuracy",
    "auc": "AUC",
    "ami": "AMI",
    "purity": "purity",
}
INTRODUCTION = """\
# Real crowds and a foreign simulator

`python -m bench.real_crowds --data FOLDER`; one thread. 15 % of the grids are held out completely;
mean ± standard deviation over splits, each with its own seed.

*Pair accuracy* sets the threshold of every method by one rule: two fits on 85 % of the training
grids each, and the distance that makes the fewest errors on the pairs of the other grids; *own
rule* is the accuracy of the method's own `predict_same`. *AMI* and *MCC* compare the true classes
with K-means (true number of classes) on `embedding_`, over the images that were answered; *purity*
is the share of the ten nearest images that are of the same class. *Seed spread* is the largest
minus the smallest AUC of five seeds on one split. Seconds are CPU seconds of the fit with its
own threshold. Differences are paired by split; ± is their standard error, which is a lower bound,
because splits share answers."""


def write_report(rows: list[Row], label: str, path: Path) -> None:
    """Write the report of the baselines and of the product's version `label`."""
    rows = of_version(rows, label)
    sets = [name for name in TITLES if of(rows, data=name)]
    lines = [INTRODUCTION, "", *comparison(rows, label, sets)]
    for name in sets:
        lines += ["", f"## {TITLES[name]}", "", *_set(of(rows, data=name))]
    lines += _curve(of(rows, part="curve"), of(rows, part="splits"))
    lines += foreign_section(of(rows, part="foreign"))
    lines += noise_section(of(rows, part="noise"))
    path.write_text("\n".join(lines) + "\n")


def of_version(rows: list[Row], label: str) -> list[Row]:
    """Rows of the baselines and of one version of the product."""
    return [row for row in rows if row["label"] in ("", label)]


def comparison(rows: list[Row], label: str, sets: Iterable[str]) -> list[str]:
    """The product compared with the best baseline by each measure, for each set."""
    rows = of(of_version(rows, label), part="splits")
    body = []
    for method in PRODUCT:
        for name in sets:
            here = of(rows, data=name)
            for measure, title in MEASURES.items():
                difference = gap(here, method, measure)
                if difference is not None:
                    own = mean_sd(of(here, method=method), measure)
                    verdict = difference.verdict
                    if verdict == "behind":
                        verdict = "**behind**"
                    cells = [method, name, title, own, difference.baseline, str(difference)]
                    body.append([*cells, verdict])
    if not body:
        return ["## Default against the best baseline", "", "Not measured."]
    head = ["method", "data", "measure", "value", "best baseline", "minus the best", "verdict"]
    return ["## Default against the best baseline", "", *table(head, body)]


def _set(rows: list[Row]) -> list[str]:
    splits, seeds = of(rows, part="splits"), of(rows, part="seeds")
    if not splits:
        return ["Not measured."]
    majority = mean(values(splits, "majority_rate"))
    n_splits = len({row["split"] for row in splits})
    head = ["method", *MEASURES.values(), "balanced", "own rule", "MCC", "seed spread", "fit, s"]
    body = []
    for method in present(splits, METHODS):
        own = of(splits, method=method)
        aucs = values(of(seeds, method=method), "auc")
        body.append(
            [
                f"**{method}**" if method in PRODUCT else method,
                *(mean_sd(own, measure) for measure in MEASURES),
                mean_sd(own, "balanced_accuracy"),
                mean_sd(own, "own_accuracy"),
                mean_sd(own, "mcc"),
                f"{max(aucs) - min(aucs):.3f}" if len(aucs) > 1 else "",
                f"{mean(values(own, 'seconds')):.1f}",
            ]
        )
    return [f"{n_splits} splits, majority rate {majority:.3f}.", "", *table(head, body)]


def _curve(rows: list[Row], full: list[Row]) -> list[str]:
    if not rows:
        return []
    lines = ["", "## Learning curves", "", "AUC and purity by share of the training grids."]
    for name in [title for title in TITLES if of(rows, data=title)]:
        here, whole = of(rows, data=name), of(full, data=name)
        fractions = sorted({row["fraction"] for row in here})
        head = ["method"]
        for measure in ("AUC", "purity"):
            head += [f"{measure}, {fraction:.0%}" for fraction in [*fractions, 1.0]]
        body = []
        for method in present(here, METHODS):
            own, cells = of(here, method=method), [method]
            for measure in ("auc", "purity"):
                for fraction in fractions:
                    cells.append(mean_sd(of(own, fraction=fraction), measure))
                cells.append(mean_sd(of(whole, method=method), measure))
            body.append(cells)
        lines += ["", f"### {name}", "", *table(head, body)]
    return lines
