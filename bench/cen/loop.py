"""Compares a round of chosen grids with a round of random ones at equal numbers of answers.

Simulated crowds answer any grid. With a real crowd, the policies choose from the grids that
were actually asked: `python -m bench.cen.loop [--data FOLDER]`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch

from bench.cen.measures import species_score
from bench.harness.measures import held_out_auc
from bench.harness.paths import BENCHMARKS
from bench.harness.tables import Row, distinct, of, table, values
from bench.real_crowds.data import load
from learning.arrays import FloatArray, IntArray
from learning.cen import ContextEmbeddingNetwork
from learning.groupings import Groupings
from learning.queries import random_grids
from learning.simulation.scenes import SCENES

RESULTS = BENCHMARKS / "cen_loop.json"
REAL = ("birds_grid4", "birds_grid3_choice", "dogs_grid4")
_ROUND = 300
_CANDIDATES = 4_000


def _attribute_grids(model: ContextEmbeddingNetwork, n: int, size: int, seed: int) -> IntArray:
    return model.synthesize_grids(n, size, None, _CANDIDATES * n, seed)


def _uncertain_grids(model: ContextEmbeddingNetwork, n: int, size: int, seed: int) -> IntArray:
    return model.uncertain_grids(n, size, seed)


def _local_grids(model: ContextEmbeddingNetwork, n: int, size: int, seed: int) -> IntArray:
    """Grids of random seeds and images from their 3 * size nearest."""
    rng = np.random.default_rng(seed)
    places = model.embedding_
    chosen = []
    for image in rng.choice(len(places), n, replace=n > len(places)):
        distance = ((places - places[image]) ** 2).sum(axis=1)
        chosen.append(rng.permutation(np.argsort(distance)[: 3 * size])[:size])
    return np.array(chosen)


POLICIES: dict[str, Callable[..., IntArray] | None] = {
    "random": None,
    "attribute": _attribute_grids,
    "uncertain": _uncertain_grids,
    "local": _local_grids,
}


def simulated(scene_name: str, seed: int) -> Iterator[Row]:
    """Two rounds of 300 grids, the second by each policy, tested on 300 random grids."""
    scene = SCENES[scene_name](seed, n_grids=2 * _ROUND)
    first, test = scene.groupings.split(0.5, seed)
    model = _fitted(first, seed)
    rng = np.random.default_rng([seed, 11])
    size, who = first.grid_size, rng.integers(0, first.n_annotators, _ROUND)
    for policy, choose in POLICIES.items():
        if choose is None:
            grids = random_grids(_ROUND, size, first.n_images, rng)
        elif policy == "attribute" and model.structure_ == "none":
            continue
        else:
            grids = choose(model, _ROUND, size, seed)
        second, _ = scene.crowd.answer_grids(grids, who, 1_000 + seed)
        later = _fitted(Groupings.concatenate([first, second]), seed)
        row = {
            "crowd": scene_name,
            "seed": seed,
            "policy": policy,
            "auc": held_out_auc(later, test),
        }
        if scene.species is not None:
            row["mcc"] = species_score(later.embedding_, scene.species, seed)
        yield row


def replayed(data: str, folder: Path, seed: int) -> Iterator[Row]:
    """A quarter of a real crowd's answers, then as many more, chosen from the others."""
    crowd = load(data, folder)
    train, test = crowd.groupings.split(0.15, seed)
    order = np.random.default_rng([seed, 13]).permutation(len(train))
    n = len(train) // 4
    first, rest = train.subset(order[:n]), train.subset(order[n:])
    model = _fitted(first, seed)
    for policy, score in _scores(model, rest, seed).items():
        second = rest.subset(np.argsort(-score, kind="stable")[:n])
        later = _fitted(Groupings.concatenate([first, second]), seed)
        row = {"crowd": data, "seed": seed, "policy": policy, "auc": held_out_auc(later, test)}
        yield row | {"mcc": species_score(later.embedding_, crowd.truth, seed)}


def _scores(model: ContextEmbeddingNetwork, rest: Groupings, seed: int) -> dict[str, FloatArray]:
    """(G,) each policy's preference for each grid that was asked."""
    places = model.embedding_[rest.images]
    spread = places.var(axis=1).sum(axis=1)
    error = (model.embedding_error_**2).sum(axis=1)[rest.images].mean(axis=1)
    chance = np.random.default_rng([seed, 17]).random(len(rest))
    return {"random": chance, "uncertain": error, "local": -spread, "spread": spread}


def _fitted(answers: Groupings, seed: int) -> ContextEmbeddingNetwork:
    return ContextEmbeddingNetwork(n_dimensions=8, random_state=seed).fit(answers)


def differences(rows: list[Row]) -> list[str]:
    """Each policy minus random, paired by seed."""
    body = []
    for crowd in distinct(rows, "crowd"):
        here = of(rows, crowd=crowd)
        plain = {row["seed"]: row for row in of(here, policy="random")}
        for policy in distinct(here, "policy"):
            own = of(here, policy=policy)
            gaps = [row["auc"] - plain[row["seed"]]["auc"] for row in own]
            error = stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
            known = [row["mcc"] - plain[row["seed"]]["mcc"] for row in own if "mcc" in row]
            auc, gain = f"{mean(values(own, 'auc')):.3f}", f"{mean(gaps):+.3f} ± {error:.3f}"
            body.append([crowd, policy, auc, gain, f"{mean(known):+.3f}" if known else ""])
    head = ["crowd", "policy", "AUC", "minus random (± s.e.)", "MCC minus random"]
    return table(head, body)


def report(rows: list[Row]) -> list[str]:
    """The results page."""
    n_seeds = len({row["seed"] for row in rows})
    return [
        "# Rounds of chosen grids compared with random grids, at equal numbers of answers",
        "",
        "`python -m bench.cen.loop --data FOLDER`. Simulated crowds of",
        f"`learning/simulation/scenes.py` answer {_ROUND} random grids and then {_ROUND} of each",
        f"policy, tested on {_ROUND} random grids. With real crowds, a quarter of the answers is",
        "used first, then as many more, chosen from the grids that were actually asked, and tested",
        "on the 15 % held out.",
        f"Mean over {n_seeds} seeds; ± is the standard error of the paired differences.",
        "",
        "*attribute*: grids that differ in one attribute (paper 4.6); *uncertain*: grids of images",
        "whose positions are least certain; *local*: grids of nearby images; *spread*: grids of",
        "images that are far apart.",
        "",
        *differences(rows),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of real crowds")
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Row] = []
    for seed in range(options.seeds):
        for scene in SCENES:
            rows += simulated(scene, seed)
        for data in REAL if options.data else ():
            rows += replayed(data, options.data, seed)
        RESULTS.write_text(json.dumps(rows, default=float) + "\n")
        RESULTS.with_suffix(".md").write_text("\n".join(report(rows)) + "\n")
        print(f"seed {seed} of {options.seeds} measured", flush=True)


if __name__ == "__main__":
    main()
