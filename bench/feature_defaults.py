"""Default features of the strategies that need some: `python -m bench.feature_defaults --data
FOLDER` compares `appearance` and `objects` for semi-crowdsourced clustering and labels by votes.

FOLDER has labelme_crowd/ (photographs, labels of real people) and cmu_faces/ (photographs, a
simulated crowd). Prints the tables of docs/benchmarks/feature_defaults.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from bench.feature_worlds import SOURCES, World, faces, labelme, read_table
from bench.harness.paths import publish
from bench.harness.tables import Row, distinct, mean_sd, of, seeds, table
from bench.real_crowds.data import load
from learning.arrays import FloatArray, IntArray
from learning.crowd_labels import CrowdLabels
from learning.feature_alignment.model import in_grids
from learning.metrics import pair_auc
from learning.semicrowd import BayesianSemiCrowdClustering
from learning.votes import Votes

NAMES = ("appearance", "objects")
# Seed 0 is the one that settings were developed on.
SEEDS = (3, 4, 5)
# As campaigns with the effort `quick`.
CLASSIFIER = {"candidates": [{}], "n_networks": 1, "parameters": {"n_epochs": 12}}
HIDDEN, PRETRAIN_STEPS, STEPS, BATCH = (128,), 150, 300, 128
HEAD = """# Default features of SCDC and NeuCrowd

`python -m bench.feature_defaults --data FOLDER`, mean ± standard deviation; {seeds}. What campaigns
with the effort *quick* learn from each. Half of the images are never shown.

"""


def clustered(data: str, world: World, truth: IntArray, seed: int) -> Iterator[Row]:
    """BayesSCDC with the settings of a campaign: adjusted mutual information with the truth of
    images never shown, and AUC of their pairs in held-out answers."""
    never = ~in_grids(world.train)
    for name in NAMES:
        features = world.features[name]
        per_epoch = -(-len(features) // BATCH)
        model = BayesianSemiCrowdClustering(
            max_clusters=20,
            n_latent=8,
            hidden=HIDDEN,
            pretrain_epochs=max(5, PRETRAIN_STEPS // per_epoch),
            n_epochs=max(5, STEPS // per_epoch),
            batch_size=BATCH,
            random_state=seed,
        )
        model.fit(features, world.train.pairs())
        shares = np.asarray(model.responsibilities_, np.float64)
        pairs = world.unseen.pairs()
        together = (shares[pairs.i] * shares[pairs.j]).sum(axis=1)
        yield {
            "data": data,
            "source": name,
            "seed": seed,
            "ami": adjusted_mutual_info_score(truth[never], shares[never].argmax(axis=1)),
            "auc": pair_auc(pairs.same, -together),
        }


def voted(features: dict[str, FloatArray], votes: Votes, truth: IntArray, seed: int) -> list[Row]:
    """Accuracy of labels of images without votes; half of the images have none."""
    never = np.random.default_rng(seed).random(len(truth)) < 0.5
    known = votes.copy()
    known[never] = -1
    rows: list[Row] = []
    for name in NAMES:
        model = CrowdLabels(classifier=CLASSIFIER, random_state=seed).fit(features[name], known)
        probability = model.probability_
        rows.append(
            {
                "data": "votes",
                "source": name,
                "seed": seed,
                "accuracy": float(((probability > 0.5) == truth)[never].mean()),
                "auc": pair_auc(truth[never] == 1, -probability[never]),
            }
        )
    return rows


def votes_of_labelme(folder: Path, is_yes: set[int]) -> tuple[Votes, IntArray]:
    """(N, d) votes and (N,) truth for whether a photograph shows one of the classes."""
    rows = read_table(folder / "labelme_crowd/answers_train.csv")
    items = {item: n for n, item in enumerate(sorted({row["item"] for row in rows}))}
    people = {who: n for n, who in enumerate(sorted({row["worker"] for row in rows}))}
    votes = np.full((len(items), len(people)), -1, np.int8)
    for row in rows:
        votes[items[row["item"]], people[row["worker"]]] = int(row["label"]) in is_yes
    every = read_table(folder / "labelme_crowd/items.csv")
    truth = {row["item"]: int(row["class"]) for row in every if row["split"] == "train"}
    return votes, np.array([truth[item] in is_yes for item in items], np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    folder: Path = parser.parse_args().data
    pose = [f"{row['pose']} {row['eyes']}" for row in read_table(folder / "cmu_faces/items.csv")]
    of_faces = np.unique(pose, return_inverse=True)[1]
    of_scenes = load("labelme", folder).truth
    votes, is_open = votes_of_labelme(folder, {1, 3})
    rows: list[Row] = []
    for seed in SEEDS:
        print("seed", seed, flush=True)
        world = labelme(folder, seed)
        rows += clustered("LabelMe photographs, real people", world, of_scenes, seed)
        rows += voted(world.features, votes, is_open, seed)
        rows += clustered("CMU faces, pose and eyes", faces(folder, seed), of_faces, seed)
    publish("feature_defaults.md", report(rows))


def report(rows: list[Row]) -> str:
    assert set(NAMES) <= set(SOURCES)
    clusters = [row for row in rows if row["data"] != "votes"]
    body = [
        [data, source, *(mean_sd(of(rows, data=data, source=source), k) for k in ("ami", "auc"))]
        for data in distinct(clusters, "data")
        for source in NAMES
    ]
    labels = [
        [source, *(mean_sd(of(rows, data="votes", source=source), k) for k in ("accuracy", "auc"))]
        for source in NAMES
    ]
    lines = [
        "## Semi-crowdsourced clustering, images never shown",
        "",
        *table(["images and crowd", "features", "AMI", "AUC of pairs"], body),
        "",
        "## Labels by votes: photographs of an inner city or a street",
        "",
        "LabelMe, votes of real people about half of the photographs; the figures are of the "
        "other half.",
        "",
        *table(["features", "accuracy", "AUC"], labels),
    ]
    return HEAD.format(seeds=seeds(rows)) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
