"""Rejected work that was paid after all: its answers are learned from again.

A platform may pay by itself after a refused or late rejection, or a requester may approve what they
rejected. In each case the payment's state says it, so one sweep finds them all. It locks the
campaign first, which nobody who settles a payment could do.
"""

import logging
from uuid import UUID

from sqlalchemy import select

from app.annotation.asking_again import take_back_assignment
from app.annotation.models import Assignment
from app.campaigns.locks import locked_campaign
from app.core.database import locked, transaction
from app.core.sweeps import is_passing
from app.recruitment.models import Payment

logger = logging.getLogger(__name__)
AT_ONCE = 100


def take_back_paid_work() -> int:
    """Take back assignments that are left out although their reward is paid, each in a transaction
    of its own, and return how many. One that fails is tried again by the next sweep."""
    taken_back = 0
    for campaign_id, assignment_id in _paid():
        try:
            _take_back(campaign_id, assignment_id)
            taken_back += 1
        except Exception as error:
            if is_passing(error):
                raise
            logger.exception("work %s was paid and could not be taken back", assignment_id)
    return taken_back


def _paid() -> list[tuple[UUID, UUID]]:
    is_paid = select(Payment.id).where(
        Payment.assignment_id == Assignment.id, Payment.rule == "reward", Payment.state == "paid"
    )
    query = (
        select(Assignment.campaign_id, Assignment.id)
        .where(Assignment.left_out_at.is_not(None), is_paid.exists())
        .limit(AT_ONCE)
    )
    with transaction() as session:
        return [(campaign, assignment) for campaign, assignment in session.execute(query)]


def _take_back(campaign_id: UUID, assignment_id: UUID) -> None:
    with transaction() as session:
        campaign = locked_campaign(session, campaign_id)
        assignment = locked(session, Assignment, assignment_id)
        take_back_assignment(session, campaign, assignment)
