"""The results as Markdown and plots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean

from bench.cen.gamma_section import gamma_section
from bench.cen.methods import DEFAULT, METHODS
from bench.cen.plots import draw_confusion, draw_learning_curves, draw_sizes
from bench.harness.tables import Results, Row, distinct, mean_sd, of, present, spread, table, values

SCENES = {
    "celeba": "CELEBA-like: 300 images, 94 annotators, 620 grids, 19 % noise",
    "birds": "BIRDS-like: 1,000 images of 16 species, 252 annotators, 3,000 grids, 26 % noise",
    "retina": "RETINA-like: 300 images, 62 annotators who fixate, 620 grids, K = 10",
}
ORACLES = ("oracle, annotator", "oracle, annotator and grid", "oracle, attribute")
BEST = "oracle, annotator and grid"


def write_report(results: Results, folder: Path) -> None:
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
        here = of(rows, scene=scene, fraction=1.0)
        if here:
            lines += [f"## {title}", "", *_scores(here), "", *_paired(here), ""]
            lines += [*_retrieved(here), ""]
        if here and scene == "birds":
            lines += [*_species(here), ""]
    clean = [row for row in of(rows, method=DEFAULT, scene="celeba") if row.get("confusion")]
    draw_confusion(clean, folder / "cen_retrieval.svg")
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


def _scores(rows: list[Row]) -> list[str]:
    majority = mean(values(rows, "majority_rate"))
    best = mean(values(of(rows, method=BEST), "accuracy"))
    body = []
    for method in present(rows, [*METHODS, *ORACLES]):
        own = of(rows, method=method)
        way = (mean(values(own, "accuracy")) - majority) / (best - majority)
        seconds = values(own, "seconds")
        name = f"**{method}**" if method == DEFAULT else method
        scores = [mean_sd(own, name) for name in ("accuracy", "balanced_accuracy", "auc")]
        body.append([name, *scores, f"{way:.0%}", f"{mean(seconds):.1f}" if seconds else ""])
    head = ["method", "accuracy", "balanced", "AUC", "way", "fit, s"]
    return [
        f"Held-out pairs, {len(distinct(rows, 'seed'))} seeds, majority rate {majority:.3f}.",
        "",
        *table(head, body),
    ]


def _paired(rows: list[Row]) -> list[str]:
    """The default compared with every other method, paired by seed."""
    own = {row["seed"]: row["accuracy"] for row in of(rows, method=DEFAULT)}
    others = []
    for method in present(rows, METHODS):
        if method != DEFAULT:
            other = {row["seed"]: row["accuracy"] for row in of(rows, method=method)}
            gaps = [own[seed] - other[seed] for seed in own]
            ahead = sum(gap > 0 for gap in gaps)
            others.append(f"{method} {mean(gaps):+.3f} ({ahead} of {len(gaps)})")
    return ["Default minus others, mean of pairs (seeds ahead): " + "; ".join(others) + "."]


def _retrieved(rows: list[Row]) -> list[str]:
    rows = [row for row in rows if "retrieval" in row]
    head = ["attribute of an answer", "retrieval, training", "weakest attribute, worst seed"]
    head += ["entropy", "held out, before the grouping", "held out, given the grouping"]
    body = []
    for method in present(rows, METHODS):
        own = of(rows, method=method)
        weakest = f"{min(values(own, 'retrieval_weakest')):.3f}"
        others = [mean_sd(own, name) for name in ("entropy", "held_out_before", "held_out_after")]
        body.append([method, mean_sd(own, "retrieval"), weakest, *others])
    return table(head, body)


def _species(rows: list[Row]) -> list[str]:
    rows = [row for row in rows if "mcc" in row]
    body = []
    for method in present(rows, METHODS):
        own = of(rows, method=method)
        body.append([method, mean_sd(own, "mcc"), f"{min(values(own, 'mcc')):.3f}"])
    return [
        "K-means with K = 16 in the embedding, compared with the species (MCC; paper 0.914):",
        "",
        *table(["method", "MCC", "worst seed"], body),
    ]


def _reliability(rows: list[Row], _: Path) -> list[str]:
    n_right = sum(row["retrieval_weakest"] >= 0.9 for row in rows)
    with_plain = [row for row in rows if f"no context: {DEFAULT}" in row]
    gap = mean(
        row[f"no context: {DEFAULT}"] - row["no context: latent attribute, annotator"]
        for row in with_plain
    )
    return [
        "## Reliability",
        "",
        f"CELEBA-like, all answers: every attribute retrieved at 0.90 or better on {n_right} of "
        f"{len(rows)} seeds (mean {mean(values(rows, 'retrieval')):.3f}, weakest "
        f"{min(values(rows, 'retrieval_weakest')):.3f}); 620 grids fitted in "
        f"{mean(values(rows, 'seconds')):.1f} s on one core.",
        "",
        f"In a crowd without a context effect, the mixture is {gap:+.4f} from the annotator-only "
        f"model in held-out accuracy ({len(with_plain)} seeds).",
    ]


def _dimensions(rows: list[Row], _: Path) -> list[str]:
    body = []
    for k in sorted(distinct(rows, "k")):
        for method in distinct(rows, "method"):
            own = of(rows, k=k, method=method)
            used = ", ".join(str(sum(s >= 0.05 for s in row["shares"])) for row in own)
            largest = f"{mean(sum(row['shares'][:4]) for row in own):.2f}"
            body.append([str(k), method, used, largest, mean_sd(own, "accuracy")])
    head = ["K", "method", "in use, per seed", "share of the four largest", "accuracy"]
    return [
        "## More dimensions than attributes (supplement E)",
        "",
        "RETINA-like crowd with four attributes. In use: dimensions with at least 5 % of the "
        "activation.",
        "",
        *table(head, body),
    ]


def _warm(rows: list[Row], _: Path) -> list[str]:
    body = []
    for scene in sorted(distinct(rows, "scene")):
        own = of(rows, scene=scene)
        ratios = [row["warm seconds"] / row["cold seconds"] for row in own]
        aucs = [mean_sd(own, name) for name in ("cold auc", "cold again auc", "warm auc")]
        gained = spread(row["warm auc"] - row["cold auc"] for row in own)
        noise = spread(row["cold again auc"] - row["cold auc"] for row in own)
        ratio = f"{mean(ratios):.2f} (at most {max(ratios):.2f})"
        body.append([scene, ratio, *aucs, gained, noise])
    head = ["crowd", "warm time / cold time", "AUC cold", "AUC cold, other seed", "AUC warm"]
    head += ["warm − cold", "cold − cold"]
    return ["## Warm start after 10 % more answers", "", *table(head, body)]


def _size(rows: list[Row], folder: Path) -> list[str]:
    draw_sizes(rows, folder / "cen_size.svg")
    body = [
        [
            *(f"{row[name]:,}" for name in ("answers", "images", "annotators")),
            f"{row['seconds']:.1f}",
            f"{1_000 * row['seconds'] / row['answers']:.2f}",
            f"{row['peak_gib']:.2f}",
            f"{row['before_gib']:.2f}",
        ]
        for row in rows
    ]
    head = ["answers", "images", "annotators", "fit, s", "ms per answer", "peak, GiB"]
    return [
        "## Time and memory by size",
        "",
        "BIRDS-like crowd, grids of 24, two threads. Peak memory is that of the whole process; the "
        "next column is the part that the interpreter, libraries and answers take.",
        "",
        *table([*head, "before the fit"], body),
        "",
        "![Time and memory](cen_size.svg)",
    ]


def _synthesis(rows: list[Row], _: Path) -> list[str]:
    body = [
        [
            row["method"],
            f"{row['candidates']:,}",
            str(row["attribute"]),
            f"{row['seconds']:.1f}",
            f"{row['entropy']:.4f}",
            f"{row['wanted']:.2f}",
            f"{row['others']:.2f}",
            str(row["images"]),
        ]
        for row in rows
    ]
    head = ["method", "candidates", "attribute", "s", "entropy", "spread, wanted"]
    return [
        "## Grid synthesis (section 4.6)",
        "",
        "Twenty grids of 24 about one attribute of the CELEBA-like crowd. *Entropy* is that of the "
        "softmax of the standardised spread; *spread* is relative to random grids.",
        "",
        *table([*head, "spread, others", "different images"], body),
    ]
