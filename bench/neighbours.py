"""Measures requests for neighbours by number of images. Needs no running system.

`python -m bench.neighbours` uses a server, a separate database, synthetic embeddings, and 200
requests each, one after the other. Writes `docs/benchmarks/neighbours.md`.
"""

import os
import time
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import insert

from app.accounts.service import create_account
from app.accounts.tokens import create_token
from app.campaigns.models import Campaign
from app.collections.models import Collection, Image
from app.core.database import transaction
from app.jobs.models import Job
from app.results.models import EmbeddedImage, Model
from bench.harness.paths import publish
from bench.harness.servers import own_servers, use_new_database
from likewise.client import Likewise
from testbed.system import running_system

SIZES = (1_000, 10_000, 100_000)
DIMENSIONS = 10
REQUESTS = 200
HEAD = """# Neighbours as a service

`GET /api/v1/campaigns/…/neighbours?image=…&k=10` in {dimensions} dimensions, exact search,
{requests} requests one after the other over HTTP, client and server on one machine with {cores}
cores. `python -m bench.neighbours`.

| images | given by | median, ms | 95th percentile, ms |
|---|---|---|---|
"""


def main() -> None:
    with own_servers() as (servers, folder):
        settings = use_new_database(servers, folder / "data")
        with running_system(settings, folder, "web") as system:
            lines = measure(system.base_url)
    head = HEAD.format(dimensions=DIMENSIONS, requests=REQUESTS, cores=os.cpu_count())
    publish("neighbours.md", head + "".join(lines))


def measure(base_url: str) -> list[str]:
    with transaction() as session:
        owner = create_account(session, "bench@example.org")
        token = create_token(session, owner, "bench", "read", None)[1]
        owner_id = owner.id
    lines = []
    with Likewise(base_url, token) as likewise:
        for n in SIZES:
            campaign = likewise.campaign(str(a_campaign_of(owner_id, n)))
            rng = np.random.default_rng(n)
            campaign.neighbours(0)
            for name in ("position", "file name"):
                times = []
                for image in rng.integers(0, n, REQUESTS):
                    started = time.perf_counter()
                    if name == "position":
                        campaign.neighbours(int(image))
                    else:
                        campaign.neighbours(filename=f"{image}.png")
                    times.append(1000 * (time.perf_counter() - started))
                median, late = np.percentile(times, [50, 95])
                lines.append(f"| {n:,} | {name} | {median:.0f} | {late:.0f} |\n")
    return lines


def a_campaign_of(owner_id: UUID, n: int) -> UUID:
    """A campaign with a model of n images, without their files."""
    with transaction() as session:
        collection = Collection(owner_id=owner_id, name=f"{n} images", n_images=n)
        session.add(collection)
        session.flush()
        campaign = Campaign(
            owner_id=owner_id, collection_id=collection.id, name="bench", kind="bins",
            strategy="crowdster", settings={}, question="?", seed=0, link_token=uuid4().hex,
            budget=1, rounds=1, grid_size=20, max_groups=4, learn_every=1, n_images=n,
            annotation={}, state="finished",
        )  # fmt: skip
        session.add(campaign)
        session.flush()
        job = Job(campaign_id=campaign.id, state="done")
        session.add(job)
        session.flush()
        model = Model(
            campaign_id=campaign.id, job_id=job.id, version=1, round_number=1, metrics={},
            strategy="crowdster", settings={}, n_answers=1, artifact_key="none",
        )  # fmt: skip
        session.add(model)
        session.flush()
        vectors = np.random.default_rng(0).normal(size=(n, DIMENSIONS)).astype(np.float32)
        for first in range(0, n, 10_000):
            part = range(first, min(first + 10_000, n))
            session.execute(
                insert(Image),
                [
                    {
                        "collection_id": collection.id, "position": k, "filename": f"{k}.png",
                        "sha256": f"{k:064x}", "width": 1, "height": 1, "attributes": {},
                    }
                    for k in part
                ],
            )  # fmt: skip
            session.execute(
                insert(EmbeddedImage),
                [
                    {"model_id": model.id, "position": k, "vector": vectors[k], "x": 0.0, "y": 0.0}
                    for k in part
                ],
            )
        return campaign.id


if __name__ == "__main__":
    main()
