"""The clustered data, synthetic or read from a folder, with simulated or real workers.

`--data FOLDER` names a folder with any of
    cmu_faces/pca20.npy (N, 20), cmu_faces/items.csv   columns item, pose, ...
    semicrowd_mnist/mnist_train.npz    images (60000, 28, 28) uint8, labels
    semicrowd_mnist/mnist_test.npz     the same of 10,000 others
    semicrowd_mnist/crowd_annotations_mnist.npy        rows i, j, worker, 1 same or 0
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA

from learning.arrays import FloatArray, IntArray
from learning.groupings import Pairs

FACE_WORKERS = (0.95, 0.9, 0.85, 0.8, 0.75)


@dataclass(frozen=True)
class Collection:
    """features: (N, D) or (N, H, W); classes: (N,) the truth."""

    features: NDArray[np.float32] | FloatArray
    classes: IntArray


def pinwheel(seed: int, n_arms: int = 5, n_each: int = 100) -> Collection:
    """Five bent arms in a plane (paper section 5.1, fig. 2a), with the widths, the bend and the
    scale of Johnson et al. (2016), where the set comes from."""
    rng = np.random.default_rng([seed, 1])
    classes = np.repeat(np.arange(n_arms), n_each)
    places = rng.normal(size=(len(classes), 2)) * (0.3, 0.05) + (1.0, 0.0)
    angle = 2 * np.pi * classes / n_arms + 0.25 * np.exp(places[:, 0])
    turned = np.stack(
        [
            places[:, 0] * np.cos(angle) - places[:, 1] * np.sin(angle),
            places[:, 0] * np.sin(angle) + places[:, 1] * np.cos(angle),
        ],
        axis=1,
    )
    return Collection(10.0 * turned, classes)


def faces(folder: Path) -> Collection:
    """CMU faces, 20 principal components, by pose (section 5.2)."""
    features = np.load(folder / "cmu_faces" / "pca20.npy").astype(np.float64)
    with (folder / "cmu_faces" / "items.csv").open(newline="") as file:
        poses = [row["pose"] for row in csv.DictReader(file)]
    return Collection(features, np.unique(poses, return_inverse=True)[1].astype(np.int64))


def mnist(folder: Path, name: str = "train") -> Collection:
    """Digits with pixels in 0..1, (N, 28, 28) float32 (section 5.3)."""
    stored = np.load(folder / "semicrowd_mnist" / f"mnist_{name}.npz")
    pixels = stored["images"].astype(np.float32) / 255.0
    return Collection(pixels, stored["labels"].astype(np.int64))


def mnist_pairs(folder: Path, n_images: int) -> Pairs:
    """The labels of 48 people for pairs of those digits: 91 grids of 36, all pairs of each."""
    rows = np.load(folder / "semicrowd_mnist" / "crowd_annotations_mnist.npy").astype(np.int64)
    return Pairs(
        annotator=rows[:, 2],
        i=rows[:, 0],
        j=rows[:, 1],
        same=rows[:, 3] == 1,
        n_images=n_images,
        n_annotators=int(rows[:, 2].max()) + 1,
        grid=np.arange(len(rows)) // 630,
    )


def first_annotated(digits: Collection, pairs: Pairs, n: int) -> tuple[Collection, Pairs]:
    """A part of the collection: every annotated image and the first of the others, n in all."""
    annotated = np.unique(np.concatenate([pairs.i, pairs.j]))
    others = np.setdiff1d(np.arange(len(digits.classes)), annotated)
    kept = np.sort(np.concatenate([annotated, others[: max(0, n - len(annotated))]]))
    place = np.full(len(digits.classes), -1)
    place[kept] = np.arange(len(kept))
    fewer = Pairs(
        pairs.annotator,
        place[pairs.i],
        place[pairs.j],
        pairs.same,
        len(kept),
        pairs.n_annotators,
        pairs.grid,
    )
    return Collection(digits.features[kept], digits.classes[kept]), fewer


def two_coin_pairs(
    classes: IntArray,
    alpha: ArrayLike,
    beta: ArrayLike,
    n_each: ArrayLike,
    rng: np.random.Generator,
    among: IntArray | None = None,
    balanced: bool = False,
) -> Pairs:
    """Labels of simulated workers for random pairs of the images `among` (all if None).

    alpha, beta: (W,) probabilities that a worker calls a same pair same and a different one
    different (eq. 2); n_each: pairs of each worker, one number or (W,). balanced: half of a
    worker's pairs are of one class and half of two (section 5.2); otherwise pairs are random
    (section 5.1).
    """
    sensitivity, specificity = np.atleast_1d(alpha), np.atleast_1d(beta)
    counts: IntArray = np.broadcast_to(np.asarray(n_each, np.int64), sensitivity.shape)
    images = np.arange(len(classes)) if among is None else among
    first, second = np.triu_indices(len(images), 1)
    first_image, second_image = images[first], images[second]
    together = classes[first_image] == classes[second_image]
    kinds = [np.flatnonzero(together), np.flatnonzero(~together)]
    chosen, workers = [], []
    for worker, count in enumerate(counts.tolist()):
        if balanced:
            halves = (count // 2, count - count // 2)
            rows = np.concatenate(
                [rng.choice(kind, n, replace=False) for kind, n in zip(kinds, halves, strict=True)]
            )
        else:
            rows = rng.choice(len(first_image), count, replace=False)
        chosen.append(rng.permutation(rows))
        workers.append(np.full(count, worker))
    pair, who = np.concatenate(chosen), np.concatenate(workers)
    right = rng.random(len(pair)) < np.where(together[pair], sensitivity[who], specificity[who])
    return Pairs(
        annotator=who.astype(np.int64),
        i=first_image[pair],
        j=second_image[pair],
        same=np.where(right, together[pair], ~together[pair]),
        n_images=len(classes),
        n_annotators=len(sensitivity),
    )


def components(images: NDArray[np.float32] | FloatArray, n: int) -> FloatArray:
    """(N, n) principal components of the pixels."""
    pixels = images.reshape(len(images), -1)
    pca = PCA(n, svd_solver="covariance_eigh")
    return np.asarray(pca.fit_transform(pixels), np.float64)
