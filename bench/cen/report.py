"""The results as Markdown and plots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from bench.cen.cells import mean_sd, values_sd
from bench.cen.gamma_section import gamma_section
from bench.cen.methods import DEFAULT, METHODS
from bench.cen.plots import draw_confusion, draw_learning_curves, draw_sizes

Row = dict[str, Any]
SCENES = {
    "celeba": "CELEBA-like: 300 images, 94 annotators, 620 grids, 19 % noise",
    "birds": "BIRDS-like: 1,000 images of 16 species, 252 annotators, 3,000 grids, 26 % noise",
    "retina": "RETINA-like: 300 images, 62 annotators who fixate, 620 grids, K = 10",
}
ORACLES = ("oracle, annotator", "oracle, annotator and grid", "oracle, attribute")
BEST = "oracle, annotator and grid"


def write_report(results: dict[str, list[Row]], folder: Path) -> None:
    """Write cen.md and its plots from the parts that have been measured."""
    sections: dict[str, Callable[[list[Row], Path], list[str]]] = {
        "prediction": _prediction,
        "reliability": _reliability,
        "dimensions": _dimensions,
        "gamma": gamma_section,
        "warm": _warm,
        "size": _size,
        "synthesis": _synthesis,
    }
    lines = [
        "# Context Embedding Networks, measured",
        "",
        "`python -m bench.cen` on two cores; simulated crowds of `learning/simulation/scenes.py`;",
        "mean ± sd over seeds; 15 % of the grids are held out completely. Compare pair accuracy",
        "with the majority rate and with the oracle, which knows how the crowd was simulated, the",
        "annotator's preferences and the grid, but not the attribute of the answer. *Way* is the",
        "share of the way from the majority rate to that oracle.",
    ]
    for name, section in sections.items():
        if results.get(name):
            lines += ["", *section(results[name], folder)]
    (folder / "cen.md").write_text("\n".join(lines) + "\n")


def _prediction(rows: list[Row], folder: Path) -> list[str]:
    lines = []
    draw_learning_curves(rows, list(METHODS), folder / "cen_prediction.svg")
    for scene, title in SCENES.items():
        here = [row for row in rows if row["scene"] == scene and row["fraction"] == 1.0]
        if not here:
            continue
        majority = mean(row["majority_rate"] for row in here)
        best = mean(row["accuracy"] for row in here if row["method"] == BEST)
        seeds = len({row["seed"] for row in here})
        lines += [
            f"## {title}",
            "",
            f"Held-out pairs, {seeds} seeds, majority rate {majority:.3f}.",
            "",
            "| method | accuracy | balanced | AUC | way | fit, s |",
            "|---|---|---|---|---|---|",
        ]
        for method in [*METHODS, *ORACLES]:
            own = [row for row in here if row["method"] == method]
            if own:
                way = (mean(row["accuracy"] for row in own) - majority) / (best - majority)
                seconds = [row["seconds"] for row in own if "seconds" in row]
                took = f"{mean(seconds):.1f}" if seconds else ""
                title = f"**{method}**" if method == DEFAULT else method
                lines.append(
                    f"| {title} | {mean_sd(own, 'accuracy')} | {mean_sd(own, 'balanced_accuracy')} "
                    f"| {mean_sd(own, 'auc')} | {way:.0%} | {took} |"
                )
        lines += ["", *_paired(here), "", *_retrieved(here), ""]
        if scene == "birds":
            lines += [*_species(here), ""]
    clean = [row for row in rows if row.get("confusion") and row["method"] == DEFAULT]
    draw_confusion([row for row in clean if row["scene"] == "celeba"], folder / "cen_retrieval.svg")
    return [
        *lines,
        "Accuracy by the share of the training grids used:",
        "",
        "![Held-out accuracy against training size](cen_prediction.svg)",
        "",
        "Attribute retrieval of the default on the CELEBA-like crowd (paper fig. 4a):",
        "",
        "![Attribute retrieval](cen_retrieval.svg)",
    ]


def _paired(rows: list[Row]) -> list[str]:
    """The default compared with every other method, paired by seed."""
    own = {row["seed"]: row["accuracy"] for row in rows if row["method"] == DEFAULT}
    told = []
    for method in METHODS:
        other = {row["seed"]: row["accuracy"] for row in rows if row["method"] == method}
        if method == DEFAULT or not other:
            continue
        gaps = [own[seed] - other[seed] for seed in own]
        told.append(f"{method} {mean(gaps):+.3f} ({sum(gap > 0 for gap in gaps)} of {len(gaps)})")
    return ["Default minus others, mean of pairs (seeds ahead): " + "; ".join(told) + "."]


def _retrieved(rows: list[Row]) -> list[str]:
    lines = [
        "| attribute of an answer | retrieval, training | weakest attribute, worst seed "
        "| entropy | held out, before the grouping | held out, given the grouping |",
        "|---|---|---|---|---|---|",
    ]
    for method in METHODS:
        own = [row for row in rows if row["method"] == method and "retrieval" in row]
        if own:
            weakest = min(row["retrieval_weakest"] for row in own)
            lines.append(
                f"| {method} | {mean_sd(own, 'retrieval')} | {weakest:.3f} "
                f"| {mean_sd(own, 'entropy')} | {mean_sd(own, 'held_out_before')} "
                f"| {mean_sd(own, 'held_out_after')} |"
            )
    return lines


def _species(rows: list[Row]) -> list[str]:
    lines = [
        "K-means with K = 16 in the embedding, compared with the species (MCC; paper 0.914):",
        "",
        "| method | MCC | worst seed |",
        "|---|---|---|",
    ]
    for method in METHODS:
        own = [row for row in rows if row["method"] == method and "mcc" in row]
        if own:
            lines.append(
                f"| {method} | {mean_sd(own, 'mcc')} | {min(row['mcc'] for row in own):.3f} |"
            )
    return lines


def _reliability(rows: list[Row], _: Path) -> list[str]:
    found = sum(row["retrieval_weakest"] >= 0.9 for row in rows)
    with_plain = [row for row in rows if f"no context: {DEFAULT}" in row]
    gap = mean(
        row[f"no context: {DEFAULT}"] - row["no context: latent attribute, annotator"]
        for row in with_plain
    )
    return [
        "## Reliability",
        "",
        f"CELEBA-like, all answers: every attribute retrieved at 0.90 or better on {found} of "
        f"{len(rows)} seeds (mean {mean(row['retrieval'] for row in rows):.3f}, weakest "
        f"{min(row['retrieval_weakest'] for row in rows):.3f}); 620 grids fitted in "
        f"{mean(row['seconds'] for row in rows):.1f} s on one core.",
        "",
        f"In a crowd without a context effect, the mixture is {gap:+.4f} from the annotator-only "
        f"model in held-out accuracy ({len(with_plain)} seeds).",
    ]


def _dimensions(rows: list[Row], _: Path) -> list[str]:
    lines = [
        "## More dimensions than attributes (supplement E)",
        "",
        "RETINA-like crowd with four attributes. In use: dimensions with at least 5 % of the "
        "activation.",
        "",
        "| K | method | in use, per seed | share of the four largest | accuracy |",
        "|---|---|---|---|---|",
    ]
    for k in sorted({row["k"] for row in rows}):
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [row for row in rows if row["k"] == k and row["method"] == method]
            used = ", ".join(str(sum(s >= 0.05 for s in row["shares"])) for row in own)
            largest = mean(sum(row["shares"][:4]) for row in own)
            lines.append(
                f"| {k} | {method} | {used} | {largest:.2f} | {mean_sd(own, 'accuracy')} |"
            )
    return lines


def _warm(rows: list[Row], _: Path) -> list[str]:
    lines = [
        "## Warm start after 10 % more answers",
        "",
        "| crowd | warm time / cold time | AUC cold | AUC cold, other seed | AUC warm "
        "| warm − cold | cold − cold |",
        "|---|---|---|---|---|---|---|",
    ]
    for scene in dict.fromkeys(sorted(row["scene"] for row in rows)):
        own = [row for row in rows if row["scene"] == scene]
        ratios = [row["warm seconds"] / row["cold seconds"] for row in own]
        gained = [row["warm auc"] - row["cold auc"] for row in own]
        noise = [row["cold again auc"] - row["cold auc"] for row in own]
        lines.append(
            f"| {scene} | {mean(ratios):.2f} (at most {max(ratios):.2f}) "
            f"| {mean_sd(own, 'cold auc')} "
            f"| {mean_sd(own, 'cold again auc')} | {mean_sd(own, 'warm auc')} "
            f"| {values_sd(gained)} | {values_sd(noise)} |"
        )
    return lines


def _size(rows: list[Row], folder: Path) -> list[str]:
    draw_sizes(rows, folder / "cen_size.svg")
    lines = [
        "## Time and memory by size",
        "",
        "BIRDS-like crowd, grids of 24, two threads. Peak memory is that of the whole process; the "
        "next column is the part that the interpreter, libraries and answers take.",
        "",
        "| answers | images | annotators | fit, s | ms per answer | peak, GiB | before the fit |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        each = 1_000 * row["seconds"] / row["answers"]
        lines.append(
            f"| {row['answers']:,} | {row['images']:,} | {row['annotators']:,} "
            f"| {row['seconds']:.1f} | {each:.2f} "
            f"| {row['peak_gib']:.2f} | {row['before_gib']:.2f} |"
        )
    return [*lines, "", "![Time and memory](cen_size.svg)"]


def _synthesis(rows: list[Row], _: Path) -> list[str]:
    lines = [
        "## Grid synthesis (section 4.6)",
        "",
        "Twenty grids of 24 about one attribute of the CELEBA-like crowd. *Entropy* is that of the "
        "softmax of the standardised spread; *spread* is relative to random grids.",
        "",
        "| method | candidates | attribute | s | entropy | spread, wanted | spread, others "
        "| different images |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['method']} | {row['candidates']:,} | {row['attribute']} "
            f"| {row['seconds']:.1f} | {row['entropy']:.4f} | {row['wanted']:.2f} "
            f"| {row['others']:.2f} | {row['images']} |"
        )
    return lines
