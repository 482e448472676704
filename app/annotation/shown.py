"""What annotators are shown of a campaign and its images, as the API says it."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.annotation.bundles import images_at
from app.annotation.schemas import CampaignForAnnotators, LeasedImage
from app.annotation.settings import annotation_of
from app.campaigns.models import Campaign
from app.campaigns.service import KINDS
from app.collections.media import image_url
from app.core.markdown import render_markdown
from app.recruitment.models import Recruitment


def for_annotators(
    campaign: Campaign, recruitment: Recruitment | None = None
) -> CampaignForAnnotators:
    """With the reward of the recruitment that somebody came by."""
    paying = recruitment or campaign
    settings = annotation_of(campaign.annotation)
    is_grid = campaign.kind == "grid"
    by_kind = "required" if is_grid else "none"
    return CampaignForAnnotators(
        id=campaign.id,
        name=campaign.name,
        kind="grid" if is_grid else "bins",
        question=campaign.question,
        max_groups=campaign.max_groups,
        grid_size=campaign.grid_size,
        columns=KINDS[campaign.kind]["columns"],
        descriptions=by_kind if settings.descriptions == "auto" else settings.descriptions,
        consent_html=render_markdown(settings.consent),
        instructions_html=render_markdown(settings.instructions),
        thanks_html=render_markdown(settings.thanks),
        completion=settings.completion,
        completion_url=settings.completion_url,
        reward_cents=paying.reward_cents,
        currency=paying.currency,
    )


def leased_images(
    session: Session, campaign: Campaign, positions: Sequence[int]
) -> list[LeasedImage]:
    """The images at these positions with signed addresses, in this order."""
    return [
        LeasedImage(image=image.position, url=image_url(image), large_url=image_url(image, "large"))
        for image in images_at(session, campaign, positions)
    ]
