"""The CrowdSter paper's 300 colours through the running system.

Per seed, a simulated crowd (k-means on RGB, four bins) answers 235 grids of 20 colours over the
HTTP API, in five rounds that become more local or as random grids (one round), learned by the
default and by the paper's algorithm. The measure is the mean number of the ten true nearest
neighbours among the ten found (paper section 4.1, fig. 5). Needs `make up` running. Writes
`docs/benchmarks/colours_campaign.md`.
"""

import argparse
import json
from statistics import mean, stdev
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from app.campaigns.plan import CampaignPlan
from app.collections.models import Image
from app.core.database import transaction
from app.planning.crowd import CrowdTraits
from bench.harness.campaigns import (
    new_collection,
    published_embedding,
    start,
    wait_until_finished,
)
from bench.harness.paths import publish
from demo.colours import write_colours
from learning.metrics import neighbor_overlap
from learning.neighbors import nearest_neighbors
from likewise import environment
from likewise.commands.simulate import run_crowd

BUDGET, NEIGHBOURS = 235, 10
ARMS: dict[str, tuple[int, dict[str, Any]]] = {
    "CrowdSter, 5 rounds": (5, {}),
    "CrowdSter, random grids": (1, {}),
    "paper's algorithm, 5 rounds": (5, {"algorithm": "paper"}),
    "paper's algorithm, random grids": (1, {"algorithm": "paper"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    environment.load()
    scores: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for seed in range(seeds):
        collection_id, colours = _collection(seed)
        for arm, (rounds, settings) in ARMS.items():
            embedding = _run(f"{arm}, seed {seed}", collection_id, rounds, settings, seed)
            nearest = nearest_neighbors(embedding, NEIGHBOURS)
            true = nearest_neighbors(colours, NEIGHBOURS)
            scores[arm].append(neighbor_overlap(true, nearest))
            print(f"seed {seed}  {arm:<32} {scores[arm][-1]:.2f}", flush=True)
    publish("colours_campaign.md", report(scores))


def _collection(seed: int) -> tuple[UUID, NDArray[np.float64]]:
    name = f"Bench colours {seed}"
    collection_id = new_collection(name, lambda folder: write_colours(folder, seed=100 + seed))
    query = select(Image.features).where(Image.collection_id == collection_id)
    with transaction() as session:
        rows = session.scalars(query.order_by(Image.position)).all()
    return collection_id, np.array(rows, np.float64)


def _run(
    name: str, collection_id: UUID, rounds: int, settings: dict[str, Any], seed: int
) -> NDArray[np.float64]:
    """Play one campaign to its end; returns the last model's embedding (N, d)."""
    plan = CampaignPlan(
        name=name,
        collection_id=collection_id,
        kind="bins",
        strategy="crowdster",
        budget=BUDGET,
        rounds=rounds,
        learn_every=BUDGET,
        # The simulated crowd waits for models, because it does in no time what takes minutes.
        ready_share=0.0,
        settings=settings,
        seed=seed,
    )
    campaign = start(plan)
    run_crowd(str(campaign.id), "features", CrowdTraits(noise=0.0, seed=seed))
    wait_until_finished(campaign)
    return published_embedding(campaign.id)


def report(scores: dict[str, list[float]]) -> str:
    """The result as Markdown, gain over each control per seed."""
    local, *controls = scores
    lines = [
        "# 300 colours through the running system",
        "",
        f"Mean size of true ∩ found {NEIGHBOURS}-NN after {BUDGET} bins answers by a noiseless",
        f"simulated crowd, {len(scores[local])} seeds (`make up`, then `make bench`).",
        "",
        "| grids | mean | sd | gain of CrowdSter: mean (lowest … highest seed) |",
        "|---|---|---|---|",
        f"| {local} | {mean(scores[local]):.2f} | {_sd(scores[local]):.2f} | |",
    ]
    for arm in controls:
        gains = [100 * (a / b - 1) for a, b in zip(scores[local], scores[arm], strict=True)]
        spread = f"{mean(gains):+.0f} % ({min(gains):+.0f} … {max(gains):+.0f} %)"
        lines.append(f"| {arm} | {mean(scores[arm]):.2f} | {_sd(scores[arm]):.2f} | {spread} |")
    rounded = {arm: [round(value, 3) for value in values] for arm, values in scores.items()}
    lines += ["", "Per seed:", "", "```json", json.dumps(rounded, indent=1), "```", ""]
    return "\n".join(lines)


def _sd(values: list[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


if __name__ == "__main__":
    main()
