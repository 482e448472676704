"""Campaigns whose annotators see two directions of a feature set, with its alignment."""

from typing import Any
from uuid import UUID

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.accounts.models import Account
from app.alignments import learning
from app.alignments.learning import claim_alignment, learn_alignment
from app.alignments.stored import EXPORT
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.core.database import transaction
from learning.feature_alignment import selection
from learning.simulation import FeatureCrowd
from testbed.builders import a_campaign, a_collection
from tests.app.test_crowdster_strategy import run_job
from tests.support.answer_files import a_line, bring
from tests.support.feature_sets import a_vector_table, uploaded

N, WIDTH = 60, 12


def learn_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of one repeat, and the best of fewer maps with fewer steps each: a fifth of the fits.
    For tests of what is done with alignments; learning itself has its own tests."""
    monkeypatch.setattr(learning, "N_REPEATS", 1)
    monkeypatch.setattr(selection, "PENALTIES", (1.0,))
    monkeypatch.setattr(selection, "RANKS", (2,))
    monkeypatch.setattr(selection, "_ITERATIONS", 12)


def clip_of(n: int = N, seed: int = 0) -> NDArray[np.float32]:
    """Vectors with columns in very different units, of which a crowd sees the first two."""
    values = np.random.default_rng(seed).normal(size=(n, WIDTH))
    return (values * np.logspace(-2, 3, WIDTH) + 5).astype(np.float32)


def seen_in(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """What the crowd sees of these vectors."""
    return ((values - 5) / np.logspace(-2, 3, WIDTH))[:, :2].astype(np.float64)


def answered_campaign(
    owner: Account,
    collection: Collection | None = None,
    values: NDArray[np.float32] | None = None,
    n_grids: int = 80,
    **plan: Any,
) -> Campaign:
    """A campaign with a model, whose annotators grouped images of the collection by `values`."""
    values = clip_of() if values is None else values
    collection = collection or a_collection(owner, len(values))
    plan = {"strategy": "crowdster", "budget": 40, **plan}
    campaign = a_campaign(owner, collection, **plan)
    crowd = FeatureCrowd(seen_in(values), 10, 0.05)
    rng = np.random.default_rng(1)
    grids = np.stack([rng.permutation(len(values))[:12] for _ in range(n_grids)])
    answers = crowd.answer_grids(grids, np.arange(n_grids) % 10)
    bring(
        campaign,
        [
            a_line(f"person {annotator}", images, groups)
            for annotator, images, groups in zip(
                answers.annotators.tolist(),
                answers.images.tolist(),
                answers.groups.tolist(),
                strict=True,
            )
        ],
    )
    run_job()
    return campaign


def with_features(client: TestClient, campaign: Campaign, **sets: NDArray[np.float32]) -> None:
    for name, values in sets.items():
        uploaded(client, campaign.collection_id, a_vector_table(values), name=name)


def campaign_of_two_sets(client: TestClient, owner: Account) -> Campaign:
    """With the features that its annotators see, and noise."""
    campaign = answered_campaign(owner)
    noise = np.random.default_rng(9).normal(size=(N, 5)).astype(np.float32)
    with_features(client, campaign, clip=clip_of(), noise=noise)
    return campaign


def alignments_of(campaign: Campaign) -> str:
    return f"/api/v1/campaigns/{campaign.id}/alignments"


def request(client: TestClient, campaign: Campaign, *features: str) -> Any:
    return client.post(alignments_of(campaign), json={"features": list(features)})


def run(alignment: dict[str, Any]) -> None:
    """In this process, as a worker does in another one."""
    epoch = claim_alignment(UUID(alignment["id"]))
    if epoch is not None:
        learn_alignment(UUID(alignment["id"]), epoch)


def read(client: TestClient, campaign: Campaign, alignment_id: object) -> dict[str, Any]:
    reply = client.get(f"{alignments_of(campaign)}/{alignment_id}")
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()
    return result


def aligned(client: TestClient, campaign: Campaign, *features: str) -> list[dict[str, Any]]:
    """The alignments after a worker has learned them, in the order of the names."""
    reply = request(client, campaign, *features)
    assert reply.status_code == 202, reply.text
    by_name = {item["features"]: item for item in reply.json()["items"]}
    for name in features:
        run(by_name[name])
    return [read(client, campaign, by_name[name]["id"]) for name in features]


def row_of(alignment_id: object) -> Any:
    from app.alignments.models import Alignment

    with transaction() as session:
        return session.get_one(Alignment, UUID(str(alignment_id)))


def use_anyway(alignment_id: str) -> None:
    with transaction() as session:
        session.merge(row_of(alignment_id)).used = True


def places(client: TestClient, campaign: Campaign, alignment_id: object, **body: Any) -> Any:
    return client.post(f"{alignments_of(campaign)}/{alignment_id}/places", json=body)


def exported(client: TestClient, campaign: Campaign, alignment_id: object) -> bytes:
    reply = client.get(f"{alignments_of(campaign)}/{alignment_id}/{EXPORT}")
    assert reply.status_code == 200, reply.text
    return reply.content
