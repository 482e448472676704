"""Creates, changes, tests and deletes webhooks."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.guard import is_public
from app.core.outbox import NOTIFY_CHANNEL
from app.core.security import encrypt
from app.core.settings import get_settings
from app.webhooks import hooks
from app.webhooks.events import EVENTS, PING, deliver
from app.webhooks.guard import ForbiddenAddress
from app.webhooks.models import Delivery, Webhook
from app.webhooks.signing import new_secret

PURPOSE = "webhook-secret"
MOST = 20


@dataclass(frozen=True)
class Change:
    """Changes to a webhook; None leaves a value as it is."""

    url: str | None = None
    events: Sequence[str] | None = None
    enabled: bool | None = None


def create_webhook(
    session: Session,
    account: Account,
    url: str,
    events: Sequence[str],
    campaign_id: UUID | None = None,
) -> tuple[Webhook, str]:
    """Create a webhook, and return it with its secret, which is shown only once.

    Raises InvalidInput, NotFound for a campaign that the account cannot see, Conflict.
    """
    if campaign_id is not None:
        hooks.require_campaign(session, account, campaign_id)
    query = select(func.count()).where(Webhook.account_id == account.id)
    if (session.scalar(query) or 0) >= MOST:
        raise Conflict(f"An account can have at most {MOST} webhooks. Delete one first.")
    secret = new_secret()
    webhook = Webhook(
        account_id=account.id,
        campaign_id=campaign_id,
        url=checked_url(url),
        events=_checked_events(events),
        secret=encrypt(PURPOSE, secret.encode()),
    )
    session.add(webhook)
    session.flush()
    record_audit(session, account.id, "webhook.created", "webhook", webhook.id)
    return webhook, secret


def checked_url(text: str) -> str:
    """Return the address, if webhooks may be sent there, as far as that is known without resolving
    the host name.

    Raises InvalidInput or ForbiddenAddress.
    """
    text = text.strip()
    private = get_settings().webhooks_to_private
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise InvalidInput(f"This is not a valid address: {error}.", code="bad_url") from error
    schemes = ("https", "http") if private else ("https",)
    if parts.scheme not in schemes or not host or len(text) > 2000 or not text.isascii():
        raise InvalidInput(
            f"The address must start with {' or '.join(schemes)}:// and a host, in ASCII, "
            "with at most 2,000 characters.",
            code="bad_url",
        )
    if (
        parts.username is not None
        or parts.fragment
        or any(character.isspace() for character in text)
    ):
        raise InvalidInput(
            "The address cannot contain a user name, a password, # or spaces.", code="bad_url"
        )
    if not private and (host == "localhost" or _is_private_literal(host)):
        raise ForbiddenAddress(f"{host} is in a private network. Use a public address.")
    return text


def _is_private_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return not is_public(host)


def _checked_events(events: Sequence[str]) -> list[str]:
    unknown = sorted(set(events) - set(EVENTS))
    if unknown or not events:
        raise InvalidInput(
            f"Choose one or more of these events: {', '.join(EVENTS)}"
            + (f"; there is no event {unknown[0]!r}." if unknown else "."),
            code="unknown_event",
        )
    return [event for event in EVENTS if event in events]


def webhooks_of(account: Account) -> Select[Webhook]:
    return select(Webhook).where(Webhook.account_id == account.id)


def list_webhooks(session: Session, account: Account) -> list[Webhook]:
    """List the account's webhooks, newest first."""
    return list(session.scalars(webhooks_of(account).order_by(Webhook.id.desc())))


def get_webhook(session: Session, account: Account, webhook_id: UUID) -> Webhook:
    """Return the account's webhook; raises NotFound, also for another account's."""
    webhook = session.get(Webhook, webhook_id)
    if webhook is None or webhook.account_id != account.id:
        raise NotFound("This webhook does not exist.")
    return webhook


def change_webhook(session: Session, account: Account, webhook: Webhook, change: Change) -> None:
    """Change address or events, disable or enable. Raises InvalidInput."""
    if change.url is not None:
        webhook.url = checked_url(change.url)
    if change.events is not None:
        webhook.events = _checked_events(change.events)
    if change.enabled is not None:
        webhook.disabled_at = None if change.enabled else datetime.now(UTC)
        webhook.disabled_because = ""
    record_audit(session, account.id, "webhook.changed", "webhook", webhook.id)


def renew_secret(session: Session, account: Account, webhook: Webhook) -> str:
    """Create a new secret, which is shown only once. The old one signs nothing from now on."""
    secret = new_secret()
    webhook.secret = encrypt(PURPOSE, secret.encode())
    record_audit(session, account.id, "webhook.secret_renewed", "webhook", webhook.id)
    return secret


def delete_webhook(session: Session, account: Account, webhook: Webhook) -> None:
    """Delete a webhook with its log. Waiting deliveries are not sent."""
    record_audit(session, account.id, "webhook.deleted", "webhook", webhook.id)
    session.delete(webhook)


def ping_webhook(session: Session, webhook: Webhook) -> Delivery:
    """Send a `ping` event, to test whether the receiver is reachable and checks signatures."""
    _require_enabled(webhook)
    return deliver(session, webhook, PING, {"webhook": {"id": str(webhook.id)}})


def _require_enabled(webhook: Webhook) -> None:
    if webhook.disabled_at is not None:
        raise Conflict("This webhook is disabled. Enable it first.", code="webhook_disabled")


def deliveries_of(webhook: Webhook) -> Select[Delivery]:
    return select(Delivery).where(Delivery.webhook_id == webhook.id)


def get_delivery(session: Session, webhook: Webhook, delivery_id: UUID) -> Delivery:
    delivery = session.get(Delivery, delivery_id)
    if delivery is None or delivery.webhook_id != webhook.id:
        raise NotFound("This delivery does not exist.")
    return delivery


def redeliver(session: Session, webhook: Webhook, delivery_id: UUID) -> Delivery:
    """Send a delivery again now, with the same `webhook-id`, whether or not it was delivered
    before."""
    _require_enabled(webhook)
    delivery = get_delivery(session, webhook, delivery_id)
    session.refresh(delivery, with_for_update=True)
    delivery.state, delivery.attempts, delivery.ended_at = "pending", 0, None
    delivery.due_at = datetime.now(UTC)
    session.execute(func.pg_notify(NOTIFY_CHANNEL, "").select())
    return delivery
