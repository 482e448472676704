"""Helpers that several commands share."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import account_by_email
from app.campaigns.models import Campaign
from app.core.errors import NotFound


def owner_of(session: Session, email: str) -> Account:
    """The account with this e-mail address, or the first account if the address is empty."""
    if email:
        return account_by_email(session, email)
    account = session.scalar(select(Account).order_by(Account.created_at).limit(1))
    if account is None:
        raise NotFound("No account exists yet. Create one with `likewise user add EMAIL`.")
    return account


def find_campaign(session: Session, name_or_id: str) -> Campaign:
    """The campaign with this id, or with this name if only one has it; raises NotFound."""
    try:
        campaign = session.get(Campaign, UUID(name_or_id))
        campaigns = [campaign] if campaign else []
    except ValueError:
        query = select(Campaign).where(Campaign.name == name_or_id)
        campaigns = list(session.scalars(query))
    if len(campaigns) != 1:
        raise NotFound(
            f"{len(campaigns)} campaigns are named {name_or_id!r}. Use the id from its address."
            if campaigns
            else f"No campaign has the name or id {name_or_id!r}."
        )
    return campaigns[0]
