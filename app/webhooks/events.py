"""The events sent to programs: one call, in the transaction in which the event happens.

A delivery is a row of that transaction, so no event is lost, and none is sent that did not happen.
"""

import json
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from uuid import UUID

from sqlalchemy import Select, any_, func, literal, or_, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.core.outbox import NOTIFY_CHANNEL
from app.webhooks.models import Delivery, Webhook

Event = Literal["round.finished", "campaign.finished", "job.failed"]
EVENTS: tuple[Event, ...] = get_args(Event)
PING = "ping"


def notify(
    session: Session,
    event: Event,
    campaign: UUID,
    accounts: Select[UUID],
    data: dict[str, Any],
) -> None:
    """Send `data` to the webhooks of these accounts that want events of this campaign.

    `data` must be JSON. Disabled webhooks and accounts are left out.
    """
    wanted = session.scalars(
        select(Webhook)
        .join(Account, Webhook.account_id == Account.id)
        .where(
            Webhook.disabled_at.is_(None),
            literal(event) == any_(Webhook.events),
            or_(Webhook.campaign_id.is_(None), Webhook.campaign_id == campaign),
            Account.id.in_(accounts),
            Account.disabled_at.is_(None),
        )
    ).all()
    for webhook in wanted:
        deliver(session, webhook, event, data)


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
