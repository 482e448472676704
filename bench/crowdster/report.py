"""The report: tables and plots from the rows of the parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np

from bench.crowdster import plots

Row = dict[str, Any]
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


def write_report(results: dict[str, list[Row]], folder: Path) -> None:
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


def _spread(values: list[float], digits: int = 2) -> str:
    if len(values) < 2:
        return f"{values[0]:.{digits}f}"
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f}"


def _pick(rows: list[Row], name: str, **wanted: object) -> list[float]:
    return [r[name] for r in rows if all(r.get(k) == v for k, v in wanted.items())]


def _methods(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def _table(head: list[str], body: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for cells in body:
        yield f"| {' | '.join(cells)} |"


def _budget(rows: list[Row]) -> list[str]:
    lines = ["## Neighbours found by number of answers (paper figs. 5 and 10, left)"]
    for space in dict.fromkeys(row["space"] for row in rows):
        here = [row for row in rows if row["space"] == space]
        counts = sorted({row["answers"] for row in here})
        body = [[_bold(m), *(_found_after(here, m, n) for n in counts)] for m in _methods(here)]
        dimensions = sorted(set(_pick(here, "dimensions", method=DEFAULT, answers=counts[-1])))
        chosen = ", ".join(str(d) for d in dimensions)
        lines += ["", f"{TITLES[space]} (dimensions the default chose: {chosen}):", ""]
        lines += _table(["answers", *(f"{n:,}" for n in counts)], body)
    return [*lines, "", "![Neighbours found by number of answers](crowdster_budget.svg)"]


def _high(rows: list[Row]) -> list[str]:
    lines = ["## Forty dimensions: 3,000 answers with 10 % noise"]
    for space in dict.fromkeys(row["space"] for row in rows):
        here = [row for row in rows if row["space"] == space]
        counts = sorted({row["answers"] for row in here})
        body = [[_bold(m), *(_found_after(here, m, n) for n in counts)] for m in _methods(here)]
        lines += ["", f"{TITLES[space]}:", ""]
        lines += _table(["answers", *(f"{n:,}" for n in counts)], body)
    return lines


def _found_after(rows: list[Row], method: str, answers: int) -> str:
    found = _pick(rows, "found", method=method, answers=answers)
    return _spread(found) if found else ""


def _bold(method: str) -> str:
    return f"**{method}**" if method == DEFAULT else method


def _half(rows: list[Row]) -> list[str]:
    body = []
    for space in dict.fromkeys(row["space"] for row in rows):
        cells = [
            f"{_spread(_pick(rows, 'found', space=space, method=method))}"
            for method in (DEFAULT, "paper's CrowdSter")
        ]
        body.append([TITLES[space], *cells])
    return [
        "## Half the answers",
        "",
        *_table(["", "default, 650 answers", "paper's algorithm, 1,200 answers"], body),
    ]


def _small(rows: list[Row]) -> list[str]:
    last = [row for row in rows if row["answers"] == 235]
    lines = ["## 300 colours, 235 answers (paper fig. 5)", ""]
    body = [[_bold(m), _spread(_pick(last, "found", method=m))] for m in _methods(last)]
    lines += [*_table(["method", "found"], body), ""]
    pairs = (
        (DEFAULT, "default, random grids"),
        (DEFAULT, "paper's, random grids"),
        (DEFAULT, "Bayesian crowd clustering, random grids"),
        ("paper's CrowdSter", "paper's, random grids"),
    )
    for one, other in pairs:
        ratio, low = _more(_pick(last, "found", method=one), _pick(last, "found", method=other))
        lines.append(f"- {one} over {other}: **{ratio:+.0%}** (95 % lower bound {low:+.0%})")
    return lines


def _more(one: list[float], other: list[float]) -> tuple[float, float]:
    """The relative gain, and the lower bound of a bootstrap over seeds."""
    a, b = np.array(one), np.array(other)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(a), (2_000, len(a)))
    return float(a.mean() / b.mean() - 1), float(
        np.quantile(a[drawn].mean(axis=1) / b[drawn].mean(axis=1), 0.05) - 1
    )


def _grid(rows: list[Row], over: str, head: str, digits: int = 2, what: str = "found") -> list[str]:
    values = sorted({row[over] for row in rows})
    body = [
        [_bold(m), *(_spread(_pick(rows, what, method=m, **{over: v}), digits) for v in values)]
        for m in _methods(rows)
    ]
    return list(_table([head, *(str(v) for v in values)], body))


def _phases(rows: list[Row]) -> list[str]:
    title = "## Rounds: 1,200 answers on 1,000 colours (paper fig. 10, centre)"
    return [title, "", *_grid(rows, "phases", "rounds")]


def _noise(rows: list[Row]) -> list[str]:
    title = "## Noise: share of images in random bins, 1,000 colours, 1,200 answers"
    return [title, "", *_grid(rows, "noise", "noise")]


def _locality(rows: list[Row]) -> list[str]:
    starts, ends = (sorted({row[name] for row in rows}) for name in ("start", "end"))
    body = [
        [f"{start:g}", *(_spread(_pick(rows, "found", start=start, end=end)) for end in ends)]
        for start in starts
    ]
    return [
        "## Locality: 1,000 colours, 1,200 answers",
        "",
        "Neighbourhoods of the first local round, as a share of the collection (rows), and of",
        "the last, in grids (columns).",
        "",
        *_table(["", *(f"{end:g}" for end in ends)], body),
    ]


def _fonts(rows: list[Row]) -> list[str]:
    body = []
    for method in _methods(rows):
        own = [row for row in rows if row["method"] == method]
        rounds = sorted({row["round"] for row in own})
        last = [row["wrong"] for row in own if row["round"] == rounds[-1]]
        course = " → ".join(f"{median(_pick(own, 'wrong', round=r)):.1%}" for r in rounds)
        body.append([_bold(method), course, f"{mean(last):.1%}", f"{max(last):.1%}"])
    return [
        "## Fonts: 180 letters of 12 fonts, 123 answers (paper fig. 6)",
        "",
        "Share of letters in the wrong one of the twelve k-means clusters of the embedding.",
        "",
        *_table(["method", "median after each round", "mean at the end", "worst seed"], body),
    ]


def _triplets(rows: list[Row], budget: list[Row]) -> list[str]:
    lines = [
        "## Triplets without noise, 1,000 colours (paper fig. 10, right)",
        "",
        *_grid([{**row, "triplets": int(row["triplets"])} for row in rows], "triplets", "triplets"),
        "",
    ]
    counts = sorted({row["answers"] for row in budget if row["space"] == "colours"})
    body = []
    for n in counts:
        found = mean(_pick(budget, "found", space="colours", method=DEFAULT, answers=n))
        cells = [_triplets_for(rows, method, found) for method in _methods(rows)]
        body.append([f"{n:,}", f"{found:.2f}", *cells])
    head = ["answers of the default", "found", *(f"triplets, {m}" for m in _methods(rows))]
    return [*lines, "The number of triplets that find as many:", "", *_table(head, body)]


def _triplets_for(rows: list[Row], method: str, found: float) -> str:
    counts = sorted({row["triplets"] for row in rows})
    reached = [mean(_pick(rows, "found", method=method, triplets=n)) for n in counts]
    if found > max(reached):
        return f"more than {counts[-1]:,}"
    if found < reached[0]:
        return f"fewer than {counts[0]:,}"
    return f"{round(float(np.interp(found, reached, counts)), -2):,.0f}"


def _together(rows: list[Row]) -> list[str]:
    body = [[_bold(m), _spread(_pick(rows, "near", method=m))] for m in _methods(rows)]
    return [
        "## Shown together: 400 points of a plane, 400 answers (paper fig. 9)",
        "",
        "The share of the 20 images shown most often with an image that are among its 40 nearest.",
        "",
        *_table(["method", "near"], body),
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
        *_table(head, body),
    ]
