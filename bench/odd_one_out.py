"""A set of odd-one-out answers as large as published ones: imported, learned and mapped.

1,854 objects have 42 sparse, non-negative dimensions, as in the THINGS data (Hebart et al. 2020).
A simulated person keeps the pair (i, j) of three with a probability that grows with exp(x_i · x_j),
as in the model of that paper, so that the third is the odd one. The measure is how often the odd
one of held-out answers is predicted: the image that is not in the pair that is nearest in the
embedding. The ceiling is how often the pair that is most likely for the simulated people is the one
that they keep.

With `--embedding`, the objects are those of a published file of dimensions (N, D) instead, and with
`--people` also the answers of real people are predicted: a line each with three objects, counted
from 1, and which of them (1 to 3) is the odd one. Both are in the repository of VICE (Muttenthaler
et al. 2022): `embeddings/things/final_embedding.npy` and, in its history, `data/test_triplets.csv`.

Writes `docs/benchmarks/odd_one_out.md`.
"""

from __future__ import annotations

import argparse
import io
import resource
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sqlalchemy import select

from app.accounts.models import Account
from app.accounts.service import create_account
from app.annotation.importing.service import import_answers
from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import create_campaign, start_campaign
from app.collections.service import create_collection
from app.core.database import transaction
from app.jobs.models import Job
from app.jobs.service import claim_job
from app.results.learn import run_learning_job
from app.results.models import EmbeddedImage
from app.results.service import get_model
from bench import sparse_choices
from bench.crowdster import triplets
from bench.crowdster.spaces import space
from bench.harness.paths import publish
from bench.harness.servers import own_servers, use_new_database
from bench.harness.tables import table
from bench.map_campaign import add_images
from learning.arrays import FloatArray, IntArray

N_OBJECTS, N_HELD_OUT = 1_854, 20_000
# Mean and deviation of the lengths of the published dimensions of 1,854 objects.
LENGTH, LENGTH_DEVIATION = 2.36, 0.18
STRATEGIES = ("cen", "crowdster")
# The order of three images in which the first, second or third comes last.
ODD_LAST = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])


@dataclass(frozen=True)
class Row:
    """A method's results: accuracy on held-out answers of simulated and of real people, and seconds
    to import and to learn."""

    method: str
    answers: int
    accuracy: float
    real: float | None
    import_seconds: float | None
    learn_seconds: float


@dataclass(frozen=True)
class World:
    """Objects (N, D), answers to learn from, and answers to predict: (n, 3), the last is the odd
    one."""

    name: str
    objects: FloatArray
    asked: IntArray
    held_out: IntArray
    ceiling: float
    people: IntArray | None = None

    def row(
        self,
        method: str,
        n: int,
        places: FloatArray,
        seconds: tuple[float | None, float],
        products: bool = False,
    ) -> Row:
        right = accuracy(places, self.held_out, products=products)
        real = None if self.people is None else accuracy(places, self.people, products=products)
        return Row(method, n, right, real, *seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, nargs="*", default=[20_000, 100_000])
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES))
    parser.add_argument("--embedding", type=Path)
    parser.add_argument("--people", type=Path)
    options = parser.parse_args()
    most = max(options.answers)
    worlds = [world("Simulated objects", simulated(), most)]
    if options.embedding is not None:
        people = None if options.people is None else answers_of_people(options.people)
        published = np.load(options.embedding).astype(np.float64)
        worlds.append(world("Published dimensions", published, most, people))
    parts = []
    with own_servers() as (servers, folder):
        use_new_database(servers, folder / "data")
        with transaction() as session:
            owner = create_account(session, "things@example.org")
        for each in worlds:
            rows = []
            for n in options.answers:
                for method in (*options.strategies, by_soe, by_sparse_choices):
                    rows.append(
                        through_the_product(owner, method, each, n)
                        if isinstance(method, str)
                        else method(each, n)
                    )
                    print(rows[-1], flush=True)
            parts.append(section(each, rows))
    publish("odd_one_out.md", report(parts))


def simulated() -> FloatArray:
    """(N, 42) dimensions, as long as the published ones: popular objects are no hubs there."""
    rng = np.random.default_rng(0)
    objects = space("objects", N_OBJECTS, rng)
    length = rng.normal(LENGTH, LENGTH_DEVIATION, (N_OBJECTS, 1))
    return np.asarray(objects / np.linalg.norm(objects, axis=1, keepdims=True) * length)


def world(name: str, objects: FloatArray, n: int, people: IntArray | None = None) -> World:
    rng = np.random.default_rng(0)
    asked, _ = answered(objects, n, rng)
    held_out, ceiling = answered(objects, N_HELD_OUT, rng)
    return World(name, objects, asked, held_out, ceiling, people)


def answers_of_people(path: Path) -> IntArray:
    table = np.loadtxt(path, dtype=np.int64)
    return np.take_along_axis(table[:, :3] - 1, ODD_LAST[table[:, 3] - 1], axis=1)


def answered(objects: FloatArray, n: int, rng: np.random.Generator) -> tuple[IntArray, float]:
    """(n, 3) images, the last of which is the odd one; and how often the likeliest is."""
    drawn = rng.integers(0, len(objects), (2 * n, 3))
    distinct = (drawn != np.roll(drawn, 1, axis=1)).all(axis=1)
    trios = drawn[distinct][:n]
    closeness = _closeness(objects, trios, products=True)
    odds = np.exp(closeness - closeness.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    odd = (rng.random((n, 1)) > odds.cumsum(axis=1)).sum(axis=1).clip(max=2)
    return np.take_along_axis(trios, ODD_LAST[odd], axis=1), float(odds.max(axis=1).mean())


def _closeness(places: FloatArray, trios: IntArray, *, products: bool) -> FloatArray:
    """(n, 3) how close the two images are that are left without the first, second, third."""
    a, b, c = places[trios.T]
    pairs = ((b, c), (a, c), (a, b))
    if products:
        return np.column_stack([(left * right).sum(axis=1) for left, right in pairs])
    return np.column_stack([-((left - right) ** 2).sum(axis=1) for left, right in pairs])


def accuracy(places: FloatArray, held_out: IntArray, *, products: bool = False) -> float:
    """How often the third image of (n, 3) is the one that is not in the closest pair."""
    return float((_closeness(places, held_out, products=products).argmax(axis=1) == 2).mean())


def through_the_product(owner: Account, strategy: str, given: World, n: int) -> Row:
    campaign = _a_campaign(owner, strategy, n)
    text = "\n".join(" ".join(map(str, trio)) for trio in given.asked[:n].tolist()).encode()
    started = time.monotonic()
    with transaction() as session:
        import_answers(
            session, owner, campaign.id, io.BytesIO(text), named_by="position",
            file_format="triplets",
        )  # fmt: skip
    imported = time.monotonic()
    with transaction() as session:
        job_id = session.scalars(select(Job.id).where(Job.campaign_id == campaign.id)).one()
        job = claim_job(session, job_id, "bench")
        assert job is not None
    run_learning_job(campaign.id, job.id, job.epoch)
    learned = time.monotonic()
    with transaction() as session:
        model = get_model(session, session.get_one(Campaign, campaign.id))
        query = select(EmbeddedImage.vector).where(EmbeddedImage.model_id == model.id)
        places = np.stack(session.scalars(query.order_by(EmbeddedImage.position)).all())
    return given.row(strategy, n, places, (imported - started, learned - imported))


def _a_campaign(owner: Account, strategy: str, n: int) -> Campaign:
    name = f"{n} answers, {strategy}"
    with transaction() as session:
        collection = create_collection(session, owner, name)
        add_images(session, collection, np.arange(N_OBJECTS) % 60)
        plan = CampaignPlan(
            name=name, collection_id=collection.id, kind="odd_one_out", strategy=strategy
        )
        campaign = create_campaign(session, owner, plan)
        return start_campaign(session, owner, campaign.id)


def by_soe(given: World, n: int) -> Row:
    """An embedding in ten dimensions of both triplets that an answer contains, for comparison."""
    started = time.monotonic()
    asked = given.asked[:n]
    both = np.concatenate([asked, asked[:, [1, 0, 2]]])
    places = triplets.embed(both, N_OBJECTS, 10, "soe", 0)
    return given.row("SOE, 10 dimensions", n, places, (None, time.monotonic() - started))


def by_sparse_choices(given: World, n: int) -> Row:
    """Sparse, non-negative dimensions, whose products decide."""
    started = time.monotonic()
    places = sparse_choices.fit(given.asked[:n], N_OBJECTS)
    seconds = time.monotonic() - started
    return given.row("sparse dimensions", n, places, (None, seconds), products=True)


def section(given: World, rows: list[Row]) -> str:
    body = [
        [
            row.method,
            f"{row.answers:,}",
            f"{row.accuracy:.3f}",
            "" if row.real is None else f"{row.real:.3f}",
            "" if row.import_seconds is None else f"{row.import_seconds:.1f}",
            f"{row.learn_seconds:.0f}",
        ]
        for row in rows
    ]
    own = given.row("the simulated people's own dimensions", 0, given.objects, (None, 0.0), True)
    real = "" if own.real is None else f"{own.real:.3f}"
    body.append([own.method, "", f"{own.accuracy:.3f}", real, "", ""])
    head = ["", "answers", "odd one predicted", "of real people", "import, s", "learning, s"]
    lines = [f"## {given.name}", "", *table(head, body), "", f"Ceiling {given.ceiling:.3f}."]
    if given.people is not None:
        lines[-1] += (
            f" {len(given.people):,} answers of real people to {_n_trios(given.people):,} sets of "
            f"three; who knew what most of them say would predict {_majority(given.people):.3f}."
        )
    return "\n".join(lines)


def _n_trios(people: IntArray) -> int:
    return len(np.unique(np.sort(people, axis=1), axis=0))


def _majority(people: IntArray) -> float:
    """How often an answer is the most frequent one to its three images."""
    _, trio = np.unique(np.sort(people, axis=1), axis=0, return_inverse=True)
    _, n_same = np.unique(np.column_stack([trio.ravel(), people[:, 2]]), axis=0, return_counts=True)
    which = np.unique(np.column_stack([trio.ravel(), people[:, 2]]), axis=0)[:, 0]
    most = np.zeros(which.max() + 1, np.int64)
    np.maximum.at(most, which, n_same)
    return float(most.sum() / len(people))


def report(parts: list[str]) -> str:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return "\n".join(
        [
            "# Odd one out: as many answers as published sets have",
            "",
            *(__doc__ or "").split("\n\n", 1)[1].split("\n\nWrites")[0].split("\n"),
            "",
            f"{N_HELD_OUT:,} held-out answers of simulated people. Chance is 0.333. *SOE* is "
            "cblearn's ordinal embedding, *sparse dimensions* the model by which the simulated "
            f"people choose (`bench/sparse_choices.py`). Peak memory {peak:.1f} GiB.",
            "",
            "\n\n".join(parts),
            "",
        ]
    )


if __name__ == "__main__":
    main()
