"""The page with a requester's platform accounts. It works without JavaScript."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.routes import Paying, SignedIn
from app.core.errors import LikewiseError
from app.core.web import DatabaseSession, templates
from app.recruitment import accounts
from app.recruitment.ledger import in_money
from app.recruitment.registry import TITLES
from app.recruitment.schemas import Platform

pages = APIRouter(include_in_schema=False)
ADDRESS = "/account/platforms"
# Descriptions of the environments, for the form where people choose one.
ENVIRONMENTS = {
    "production": "production: people are paid real money",
    "sandbox": "sandbox: play money for testing",
    "custom": "this server's own endpoint",
}
FIELDS = {
    "access_key_id": "Access key ID",
    "secret_access_key": "Secret access key",
    "token": "API token",
}
Key = Annotated[str, Form(max_length=500)]


@pages.get(ADDRESS, response_class=HTMLResponse)
def platforms_page(request: Request, session: DatabaseSession, account: SignedIn) -> Response:
    return _page(request, session, account)


@pages.post(ADDRESS, response_class=HTMLResponse)
def add_account(
    request: Request,
    session: DatabaseSession,
    account: Paying,
    channel: Annotated[Platform, Form()],
    environment: Annotated[Literal["production", "sandbox", "custom"], Form()],
    name: Annotated[str, Form(max_length=100)] = "",
    access_key_id: Key = "",
    secret_access_key: Key = "",
    token: Key = "",
    credentials: Annotated[Literal["entered", "server"], Form()] = "entered",
    profile: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Add an account. After a mistake, the form is shown again with the entered values, except the
    secrets."""
    sent = {
        "access_key_id": access_key_id,
        "secret_access_key": secret_access_key,
        "token": token,
    }
    try:
        with session.begin_nested():
            accounts.add_account(
                session,
                account,
                channel=channel,
                name=name or TITLES[channel],
                environment=environment,
                secret=None if credentials == "server" else _secret(channel, sent),
                profile=profile,
            )
    except LikewiseError as error:
        filled = {
            "channel": channel,
            "environment": environment,
            "name": name,
            "credentials": credentials,
            "profile": profile,
        }
        return _page(request, session, account, error, filled)
    return RedirectResponse(ADDRESS, status_code=303)


def _secret(channel: str, sent: dict[str, str]) -> dict[str, str]:
    return {field: sent[field] for field in accounts.SECRETS[channel]}


@pages.post(ADDRESS + "/{channel_account_id}/secret", response_class=HTMLResponse)
def renew_secret(
    request: Request,
    session: DatabaseSession,
    account: Paying,
    channel_account_id: UUID,
    access_key_id: Key = "",
    secret_access_key: Key = "",
    token: Key = "",
) -> Response:
    channel_account = accounts.get_account(session, account, channel_account_id)
    sent = {
        "access_key_id": access_key_id,
        "secret_access_key": secret_access_key,
        "token": token,
    }
    try:
        with session.begin_nested():
            accounts.renew_secret(
                session, account, channel_account.id, _secret(channel_account.channel, sent)
            )
    except LikewiseError as error:
        return _page(request, session, account, error)
    return RedirectResponse(ADDRESS, status_code=303)


@pages.post(ADDRESS + "/{channel_account_id}/remove", response_class=HTMLResponse)
def remove_account(
    request: Request, session: DatabaseSession, account: Paying, channel_account_id: UUID
) -> Response:
    channel_account = accounts.get_account(session, account, channel_account_id)
    try:
        with session.begin_nested():
            accounts.remove_account(session, account, channel_account.id)
    except LikewiseError as error:
        return _page(request, session, account, error)
    return RedirectResponse(ADDRESS, status_code=303)


@pages.post(ADDRESS + "/{channel_account_id}/check")
def check_account(
    session: DatabaseSession, account: SignedIn, channel_account_id: UUID
) -> Response:
    """Check the account on the platform. The result is stored with the account and shown on the
    page."""
    channel_account = accounts.get_account(session, account, channel_account_id)
    account_id, channel_account_id = account.id, channel_account.id
    # No transaction stays open while the platform is asked.
    session.commit()
    accounts.check_account(account_id, channel_account_id)
    return RedirectResponse(f"{ADDRESS}#account-{channel_account_id}", status_code=303)


def _page(
    request: Request,
    session: Session,
    account: Account,
    error: LikewiseError | None = None,
    form: dict[str, str] | None = None,
) -> Response:
    context = {
        "account": account,
        "accounts": accounts.list_accounts(session, account),
        "error": error,
        "form": form or {},
        "titles": TITLES,
        "environments": {channel: accounts.environments(channel) for channel in TITLES},
        "about_environments": ENVIRONMENTS,
        "fields": {
            channel: {field: FIELDS[field] for field in accounts.SECRETS[channel]}
            for channel in TITLES
        },
        "in_money": in_money,
    }
    status = error.status if error else 200
    page = "recruitment/platforms.html"
    return templates.TemplateResponse(request, page, context, status_code=status)
