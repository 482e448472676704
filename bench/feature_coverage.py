"""How often the stated deviations of images never shown hold.

Answers about all images place them with little error. The alignment learns from these positions
of three in five of the images, and from their answers; where it puts the others is compared with
where the answers put them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.feature_worlds import (
    GRID_SIZE,
    N_ANNOTATORS,
    NOISE,
    emoji_columns,
    face_columns,
    planted_features,
)
from bench.harness.tables import Row, distinct, mean_sd, of, seeds, table
from learning.arrays import BoolArray, FloatArray, IntArray
from learning.cen import ContextEmbeddingNetwork
from learning.crowd_model import CrowdModel
from learning.feature_alignment import FeatureAlignment
from learning.feature_alignment.folds import only_images
from learning.feature_alignment.unseen import Parts, parts_of
from learning.groupings import Groupings
from learning.simulation import AttributeCrowd, FeatureCrowd

N_GRIDS, N_PLANTED, SHOWN = 600, 600, 0.6
# Half the width of a normal variable's middle 80 %, in standard deviations.
_HALF = 1.2816
# Columns with less than this share of the widest one's variance are empty.
_LEAST = 0.05
_NAMES = {"pooled": "one embedding", "latent": "attributes"}


@dataclass(frozen=True, eq=False)
class _World:
    """answers: about all images; features: (N, F); shown: (N,) bool, to learn from."""

    answers: Groupings
    features: FloatArray
    shown: BoolArray


def rows(folder: Path | None, seed: int) -> Iterator[Row]:
    """One row per world and kind of position; without the data, no faces."""
    for kind in ("projections", "all columns", "three columns"):
        yield from _measured(kind, _planted(kind, seed), seed)
    columns, sets = emoji_columns()
    yield from _measured("emoji", _people(columns, sets["objects"], seed), seed)
    if folder is not None and (folder / "cmu_faces").exists():
        columns, sets = face_columns(folder)
        yield from _measured("faces", _people(columns, sets["objects"], seed), seed)


def _planted(kind: str, seed: int) -> _World:
    features, truth, _ = planted_features(kind, N_PLANTED, seed)
    crowd = FeatureCrowd(truth, N_ANNOTATORS, NOISE, seed)
    grids, who, shown = _drawn(N_PLANTED, seed)
    return _World(crowd.answer_grids(grids, who), features, shown)


def _people(columns: dict[str, list[str]], features: FloatArray, seed: int) -> _World:
    crowd = AttributeCrowd.from_table(columns, N_ANNOTATORS, noise=NOISE, random_state=seed)
    grids, who, shown = _drawn(crowd.n_images, seed)
    return _World(crowd.answer_grids(grids, who, 0)[0], features, shown)


def _drawn(n: int, seed: int) -> tuple[IntArray, IntArray, BoolArray]:
    """Grids of all n images, their annotators, and which images are learned from."""
    rng = np.random.default_rng([seed, 5])
    grids = np.stack([rng.permutation(n)[:GRID_SIZE] for _ in range(N_GRIDS)])
    return grids, rng.integers(0, N_ANNOTATORS, N_GRIDS), rng.random(n) < SHOWN


def _measured(data: str, world: _World, seed: int) -> Iterator[Row]:
    engine = ContextEmbeddingNetwork(n_dimensions=8, random_state=seed).fit(world.answers)._engine
    parts = parts_of(engine.model)
    for errors, own in (("", parts), (" with errors", _with_errors(engine.model, parts, world))):
        alignment = FeatureAlignment(seed).fit(
            world.features,
            only_images(world.answers, world.shown),
            embedding=own.positions,
            embedding_error=own.deviation,
        )
        places = alignment.places(world.features[~world.shown])
        for name in [name for name in _NAMES if name in parts.names]:
            if errors and name != "latent":
                continue
            true = parts.of(name, parts.positions)
            spread = true[world.shown].var(axis=0)
            full = spread > _LEAST * spread.max()
            gaps = (true[~world.shown] - parts.of(name, places.positions))[:, full]
            within = np.abs(gaps) <= _HALF * parts.of(name, places.deviations)[:, full]
            yield {
                "data": f"coverage: {data}",
                "source": f"{_NAMES[name]}{errors}",
                "seed": seed,
                "covered": float(within.mean()),
                "explained": float(
                    1 - (gaps**2).sum() / true[~world.shown][:, full].var(axis=0).sum() / len(gaps)
                ),
                "stated": float(parts.of(name, alignment.explained_[None])[0, full].mean()),
            }


def _with_errors(model: CrowdModel, parts: Parts, world: _World) -> Parts:
    """With the deviations of attributes that follow from the numbers of answers."""
    if model.latent is None:
        return parts
    positions = parts.of("latent", parts.positions)
    variance = positions.var(axis=0) / (1.0 + model.latent.information.numpy())
    start = sum(parts.widths[: parts.names.index("latent")])
    deviation = parts.deviation.copy()
    deviation[:, start : start + positions.shape[1]] = np.sqrt(variance)
    return replace(parts, deviation=deviation)


def section(stored: list[Row]) -> list[str]:
    """The table of the report."""
    if not stored:
        return []
    body = []
    for data in distinct(stored, "data"):
        for source in distinct(of(stored, data=data), "source"):
            own = of(stored, data=data, source=source)
            cells = [mean_sd(own, key, 2) for key in ("covered", "explained", "stated")]
            body.append([data.removeprefix("coverage: "), source, *cells])
    return [
        "## Coverage",
        "",
        f"Are the stated deviations right? {N_GRIDS} grids of {GRID_SIZE} about all images place "
        f"them by CEN. The alignment learns from {SHOWN:.0%} of the images, and from answers about "
        "these alone. *Covered* is the share of the other images' coordinates that are within 80 % "
        "intervals of their places by features, so 0.80 is right; *explained* the share of their "
        "variance that these places explain, over all columns, and *stated* the mean of what the "
        "alignment states of each, at least 0. Faces and emoji have the features `objects`. "
        f"*With errors*: attributes enter with deviations by their numbers of answers. "
        f"{seeds(stored)}.",
        "",
        *table(["images", "positions", "covered", "explained", "stated"], body),
    ]
