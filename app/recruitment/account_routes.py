"""API of a requester's platform accounts."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy import select

from app.accounts.api import api_router
from app.accounts.routes import Paying, SignedIn
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.recruitment import accounts
from app.recruitment.models import ChannelAccount

# The name of a channel, as in `GET …/recruiting/options`.
Platform = Annotated[str, Field(max_length=20)]
api = api_router("/channel-accounts", "recruitment")


class NewChannelAccount(BaseModel, extra="forbid"):
    """A platform account to add. `secret` has `access_key_id` and `secret_access_key` for mturk, or
    `token` for prolific. If an admin leaves it out, the server's own environment or AWS profile is
    used."""

    channel: Platform
    name: str = Field(default="", max_length=100)
    environment: Literal["production", "sandbox", "custom"]
    secret: dict[str, str] | None = None
    profile: str = Field(default="", max_length=100)


class NewSecret(BaseModel, extra="forbid"):
    secret: dict[str, str]


class CheckedOut(BaseModel):
    """What the platform reported about the account."""

    balance_cents: int | None
    currency: str
    who: str
    problems: list[str]
    warnings: list[str]


class ChannelAccountOut(BaseModel):
    """A platform account. Its credentials are never returned."""

    id: UUID
    channel: str
    name: str
    environment: str
    source: str
    checked: CheckedOut | None
    checked_at: datetime | None
    created_at: datetime

    @classmethod
    def of(cls, channel_account: ChannelAccount) -> "ChannelAccountOut":
        return cls(
            id=channel_account.id,
            channel=channel_account.channel,
            name=channel_account.name,
            environment=channel_account.environment,
            source=channel_account.source,
            checked=CheckedOut.model_validate(channel_account.checked)
            if channel_account.checked
            else None,
            checked_at=channel_account.checked_at,
            created_at=channel_account.created_at,
        )


@api.post("", status_code=201)
def add_channel_account(
    body: NewChannelAccount, session: DatabaseSession, account: Paying, response: Response
) -> ChannelAccountOut:
    """Store the credentials of an account on MTurk or Prolific, encrypted."""
    added = accounts.add_account(session, account, **body.model_dump())
    response.headers["Location"] = f"/api/v1/channel-accounts/{added.id}"
    return ChannelAccountOut.of(added)


@api.get("")
def list_channel_accounts(
    session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[ChannelAccountOut]:
    """List your platform accounts, the newest first."""
    query = select(ChannelAccount).where(ChannelAccount.account_id == account.id)
    rows = paging.rows(session, query, ChannelAccount.id, newest_first=True)
    return paging.page([ChannelAccountOut.of(channel_account) for (channel_account,) in rows])


@api.get("/{channel_account_id}")
def get_channel_account(
    channel_account_id: UUID, session: DatabaseSession, account: SignedIn
) -> ChannelAccountOut:
    """Return one of your platform accounts."""
    return ChannelAccountOut.of(accounts.get_account(session, account, channel_account_id))


@api.put("/{channel_account_id}/secret")
def renew_secret(
    channel_account_id: UUID, body: NewSecret, session: DatabaseSession, account: Paying
) -> ChannelAccountOut:
    """Replace the credentials of a platform account."""
    return ChannelAccountOut.of(
        accounts.renew_secret(session, account, channel_account_id, body.secret)
    )


@api.delete("/{channel_account_id}", status_code=204)
def remove_channel_account(
    channel_account_id: UUID, session: DatabaseSession, account: Paying
) -> Response:
    """Delete a platform account that no campaign has recruited with."""
    accounts.remove_account(session, account, channel_account_id)
    return Response(status_code=204)


@api.post("/{channel_account_id}/check")
def check_channel_account(
    channel_account_id: UUID, session: DatabaseSession, account: SignedIn
) -> CheckedOut:
    """Ask the platform whether the account works: its balance, its permissions and what is
    missing."""
    accounts.get_account(session, account, channel_account_id)
    # The platform may respond slowly, so no database connection is held in the meantime.
    session.close()
    return CheckedOut.model_validate(accounts.check_account(account.id, channel_account_id))
