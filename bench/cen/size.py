"""Time and memory of one fit: `python -m bench.cen.size ANSWERS` prints them as JSON.

It is a separate process, so that its peak memory is that of this fit.
"""

from __future__ import annotations

import json
import sys
import time

import torch

from bench.harness.processes import peak_gib
from learning.cen import ContextEmbeddingNetwork
from learning.simulation.scenes import birds_like

# Images and annotators, which grow with the answers.
COLLECTIONS = {
    1_000: (300, 100),
    10_000: (1_000, 500),
    100_000: (10_000, 2_000),
    1_000_000: (100_000, 20_000),
}


def main(n_answers: int) -> None:
    """Simulate, fit, print."""
    torch.set_num_threads(2)
    n_images, n_annotators = COLLECTIONS[n_answers]
    scene = birds_like(0, n_grids=n_answers, n_images=n_images, n_annotators=n_annotators)
    before = peak_gib()
    began = time.perf_counter()
    ContextEmbeddingNetwork(random_state=0).fit(scene.groupings)
    seconds = time.perf_counter() - began
    row = {
        "answers": n_answers,
        "images": n_images,
        "annotators": n_annotators,
        "seconds": seconds,
        "peak_gib": peak_gib(),
        "before_gib": before,
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main(int(sys.argv[1]))
