"""Campaigns as webhooks know them."""

from uuid import UUID

from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign, list_campaigns
from app.webhooks import hooks


@hooks.require_campaign.answered_by
def require_campaign(session: Session, account: Account, campaign_id: UUID) -> None:
    """Raises NotFound unless the account may see the campaign."""
    get_campaign(session, account, campaign_id)


@hooks.campaigns.answered_by
def campaigns_to_choose(session: Session, account: Account) -> list[hooks.Choice]:
    """The campaigns that this account sees in its list."""
    return [
        hooks.Choice(campaign.id, campaign.name) for campaign in list_campaigns(session, account)
    ]


@hooks.name_of_campaign.answered_by
def name_of_campaign(session: Session, campaign_id: UUID) -> str | None:
    """None for a campaign that is not visible to this account any more."""
    campaign = session.get(Campaign, campaign_id)
    return campaign.name if campaign is not None else None
