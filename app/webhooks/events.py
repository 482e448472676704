"""The events sent to programs: one call, in the transaction in which the event happens.

A delivery is a row of that transaction, so no event is lost, and none is sent that did not happen.
"""

import json
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from uuid import UUID

from sqlalchemy import any_, func, literal, or_, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.campaigns.models import Campaign, Share
from app.core.outbox import NOTIFY_CHANNEL
from app.core.wall import beyond_the_wall
from app.webhooks.models import Delivery, Webhook

Event = Literal["round.finished", "campaign.finished", "job.failed"]
EVENTS: tuple[Event, ...] = get_args(Event)
PING = "ping"


def announce(session: Session, event: Event, campaign_id: UUID, **details: Any) -> None:
    """Notify the webhooks of everyone who can see the campaign. `details` must be JSON."""
    # One account's action also notifies the webhooks of others.
    with beyond_the_wall(session):
        _tell(session, event, session.get_one(Campaign, campaign_id), details)


def _tell(session: Session, event: Event, campaign: Campaign, details: dict[str, Any]) -> None:
    shared_with = select(Share.account_id).where(Share.campaign_id == campaign.id)
    told = session.scalars(
        select(Webhook)
        .join(Account, Webhook.account_id == Account.id)
        .where(
            Webhook.disabled_at.is_(None),
            literal(event) == any_(Webhook.events),
            or_(Webhook.campaign_id.is_(None), Webhook.campaign_id == campaign.id),
            or_(Account.id == campaign.owner_id, Account.id.in_(shared_with)),
            Account.disabled_at.is_(None),
        )
    ).all()
    about = {"id": str(campaign.id), "name": campaign.name, "state": campaign.state}
    for webhook in told:
        deliver(session, webhook, event, {"campaign": about, **details})


def deliver(session: Session, webhook: Webhook, event: str, data: dict[str, Any]) -> Delivery:
    """Send `data` once the transaction commits."""
    now = datetime.now(UTC)
    body = {"type": event, "timestamp": now.isoformat(), "data": data}
    text = json.dumps(body, ensure_ascii=False)
    delivery = Delivery(webhook_id=webhook.id, event=event, body=text, due_at=now)
    session.add(delivery)
    session.flush()
    session.execute(func.pg_notify(NOTIFY_CHANNEL, "").select())
    return delivery
