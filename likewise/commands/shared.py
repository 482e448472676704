"""Helpers of several commands."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import account_by_email
from app.campaigns.models import Campaign
from app.core.errors import NotFound


def owner_of(session: Session, email: str) -> Account:
    """The account with this address, or the first account when none is given."""
    if email:
        return account_by_email(session, email)
    account = session.scalar(select(Account).order_by(Account.created_at).limit(1))
    if account is None:
        raise NotFound("There is no account yet. Create one with `likewise user add EMAIL`.")
    return account


def find_campaign(session: Session, name_or_id: str) -> Campaign:
    """A campaign by id, or by name when only one has it; raises NotFound."""
    try:
        found = session.get(Campaign, UUID(name_or_id))
        campaigns = [found] if found else []
    except ValueError:
        query = select(Campaign).where(Campaign.name == name_or_id)
        campaigns = list(session.scalars(query))
    if len(campaigns) != 1:
        raise NotFound(
            f"{len(campaigns)} campaigns are called {name_or_id!r}; give the id from its address."
            if campaigns
            else f"There is no campaign {name_or_id!r}."
        )
    return campaigns[0]
