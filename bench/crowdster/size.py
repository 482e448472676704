"""Time and memory at one size: `python -m bench.crowdster.size IMAGES` prints JSON.

It is a separate process, so that its peak memory is that of this campaign: 24 views per image in
five rounds. The last round is timed, with as many grids as an early one had.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch

from bench.crowdster.spaces import Crowd, space
from bench.harness.processes import peak_gib
from learning.arrays import FloatArray
from learning.crowdster import CrowdSter
from learning.neighbors import nearest_points

# For 10**5 images there are two answers per image.
ANSWERS = {1_000: 1_200, 10_000: 12_000, 100_000: 200_000}
NEXT_GRIDS = 10_000
_SAMPLE = 2_000


def main(n_images: int, name: str) -> None:
    """Play the campaign, measure the time, and print the results."""
    torch.set_num_threads(2)
    rng = np.random.default_rng(0)
    crowd = Crowd(space(name, n_images, rng))
    model = CrowdSter(n_images, random_state=0)
    for _ in range(5):
        answers = crowd.answer(model.select_grids(ANSWERS[n_images] // 5), rng)
        began = time.perf_counter()
        model.update(answers)
        learn_seconds = time.perf_counter() - began
    n_next = min(NEXT_GRIDS, n_images)
    began = time.perf_counter()
    model.select_grids(n_next)
    row = {
        "space": name,
        "images": n_images,
        "answers": ANSWERS[n_images],
        "dimensions": model.n_dimensions_,
        "learn_seconds": learn_seconds,
        "next_grids": n_next,
        "next_grids_seconds": time.perf_counter() - began,
        "peak_gib": peak_gib(),
        # This is the nearest 1 %, in tenths, which are the ten nearest of 1,000 images.
        "found": 10 * _overlap(crowd.features, model.embedding_, n_images // 100, rng),
    }
    print(json.dumps(row))


def _overlap(true: FloatArray, embedding: FloatArray, k: int, rng: np.random.Generator) -> float:
    """Share of the k nearest in common, over a sample of images; an image is its own neighbour."""
    sample = rng.permutation(len(true))[:_SAMPLE]
    true_near, near = (
        nearest_points(places, k + 1, places[sample]) for places in (true, embedding)
    )
    shared = [len(np.intersect1d(a, b)) - 1 for a, b in zip(true_near, near, strict=True)]
    return float(np.mean(shared)) / k


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
