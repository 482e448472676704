"""What there is to measure, and how one row is measured."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.real_crowds.data import load
from bench.real_crowds.measures import (
    HELD_OUT_SHARE,
    answered_images,
    class_measures,
    common_threshold,
    held_out_auc,
    pair_measures,
)
from bench.real_crowds.methods import METHODS, PRODUCT
from bench.real_crowds.store import Row
from learning.groupings import Groupings

FRACTIONS = (0.25, 0.5)
N_SEEDS = 5


@dataclass(frozen=True)
class Job:
    """One fit to measure.

    split: number of the held-out grids; fraction: part of the training grids that is used;
    seed: of the fit; label: version of the product, empty for a baseline.
    """

    part: str
    data: str
    method: str
    label: str
    split: int
    fraction: float
    seed: int

    def row(self) -> Row:
        return dict(vars(self))


def jobs(
    parts: Iterable[str], sets: Iterable[str], methods: Iterable[str], n_splits: int, label: str
) -> Iterator[Job]:
    """The jobs of "splits", "curve" and "seeds", the set and split outermost."""
    sets, methods = list(sets), list(methods)
    for part in parts:
        for data in sets:
            for split, fraction, seed in _cases(part, n_splits):
                for method in methods:
                    version = label if method in PRODUCT else ""
                    yield Job(part, data, method, version, split, fraction, seed)


def _cases(part: str, n_splits: int) -> list[tuple[int, float, int]]:
    if part == "splits":
        return [(split, 1.0, split) for split in range(n_splits)]
    if part == "curve":
        return [(split, fraction, split) for split in range(n_splits) for fraction in FRACTIONS]
    return [(0, 1.0, seed) for seed in range(N_SEEDS)]


def measure(job: Job, folder: Path) -> Row:
    """The job's row with its figures."""
    crowd = load(job.data, folder)
    method = METHODS[job.method]
    train, test = crowd.groupings.split(HELD_OUT_SHARE, job.split)
    train = _part_of(train, job.fraction, job.split)
    calibrate = job.part == "splits"
    began = time.perf_counter()
    model = method(train, job.seed, calibrate)
    row = {**job.row(), "seconds": time.perf_counter() - began, "grids": len(train)}
    if calibrate:
        row |= pair_measures(model, test, common_threshold(method, train, job.seed))
    else:
        row["auc"] = held_out_auc(model, test)
    share = model.attribute_share()
    if share is not None:
        row["attributes"] = int((share > 0).sum())
    return row | class_measures(model.embedding, crowd.truth, answered_images(train), job.seed)


def _part_of(train: Groupings, fraction: float, split: int) -> Groupings:
    n = max(1, round(fraction * len(train)))
    return train.subset(np.random.default_rng([split, 77]).permutation(len(train))[:n])
