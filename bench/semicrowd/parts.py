"""The measurements, one function per part, from a few arguments to rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.harness.tables import Row
from bench.semicrowd import data
from bench.semicrowd.methods import BLIND, METHODS, Task, measured

ARMS = 5
MOST_ON_PINWHEEL = 15
POSES = 4
MOST_ON_FACES = 15
DIGITS = 10
MOST_ON_MNIST = 50
BUDGETS = (200, 500, 1_000, 2_000)


def pinwheel(method: str, seed: int) -> list[Row]:
    """Paper 5.1: 500 points, 20 workers at .9, 49 pairs each of 100 points."""
    collection = data.pinwheel(seed)
    rng = np.random.default_rng([seed, 2])
    some = rng.permutation(len(collection.classes))[:100]
    pairs = data.two_coin_pairs(collection.classes, [0.9] * 20, [0.9] * 20, 49, rng, some)
    row = measured(method, Task(collection, pairs, ARMS, MOST_ON_PINWHEEL, seed))
    if seed > 0:
        del row["labels"]
    return [row]


def faces(folder: Path, annotated: int | None, budget: int, method: str, seed: int) -> list[Row]:
    """Paper 5.2: `budget` pairs of each of five workers, of all faces or of `annotated`."""
    collection = data.faces(folder)
    rng = np.random.default_rng([seed, 3])
    some = None if annotated is None else rng.permutation(len(collection.classes))[:annotated]
    pairs = data.two_coin_pairs(
        collection.classes,
        data.FACE_WORKERS,
        data.FACE_WORKERS,
        budget,
        np.random.default_rng([seed, 4, budget]),
        some,
        balanced=True,
    )
    row = measured(method, Task(collection, pairs, POSES, MOST_ON_FACES, seed))
    del row["labels"]
    return [{"annotated": annotated, "budget": budget, **row}]


def budgets_of(method: str) -> Sequence[int]:
    """The budgets of a method; one that ignores pairs needs only one."""
    return BUDGETS[-1:] if method in BLIND else BUDGETS


def mnist(
    folder: Path, n_images: int | None, n_epochs: int | None, method: str, seed: int
) -> list[Row]:
    """Paper 5.3: real pairs of 2,759 digits, K = 50 and layers of 500 for both variants.

    Methods that cannot use images get the first 50 principal components of the pixels, and the
    true number of clusters, 10.
    """
    digits = data.mnist(folder)
    pairs = data.mnist_pairs(folder, len(digits.classes))
    if n_images is not None:
        digits, pairs = data.first_annotated(digits, pairs, n_images)
    own = "SCDC" in method
    if not own and "VAE" not in method:
        digits = data.Collection(data.components(digits.features, 50), digits.classes)
    clusters = MOST_ON_MNIST if own else DIGITS
    parameters = {"network": "mlp", "likelihood": "bernoulli", "n_epochs": n_epochs}
    row = measured(method, Task(digits, pairs, clusters, MOST_ON_MNIST, seed, parameters))
    del row["labels"]
    return [{"images": len(digits.classes), "epochs": n_epochs, **row}]


def known_methods(*left_out: str) -> list[str]:
    return [name for name in METHODS if name not in left_out]
