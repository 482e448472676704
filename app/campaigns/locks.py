"""The row lock of a campaign.

Answers are submitted to a campaign all the time, and each submission locks its grid, answer and
assignment first and the campaign's row last, only to count. To lock them the other way round could
make two transactions wait for each other. A transaction that locks a campaign's row in order to
change more than that therefore waits first until no submission is under way; submissions share that
lock (app/annotation/held.py).
"""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.database import advisory_lock, locked


def keep_out_submissions(session: Session, campaign_id: UUID) -> None:
    """Wait until no answer is being submitted to a campaign, and let others wait until this
    transaction ends. Comes before all row locks of the campaign and what belongs to it."""
    session.execute(select(advisory_lock(campaign_id)))


def locked_campaign(session: Session, campaign_id: UUID) -> Campaign:
    """Return a campaign, read again with its row locked, while no answer is being submitted to it.
    Raises `sqlalchemy.exc.NoResultFound`."""
    keep_out_submissions(session, campaign_id)
    return locked(session, Campaign, campaign_id)
