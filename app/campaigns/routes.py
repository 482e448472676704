"""API of campaigns."""

from uuid import UUID

from fastapi.responses import Response

from app.accounts.api import api_router
from app.accounts.models import Account
from app.accounts.routes import SignedIn
from app.campaigns import changes, service
from app.campaigns.models import Campaign
from app.campaigns.schemas import (
    CampaignChanges,
    CampaignOut,
    NewCampaign,
    ShareIn,
    ShareOut,
)
from app.campaigns.sharing import SharedWith, end_share, share_campaign, shares_of
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession

api = api_router("/campaigns", "campaigns")


@api.post("", status_code=201)
def create_campaign(
    body: NewCampaign, session: DatabaseSession, account: SignedIn, response: Response
) -> CampaignOut:
    """Create a campaign for a collection, as a draft."""
    campaign = service.create_campaign(session, account, body)
    response.headers["Location"] = f"/api/v1/campaigns/{campaign.id}"
    return CampaignOut.of(campaign)


@api.get("")
def list_campaigns(
    session: DatabaseSession, account: SignedIn, paging: Paged, archived: bool = False
) -> Page[CampaignOut]:
    """List the campaigns that you own or that are shared with you, the newest first. You can list
    either the archived ones or the others."""
    query = service.campaigns_of(account, archived=archived)
    rows = paging.rows(session, query, Campaign.id, newest_first=True)
    return paging.page([CampaignOut.of(campaign) for (campaign,) in rows])


@api.get("/{campaign_id}")
def get_campaign(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> CampaignOut:
    """Return one campaign with its settings, counts and link for annotators."""
    return CampaignOut.of(service.get_campaign(session, account, campaign_id))


@api.patch("/{campaign_id}")
def change_campaign(
    campaign_id: UUID, body: CampaignChanges, session: DatabaseSession, account: SignedIn
) -> CampaignOut:
    """Change a campaign. In a draft you can change everything, in a started campaign only some
    fields."""
    values = body.model_dump(exclude_unset=True)
    return CampaignOut.of(changes.change_campaign(session, account, campaign_id, values))


@api.delete("/{campaign_id}", status_code=204)
def delete_draft(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> Response:
    """Delete a draft."""
    changes.delete_draft(session, account, campaign_id)
    return Response(status_code=204)


@api.post("/{campaign_id}/clone", status_code=201)
def clone_campaign(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, response: Response
) -> CampaignOut:
    """Create a draft with the same plan."""
    campaign = changes.clone_campaign(session, account, campaign_id)
    response.headers["Location"] = f"/api/v1/campaigns/{campaign.id}"
    return CampaignOut.of(campaign)


@api.get("/{campaign_id}/shares")
def list_shares(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
) -> Page[ShareOut]:
    """List the accounts that a campaign is shared with, by e-mail address."""
    campaign = service.get_campaign(session, account, campaign_id)
    rows = paging.rows(session, shares_of(campaign), Account.email)
    return paging.page([ShareOut(**vars(SharedWith.of(*row))) for row in rows])


@api.put("/{campaign_id}/shares", status_code=204, name="share_campaign")
def share(
    campaign_id: UUID, body: ShareIn, session: DatabaseSession, account: SignedIn
) -> Response:
    """Let another requester view or edit the campaign."""
    campaign = service.get_campaign(session, account, campaign_id)
    share_campaign(session, account, campaign, body.email, body.access)
    return Response(status_code=204)


@api.delete("/{campaign_id}/shares/{account_id}", status_code=204, name="end_share")
def unshare(
    campaign_id: UUID, account_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Stop sharing with one account."""
    campaign = service.get_campaign(session, account, campaign_id)
    end_share(session, account, campaign, account_id)
    return Response(status_code=204)
