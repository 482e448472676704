"""Bodies of the webhooks API."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.core.fields import StrictBool
from app.webhooks.events import EVENTS, PING, Event
from app.webhooks.models import Delivery, Webhook

event_router = APIRouter()
URL = "https://example.org/likewise"


class NewWebhook(BaseModel, extra="forbid"):
    url: str = Field(description="The address to which events are sent by POST.", examples=[URL])
    events: list[Event] = Field(examples=[["campaign.finished", "job.failed"]])
    campaign_id: UUID | None = Field(
        default=None,
        description=(
            "Send only events of this campaign. If left out: events of all campaigns that you "
            "can see."
        ),
    )


class WebhookChange(BaseModel, extra="forbid"):
    """Changes to a webhook. Fields that are left out keep their values."""

    url: str | None = Field(default=None, examples=[URL])
    events: list[Event] | None = None
    enabled: StrictBool | None = None


class WebhookOut(BaseModel):
    id: UUID
    url: str
    events: list[str]
    campaign_id: UUID | None
    enabled: bool
    disabled_because: str
    created_at: datetime

    @classmethod
    def of(cls, webhook: Webhook) -> "WebhookOut":
        return cls(
            id=webhook.id,
            url=webhook.url,
            events=webhook.events,
            campaign_id=webhook.campaign_id,
            enabled=webhook.disabled_at is None,
            disabled_because=webhook.disabled_because,
            created_at=webhook.created_at,
        )


class SecretOut(BaseModel):
    secret: str = Field(description="The key for checking signatures. It is shown only once.")


class CreatedWebhook(WebhookOut, SecretOut):
    pass


class AttemptOut(BaseModel):
    """One attempt to deliver. `status` is the HTTP status, null when there was no response; `said`
    is the beginning of the response, or the error."""

    at: datetime
    status: int | None
    said: str
    seconds: float


class DeliveryOut(BaseModel):
    """One delivery. `webhook_id_header` is the value of the header `webhook-id`, which is the same
    at every attempt."""

    id: UUID
    webhook_id_header: str
    event: str
    state: Literal["pending", "delivered", "failed"]
    created_at: datetime
    due_at: datetime | None = Field(
        description="Time of the next attempt; null when the delivery has ended."
    )
    body: str
    attempts: list[AttemptOut]

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryOut":
        return cls.model_validate(
            {
                "id": delivery.id,
                "webhook_id_header": f"msg_{delivery.id.hex}",
                "event": delivery.event,
                "state": delivery.state,
                "created_at": delivery.created_at,
                "due_at": delivery.due_at if delivery.state == "pending" else None,
                "body": delivery.body,
                "attempts": delivery.history,
            }
        )


class EventOut(BaseModel):
    """An event that is sent. `data` is `webhook` for `ping`. For all other events it is `campaign`
    (`id`, `name`, `state`) and one of `round` (`number`, `answers`), `answers`, or `job` (`id`,
    `kind`, `attempts`, `error`)."""

    type: Literal["round.finished", "campaign.finished", "job.failed", "ping"]
    timestamp: datetime
    data: dict[str, Any]


def _receive_event(body: EventOut) -> None:
    """Likewise sends this event, signed as described under webhooks."""


for _event in (*EVENTS, PING):
    event_router.add_api_route(
        _event, _receive_event, methods=["POST"], tags=["webhooks"], name=f"on_{_event}"
    )
