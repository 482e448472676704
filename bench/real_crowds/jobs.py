"""The measurements to make, and how to measure one row."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from bench.harness.measures import held_out_auc
from bench.harness.store import RowFile
from bench.harness.tables import Row
from bench.real_crowds.data import load
from bench.real_crowds.foreign import COMPARED, foreign, noise, structure_of
from bench.real_crowds.measures import (
    HELD_OUT_SHARE,
    answered_images,
    class_measures,
    common_threshold,
    pair_measures,
)
from bench.real_crowds.methods import METHODS, PRODUCT
from learning.groupings import Groupings
from learning.simulation.foreign_crowd import NOISE_KINDS
from learning.simulation.foreign_crowd_scenes import FOREIGN_SCENES

ON_PEOPLE = ("splits", "curve", "seeds")
SIMULATED = ("foreign", "noise")
FRACTIONS = (0.25, 0.5)
_COMPARED = {"foreign": COMPARED, "noise": PRODUCT}
N_SEEDS = 5
N_FOREIGN_SEEDS = 2
# Seeds per kind of noise.
N_NOISE_SEEDS = 7


@dataclass(frozen=True)
class Job:
    """One fit to measure.

    data: a set of real answers, or a scene of the foreign crowd; split: number of the held-out
    grids; fraction: part of the training grids that is used; seed: of the fit, and of the
    scene; label: version of the product, empty for a baseline.
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


def stored(path: Path) -> RowFile:
    """The rows in a file; those of versions of the product that differ by `label` are kept."""
    return RowFile(path, tuple(field.name for field in fields(Job)), digits=5)


def jobs(
    part: str, sets: Iterable[str], methods: Iterable[str], n_splits: int, label: str
) -> Iterator[Job]:
    """The jobs of one part, the set outermost.

    sets: real ones, or of `scenes_of(part)`; only the product is measured on pure noise, and
    few baselines on the foreign simulator.
    """
    methods = [method for method in methods if method in _COMPARED.get(part, METHODS)]
    for data in sets:
        for split, fraction, seed in _cases(part, n_splits):
            for method in methods:
                version = label if method in PRODUCT else ""
                yield Job(part, data, method, version, split, fraction, seed)


def scenes_of(part: str) -> list[str]:
    """The scenes of a part that is simulated."""
    return list(FOREIGN_SCENES if part == "foreign" else NOISE_KINDS)


def _cases(part: str, n_splits: int) -> list[tuple[int, float, int]]:
    if part == "curve":
        return [(split, fraction, split) for split in range(n_splits) for fraction in FRACTIONS]
    if part == "seeds":
        return [(0, 1.0, seed) for seed in range(N_SEEDS)]
    n_cases = {"splits": n_splits, "foreign": N_FOREIGN_SEEDS, "noise": N_NOISE_SEEDS}[part]
    return [(case, 1.0, case) for case in range(n_cases)]


def measure(job: Job, folder: Path | None) -> Row:
    """The job's row with its figures. folder: of real answers; without it, raises ValueError for
    jobs that are not simulated."""
    if job.part == "foreign":
        (row,) = foreign(job.data, job.seed, [job.method])
        return {**row, **job.row()}
    if job.part == "noise":
        return {**noise(job.seed, job.data, job.method), **job.row()}
    if folder is None:
        raise ValueError(f"{job.data} needs a folder of data")
    return _measure_on_people(job, folder)


def _measure_on_people(job: Job, folder: Path) -> Row:
    crowd = load(job.data, folder)
    method = METHODS[job.method]
    train, test = crowd.groupings.split(HELD_OUT_SHARE, job.split)
    train = _part_of(train, job.fraction, job.split)
    calibrate = job.part == "splits"
    began = time.process_time()
    model = method(train, job.seed, calibrate)
    row = {**job.row(), "seconds": time.process_time() - began, "grids": len(train)}
    if calibrate:
        row |= pair_measures(model, test, common_threshold(method, train, job.seed))
    else:
        row["auc"] = held_out_auc(model, test)
    row |= structure_of(model)
    return row | class_measures(model.embedding, crowd.truth, answered_images(train), job.seed)


def _part_of(train: Groupings, fraction: float, split: int) -> Groupings:
    n = max(1, round(fraction * len(train)))
    return train.subset(np.random.default_rng([split, 77]).permutation(len(train))[:n])
