"""Features aligned with groupings: `python -m bench.features [PART ...] --data FOLDER`.

Half of the images are never shown; their pairs in grids that were not learned from are predicted
from features. `--data FOLDER` names a folder with cmu_faces/ or labelme_crowd/; parts without data
are skipped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from bench import feature_coverage, feature_crowdster, feature_planted
from bench.feature_worlds import World, emoji, faces, labelme, mnist, planted
from bench.harness.command import parsed, parts_parser
from bench.harness.paths import BENCHMARKS
from bench.harness.store import RowFile
from bench.harness.tables import Row, distinct, mean_sd, of, seeds, table
from learning.arrays import FloatArray
from learning.cen import ContextEmbeddingNetwork
from learning.crowd_engine import CrowdEngine
from learning.feature_alignment import FeatureAlignment
from learning.feature_alignment.ceiling import split_half
from learning.feature_alignment.inputs import Inputs
from learning.feature_alignment.model import in_grids
from learning.feature_alignment.unseen import with_features
from learning.groupings import Groupings
from learning.metrics import pair_auc

# Settings were developed on seed 0, and looked at on 1 and 2.
FIRST_SEED, N_SEEDS = 3, 3
SPEED_ROWS = 100_000


# Rows of crowds without this number were measured before the prior of the pooled embedding followed
# the images in answers, and the regression the squared errors of held-out images.
METHOD = 2

STORED = RowFile(BENCHMARKS / "features.json", ("data", "source", "seed"), digits=4)


def measure(data: str, world: World, seed: int) -> Iterator[Row]:
    """One row per feature set: AUC of pairs of images never shown.

    raw: distances of scaled features; aligned: the learned alignment; placed, seen: CEN with the
    features, for pairs of images never shown and of shown ones; without, shown: the same by CEN
    without features.
    """
    common: Row = {"data": data, "seed": seed, "method": METHOD}
    ceiling = None if world.people is None else split_half(world.people)
    if ceiling is not None:
        common["people"] = ceiling.auc
    campaign = _campaign(seed)
    campaign.fit(world.train)
    common["shown"] = _campaign_auc(campaign, world.seen)
    common["without"] = _campaign_auc(campaign, world.unseen)
    for name, features in world.features.items():
        row = {**common, "source": name}
        began = time.process_time()
        engine = campaign._engine
        model, alignment = with_features(engine.model, world.train, features, random_state=seed)
        row |= _guided(campaign, engine.with_model(model), world)
        seconds = time.process_time() - began
        assert alignment is not None
        yield {**row, **_aligned(alignment, features, world, seed), "seconds": seconds}


def _aligned(model: FeatureAlignment, features: FloatArray, world: World, seed: int) -> Row:
    pairs = world.unseen.pairs()
    inputs = Inputs.fit(features[in_grids(world.train)], seed).transform(features)
    places = model.metric_places(features)
    return {
        "raw": pair_auc(pairs.same, np.linalg.norm(inputs[pairs.i] - inputs[pairs.j], axis=1)),
        "aligned": pair_auc(
            pairs.same, -model.probability_of_places(places[pairs.i], places[pairs.j])
        ),
        "used": float(model.used_),
        "rank": model.settings_.rank,
        "hidden": model.settings_.hidden,
        "sparse": float(model.settings_.sparse),
    }


def _campaign(seed: int) -> ContextEmbeddingNetwork:
    """As campaigns use it."""
    return ContextEmbeddingNetwork(n_dimensions=8, random_state=seed)


def _guided(campaign: ContextEmbeddingNetwork, engine: CrowdEngine, world: World) -> Row:
    """The campaign as if it had been fitted with features, without fitting the rest again."""
    model = copy(campaign)
    model._keep(engine)
    return {
        "placed": _campaign_auc(model, world.unseen),
        "seen": _campaign_auc(model, world.seen),
        "improves": float(model.combines_features_),
    }


def _campaign_auc(model: ContextEmbeddingNetwork, answers: Groupings) -> float:
    distance, labels = model.pair_distance(answers), answers.pair_labels()
    return pair_auc(labels[labels >= 0] == 1, distance[labels >= 0])


def speed(seed: int) -> Row:
    """Seconds to place 100,000 new vectors of 512 columns on one core."""
    world = planted("three columns", 300, seed)
    small = world.features["planted"]
    model = FeatureAlignment(seed).fit(small, world.train)
    rows = np.random.default_rng(seed).standard_normal((SPEED_ROWS, 512)).astype(np.float32)
    with threadpool_limits(1):
        began = time.perf_counter()
        model.places(rows)
        return {"data": "speed", "seed": seed, "seconds": time.perf_counter() - began}


PARTS = ("planted", "emoji", "faces", "labelme", "mnist", "coverage", "crowdster", "speed")
CROWDS = ("emoji", "faces", "labelme")


def rows_of(part: str, folder: Path | None, seed: int) -> Iterator[Row]:
    """The rows of one part and seed; none without its data."""
    if part == "planted":
        yield from feature_planted.rows(seed)
    elif part == "speed":
        yield speed(seed)
    elif part == "coverage":
        yield from feature_coverage.rows(folder, seed)
    elif part == "crowdster":
        for name in CROWDS:
            world = _crowd(name, folder, seed)
            if world is not None:
                yield from feature_crowdster.rows(name, world, seed)
    else:
        world = _crowd(part, folder, seed)
        if world is not None:
            yield from measure(part, world, seed)


def _crowd(name: str, folder: Path | None, seed: int) -> World | None:
    """None without the data."""
    if name == "emoji":
        return emoji(seed)
    if folder is None:
        return None
    stored, make = {
        "faces": ("cmu_faces", partial(faces, folder)),
        "labelme": ("labelme_crowd", partial(labelme, folder)),
        "mnist": ("semicrowd_mnist", partial(mnist, folder)),
    }[name]
    return make(seed) if (folder / stored).exists() else None


def report(rows: list[Row]) -> str:
    lines = [
        "# Features",
        "",
        "Pairs of images that were never shown, in held-out grids, are predicted from features and "
        "the answers about other images ([how](../learned_alignment.md)). Figures are AUCs, mean ± "
        "standard deviation over seeds; chance is 0.5, and so is an alignment that is not used. "
        "Where half of the images are never shown, `CEN` learns from the same features "
        "([decision 42](../decisions/0042-features-as-a-prior.md)): *used* counts the seeds on "
        "which held-out images support them, *improve shown* those on which they also improve "
        "predictions about shown images, by held-out answers. Seeds 0 to 2 were used for "
        "development and are not among those of the crowds. `CEN` orders pairs of different "
        "grids too, by how coarsely annotators group: without features, its figures for images "
        "never shown differ from chance for that reason alone. "
        "Written by "
        "`python -m bench.features --data FOLDER`.",
        "",
    ]
    lines += feature_planted.section([row for row in rows if "distance" in row])
    for name, title in _TITLES.items():
        own = of(rows, data=name)
        if own:
            lines += ["", f"## {title}", "", *_crowd_table(own)]
    for name, section in (
        ("coverage", feature_coverage.section),
        ("crowdster", feature_crowdster.section),
    ):
        own = [row for row in rows if row["data"].startswith(f"{name}:")]
        lines += ["", *section(own)] if own else []
    fast = of(rows, data="speed")
    if fast:
        seconds = mean_sd(fast, "seconds", 1)
        text = f"{SPEED_ROWS:,} new vectors of 512 columns, placed with deviations on one core"
        lines += ["", "## Speed", "", f"{text}: {seconds} s."]
    return "\n".join(lines) + "\n"


_TITLES = {
    "emoji": "Emoji, a simulated crowd that sees category, colour and mood",
    "faces": "CMU faces, a simulated crowd that sees pose and eyes",
    "labelme": "LabelMe photographs, labels of real people",
    "mnist": "Digits, groupings of real people",
}


def _older(rows: list[Row]) -> str:
    """Which seeds were measured by earlier code."""
    old = sorted({row["seed"] for row in rows if row.get("method") != METHOD})
    if not old:
        return ""
    numbers = " and ".join(str(seed) for seed in old)
    return f" ({numbers} by earlier code, before two corrections of the learning)"


def _crowd_table(rows: list[Row]) -> list[str]:
    body = []
    for source in distinct(rows, "source"):
        own = of(rows, source=source)
        way = [{"way": (r["placed"] - 0.5) / (r["shown"] - 0.5)} for r in own]
        counts = [f"{sum(r[k] for r in own):.0f} of {len(own)}" for k in ("used", "improves")]
        aucs = [mean_sd(own, k) for k in ("raw", "aligned", "placed")]
        body.append([source, *aucs, mean_sd(way, "way", 2), mean_sd(own, "seen"), *counts])
    first = [row for row in rows if row["source"] == rows[0]["source"]]
    people = ""
    if "people" in first[0]:
        people = f" Half of the people predict the other half with {mean_sd(first, 'people')}."
    return [
        f"{seeds(rows)}{_older(rows)}. Without features, CEN has {mean_sd(first, 'shown')} "
        f"for pairs of images that it was shown, and {mean_sd(first, 'without')} for images never "
        f"shown.{people}",
        "",
        *table(
            [
                "features",
                "raw",
                "aligned",
                "CEN, never shown",
                "of the way from chance to shown",
                "CEN, shown",
                "used",
                "improve shown",
            ],
            body,
        ),
    ]


def main() -> None:
    parser = parts_parser(__doc__, PARTS, N_SEEDS)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    options = parsed(parser, PARTS)
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for part in options.parts:
            STORED.add(*rows_of(part, options.data, seed))
            print(f"{part}, seed {seed}", flush=True)
    (BENCHMARKS / "features.md").write_text(report(STORED.rows()))


if __name__ == "__main__":
    main()
