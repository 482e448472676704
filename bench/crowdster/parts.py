"""The measurements, one function per part, from seed to rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from bench.crowdster import triplets
from bench.crowdster.spaces import Crowd, letters, space
from bench.harness.tables import Row
from learning.arrays import FloatArray, IntArray
from learning.asked import AskedGrids
from learning.baselines.bayesian_crowd import BayesianCrowdClustering
from learning.crowdster import CrowdSter
from learning.groupings import Groupings
from learning.metrics import neighbor_overlap
from learning.neighbors import nearest_neighbors
from learning.queries import random_grids

K = 10
# The paper's schedule of k, and enough dimensions for it.
PAPER: dict[str, Any] = {
    "algorithm": "paper",
    "n_dimensions": 3,
    "neighbors_start": 0.15,
    "neighbors_end": 1.75,
}
METHODS: dict[str, dict[str, Any]] = {
    "CrowdSter (default)": {},
    "default, random grids": {"random_share": 1.0},
    "paper's CrowdSter": PAPER,
    "paper's, random grids": {**PAPER, "random_share": 1.0},
}


def play(crowd: Crowd, model: CrowdSter, per_round: list[int], seed: int) -> list[Row]:
    """Play rounds of answers; returns a row after each with the true neighbours found."""
    rng = np.random.default_rng(seed)
    true = nearest_neighbors(crowd.features, K)
    rows, answers = [], 0
    for number, n in enumerate(per_round, start=1):
        began = time.perf_counter()
        grids = model.select_grids(n)
        selected = time.perf_counter()
        groupings = crowd.answer(grids, rng)
        answered = time.perf_counter()
        model.update(groupings)
        learned = time.perf_counter()
        answers += n
        rows.append(
            {
                "round": number,
                "answers": answers,
                "found": neighbor_overlap(true, model.kneighbors(K)),
                "dimensions": model.n_dimensions_,
                "select_seconds": selected - began,
                "learn_seconds": learned - answered,
            }
        )
    return rows


def budget(name: str, seed: int, n_images: int = 1_000, n_answers: int = 1_200) -> list[Row]:
    """True neighbours by number of answers, five rounds (figs. 5 and 10, left)."""
    crowd = Crowd(space(name, n_images, np.random.default_rng(seed)))
    rows = []
    for method, parameters in METHODS.items():
        model = CrowdSter(n_images, random_state=seed, **parameters)
        for row in play(crowd, model, [n_answers // 5] * 5, seed):
            rows.append({"space": name, "seed": seed, "method": method, **row})
    rng = np.random.default_rng(seed)
    answers = crowd.answer(random_grids(n_answers, 20, n_images, rng), rng)
    overlap = _bayesian(answers, crowd.features, seed)
    method = "Bayesian crowd clustering, random grids"
    return [
        *rows,
        {"space": name, "seed": seed, "method": method, "answers": n_answers, "found": overlap},
    ]


def _bayesian(answers: Groupings, features: FloatArray, seed: int) -> float:
    places = BayesianCrowdClustering(random_state=seed).fit(answers).embedding_
    return neighbor_overlap(nearest_neighbors(features, K), nearest_neighbors(places, K))


def half(name: str, seed: int) -> list[Row]:
    """The default with about half the answers, the paper's algorithm with all."""
    crowd = Crowd(space(name, 1_000, np.random.default_rng(seed)))
    rows = []
    for method, n, parameters in (
        ("CrowdSter (default)", 650, {}),
        ("paper's CrowdSter", 1_200, PAPER),
    ):
        model = CrowdSter(1_000, random_state=seed, **parameters)
        last = play(crowd, model, [n // 5] * 5, seed)[-1]
        rows.append({"space": name, "seed": seed, "method": method, **last})
    return rows


def small(seed: int) -> list[Row]:
    """300 colours, 235 answers (fig. 5): local rounds compared with random grids."""
    return [{**row, "space": "300 colours"} for row in budget("colours", seed, 300, 235)]


def phases(seed: int) -> list[Row]:
    """1,200 answers in 1 to 10 rounds (fig. 10, centre)."""
    crowd = Crowd(space("colours", 1_000, np.random.default_rng(seed)))
    rows = []
    for n_phases in (1, 2, 3, 4, 5, 10):
        for method in ("CrowdSter (default)", "paper's CrowdSter"):
            model = CrowdSter(1_000, n_phases=n_phases, random_state=seed, **METHODS[method])
            last = play(crowd, model, [1_200 // n_phases] * n_phases, seed)[-1]
            rows.append({"seed": seed, "method": method, "phases": n_phases, **last})
    return rows


def noise(seed: int) -> list[Row]:
    """Images in random bins."""
    features = space("colours", 1_000, np.random.default_rng(seed))
    rows = []
    for odds in (0.0, 0.1, 0.2, 0.3):
        for method in ("CrowdSter (default)", "default, random grids", "paper's CrowdSter"):
            model = CrowdSter(1_000, random_state=seed, **METHODS[method])
            last = play(Crowd(features, odds), model, [240] * 5, seed)[-1]
            rows.append({"seed": seed, "method": method, "noise": odds, **last})
    return rows


def locality(seed: int) -> list[Row]:
    """The effect of the width of the neighbourhoods from which grids are drawn."""
    crowd = Crowd(space("colours", 1_000, np.random.default_rng(seed)))
    rows = []
    for start in (0.05, 0.08, 0.15, 0.5):
        for end in (1.25, 1.75, 4.0):
            model = CrowdSter(1_000, neighbors_start=start, neighbors_end=end, random_state=seed)
            last = play(crowd, model, [240] * 5, seed)[-1]
            rows.append({"seed": seed, "start": start, "end": end, **last})
    return rows


def together(seed: int) -> list[Row]:
    """400 images of a plane, 400 answers (fig. 9): how near those are that are shown together."""
    crowd = Crowd(space("plane", 400, np.random.default_rng(seed)))
    true = nearest_neighbors(crowd.features, 40)
    rows = []
    for method in METHODS:
        model = CrowdSter(400, random_state=seed, **METHODS[method])
        play(crowd, model, [80] * 5, seed)
        counts = _shown_together(model.asked_)
        most = np.argsort(-counts, axis=1, kind="stable")[:, :20]
        near = float((most[:, :, None] == true[:, None, :]).any(axis=2).mean())
        rows.append({"seed": seed, "method": method, "near": near})
    return rows


def _shown_together(asked: AskedGrids) -> IntArray:
    everybody = np.arange(asked.n_images)
    counts = asked.together(everybody, np.tile(everybody, (asked.n_images, 1)))
    np.fill_diagonal(counts, -1)
    return counts


def fonts(seed: int) -> list[Row]:
    """180 letters of 12 fonts, 123 answers (fig. 6): letters in the wrong cluster."""
    seen, pixels, true = letters()
    crowd = Crowd(seen)
    rows = [_fonts_row("pixels, no answers", seed, 0, pixels, true, seed)]
    for method, parameters in METHODS.items():
        model = CrowdSter(len(true), random_state=seed, **parameters)
        rng = np.random.default_rng(seed)
        for number, n in enumerate((25, 25, 25, 24, 24), start=1):
            model.update(crowd.answer(model.select_grids(n), rng))
            rows.append(_fonts_row(method, seed, number, model.embedding_, true, seed))
    return rows


def _fonts_row(
    method: str, seed: int, number: int, places: FloatArray, true: IntArray, start: int
) -> Row:
    n = int(true.max()) + 1
    clusters = KMeans(n, n_init=20, random_state=start).fit_predict(places)
    table = np.zeros((n, n))
    np.add.at(table, (true, clusters), 1)
    right = table[linear_sum_assignment(-table)].sum()
    return {"method": method, "seed": seed, "round": number, "wrong": 1 - float(right) / len(true)}


def by_triplets(seed: int) -> list[Row]:
    """Triplet methods with more and more answers without noise (fig. 10, right)."""
    features = space("colours", 1_000, np.random.default_rng(seed))
    true = nearest_neighbors(features, K)
    rows = []
    for n in (5_000, 10_000, 20_000, 30_000, 42_000, 60_000, 84_000):
        answered = triplets.true_triplets(features, n, np.random.default_rng(seed))
        for method in ("soe", "t-ste"):
            places = triplets.embed(answered, 1_000, 3, method, seed)
            overlap = neighbor_overlap(true, nearest_neighbors(places, K))
            rows.append({"seed": seed, "method": method, "triplets": n, "found": overlap})
        places = triplets.active(features, n, 3, seed)
        overlap = neighbor_overlap(true, nearest_neighbors(places, K))
        rows.append({"seed": seed, "method": "active (SOE)", "triplets": n, "found": overlap})
    return rows


def high(name: str, seed: int) -> list[Row]:
    """About 2,000 images in 40 dimensions, 3,000 answers with 10 % noise in five rounds."""
    n_images, n_answers = 1_854, 3_000
    crowd = Crowd(space(name, n_images, np.random.default_rng(seed)), 0.1)
    rows = []
    for method in ("CrowdSter (default)", "paper's CrowdSter"):
        model = CrowdSter(n_images, random_state=seed, **METHODS[method])
        for row in play(crowd, model, [n_answers // 5] * 5, seed):
            rows.append({"space": name, "seed": seed, "method": method, **row})
    return rows
