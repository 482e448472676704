"""The link that every campaign gets when it starts. Its address never changes."""

from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns import hooks
from app.campaigns.models import Campaign
from app.recruitment.models import Recruitment
from app.recruitment.settings import LinkSettings


@hooks.started.answered_by
def make_first_link(session: Session, campaign: Campaign) -> None:
    """Create a link that is open to everyone who has it, for any number of people. The caller must
    hold the campaign's row lock."""
    link = Recruitment(
        campaign_id=campaign.id,
        channel="link",
        name="Link",
        link_token=campaign.link_token,
        state="open",
        settings=LinkSettings().model_dump(),
        places=0,
        reward_cents=campaign.reward_cents,
        currency=campaign.currency,
        opened_at=datetime.now(UTC),
    )
    session.add(link)
    session.flush()


@hooks.reward_changed.answered_by
def follow_reward(session: Session, campaign: Campaign, before: int) -> None:
    """Update the first link's reward after the campaign's reward has changed, unless the link has
    its own."""
    link = session.scalar(
        select(Recruitment)
        .where(Recruitment.link_token == campaign.link_token)
        .with_for_update(key_share=True)
    )
    if link is not None and link.reward_cents == before:
        link.reward_cents = campaign.reward_cents
