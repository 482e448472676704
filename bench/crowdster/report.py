"""The report: tables and plots from the rows of the parts."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, median

import numpy as np

from bench.crowdster import plots
from bench.harness.tables import Results, Row, distinct, mean_sd, of, table, values

DEFAULT = "CrowdSter (default)"
TITLES = {
    "colours": "1,000 colours",
    "plane": "1,000 points of a plane",
    "clusters": "1,000 images in 25 clusters",
    "features": "1,000 images with 40 non-linear features of six variables",
    "300 colours": "300 colours",
    "objects": "1,854 objects with 42 sparse, non-negative dimensions",
    "mixture": "1,854 images in 40 clusters of 40 dimensions",
}


def write_report(results: Results, folder: Path) -> None:
    """Write docs/benchmarks/crowdster.md with its plots."""
    plots.draw_all(results, folder)
    lines = [
        "# CrowdSter, measured",
        "",
        "`python -m bench.crowdster`, mean ± sd over seeds. Simulated annotators put 20 images",
        "into four bins by k-means of the true features. *Found*: the number of the ten true",
        "nearest neighbours that are among the ten nearest in the embedding. All methods get the",
        "same number of answers in the same five rounds; those with random grids differ only in",
        "the grids.",
        "",
    ]
    sections = {
        "budget": _budget,
        "half": _half,
        "small": _small,
        "phases": _phases,
        "noise": _noise,
        "high": _high,
        "locality": _locality,
        "fonts": _fonts,
        "triplets": lambda rows: _triplets(rows, results.get("budget", [])),
        "together": _together,
        "size": _size,
    }
    for part, section in sections.items():
        if results.get(part):
            lines += [*section(results[part]), ""]
            if seeds := {row["seed"] for row in results[part] if "seed" in row}:
                lines += [f"{len(seeds)} seeds.", ""]
            if part in plots.LINES:
                lines += [f"![{part.capitalize()}](crowdster_{part}.svg)", ""]
    (folder / "crowdster.md").write_text("\n".join(lines).rstrip() + "\n")


def _overlap(rows: list[Row], **wanted: object) -> str:
    return mean_sd(of(rows, **wanted), "found", 2)


def _budget(rows: list[Row]) -> list[str]:
    lines = ["## Neighbours found by number of answers (paper figs. 5 and 10, left)"]
    for space in distinct(rows, "space"):
        here = of(rows, space=space)
        counts, answers = _by_answers(here)
        last = of(here, method=DEFAULT, answers=counts[-1])
        chosen = ", ".join(str(d) for d in sorted(set(values(last, "dimensions"))))
        lines += ["", f"{TITLES[space]} (dimensions the default chose: {chosen}):", ""]
        lines += answers
    return [*lines, "", "![Neighbours found by number of answers](crowdster_budget.svg)"]


def _high(rows: list[Row]) -> list[str]:
    lines = ["## Forty dimensions: 3,000 answers with 10 % noise"]
    for space in distinct(rows, "space"):
        lines += ["", f"{TITLES[space]}:", ""]
        lines += _by_answers(of(rows, space=space))[1]
    return lines


def _by_answers(rows: list[Row]) -> tuple[list[int], list[str]]:
    """The numbers of answers, and a table of what each method found with them."""
    counts = sorted(distinct(rows, "answers"))
    body = [
        [_bold(method), *(_overlap(rows, method=method, answers=n) for n in counts)]
        for method in distinct(rows, "method")
    ]
    return counts, table(["answers", *(f"{n:,}" for n in counts)], body)


def _bold(method: str) -> str:
    return f"**{method}**" if method == DEFAULT else method


def _half(rows: list[Row]) -> list[str]:
    body = []
    for space in distinct(rows, "space"):
        cells = [
            _overlap(rows, space=space, method=method) for method in (DEFAULT, "paper's CrowdSter")
        ]
        body.append([TITLES[space], *cells])
    return [
        "## Half the answers",
        "",
        *table(["", "default, 650 answers", "paper's algorithm, 1,200 answers"], body),
    ]


def _small(rows: list[Row]) -> list[str]:
    last = of(rows, answers=235)
    lines = ["## 300 colours, 235 answers (paper fig. 5)", ""]
    body = [[_bold(m), _overlap(last, method=m)] for m in distinct(last, "method")]
    lines += [*table(["method", "found"], body), ""]
    pairs = (
        (DEFAULT, "default, random grids"),
        (DEFAULT, "paper's, random grids"),
        (DEFAULT, "Bayesian crowd clustering, random grids"),
        ("paper's CrowdSter", "paper's, random grids"),
    )
    for contender, baseline in pairs:
        overlaps = (values(of(last, method=method), "found") for method in (contender, baseline))
        ratio, low = _more(*overlaps)
        lines.append(
            f"- {contender} over {baseline}: **{ratio:+.0%}** (95 % lower bound {low:+.0%})"
        )
    return lines


def _more(scores: list[float], baseline: list[float]) -> tuple[float, float]:
    """The relative gain, and the lower bound of a bootstrap over seeds."""
    a, b = np.array(scores), np.array(baseline)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(a), (2_000, len(a)))
    return float(a.mean() / b.mean() - 1), float(
        np.quantile(a[drawn].mean(axis=1) / b[drawn].mean(axis=1), 0.05) - 1
    )


def _grid(rows: list[Row], over: str, head: str) -> list[str]:
    places = sorted(distinct(rows, over))
    body = [
        [_bold(method), *(_overlap(rows, method=method, **{over: place}) for place in places)]
        for method in distinct(rows, "method")
    ]
    return table([head, *map(str, places)], body)


def _phases(rows: list[Row]) -> list[str]:
    title = "## Rounds: 1,200 answers on 1,000 colours (paper fig. 10, centre)"
    return [title, "", *_grid(rows, "phases", "rounds")]


def _noise(rows: list[Row]) -> list[str]:
    title = "## Noise: share of images in random bins, 1,000 colours, 1,200 answers"
    return [title, "", *_grid(rows, "noise", "noise")]


def _locality(rows: list[Row]) -> list[str]:
    starts, ends = (sorted(distinct(rows, name)) for name in ("start", "end"))
    body = [
        [f"{start:g}", *(_overlap(rows, start=start, end=end) for end in ends)] for start in starts
    ]
    return [
        "## Locality: 1,000 colours, 1,200 answers",
        "",
        "Neighbourhoods of the first local round, as a share of the collection (rows), and of",
        "the last, in grids (columns).",
        "",
        *table(["", *(f"{end:g}" for end in ends)], body),
    ]


def _fonts(rows: list[Row]) -> list[str]:
    body = []
    for method in distinct(rows, "method"):
        own = of(rows, method=method)
        wrong = [values(of(own, round=r), "wrong") for r in sorted(distinct(own, "round"))]
        last, course = wrong[-1], " → ".join(f"{median(shares):.1%}" for shares in wrong)
        body.append([_bold(method), course, f"{mean(last):.1%}", f"{max(last):.1%}"])
    return [
        "## Fonts: 180 letters of 12 fonts, 123 answers (paper fig. 6)",
        "",
        "Share of letters in the wrong one of the twelve k-means clusters of the embedding.",
        "",
        *table(["method", "median after each round", "mean at the end", "worst seed"], body),
    ]


def _triplets(rows: list[Row], budget: list[Row]) -> list[str]:
    lines = [
        "## Triplets without noise, 1,000 colours (paper fig. 10, right)",
        "",
        *_grid([{**row, "triplets": int(row["triplets"])} for row in rows], "triplets", "triplets"),
        "",
    ]
    budget = of(budget, space="colours", method=DEFAULT)
    counts = sorted(distinct(budget, "answers"))
    body = []
    for n in counts:
        overlap = mean(values(of(budget, answers=n), "found"))
        cells = [_triplets_for(rows, method, overlap) for method in distinct(rows, "method")]
        body.append([f"{n:,}", f"{overlap:.2f}", *cells])
    head = [
        "answers of the default",
        "found",
        *(f"triplets, {m}" for m in distinct(rows, "method")),
    ]
    return [*lines, "The number of triplets that find as many:", "", *table(head, body)]


def _triplets_for(rows: list[Row], method: str, overlap: float) -> str:
    counts = sorted(distinct(rows, "triplets"))
    reached = [mean(values(of(rows, method=method, triplets=n), "found")) for n in counts]
    if overlap > max(reached):
        return f"more than {counts[-1]:,}"
    if overlap < reached[0]:
        return f"fewer than {counts[0]:,}"
    return f"{round(float(np.interp(overlap, reached, counts)), -2):,.0f}"


def _together(rows: list[Row]) -> list[str]:
    body = [[_bold(m), mean_sd(of(rows, method=m), "near", 2)] for m in distinct(rows, "method")]
    return [
        "## Shown together: 400 points of a plane, 400 answers (paper fig. 9)",
        "",
        "The share of the 20 images shown most often with an image that are among its 40 nearest.",
        "",
        *table(["method", "near"], body),
    ]


def _size(rows: list[Row]) -> list[str]:
    body = [
        [
            f"{row['images']:,}",
            row["space"],
            f"{row['answers']:,}",
            f"{row['found']:.2f}",
            str(row["dimensions"]),
            f"{row['learn_seconds']:.1f}",
            f"{row['next_grids_seconds']:.1f} ({row['next_grids']:,})",
            f"{row['peak_gib']:.2f}",
        ]
        for row in rows
    ]
    head = ["images", "space", "answers", "found of 10", "dimensions"]
    head += ["learning the last round, s", "next grids, s (how many)", "peak, GiB"]
    return [
        "## Time and memory by size",
        "",
        "Two threads; *found* is the overlap with the nearest 1 % of the collection, in tenths.",
        "The peak is that of the whole process, including the simulated crowd.",
        "",
        *table(head, body),
    ]
