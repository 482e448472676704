"""Campaigns that ask about a part of their images, and what a worker does with them."""

from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account
from app.campaigns.changes import ACTIONS
from app.campaigns.choosing import run_choosing
from app.campaigns.models import AskedImage, Campaign, Grid
from app.core.database import transaction
from app.features.models import OF_TABLE, FeatureSet
from app.jobs.models import Job
from app.jobs.service import CHOOSE, LEARN, claim_job
from app.results.learn import run_learning_job
from testbed.builders import (
    a_campaign,
    a_collection,
)
from tests.app.test_annotation import a_lease, submit

N, M = 60, 20


def a_partial_campaign(owner: Account, n: int = N, **plan: Any) -> Campaign:
    values = {"ask_about": M, "ask_by": "grey", "kind": "bins", "strategy": "crowdster"}
    values |= {"budget": 40, "rounds": 2, "grids_per_assignment": 40, **plan}
    return a_campaign(owner, a_collection(owner, n), **values)


def claimed(kind: str) -> Job:
    with transaction() as session:
        query = select(Job.id).where(Job.kind == kind, Job.state == "queued")
        job = claim_job(session, session.scalars(query).one(), "worker")
        assert job is not None
        return job


def choose() -> None:
    job = claimed(CHOOSE)
    run_choosing(job.campaign_id, job.id, job.epoch)


def learn() -> None:
    job = claimed(LEARN)
    run_learning_job(job.campaign_id, job.id, job.epoch)


def asked_of(campaign: Campaign) -> list[int]:
    with transaction() as session:
        query = select(AskedImage.position).where(AskedImage.campaign_id == campaign.id)
        return list(session.scalars(query.order_by(AskedImage.position)))


def computed_sets() -> list[FeatureSet]:
    with transaction() as session:
        return list(session.scalars(select(FeatureSet).where(FeatureSet.kind != OF_TABLE)))


def shown_in(campaign: Campaign) -> set[int]:
    with transaction() as session:
        query = select(func.unnest(Grid.images)).where(Grid.campaign_id == campaign.id)
        return set(session.scalars(query))


def progress(client: TestClient, campaign: Campaign) -> dict[str, Any]:
    result: dict[str, Any] = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()
    return result


def act(owner: Account, campaign: Campaign, action: Any) -> None:
    with transaction() as session:
        ACTIONS[action](session, owner, campaign.id)


def answer_all(client: TestClient, who: dict[str, str], n: int) -> None:
    for _ in range(n):
        lease = a_lease(client, who)
        groups = [shown["image"] % 3 for shown in lease["images"]]
        assert submit(client, who, lease, groups=groups).json()["status"] == "stored"
