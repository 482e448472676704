"""The page with a requester's platform accounts. It works without JavaScript."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.routes import Paying, SignedIn
from app.core.errors import InvalidInput, LikewiseError
from app.core.web import DatabaseSession, templates
from app.recruitment import accounts
from app.recruitment.channels.registry import all_channels, get_channel
from app.recruitment.ledger import in_money

pages = APIRouter(include_in_schema=False)
ADDRESS = "/account/platforms"
# Descriptions of the environments, for the form where people choose one.
ENVIRONMENTS = {
    "production": "production: people are paid real money",
    "sandbox": "sandbox: play money for testing",
    "custom": "this server's own endpoint",
}
MOST_CHARACTERS = 500


async def _sent_secrets(request: Request) -> dict[str, str]:
    """Return the credentials of the form, by the names that any channel gives its own. Raises
    InvalidInput."""
    form = await request.form()
    names = {name for channel in all_channels() for name in channel.secrets}
    sent = {name: value for name, value in form.items() if name in names}
    for name, value in sent.items():
        if not isinstance(value, str) or len(value) > MOST_CHARACTERS:
            raise InvalidInput(f"{name} must be text of at most {MOST_CHARACTERS} characters.")
    return {name: value for name, value in sent.items() if isinstance(value, str)}


SentSecrets = Annotated[dict[str, str], Depends(_sent_secrets)]


@pages.get(ADDRESS, response_class=HTMLResponse)
def platforms_page(request: Request, session: DatabaseSession, account: SignedIn) -> Response:
    return _page(request, session, account)


@pages.post(ADDRESS, response_class=HTMLResponse)
def add_account(
    request: Request,
    session: DatabaseSession,
    account: Paying,
    sent: SentSecrets,
    channel: Annotated[str, Form(max_length=20)],
    environment: Annotated[Literal["production", "sandbox", "custom"], Form()],
    name: Annotated[str, Form(max_length=100)] = "",
    credentials: Annotated[Literal["entered", "server"], Form()] = "entered",
    profile: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Add an account. After a mistake, the form is shown again with the entered values, except the
    secrets."""
    try:
        with session.begin_nested():
            accounts.add_account(
                session,
                account,
                channel=channel,
                name=name or get_channel(channel).title,
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
    return {field: sent.get(field, "") for field in get_channel(channel).secrets}


@pages.post(ADDRESS + "/{channel_account_id}/secret", response_class=HTMLResponse)
def renew_secret(
    request: Request,
    session: DatabaseSession,
    account: Paying,
    channel_account_id: UUID,
    sent: SentSecrets,
) -> Response:
    channel_account = accounts.get_account(session, account, channel_account_id)
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
        "channels": all_channels(),
        "titles": {channel.name: channel.title for channel in all_channels()},
        "secrets_of": {channel.name: channel.secrets for channel in all_channels()},
        "about_environments": ENVIRONMENTS,
        "in_money": in_money,
    }
    status = error.status if error else 200
    page = "recruitment/platforms.html"
    return templates.TemplateResponse(request, page, context, status_code=status)
