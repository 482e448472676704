"""CrowdSter with features: images that were shown, and images never shown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.feature_worlds import World
from bench.harness.tables import Row, distinct, mean_sd, of, seeds, table
from learning.arrays import FloatArray
from learning.binning.model import learn
from learning.crowdster_places import place_unseen
from learning.groupings import Groupings
from learning.metrics import pair_auc

NOTHING = "without"
SOURCES = ("appearance", "objects", "noise")


def rows(data: str, world: World, seed: int) -> Iterator[Row]:
    """AUC of the distances of pairs in held-out grids. seen: of images that were shown; start: of
    images never shown, as the start from features leaves them; placed: where the alignment puts
    them."""
    yield _row(data, NOTHING, world, None, seed)
    for source in SOURCES:
        yield _row(data, source, world, world.features[source], seed)


def _row(data: str, source: str, world: World, features: FloatArray | None, seed: int) -> Row:
    learned = learn(world.train, None, seed, "cpu", None, features)
    placed = place_unseen(learned.embedding, learned.uncertainty, world.train, features, None, seed)
    return {
        "data": f"crowdster: {data}",
        "source": source,
        "seed": seed,
        "seen": _auc(learned.embedding, world.seen),
        "start": _auc(learned.embedding, world.unseen),
        "placed": _auc(placed.embedding, world.unseen),
        "used": float(placed.by_features.any()),
    }


def _auc(places: FloatArray, answers: Groupings) -> float:
    pairs = answers.pairs()
    return pair_auc(pairs.same, np.linalg.norm(places[pairs.i] - places[pairs.j], axis=1))


def section(stored: list[Row]) -> list[str]:
    """The table of the report."""
    if not stored:
        return []
    body = []
    for data in distinct(stored, "data"):
        for source in distinct(of(stored, data=data), "source"):
            own = of(stored, data=data, source=source)
            cells = [mean_sd(own, key) for key in ("seen", "start", "placed")]
            used = f"{sum(row['used'] for row in own):.0f} of {len(own)}"
            body.append([data.removeprefix("crowdster: "), source, *cells, used])
    return [
        "## CrowdSter",
        "",
        "The same answers and features; AUC of the distances of pairs in held-out grids. *Start*: "
        "images never shown as the start from features leaves them, with features that help to "
        "predict held-out placements of other images. *Placed*: where the alignment puts them, if "
        f"it predicts pairs of held-out images (*used*). {seeds(stored)}.",
        "",
        *table(["images", "features", "shown", "never shown, start", "placed", "used"], body),
    ]
