"""What webhooks ask the rooms above them about campaigns (see `app.core.hooks`)."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.core.hooks import Hook


@dataclass(frozen=True)
class Choice:
    """A campaign that events can be limited to."""

    id: UUID
    name: str


# Raises NotFound unless the account may see the campaign.
require_campaign: Hook[[Session, Account, UUID], None] = Hook("webhooks.require_campaign")
# The campaigns that an account may choose.
campaigns: Hook[[Session, Account], list[Choice]] = Hook("webhooks.campaigns")
# The name of a campaign; None where it is not visible.
name_of_campaign: Hook[[Session, UUID], str | None] = Hook("webhooks.name_of_campaign")
