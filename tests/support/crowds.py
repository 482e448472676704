"""Simulated crowds as requesters and workers run them."""

from typing import Any
from uuid import UUID

import httpx
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from app.jobs.models import Job
from app.jobs.service import SIMULATE
from app.planning.crowd_play import run_crowd


def crowd_path(campaign: Campaign) -> str:
    return f"/api/v1/campaigns/{campaign.id}/simulated-crowd"


def started(client: TestClient | httpx.Client, campaign: Campaign, **body: Any) -> dict[str, Any]:
    """The state of a crowd that was just requested, which sorts by colour."""
    reply = client.post(crowd_path(campaign), json={"by": ["colour"], **body})
    assert reply.status_code == 201, reply.text
    run: dict[str, Any] = reply.json()["run"]
    return run


def shown(client: TestClient | httpx.Client, campaign: Campaign) -> dict[str, Any]:
    """The newest crowd as the API shows it."""
    run: dict[str, Any] = client.get(crowd_path(campaign)).json()["run"]
    return run


def crowd_job(campaign: Campaign) -> Job:
    """The newest job of a crowd."""
    query = select(Job).where(Job.campaign_id == campaign.id, Job.kind == SIMULATE)
    with transaction() as session:
        return session.scalars(query.order_by(Job.id.desc()).limit(1)).one()


def one_turn(campaign: Campaign) -> None:
    """What a worker does with the message of the newest crowd."""
    run_crowd(crowd_job(campaign).id, lambda: False)


def expire_lease(job_id: UUID) -> None:
    """What the death of a worker looks like a minute later."""
    with transaction() as session:
        past = func.now() - func.make_interval(0, 0, 0, 0, 0, 1)
        session.execute(update(Job).where(Job.id == job_id).values(lease_until=past))


def finished_grids(campaign: Campaign) -> list[tuple[int, str, str]]:
    """The grid, role and state of each finished answer."""
    query = (
        select(Answer.grid_id, Grid.role, Answer.state)
        .join(Grid, Grid.id == Answer.grid_id)
        .where(Answer.campaign_id == campaign.id, Answer.state != "leased")
    )
    with transaction() as session:
        return [(grid_id, role, state) for grid_id, role, state in session.execute(query)]
