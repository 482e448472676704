"""Seconds per epoch at K = 50: `python -m bench.semicrowd.speed CASE [FOLDER]` prints JSON.

Cases run one after another in separate processes, on one core, as the public BayesSCDC was
measured, with digits and their crowd's pairs from FOLDER, or synthetic images of the same size.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

from bench.harness.processes import peak_gib
from bench.semicrowd import data
from learning.arrays import FloatArray
from learning.groupings import Pairs
from learning.semicrowd import BayesianSemiCrowdClustering, SemiCrowdClustering

CLUSTERS = 50
ANNOTATED, PAIRS = 2_759, 57_330
# Variant, images, epochs.
CASES = (
    "BayesSCDC,6000,3",
    "SCDC,6000,2",
    "SCDC-5-likeliest,6000,2",
    "BayesSCDC,60000,2",
)


def main(case: str, folder: Path | None) -> None:
    """Fit for a few epochs and print the mean core seconds of those after the first."""
    torch.set_num_threads(1)
    variant, n_images, n_epochs = case.split(",")
    pixels, pairs = _digits(int(n_images), folder)
    shared: dict[str, Any] = {
        "network": "mlp",
        "likelihood": "bernoulli",
        "n_epochs": int(n_epochs),
        "pretrain_epochs": 1,
        "device": "cpu",
        "random_state": 0,
    }
    if variant == "BayesSCDC":
        model: Any = BayesianSemiCrowdClustering(max_clusters=CLUSTERS, **shared)
    else:
        n_summed = 5 if "likeliest" in variant else None
        model = SemiCrowdClustering(n_clusters=CLUSTERS, n_summed=n_summed, **shared)
    ends: list[float] = []

    def heard(_done: int, _total: int, metrics: dict[str, float]) -> None:
        # The autoencoder's epochs, which come first, have no bound.
        if "elbo" in metrics:
            ends.append(time.process_time())

    model.fit(pixels, pairs, progress=heard)
    seconds = np.diff(ends).tolist()
    row = {
        "method": variant,
        "images": int(n_images),
        "epochs": seconds,
        "epoch_seconds": mean(seconds),
        "peak_gib": peak_gib(),
        "made_up": folder is None,
    }
    print(json.dumps(row))


def _digits(n: int, folder: Path | None) -> tuple[FloatArray, Pairs]:
    if folder is not None:
        digits = data.mnist(folder)
        pairs = data.mnist_pairs(folder, len(digits.classes))
        some, pairs = data.first_annotated(digits, pairs, n)
        return np.asarray(some.features.reshape(n, -1), np.float64), pairs
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 10, n)
    pixels = rng.random((n, 784)) < rng.random((10, 784))[classes] ** 6
    annotated = rng.permutation(n)[:ANNOTATED]
    worker_pairs = data.two_coin_pairs(
        classes, [0.98] * 42, [0.99] * 42, PAIRS // 42, rng, annotated
    )
    return pixels.astype(np.float64), worker_pairs


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None)
