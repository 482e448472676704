"""Time and memory at one size: `python -m bench.crowdster.size IMAGES` prints JSON.

A process of its own, so that the peak of its memory is that of this campaign: 24 views an
image in five rounds; the last round is timed, with as many grids as an early one had.
"""

from __future__ import annotations

import json
import resource
import sys

import numpy as np
import torch

from bench.crowdster.parts import play
from bench.crowdster.spaces import Crowd, space
from learning.crowdster import CrowdSter

# Of 10**5 images the answers of the issue: two an image.
ANSWERS = {1_000: 1_200, 10_000: 12_000, 100_000: 200_000}
NEXT_GRIDS = 10_000


def main(n_images: int, name: str) -> None:
    """Play, time, print."""
    torch.set_num_threads(2)
    crowd = Crowd(space(name, n_images, np.random.default_rng(0)))
    model = CrowdSter(n_images, random_state=0)
    # The nearest 1 %, in tenths: at 1,000 images the ten nearest.
    k = n_images // 100
    rows = play(crowd, model, [ANSWERS[n_images] // 5] * 5, 0, k)
    row = {
        **rows[-1],
        "found": rows[-1]["found"] * 10 / k,
        "space": name,
        "images": n_images,
        "next_grids": min(NEXT_GRIDS, n_images),
        "next_grids_seconds": _seconds_of_next_grids(model, min(NEXT_GRIDS, n_images)),
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    print(json.dumps(row))


def _seconds_of_next_grids(model: CrowdSter, n: int) -> float:
    import time

    began = time.perf_counter()
    model.select_grids(n)
    return time.perf_counter() - began


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
