"""Measures what the results pages compute in a request: `python -m bench.results_pages`.

It uses CPU seconds, which are more reliable than elapsed time on a machine with other work. Writes
docs/benchmarks/results_pages.md.
"""

from collections.abc import Callable
from time import process_time

import numpy as np

from bench.harness.paths import publish
from bench.harness.tables import table
from learning.clusters import cluster_figures
from learning.comparison import compare
from learning.image_clusters import ImageClusters, suggest_n_clusters

SIZES = (1_000, 5_000, 20_000, 100_000)
N_DIMENSIONS = 8


def seconds(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def clusters(points: np.ndarray, n_clusters: int, algorithm: str = "k-means") -> None:
    labels = ImageClusters(n_clusters, algorithm).fit_predict(points)
    cluster_figures(points, labels)


def figures(n_images: int) -> list[str]:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n_images, N_DIMENSIONS))
    other = points + rng.normal(size=points.shape)
    ward = f"{seconds(lambda: clusters(points, 8, 'ward')):.1f}" if n_images <= 5_000 else "refused"
    return [
        f"{n_images:,}",
        f"{seconds(lambda: clusters(points, 8)):.1f}",
        f"{seconds(lambda: clusters(points, 50)):.1f}",
        ward,
        f"{seconds(lambda: suggest_n_clusters(points)):.1f}",
        f"{seconds(lambda: compare(points, other)):.1f}",
    ]


def main() -> None:
    head = ["images", "k-means, 8", "k-means, 50", "Ward, 8", "suggest a number", "compare two"]
    lines = "\n".join(table(head, [figures(n) for n in SIZES]))
    text = f"""# What the results pages compute

CPU seconds on one core, for random images in {N_DIMENSIONS} dimensions (no clusters, the slowest
case). They include figures and typical images, but not reading from the database.
`python -m bench.results_pages`.

{lines}
"""
    publish("results_pages.md", text)


if __name__ == "__main__":
    main()
