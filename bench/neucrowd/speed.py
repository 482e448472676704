"""Time and memory of a fit and of predictions: `python -m bench.neucrowd.speed SEED`, as JSON."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch

from bench.harness.processes import peak_gib
from bench.neucrowd.data import N_FEATURES, N_TRAIN, synthetic
from learning.neucrowd import NeuCrowdClassifier

RUNS, N_NEW = 2, 100_000


def main(seed: int) -> None:
    """Fit with the default candidates to 1,000 items of 7 workers, predict 100,000, print."""
    torch.set_num_threads(2)
    # In odd runs two of 1,200 features are informative, in even ones all, so candidates differ.
    question = synthetic(7, seed, N_FEATURES if seed % 2 == 0 else 2)
    new = np.random.default_rng(seed).normal(size=(N_NEW, N_FEATURES))
    new = new * question.features.std(axis=0) + question.features.mean(axis=0)
    model = NeuCrowdClassifier(random_state=seed)
    fit, fit_core = _timed(lambda: model.fit(question.features, question.votes))
    before = peak_gib()
    predict, predict_core = _timed(lambda: model.predict_proba(new))
    row = {
        "method": "NeuCrowd",
        "seed": seed,
        "items": N_TRAIN,
        "new": N_NEW,
        "chosen": dict(model.chosen_),
        "fit_seconds": fit,
        "fit_core_seconds": fit_core,
        "predict_seconds": predict,
        "predict_core_seconds": predict_core,
        "fit_peak_gib": before,
        "peak_gib": peak_gib(),
    }
    print(json.dumps(row))


def _timed(call: object) -> tuple[float, float]:
    assert callable(call)
    began, core = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - began, time.process_time() - core


if __name__ == "__main__":
    main(int(sys.argv[1]))
