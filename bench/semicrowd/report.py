"""The report: tables and plots from the rows of the parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean

from bench.harness.tables import Results, Row, mean_sd, of, present, seeds, spread, table, values
from bench.semicrowd import plots
from bench.semicrowd.crowd_report import weights, workers
from bench.semicrowd.methods import BAYES, METHODS, SCDC
from bench.semicrowd.wanted import wanted

BLOCKS = {None: "all faces annotated (fig. 3a)", 100: "100 faces annotated (fig. 3b)"}
PAPER_PINWHEEL = "paper: 96.6 % and 0.94 with 6 clusters; without pairs 95.6 % and 0.91, or "
PAPER_PINWHEEL += "75.6 % and 0.81 from a bad start"
PAPER_MNIST = {
    BAYES: "84.2 ± 5.5 % / 0.812",
    SCDC: "81.9 ± 3.9 % / 0.766",
    f"{BAYES} without pairs": "77.6 ± 4.0 % / 0.794",
    f"{SCDC} without pairs": "65.9 ± 3.5 % / 0.695",
}


def write_report(results: Results, folder: Path) -> None:
    """Write docs/benchmarks/semicrowd.md with its plots, from the measured parts."""
    plots.draw_all(results, folder)
    lines = [
        "# Semi-crowdsourced clustering, measured",
        "",
        "`python -m bench.semicrowd --data FOLDER`; mean ± sd over seeds. *Accuracy* matches",
        "every class with at most one cluster (Hungarian method), so surplus clusters count",
        "as errors; *NMI* and *AMI* are normalised and adjusted mutual information. All but",
        "BayesSCDC get the number of classes, unless another number is given.",
    ]
    sections: dict[str, Callable[[list[Row]], list[str]]] = {
        "pinwheel": _pinwheel,
        "faces": _faces,
        "mnist": _mnist,
        "workers": workers,
        "time": _time,
        "size": _size,
    }
    lines += ["", *wanted(results)]
    for name, section in sections.items():
        if results.get(name):
            lines += ["", *section(results[name])]
    (folder / "semicrowd.md").write_text("\n".join([*lines, "", *BASELINES]) + "\n")


def _bold(method: str) -> str:
    return f"**{method}**" if method in (BAYES, SCDC) else method


def _scores(rows: list[Row]) -> list[str]:
    clusters = [int(row["effective" if "effective" in row else "clusters"]) for row in rows]
    return [
        mean_sd(rows, "accuracy"),
        mean_sd(rows, "nmi"),
        mean_sd(rows, "ami"),
        f"{mean(clusters):.1f}",
    ]


def _pinwheel(rows: list[Row]) -> list[str]:
    body = []
    for method in present(rows, METHODS):
        own = of(rows, method=method)
        worst = f"{min(values(own, 'accuracy')):.3f}"
        seconds = f"{mean(values(own, 'seconds')):.1f}"
        body.append([_bold(method), str(len(own)), *_scores(own), worst, seconds])
    head = ["method", "seeds", "accuracy", "NMI", "AMI", "clusters", "worst seed", "fit, core s"]
    return [
        "## Pinwheel (paper 5.1, fig. 2)",
        "",
        "500 points in five bent arms; 20 workers with α = β = 0.9 each label 49 pairs of 100 of",
        "the points; BayesSCDC starts with 15 clusters.",
        "",
        f"In the {PAPER_PINWHEEL}.",
        "",
        *table(head, body),
        "",
        "![What BayesSCDC finds with and without pairs](semicrowd_pinwheel.svg)",
    ]


def _faces(rows: list[Row]) -> list[str]:
    lines = [
        "## CMU faces by pose (paper 5.2)",
        "",
        "624 faces, 20 principal components, four poses; five workers with α = β = 0.95, 0.9,",
        "0.85, 0.8, 0.75; half of each worker's pairs are of one pose. NMI; the paper only prints",
        f"curves, with SCDC above all others at every point. {_seeds_of(rows)}.",
    ]
    for annotated, title in BLOCKS.items():
        here = of(rows, annotated=annotated)
        if not here:
            continue
        budgets = sorted({row["budget"] for row in here})
        body = []
        for method in present(here, METHODS):
            own = of(here, method=method)
            cells = [mean_sd(of(own, budget=budget), "nmi") for budget in budgets]
            if len({row["budget"] for row in own}) == 1:
                # The method ignores pairs, so the result is the same for any.
                cells = [cells[-1]] * len(budgets)
            most = mean_sd(of(own, budget=budgets[-1]), "accuracy")
            body.append([_bold(method), *cells, most])
        head = ["pairs of each worker", *(f"{budget:,}" for budget in budgets), "accuracy at most"]
        lines += ["", f"NMI, {title}:", "", *table(head, body)]
        if annotated is not None:
            lines += ["", *_rest(here, budgets)]
    lines += ["", "![NMI against pairs](semicrowd_faces.svg)"]
    section = weights(rows)
    return [*lines, "", *section] if section else lines


def _seeds_of(rows: list[Row]) -> str:
    """The numbers of seeds; the two variants take long and may have fewer."""
    own = [row for row in rows if row["method"] in (BAYES, SCDC)]
    others = [row for row in rows if row not in own]
    parts = [f"{BAYES} and {SCDC}: {seeds(own)}"] if own else []
    return "; ".join([*parts, f"the others: {seeds(others)}"] if others else parts)


def _rest(rows: list[Row], budgets: list[int]) -> list[str]:
    body = []
    for method in present(rows, METHODS):
        own = [row for row in of(rows, method=method) if row["budget"] in budgets]
        if len({row["budget"] for row in own}) > 1:
            cells = [
                spread([row["rest"]["nmi"] for row in of(own, budget=budget)]) for budget in budgets
            ]
            body.append([_bold(method), *cells])
    head = ["pairs of each worker", *(f"{budget:,}" for budget in budgets)]
    return ["NMI over the faces without a labelled pair:", "", *table(head, body)]


def _mnist(rows: list[Row]) -> list[str]:
    lines = [
        "## MNIST with the real crowd (paper 5.3, table 1)",
        "",
        "57,330 pairs of 2,759 digits: 91 grids of 36 images by 48 people, called 3,276",
        "annotations in the paper. Both variants start with K = 50; the others get the number of",
        "classes, 10, and 50 principal components if they cannot use images. The paper trains",
        "200 epochs and takes the best of ten starts; here each seed has one. *AMI, max* is what",
        "the public code reports as NMI.",
    ]
    for n in sorted({row["images"] for row in rows}):
        here = of(rows, images=n)
        body = []
        for method in present(here, METHODS):
            own = of(here, method=method)
            body.append(
                [
                    _bold(method),
                    str(len(own)),
                    *_scores(own),
                    mean_sd(own, "ami_max"),
                    spread([row["rest"]["accuracy"] for row in own if "rest" in row]),
                    f"{mean(values(own, 'seconds')):,.0f}",
                    PAPER_MNIST.get(method, ""),
                ]
            )
        head = ["method", "seeds", "accuracy", "NMI", "AMI", "clusters", "AMI, max"]
        head += ["accuracy, not annotated", "fit, core s", "paper, 60,000 digits"]
        lines += ["", f"{n:,} digits, including the annotated ones:", "", *table(head, body)]
    return lines


def _time(rows: list[Row]) -> list[str]:
    body = [
        [
            row["method"],
            f"{row['images']:,}",
            f"{row['epoch_seconds']:.1f}",
            f"{row['peak_gib']:.2f}",
        ]
        for row in rows
    ]
    ratios = []
    for n in sorted({row["images"] for row in rows}):
        slow, quick = of(rows, images=n, method=SCDC), of(rows, images=n, method=BAYES)
        if slow and quick:
            ratio = slow[0]["epoch_seconds"] / quick[0]["epoch_seconds"]
            ratios.append(f"{ratio:.1f} times at {n:,}")
    kind = "synthetic images" if rows[0]["made_up"] else "digits"
    return [
        "## Seconds per epoch at K = 50",
        "",
        f"{kind.capitalize()} of 784 pixels, 57,330 pairs, layers of 500, batches of 128, one",
        "core; each in its own process, one after another, in core seconds, because the machine",
        "did other work too. The public BayesSCDC took 20 to 40 s per epoch of 60,000 digits on",
        "one busy core; the paper, on a GPU of 2018, 201.7 s for SCDC and 16.4 s for BayesSCDC.",
        "",
        *table(["variant", "images", "s per epoch", "peak, GiB"], body),
        "",
        f"BayesSCDC is faster by {'; '.join(ratios)}.",
    ]


def _size(rows: list[Row]) -> list[str]:
    body = [
        [
            f"{row['images']:,}",
            f"{row['pairs']:,}",
            f"{row['annotated']:,}",
            f"{row['seconds']:.0f}",
            f"{row['core_seconds']:.0f}",
            f"{row['peak_gib']:.2f}",
            f"{row['before_gib']:.2f}",
            f"{row['accuracy']:.3f}",
            f"{row['rest_accuracy']:.3f}",
            str(row["clusters"]),
        ]
        for row in sorted(rows, key=lambda row: row["images"])
    ]
    head = ["images", "pairs", "annotated", "fit, s", "core s", "peak, GiB", "before the fit"]
    head += ["accuracy", "not annotated", "clusters"]
    return [
        "## Time and memory by size",
        "",
        "BayesSCDC with its defaults and 30 clusters at the start, two threads; 64 features,",
        "twelve classes with 30 clouds in all, grids of 20 by 40 annotators with 5 % of the images",
        "misplaced. *Fit* is elapsed time on a machine that did other work too. The peak is of",
        "the whole process. Target: 50,000 images with 20,000 pairs within 20 minutes and 6 GB.",
        "",
        *table(head, body),
        "",
        "![Time and memory](semicrowd_size.svg)",
    ]


BASELINES = [
    "## Compared methods",
    "",
    "- k-means and Gaussian mixtures: scikit-learn. VAE: a plain one, then such a mixture.",
    "- PCKMeans, MPCKMeans: active-semi-supervised-clustering 0.0.1 (2018), the only library that",
    "  has them. It refuses pairs whose transitive closure is contradictory, as those of crowds",
    "  are, and loops over links in Python. Here its steps run on the original pairs (a test",
    "  compares the fast loops with the library's), and the best of",
    "  three starts counts.",
    "- ITML: metric-learn 0.7.0 (2023), whose input check uses an argument that scikit-learn has",
    "  removed, and is skipped; at most 3,000 pairs, 50 passes.",
    "- Dawid–Skene with pairs as tasks: crowd-kit 1.4.2. *Spectral, neighbours*: eigenvectors of",
    "  the signed probabilities, k-means, other images by their ten nearest annotated ones.",
    "- MCVC (code for Python 2), SemiCrowd (no public code) and CSPA over pairs have no maintained",
    "  library and are not compared.",
]
