"""Events of campaigns that programs hear of through webhooks."""

from typing import Any
from uuid import UUID

from sqlalchemy import literal, select, union_all
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign, Share
from app.core.row_security import bypass_row_security
from app.jobs import hooks as jobs
from app.webhooks.events import Event, notify


def announce(session: Session, event: Event, campaign_id: UUID, **details: Any) -> None:
    """Notify the webhooks of everybody who may see the campaign. `details` must be JSON."""
    # What one of them does is sent to the webhooks of the others, too.
    with bypass_row_security(session):
        campaign = session.get_one(Campaign, campaign_id)
        shared_with = select(Share.account_id).where(Share.campaign_id == campaign.id)
        everybody = union_all(select(literal(campaign.owner_id)), shared_with).subquery()
        about = {"id": str(campaign.id), "name": campaign.name, "state": campaign.state}
        notify(session, event, campaign.id, select(everybody.c[0]), {"campaign": about, **details})


@jobs.job_failed.answered_by
def announce_failed_job(session: Session, campaign_id: UUID, job: dict[str, Any]) -> None:
    announce(session, "job.failed", campaign_id, job=job)
