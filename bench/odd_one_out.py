"""A set of odd-one-out answers as large as published ones: imported, learned and mapped.

1,854 objects have 42 sparse, non-negative dimensions, as in the THINGS data (Hebart et al. 2020).
A simulated person keeps the pair (i, j) of three with a probability that grows with exp(x_i · x_j),
as in the model of that paper, so that the third is the odd one. The measure is how often the odd
one of held-out answers is found: the image that is not in the pair that is nearest in the
embedding. The ceiling is how often the pair that is most likely for the simulated people is the one
that they keep. Writes `docs/benchmarks/odd_one_out.md`.
"""

from __future__ import annotations

import argparse
import io
import resource
import time
from dataclasses import dataclass

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
from bench.crowdster import triplets
from bench.crowdster.spaces import space
from bench.harness.paths import publish
from bench.harness.servers import own_servers, use_new_database
from bench.harness.tables import table
from bench.map_campaign import add_images
from learning.arrays import FloatArray, IntArray

N_OBJECTS, N_HELD_OUT = 1_854, 20_000
STRATEGIES = ("cen", "crowdster")


@dataclass(frozen=True)
class Row:
    """A method's results: accuracy on held-out answers, and seconds to import and to learn."""

    method: str
    answers: int
    accuracy: float
    import_seconds: float | None
    learn_seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, nargs="*", default=[20_000, 100_000])
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES))
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    objects = space("objects", N_OBJECTS, rng)
    asked, _ = answered(objects, max(options.answers), rng)
    held_out, ceiling = answered(objects, N_HELD_OUT, rng)
    rows = []
    with own_servers() as (servers, folder):
        use_new_database(servers, folder / "data")
        with transaction() as session:
            owner = create_account(session, "things@example.org")
        for n in options.answers:
            for strategy in options.strategies:
                rows.append(through_the_product(owner, strategy, asked[:n], held_out))
                print(rows[-1], flush=True)
            rows.append(by_soe(asked[:n], held_out))
            print(rows[-1], flush=True)
    publish("odd_one_out.md", report(rows, ceiling, accuracy(objects, held_out, products=True)))


def answered(objects: FloatArray, n: int, rng: np.random.Generator) -> tuple[IntArray, float]:
    """(n, 3) images, the last of which is the odd one; and how often the likeliest is."""
    drawn = rng.integers(0, len(objects), (2 * n, 3))
    distinct = (drawn != np.roll(drawn, 1, axis=1)).all(axis=1)
    trios = drawn[distinct][:n]
    closeness = _closeness(objects, trios, products=True)
    odds = np.exp(closeness - closeness.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    odd = (rng.random((n, 1)) > odds.cumsum(axis=1)).sum(axis=1).clip(max=2)
    order = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])[odd]
    return np.take_along_axis(trios, order, axis=1), float(odds.max(axis=1).mean())


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


def through_the_product(owner: Account, strategy: str, asked: IntArray, held_out: IntArray) -> Row:
    campaign = _a_campaign(owner, strategy, len(asked))
    text = "\n".join(" ".join(map(str, trio)) for trio in asked.tolist()).encode()
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
    return Row(
        strategy, len(asked), accuracy(places, held_out), imported - started, learned - imported
    )


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


def by_soe(asked: IntArray, held_out: IntArray) -> Row:
    """An embedding in ten dimensions of both triplets that an answer contains, for comparison."""
    started = time.monotonic()
    both = np.concatenate([asked, asked[:, [1, 0, 2]]])
    places = triplets.embed(both, N_OBJECTS, 10, "soe", 0)
    seconds = time.monotonic() - started
    return Row("SOE, 10 dimensions", len(asked), accuracy(places, held_out), None, seconds)


def report(rows: list[Row], ceiling: float, truth: float) -> str:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    body = [
        [
            row.method,
            f"{row.answers:,}",
            f"{row.accuracy:.3f}",
            "" if row.import_seconds is None else f"{row.import_seconds:.1f}",
            f"{row.learn_seconds:.0f}",
        ]
        for row in rows
    ]
    head = ["", "answers", "odd one found", "import, s", "learning, s"]
    return "\n".join(
        [
            "# Odd one out: as many answers as published sets have",
            "",
            *(__doc__ or "").split("\n\n", 1)[1].split(" Writes")[0].split("\n"),
            "",
            *table(head, body),
            "",
            f"{N_HELD_OUT:,} held-out answers. Chance is 0.333, the ceiling {ceiling:.3f}; the "
            f"simulated people's own dimensions find {truth:.3f}. Peak memory {peak:.1f} GiB.",
            "",
        ]
    )


if __name__ == "__main__":
    main()
