"""API for planning a recruitment: what you can choose, and what it would cost."""

from uuid import UUID

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.web import DatabaseSession
from app.recruitment.channels.registry import all_channels
from app.recruitment.channels.spec import ChannelSpec
from app.recruitment.estimate import estimate_of, sizes_of
from app.recruitment.models import Recruitment
from app.recruitment.remaining_demand import wanted_of
from app.recruitment.schemas import (
    ChannelOptionsOut,
    EstimateIn,
    EstimateOut,
    RecruitingOptionsOut,
)
from app.recruitment.service import currency_of
from app.recruitment.settings import checked_settings

api = api_router("/campaigns/{campaign_id}/recruiting", "recruitment")


@api.get("/options")
def recruiting_options(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> RecruitingOptionsOut:
    """Return what you can choose for recruiting, and how many people the campaign still needs."""
    campaign = get_campaign(session, account, campaign_id)
    wanted = wanted_of(session, campaign)
    return RecruitingOptionsOut(
        channels=[_options(campaign, channel) for channel in all_channels()],
        answers_wanted=wanted.answers,
        places=wanted.places,
        minutes=wanted.minutes,
        reward_cents=campaign.reward_cents,
        grids_per_assignment=campaign.grids_per_assignment,
    )


def _options(campaign: Campaign, channel: ChannelSpec) -> ChannelOptionsOut:
    return ChannelOptionsOut(
        channel=channel.name,
        title=channel.title,
        currency=currency_of(campaign, channel.name),
        settings=channel.settings.model_json_schema(),
        rejection_categories=dict(channel.rejections.categories),
        least_reason=channel.rejections.least,
        posting=channel.posting,
        posting_note=channel.posting_note,
        one_posting=channel.one_posting,
        many_postings=channel.many_postings,
        compensates=channel.compensates,
    )


@api.post("/estimate")
def estimate_recruitment(
    campaign_id: UUID, body: EstimateIn, session: DatabaseSession, account: SignedIn
) -> EstimateOut:
    """Estimate what a recruitment would cost, with fees and bonuses (at most). Nothing is
    stored."""
    campaign = get_campaign(session, account, campaign_id)
    imagined = Recruitment(
        channel=body.channel,
        places=body.places,
        reward_cents=campaign.reward_cents if body.reward_cents is None else body.reward_cents,
        settings=checked_settings(body.channel, body.settings),
    )
    currency = currency_of(campaign, body.channel)
    return EstimateOut.of(estimate_of(imagined), len(sizes_of(imagined)), currency)
