"""A campaign larger than its budget through the running system.

5,000 generated tiles: shapes on coloured grounds (demo/shapes.py). Per seed, a simulated crowd
that sorts by shape, with errors, answers grids of 20 about 400 of them over the HTTP API; the
strategy `scdc` clusters all 5,000 by their appearance. The measure is how well the clusters match
the shapes, of all images and of those that nobody was asked about. It is compared with k-means
and a Gaussian mixture on the same features, which get the true number of shapes, and with a
logistic regression on the true shapes of the images asked about. Needs `make up` running.
Writes `docs/benchmarks/semicrowd_campaign.md`.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from statistics import mean
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sqlalchemy import select

from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.collections.models import Image
from app.core.database import transaction
from app.features.reading import features_wanted
from app.jobs.service import latest_job
from app.planning.crowd import CrowdTraits
from app.results.own_clusters import read_memberships
from app.results.service import get_model
from bench.harness.campaigns import new_collection, start, wait_until_finished
from bench.harness.paths import publish
from bench.harness.tables import spread, table
from demo.shapes import SHAPES, write_shapes
from likewise import environment
from likewise.commands.simulate import run_crowd

FEATURES = "appearance"
KNOWN_SHAPES = "told the shapes asked about"


@dataclass(frozen=True)
class ClusterScores:
    """How well clusters match the shapes (adjusted mutual information and Rand index), of all
    images and of those not asked about; seconds: of the last learning job."""

    method: str
    seed: int
    n_clusters: int
    ami: float
    ami_unasked: float
    ari: float
    certain: float | None = None
    right_if_certain: float | None = None
    seconds: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--images", type=int, default=5_000)
    parser.add_argument("--asked", type=int, default=400)
    parser.add_argument("--budget", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--effort", default="normal")
    options = parser.parse_args()
    environment.load()
    collection_id, shapes = _collection(options.images)
    results: list[ClusterScores] = []
    for seed in range(options.seeds):
        for result in _seed(collection_id, shapes, seed, options):
            results.append(result)
            print(result, flush=True)
    publish("semicrowd_campaign.md", report(results, options))


def _collection(n: int) -> tuple[UUID, NDArray[np.int64]]:
    collection_id = new_collection(f"Bench shapes {n}", lambda folder: write_shapes(folder, n))
    query = select(Image.attributes).where(Image.collection_id == collection_id)
    with transaction() as session:
        rows = session.scalars(query.order_by(Image.position)).all()
    number = {shape: index for index, shape in enumerate(SHAPES)}
    return collection_id, np.array([number[row["shape"]] for row in rows], np.int64)


def _seed(
    collection_id: UUID, shapes: NDArray[np.int64], seed: int, options: argparse.Namespace
) -> list[ClusterScores]:
    campaign = _play(collection_id, seed, options)
    with transaction() as session:
        model = get_model(session, campaign)
        memberships = read_memberships(campaign, model)
        make = features_wanted(session, campaign, FEATURES)
        job = latest_job(session, campaign.id)
        seconds = None
        if job is not None and job.started_at and job.finished_at:
            seconds = (job.finished_at - job.started_at).total_seconds()
    features = make()
    assert features is not None
    certain = memberships.probability >= 0.9
    best = _majority(shapes, memberships.cluster)
    ours = ClusterScores(
        "scdc",
        seed,
        memberships.n_clusters,
        **_match(shapes, memberships.cluster, memberships.asked),
        certain=float(certain.mean()),
        right_if_certain=float((best == shapes)[certain].mean()) if certain.any() else None,
        seconds=seconds,
    )
    k = len(SHAPES)
    alone = {
        "k-means": KMeans(k, n_init=10, random_state=seed).fit_predict(features),
        "Gaussian mixture": GaussianMixture(
            k, n_init=3, reg_covar=1e-4, random_state=seed
        ).fit_predict(features),
    }
    truth = LogisticRegression(max_iter=3_000)
    alone[KNOWN_SHAPES] = truth.fit(features[memberships.asked], shapes[memberships.asked]).predict(
        features
    )
    return [
        ours,
        *(
            ClusterScores(name, seed, k, **_match(shapes, labels, memberships.asked))
            for name, labels in alone.items()
        ),
    ]


def _match(
    true: NDArray[np.int64], labels: NDArray[np.int64], asked: NDArray[np.bool_]
) -> dict[str, float]:
    return {
        "ami": float(adjusted_mutual_info_score(true, labels)),
        "ami_unasked": float(adjusted_mutual_info_score(true[~asked], labels[~asked])),
        "ari": float(adjusted_rand_score(true, labels)),
    }


def _majority(true: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """(N,) the most common shape of each image's cluster."""
    return np.array(
        [np.bincount(true[labels == cluster]).argmax() for cluster in range(labels.max() + 1)]
    )[labels]


def _play(collection_id: UUID, seed: int, options: argparse.Namespace) -> Campaign:
    plan = CampaignPlan(
        name=f"Bench shapes, seed {seed}",
        collection_id=collection_id,
        kind="grid",
        strategy="scdc",
        grid_size=20,
        budget=options.budget,
        rounds=options.rounds,
        learn_every=options.budget,
        # The simulated crowd waits for models, because it does in no time what takes minutes.
        ready_share=0.0,
        settings={
            "features": FEATURES,
            "n_annotated": options.asked,
            "effort": options.effort,
        },
        seed=seed,
    )
    campaign = start(plan)
    run_crowd(str(campaign.id), "shape", CrowdTraits(noise=options.noise, seed=seed))
    return wait_until_finished(campaign)


def report(results: list[ClusterScores], options: argparse.Namespace) -> str:
    """The result as Markdown, with the margin over each method on features alone."""
    methods = list(dict.fromkeys(result.method for result in results))
    of = {name: [result for result in results if result.method == name] for name in methods}
    seeds = len(of["scdc"])
    lines = [
        "# A campaign larger than its budget, through the running system",
        "",
        f"{options.images:,} generated tiles, {len(SHAPES)} shapes on {3} grounds "
        f"(`demo/shapes.py`); {options.budget} answers of 8 simulated annotators, who sort by "
        f"shape and put {100 * options.noise:.0f} % of the images at random, to grids of 20 about "
        f"{options.asked} of them, in {options.rounds} rounds; features `{FEATURES}`, effort "
        f"*{options.effort}*, {seeds} seeds of campaign and crowd with the same tiles. Adjusted "
        "mutual information (AMI) and Rand index (ARI) with the shapes: mean ± sd. k-means and "
        "the mixture get the number of shapes, `scdc` does not. The last row is what the features "
        "permit: a logistic regression that gets the true shapes of the images asked about.",
        "",
    ]
    body = []
    for name, rows in of.items():
        clusters = sorted({row.n_clusters for row in rows})
        shown = str(clusters[0]) if len(clusters) == 1 else f"{clusters[0]}–{clusters[-1]}"
        body.append([name, shown, *(spread(getattr(row, key) for row in rows) for key in MEASURES)])
    head = ["method", "clusters", "AMI, all images", "AMI, not asked about", "ARI"]
    lines += [*table(head, body), ""]
    for name in methods[1:-1]:
        gains = [a.ami_unasked - b.ami_unasked for a, b in zip(of["scdc"], of[name], strict=True)]
        lines.append(
            f"Margin over {name}, AMI of the images that nobody was asked about: "
            f"{mean(gains):+.3f} (smallest {min(gains):+.3f} of {seeds} seeds)."
        )
    sure = [row.certain for row in of["scdc"] if row.certain is not None]
    right = [row.right_if_certain for row in of["scdc"] if row.right_if_certain is not None]
    if right:
        lines += [
            "",
            f"Placed with a probability of 90 % or more: {100 * mean(sure):.0f} % of the images; "
            f"of these, {100 * mean(right):.0f} % are in a cluster that is mostly of their shape. "
            "Probabilities are the model's own.",
        ]
    plain = [
        {
            key: round(value, 4) if isinstance(value, float) else value
            for key, value in values.items()
        }
        for values in map(asdict, results)
    ]
    listed = ",\n".join(json.dumps(row) for row in plain)
    return "\n".join([*lines, "", "Per seed:", "", "```json", f"[{listed}]", "```", ""])


MEASURES = ("ami", "ami_unasked", "ari")


if __name__ == "__main__":
    main()
