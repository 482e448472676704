"""API of webhooks."""

from uuid import UUID

from fastapi.responses import Response

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.webhooks import service
from app.webhooks.models import Delivery, Webhook
from app.webhooks.schemas import (
    CreatedWebhook,
    DeliveryOut,
    NewWebhook,
    SecretOut,
    WebhookChange,
    WebhookOut,
)

api = api_router("/webhooks", "webhooks")


@api.post("", status_code=201)
def create_webhook(
    body: NewWebhook, session: DatabaseSession, account: SignedIn, response: Response
) -> CreatedWebhook:
    """Send events to an address. The response contains the secret, which is shown only once."""
    webhook, secret = service.create_webhook(
        session, account, body.url, body.events, body.campaign_id
    )
    response.headers["Location"] = f"/api/v1/webhooks/{webhook.id}"
    return CreatedWebhook(**WebhookOut.of(webhook).model_dump(), secret=secret)


@api.get("")
def list_webhooks(session: DatabaseSession, account: SignedIn, paging: Paged) -> Page[WebhookOut]:
    """List your webhooks, newest first."""
    rows = paging.rows(session, service.webhooks_of(account), Webhook.id, newest_first=True)
    return paging.page([WebhookOut.of(webhook) for (webhook,) in rows])


@api.get("/{webhook_id}")
def get_webhook(webhook_id: UUID, session: DatabaseSession, account: SignedIn) -> WebhookOut:
    """Return one webhook."""
    return WebhookOut.of(service.get_webhook(session, account, webhook_id))


@api.patch("/{webhook_id}")
def change_webhook(
    webhook_id: UUID, body: WebhookChange, session: DatabaseSession, account: SignedIn
) -> WebhookOut:
    """Change the address or the events of a webhook, or disable or enable it."""
    webhook = service.get_webhook(session, account, webhook_id)
    service.change_webhook(session, account, webhook, service.Change(**body.model_dump()))
    return WebhookOut.of(webhook)


@api.delete("/{webhook_id}", status_code=204)
def delete_webhook(webhook_id: UUID, session: DatabaseSession, account: SignedIn) -> Response:
    """Delete a webhook with its log. Deliveries that are still waiting are not sent."""
    webhook = service.get_webhook(session, account, webhook_id)
    service.delete_webhook(session, account, webhook)
    return Response(status_code=204)


@api.post("/{webhook_id}/secret")
def renew_webhook_secret(
    webhook_id: UUID, session: DatabaseSession, account: SignedIn
) -> SecretOut:
    """Create a new secret. The old one signs nothing from now on."""
    webhook = service.get_webhook(session, account, webhook_id)
    return SecretOut(secret=service.renew_secret(session, account, webhook))


@api.post("/{webhook_id}/ping", status_code=202)
def ping_webhook(webhook_id: UUID, session: DatabaseSession, account: SignedIn) -> DeliveryOut:
    """Send a `ping` event, to test whether the receiver is reachable and checks signatures."""
    webhook = service.get_webhook(session, account, webhook_id)
    return DeliveryOut.of(service.ping_webhook(session, webhook))


@api.get("/{webhook_id}/deliveries")
def list_deliveries(
    webhook_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[DeliveryOut]:
    """List the deliveries of the last thirty days with their results, newest first."""
    webhook = service.get_webhook(session, account, webhook_id)
    rows = paging.rows(session, service.deliveries_of(webhook), Delivery.id, newest_first=True)
    return paging.page([DeliveryOut.of(delivery) for (delivery,) in rows])


@api.get("/{webhook_id}/deliveries/{delivery_id}")
def get_delivery(
    webhook_id: UUID, delivery_id: UUID, session: DatabaseSession, account: SignedIn
) -> DeliveryOut:
    """Return one delivery with all its attempts."""
    webhook = service.get_webhook(session, account, webhook_id)
    return DeliveryOut.of(service.get_delivery(session, webhook, delivery_id))


@api.post("/{webhook_id}/deliveries/{delivery_id}/redeliver", status_code=202)
def redeliver(
    webhook_id: UUID, delivery_id: UUID, session: DatabaseSession, account: SignedIn
) -> DeliveryOut:
    """Send a delivery again now, whether or not it was delivered before."""
    webhook = service.get_webhook(session, account, webhook_id)
    return DeliveryOut.of(service.redeliver(session, webhook, delivery_id))
