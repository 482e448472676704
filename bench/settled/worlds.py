"""Answers of simulated crowds and of real ones, in two halves of as many answers."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from bench.real_crowds.data import SOURCES, load
from learning.arrays import FloatArray, IntArray
from learning.groupings import Groupings

ANNOTATORS, N_BINS = 12, 4
_LLOYD_STEPS = 5
# What a crowd for each strategy sees: positions, several attributes, or classes.
NOISES = (0.0, 0.1, 0.2, 0.3)
# Sets of real crowds, by whether the strategy reads features.
WITHOUT = ("birds_grid4", "birds_grid3_choice", "dogs_grid4", "labelme", "dogs4",
           "face_sentiment", "bluebirds")  # fmt: skip
WITH = ("labelme",)
MOST_ANSWERS, COMPONENTS = 1_200, 20


@dataclass(frozen=True, eq=False)
class World:
    """Two halves of the answers of one crowd, and features (N, F) if the strategy reads them."""

    name: str
    first: Groupings
    second: Groupings
    features: FloatArray | None
    seed: int


@dataclass(frozen=True, eq=False)
class SimulatedCrowd:
    """Answers of annotators that group by views (N, d) of the images: each by one of them."""

    views: list[FloatArray]
    features: FloatArray | None
    noise: float
    grid_size: int
    seed: int

    @property
    def n_images(self) -> int:
        return len(self.views[0])

    def answers(self, grids: IntArray, turn: int) -> Groupings:
        """The annotators' groupings of grids (G, S); another `turn` is by the same annotators."""
        rng = np.random.default_rng([self.seed, turn])
        who = rng.integers(0, ANNOTATORS, len(grids))
        groups = np.empty_like(grids)
        for number, view in enumerate(self.views):
            rows = who % len(self.views) == number
            groups[rows] = groups_by(view[grids[rows]], rng)
        stray = rng.random(grids.shape) < self.noise
        groups[stray] = rng.integers(0, N_BINS, int(stray.sum()))
        return Groupings(grids, groups, who, self.n_images, ANNOTATORS)


def groups_by(points: FloatArray, rng: np.random.Generator) -> IntArray:
    """(G, S) groups by k-means of the points (G, S, d) of every grid, all grids at a time."""
    grid = np.arange(len(points))
    centres = points[grid, rng.integers(0, points.shape[1], len(points))][:, None]
    while centres.shape[1] < N_BINS:
        farthest = _apart(points, centres).min(axis=2).argmax(axis=1)
        centres = np.concatenate([centres, points[grid, farthest][:, None]], axis=1)
    for _ in range(_LLOYD_STEPS):
        member = np.eye(N_BINS)[_apart(points, centres).argmin(axis=2)]
        size = np.maximum(member.sum(axis=1), 1)[:, :, None]
        centres = np.einsum("gsb,gsd->gbd", member, points) / size
    return np.asarray(_apart(points, centres).argmin(axis=2), np.int64)


def _apart(points: FloatArray, centres: FloatArray) -> FloatArray:
    """(G, S, B) squared distances."""
    return np.asarray(((points[:, :, None] - centres[:, None]) ** 2).sum(axis=3), np.float64)


def crowd_for(strategy: str, seed: int) -> SimulatedCrowd:
    """A crowd of the kind that a strategy is for, of a size and carefulness drawn at random."""
    rng = np.random.default_rng([seed, len(strategy)])
    noise, size = float(rng.choice(NOISES)), int(rng.choice([9, 12, 16]))
    if strategy == "crowdster":
        n = int(rng.integers(60, 100))
        views = [rng.random((n, int(rng.integers(2, 5))))]
        if seed % 2:
            views = [_classes(n, rng)]
        return SimulatedCrowd(views, None, noise, size, seed)
    n = int(rng.integers(60, 80))
    if strategy == "cen":
        views = [rng.random((n, 1)) for _ in range(int(rng.integers(1, 4)))]
        return SimulatedCrowd(views, None, noise, size, seed)
    n_classes = int(rng.integers(4, 8))
    member = rng.integers(0, n_classes, n)
    centres = rng.normal(size=(n_classes, 6)) * rng.choice([0.7, 1.2, 2.0])
    places = rng.normal(size=(n_classes, 2)) * 4
    views = [places[member] + rng.normal(size=(n, 2))]
    return SimulatedCrowd(views, centres[member] + rng.normal(size=(n, 6)), noise, size, seed)


def _classes(n: int, rng: np.random.Generator) -> FloatArray:
    """(n, C) images of a few classes, without differences within a class."""
    n_classes = int(rng.integers(3, 9))
    member = rng.integers(0, n_classes, n)
    return np.eye(n_classes)[member] + 0.01 * rng.normal(size=(n, n_classes))


def random_grids(crowd: SimulatedCrowd, n: int, rng: np.random.Generator) -> IntArray:
    chosen = [rng.choice(crowd.n_images, crowd.grid_size, replace=False) for _ in range(n)]
    return np.array(chosen, np.int64).reshape(n, crowd.grid_size)


def simulated(strategy: str, seed: int) -> World:
    """Half of the answers is 40 to 200."""
    crowd, rng = crowd_for(strategy, seed), np.random.default_rng([seed, 1])
    n = round(float(np.exp(rng.uniform(np.log(40), np.log(200)))))
    first, second = (crowd.answers(random_grids(crowd, n, rng), turn) for turn in (0, 1))
    return World("simulated", first, second, crowd.features, seed)


def real(strategy: str, folder: Path, seeds: int) -> Iterator[World]:
    """Real crowds: a random half of the answers, and as many others."""
    for name in WITH if strategy == "scdc" else WITHOUT:
        if not (folder / SOURCES[name][0]).exists():
            continue
        crowd = load(name, folder)
        for seed in range(seeds):
            rng = np.random.default_rng([seed, 2])
            n = round(min(len(crowd.groupings), MOST_ANSWERS) * (0.5, 1.0, 0.7)[seed % 3])
            rows = rng.permutation(len(crowd.groupings))[: n - n % 2]
            shown = np.unique(crowd.groupings.images[rows])
            used = shown[shown >= 0]
            features = labelme_features(folder)[used] if strategy == "scdc" else None
            first, second = (_renumbered(crowd.groupings.subset(half), used)
                             for half in (rows[: n // 2], rows[n // 2 :]))  # fmt: skip
            yield World(name, first, second, features, seed)


def _renumbered(answers: Groupings, used: IntArray) -> Groupings:
    images = np.where(answers.images < 0, -1, np.searchsorted(used, answers.images))
    return Groupings(images, answers.groups, answers.annotators, len(used), answers.n_annotators)


@lru_cache(maxsize=1)
def labelme_features(folder: Path) -> FloatArray:
    """(N, COMPONENTS) principal components of the photographs' features, in the order of `load`:
    sorted names of the items."""
    from sklearn.decomposition import PCA

    with (folder / "labelme_crowd/items.csv").open(newline="") as file:
        names = [row["item"] for row in csv.DictReader(file) if row["split"] == "train"]
    table = np.load(folder / "labelme_crowd/vgg_avg_train.npy")
    order = sorted(range(len(names)), key=names.__getitem__)
    scaled = PCA(COMPONENTS, random_state=0).fit_transform(table[order])
    return np.asarray(scaled / scaled.std(axis=0).max(), np.float64)
