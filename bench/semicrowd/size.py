"""Time and memory of one fit: `python -m bench.semicrowd.size CASE` prints them as JSON.

It is a separate process, so that its peak memory is that of this fit.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch

from bench.harness.processes import peak_gib
from bench.semicrowd.data import Collection
from learning.arrays import IntArray
from learning.groupings import Pairs, from_answers
from learning.metrics import clustering_accuracy, clustering_scores
from learning.semicrowd import BayesianSemiCrowdClustering

# Images, labelled pairs.
CASES = ("50000,20000", "10000,20000", "2000,20000")
CLASSES, WIDTH, GRID, ERRORS = 12, 64, 20, 0.05


def main(case: str) -> None:
    """Simulate, fit, and print the results."""
    torch.set_num_threads(2)
    n_images, n_pairs = (int(number) for number in case.split(","))
    rng = np.random.default_rng(0)
    items = clouds(n_images, rng)
    pairs = grids(items.classes, n_pairs, rng)
    before = peak_gib()
    began, core = time.perf_counter(), time.process_time()
    model = BayesianSemiCrowdClustering(max_clusters=30, device="cpu", random_state=0)
    model.fit(items.features, pairs)
    seconds, core_seconds = time.perf_counter() - began, time.process_time() - core
    annotated = np.union1d(pairs.i, pairs.j)
    rest = np.setdiff1d(np.arange(n_images), annotated)
    row = {
        "images": n_images,
        "pairs": len(pairs),
        "annotated": len(annotated),
        "seconds": seconds,
        "core_seconds": core_seconds,
        "peak_gib": peak_gib(),
        "before_gib": before,
        "clusters": int(model.n_clusters_),
        "rest_accuracy": clustering_accuracy(items.classes[rest], model.labels_[rest]),
        **clustering_scores(items.classes, model.labels_),
    }
    print(json.dumps(row))


def clouds(n: int, rng: np.random.Generator) -> Collection:
    """Twelve classes of two or three clouds each in eight dimensions, with 64 non-linear features.
    Features alone cannot show which clouds belong together."""
    owner = rng.integers(0, CLASSES, 30)
    owner[:CLASSES] = np.arange(CLASSES)
    centres = rng.normal(size=(30, 8)) * 2.0
    cloud = rng.integers(0, 30, n)
    places = centres[cloud] + rng.normal(size=(n, 8)) * 0.6
    bent = np.tanh(places @ rng.normal(size=(8, 128)) / 4) @ rng.normal(size=(128, WIDTH)) / 8
    features = bent + 0.1 * rng.normal(size=(n, WIDTH))
    return Collection(features.astype(np.float32), owner[cloud].astype(np.int64))


def grids(classes: IntArray, n_pairs: int, rng: np.random.Generator) -> Pairs:
    """All pairs of grids of 20 images out of at most 2,000, by 40 annotators who put one image
    in twenty into a group of another."""
    some = rng.permutation(len(classes))[:2_000]
    n = -(-n_pairs // (GRID * (GRID - 1) // 2))
    images = [rng.choice(some, GRID, replace=False) for _ in range(n)]
    groups = []
    for shown in images:
        group = classes[shown].copy()
        wrong = rng.random(GRID) < ERRORS
        group[wrong] = rng.choice(group, wrong.sum())
        groups.append(group)
    workers = np.arange(n) % 40
    return from_answers(images, groups, workers, len(classes), 40).pairs()


if __name__ == "__main__":
    main(sys.argv[1])
