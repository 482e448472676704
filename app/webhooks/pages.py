"""The page of an account's webhooks, which works without JavaScript."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.routes import SignedIn
from app.core.errors import LikewiseError, NotFound
from app.core.web import DatabaseSession, templates
from app.webhooks import hooks, service
from app.webhooks.events import EVENTS
from app.webhooks.models import Delivery, Webhook
from app.webhooks.service import Change

pages = APIRouter(include_in_schema=False)
ADDRESS = "/account/webhooks"
SHOWN = 20
Action = Literal["ping", "enable", "disable", "secret", "delete"]


@dataclass(frozen=True)
class Shown:
    webhook: Webhook
    campaign: str | None
    deliveries: list[Delivery]


@pages.get(ADDRESS, response_class=HTMLResponse)
def webhooks_page(request: Request, session: DatabaseSession, account: SignedIn) -> Response:
    return _page(request, session, account)


def _campaign_of(text: str) -> UUID | None:
    """Return the campaign chosen in the form; none means all of them. Raises NotFound for an
    invalid id."""
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise NotFound("This campaign does not exist.") from error


@pages.post(ADDRESS, response_class=HTMLResponse)
def add_webhook(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    url: Annotated[str, Form(max_length=3000)],
    events: Annotated[list[str] | None, Form()] = None,
    campaign: Annotated[str, Form()] = "",
) -> Response:
    """Create a webhook, or show the form again, filled in, with the error."""
    chosen = events or []
    try:
        with session.begin_nested():
            about = _campaign_of(campaign)
            webhook, secret = service.create_webhook(session, account, url, chosen, about)
    except LikewiseError as error:
        filled = {"url": url, "events": chosen, "campaign": campaign}
        return _page(request, session, account, error=error, form=filled)
    return _page(request, session, account, secret=secret, secret_of=webhook.id)


@pages.post(ADDRESS + "/{webhook_id}/{action}", response_class=HTMLResponse)
def act_on_webhook(
    request: Request, session: DatabaseSession, account: SignedIn, webhook_id: UUID, action: Action
) -> Response:
    webhook = service.get_webhook(session, account, webhook_id)
    if action == "secret":
        secret = service.renew_secret(session, account, webhook)
        return _page(request, session, account, secret=secret, secret_of=webhook.id)
    if action == "delete":
        service.delete_webhook(session, account, webhook)
    elif action == "ping":
        service.ping_webhook(session, webhook)
    else:
        service.change_webhook(session, account, webhook, Change(enabled=action == "enable"))
    return RedirectResponse(ADDRESS, status_code=303)


@pages.post(ADDRESS + "/{webhook_id}/deliveries/{delivery_id}")
def send_again(
    session: DatabaseSession, account: SignedIn, webhook_id: UUID, delivery_id: UUID
) -> Response:
    webhook = service.get_webhook(session, account, webhook_id)
    service.redeliver(session, webhook, delivery_id)
    return RedirectResponse(ADDRESS, status_code=303)


def _page(
    request: Request,
    session: Session,
    account: Account,
    *,
    error: LikewiseError | None = None,
    form: dict[str, Any] | None = None,
    **shown: Any,
) -> Response:
    context = {
        "account": account,
        "error": error,
        "webhooks": [
            _shown(session, webhook) for webhook in service.list_webhooks(session, account)
        ],
        "campaigns": hooks.campaigns(session, account),
        "events": EVENTS,
        "form": form or {"url": "", "events": EVENTS, "campaign": ""},
        **shown,
    }
    status = error.status if error else 200
    page = "webhooks/webhooks.html"
    return templates.TemplateResponse(request, page, context, status_code=status)


def _shown(session: Session, webhook: Webhook) -> Shown:
    newest = service.deliveries_of(webhook).order_by(Delivery.id.desc()).limit(SHOWN)
    campaign = hooks.name_of_campaign(session, webhook.campaign_id) if webhook.campaign_id else None
    return Shown(webhook, campaign, list(session.scalars(newest)))
