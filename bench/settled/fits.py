"""Strategies learn as campaigns do, cold; positions are kept on disk, since fits take seconds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from app.strategies.scdc import _fitted
from app.strategies.scdc_settings import ScdcSettings
from bench.settled.worlds import N_BINS
from learning.arrays import FloatArray
from learning.groupings import Groupings

STRATEGIES = ("crowdster", "cen", "scdc")
ROUNDS, ATTRIBUTES = 5, 8
# Answers, features (or None) and a seed to positions.
Learn = Callable[[Groupings, FloatArray | None, int], FloatArray]


def crowdster(answers: Groupings, features: FloatArray | None, seed: int) -> FloatArray:
    from learning.crowdster import CrowdSter

    model = CrowdSter(
        n_images=answers.n_images,
        grid_size=answers.grid_size,
        n_bins=N_BINS,
        n_phases=ROUNDS,
        random_state=seed,
    )
    model.update(answers, features=features, n_phases=ROUNDS)
    return np.asarray(model.embedding_, np.float64)


def cen(answers: Groupings, features: FloatArray | None, seed: int) -> FloatArray:
    from learning.cen import ContextEmbeddingNetwork

    model = ContextEmbeddingNetwork(n_dimensions=ATTRIBUTES, random_state=seed)
    return np.asarray(model.fit(answers, features=features).embedding_, np.float64)


def scdc(answers: Groupings, features: FloatArray | None, seed: int) -> FloatArray:
    assert features is not None
    settings = ScdcSettings(effort="quick", features="appearance")
    model = _fitted(settings, features.astype(np.float32), answers, seed, lambda _: None)
    return np.asarray(model.embedding_, np.float64)


LEARN: dict[str, Learn] = {"crowdster": crowdster, "cen": cen, "scdc": scdc}


def fit_of(
    strategy: str, features: FloatArray | None, seed: int, folder: Path
) -> Callable[[Groupings], FloatArray]:
    """Return what learns positions from answers, once for the same answers."""

    def fit(answers: Groupings) -> FloatArray:
        path = folder / f"{strategy}_{_key(answers, features, seed)}.npy"
        if path.exists():
            return np.asarray(np.load(path), np.float64)
        positions = LEARN[strategy](answers, features, seed)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(path, positions)
        return positions

    return fit


def _key(answers: Groupings, features: FloatArray | None, seed: int) -> str:
    digest = hashlib.sha256(str((seed, answers.n_images, answers.images.shape)).encode())
    tables = (answers.images, answers.groups, answers.annotators, features)
    for table in tables:
        if table is not None:
            digest.update(np.ascontiguousarray(table).tobytes())
    return digest.hexdigest()[:24]
