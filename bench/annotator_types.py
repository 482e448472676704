"""Whether types of annotators are found where there are some, and only there.

Simulated crowds of one or two populations, twenty of each make, then the real crowds in the folder
given by `--data` (see bench/real_crowds/data.py). Writes `docs/benchmarks/annotator_types.md`.

    python -m bench.annotator_types --data FOLDER
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.harness.paths import publish
from bench.harness.tables import table
from bench.real_crowds.data import QUICK, available, load
from learning.annotator_types import LEVEL, AnnotatorTypes, find_types
from learning.arrays import FloatArray, IntArray
from learning.groupings import Groupings
from learning.simulation import AttributeCrowd, FeatureCrowd

SEEDS = range(1_000, 1_020)
N_IMAGES = 200


@dataclass(frozen=True)
class Make:
    """How a crowd is made.

    minority: share of the second population, 0 for one population; answers, noise: ranges over
    people; foreign: k-means on two-dimensional features, otherwise attributes; reach: half of the
    people have grids of images out of so many nearest ones to a random image, 0 for random grids.
    """

    name: str
    minority: float
    noise: tuple[float, float] = (0.0, 0.3)
    answers: tuple[int, int] = (10, 10)
    people: int = 30
    grid_size: int = 16
    foreign: bool = True
    reach: int = 0


@dataclass(frozen=True)
class Result:
    make: Make
    n_types: int
    p: float
    right: float
    unclear: float
    seconds: float


MAKES = (
    Make("two, features", 0.5),
    Make("two, 30 % and 70 %", 0.3),
    Make("two, 5 to 20 answers, noise 0 to 0.6", 0.5, (0.0, 0.6), (5, 20)),
    Make("two, attributes", 0.5, foreign=False),
    Make("two, half with grids of similar images", 0.5, reach=40),
    Make("two, attributes, half with grids of similar images", 0.5, foreign=False, reach=40),
    Make("two, grids of 4, 20 answers, 60 people", 0.5, (0.0, 0.3), (20, 20), 60, 4),
    Make("one, features", 0.0),
    Make("one, noise 0 to 1", 0.0, (0.0, 1.0)),
    Make("one, 5 to 20 answers, noise 0 to 0.8", 0.0, (0.0, 0.8), (5, 20)),
    Make("one, attributes, noise 0 to 1", 0.0, (0.0, 1.0), foreign=False),
    Make("one, half with grids of similar images", 0.0, reach=40),
    Make("one, half with grids of the 16 nearest images", 0.0, reach=16),
    Make("one, attributes, half with grids of similar images", 0.0, foreign=False, reach=40),
    Make("one, noise 0 to 1, half with grids of similar images", 0.0, (0.0, 1.0), reach=40),
    Make("one, grids of 4, 20 answers, 60 people", 0.0, (0.0, 0.8), (20, 20), 60, 4),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    folder = parser.parse_args().data
    results = []
    for make in MAKES:
        results += [measure(make, seed) for seed in SEEDS]
        print(_row(make, results), flush=True)
    publish("annotator_types.md", report(results, [] if folder is None else real_rows(folder)))


def measure(make: Make, seed: int) -> Result:
    groupings, truth = simulated(make, seed)
    started = time.monotonic()
    types = find_types(groupings)
    seconds = time.monotonic() - started
    right, unclear = _recovery(types, truth)
    return Result(make, types.n_types, types.p, right, unclear, seconds)


def simulated(make: Make, seed: int) -> tuple[Groupings, IntArray]:
    """The answers of a crowd, and (W,) the population of each annotator."""
    rng = np.random.default_rng(seed)
    truth = np.zeros(make.people, np.int64)
    truth[rng.permutation(make.people)[: round(make.minority * make.people)]] = 1
    noise = rng.uniform(*make.noise, make.people)
    n_answers = rng.integers(make.answers[0], make.answers[1] + 1, make.people)
    annotators = np.repeat(np.arange(make.people), n_answers)
    views = [rng.normal(size=(N_IMAGES, 2)) for _ in range(2)]
    grids = _grids(make, annotators, np.hstack(views[: truth.max() + 1]), rng)
    groups = np.empty_like(grids)
    for who in range(make.people):
        rows = annotators == who
        answer = _by_features if make.foreign else _by_attributes
        groups[rows] = answer(views[truth[who]], grids[rows], noise[who], seed + who, make)
    return Groupings(grids, groups, annotators, N_IMAGES, make.people), truth


def _grids(
    make: Make, annotators: IntArray, features: FloatArray, rng: np.random.Generator
) -> IntArray:
    """(G, S) random images, or for half of the people images that are near in the features (N, d),
    as later rounds show them."""
    has_similar = np.zeros(make.people, np.bool_)
    has_similar[rng.permutation(make.people)[: make.people // 2]] = make.reach > 0
    grids = []
    for who in annotators:
        pool = np.arange(N_IMAGES)
        if has_similar[who]:
            gaps = ((features - features[rng.integers(N_IMAGES)]) ** 2).sum(axis=1)
            pool = np.argsort(gaps)[: make.reach]
        grids.append(rng.choice(pool, make.grid_size, replace=False))
    return np.stack(grids)


def _by_features(
    view: FloatArray, grids: IntArray, noise: float, seed: int, make: Make
) -> IntArray:
    crowd = FeatureCrowd(view, 1, noise, seed)
    n_bins = 4 if make.grid_size > 4 else 2
    return crowd.answer_grids(grids, np.zeros(len(grids), np.int64), n_bins).groups


def _by_attributes(
    view: FloatArray, grids: IntArray, noise: float, seed: int, make: Make
) -> IntArray:
    """Each answer is about either of two attributes, as all answers of the population."""
    table = {"first": view[:, 0], "second": view[:, 1]}
    crowd = AttributeCrowd.from_table(
        table, 2, noise / 2, preference=0.5, careless=noise / 2, random_state=seed
    )
    return crowd.answer_grids(grids, np.zeros(len(grids), np.int64), seed)[0].groups


def _recovery(types: AnnotatorTypes, truth: IntArray) -> tuple[float, float]:
    """Share of the people with a type who have the right one, if there are two, and of unclear."""
    clear = types.type >= 0
    unclear = float((~clear).mean())
    if types.n_types != 2 or truth.max() == 0:
        return float("nan"), unclear
    same = float((types.type[clear] == truth[clear]).mean())
    return max(same, 1.0 - same), unclear


def real_rows(folder: Path) -> list[list[str]]:
    rows = []
    for name in available(folder):
        if name not in QUICK:
            continue
        groupings = load(name, folder).groupings
        started = time.monotonic()
        types = find_types(groupings)
        seconds = time.monotonic() - started
        sizes = " and ".join(map(str, types.sizes))
        p_values = ", ".join(f"{p:.3f}" for p in types.p_values)
        unclear = str(int((types.type < 0).sum()))
        rows.append([name, str(groupings.n_annotators), p_values, sizes, unclear, f"{seconds:.0f}"])
        print(rows[-1], flush=True)
    return rows


def _row(make: Make, results: list[Result]) -> list[str]:
    rows = [result for result in results if result.make == make]
    several = sum(result.n_types > 1 for result in rows)
    right = [result.right for result in rows if np.isfinite(result.right)]
    return [
        make.name,
        f"{sum(result.p < 0.01 for result in rows)} of {len(rows)}",
        f"{np.median([result.p for result in rows]):.3f}",
        f"{several} of {len(rows)}",
        f"{sum(result.n_types > 2 for result in rows)}",
        f"{np.mean(right):.3f}" if right and make.minority else "–",
        f"{np.mean([result.unclear for result in rows]):.2f}",
        f"{np.mean([result.seconds for result in rows]):.1f}",
    ]


def report(results: list[Result], real: list[list[str]]) -> str:
    lines = [
        "# Types of annotators",
        "",
        f"Twenty simulated crowds of each make: {N_IMAGES} images, 30 people with 10 random",
        "grids of 16 images and noise 0 to 0.3 (share of images in a random group, different for",
        "each person) unless the row says otherwise. *Features*: k-means on two-dimensional",
        "features, the populations with independent ones. *Attributes*: each answer is about one",
        f"of two attributes. Several types are reported if p ≤ {LEVEL} and each has three people.",
        "Right: people with the right type, of those with a type, where two types were found.",
        "`python -m bench.annotator_types`.",
        "",
        *table(
            ["populations", "p < .01", "median p", "several types", "more than two", "right",
             "unclear", "seconds"],
            [_row(make, results) for make in MAKES],
        ),
    ]  # fmt: skip
    if real:
        head = ["crowd", "people", "p of each direction", "people by type", "unclear", "seconds"]
        lines += ["", "## Real crowds", "", *table(head, real)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
