"""API of the images that a campaign asks about."""

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field
from sqlalchemy import select

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns.asking import n_asked
from app.campaigns.models import AskedImage
from app.campaigns.service import ask_about_images, get_campaign
from app.collections.media import image_url
from app.collections.models import Image
from app.core.fields import StrictInt
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.features.reading import n_of
from app.results.suggested import placed_images, suggested_images

api = api_router("/campaigns/{campaign_id}", "campaigns")
MOST_ADDED, MOST_SUGGESTED = 10_000, 200


class AskedImageOut(BaseModel):
    """An image that the campaign asks about. origin: `chosen` to represent all images, or `added`
    by a requester."""

    image: int
    filename: str
    url: str
    origin: str


class MoreImagesIn(BaseModel, extra="forbid"):
    """More images to ask about, by their positions in the campaign."""

    images: list[StrictInt] = Field(min_length=1, max_length=MOST_ADDED)


class MoreImagesOut(BaseModel):
    """`added` images were not asked about before; the campaign now asks about `asked_images` of
    its `images`."""

    added: int
    asked_images: int
    images: int


class SuggestedImageOut(BaseModel):
    image: int
    filename: str
    url: str
    certainty: float


class SuggestionsOut(BaseModel):
    """Images that the campaign does not ask about, those that the newest model is least certain of
    first. certainty_of: what the model is certain of. For `label` and `cluster`, the certainty is a
    probability; for `position`, the share of the variance of positions that is between images
    rather than the image's own uncertainty. It is null if the model does not say how certain it is,
    and `images` is empty."""

    version: int | None
    certainty_of: str | None
    images: list[SuggestedImageOut]


class FeatureMapPoint(BaseModel):
    """An image at (x, y) in [0, 1]. asked: whether the campaign asks about it."""

    image: int
    filename: str
    url: str
    x: float
    y: float
    asked: bool


class FeatureMapOut(BaseModel):
    """Images on the two principal axes of the features `by`, at most a thousand of all `images`,
    those that the campaign asks about first. Nobody's answers are in it. `points` is empty if the
    campaign asks about all its images, and until the others are chosen."""

    by: str
    images: int
    points: list[FeatureMapPoint]


@api.get("/feature-map")
@heavy
def read_feature_map(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> FeatureMapOut:
    """Return a map of the images by features alone, which is there before the first model."""
    campaign = get_campaign(session, account, campaign_id)
    placed = placed_images(session, campaign)
    return FeatureMapOut(
        by=campaign.ask_by,
        images=n_of(session, campaign),
        points=[
            FeatureMapPoint(
                image=image.position,
                filename=image.filename,
                url=image_url(image),
                x=round(x, 5),
                y=round(y, 5),
                asked=asked,
            )
            for image, x, y, asked in placed
        ],
    )


@api.get("/asked-images")
def list_asked_images(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[AskedImageOut]:
    """List the images that a campaign asks about, by position. There are none if it asks about all
    its images, and until they are chosen."""
    campaign = get_campaign(session, account, campaign_id)
    query = (
        select(Image, AskedImage.origin)
        .join(AskedImage, AskedImage.position == Image.position)
        .where(
            AskedImage.campaign_id == campaign.id,
            Image.collection_id == campaign.collection_id,
        )
    )
    rows = paging.rows(session, query, Image.position)
    return paging.page(
        [
            AskedImageOut(
                image=image.position, filename=image.filename, url=image_url(image), origin=origin
            )
            for image, origin in rows
        ]
    )


@api.post("/asked-images")
def ask_about_more(
    campaign_id: UUID, body: MoreImagesIn, session: DatabaseSession, account: SignedIn
) -> MoreImagesOut:
    """Ask about more images in a campaign that asks about a part of them. Grids show them from the
    next model on."""
    added = ask_about_images(session, account, campaign_id, body.images)
    campaign = get_campaign(session, account, campaign_id)
    return MoreImagesOut(
        added=added, asked_images=n_asked(session, campaign), images=n_of(session, campaign)
    )


@api.get("/suggested-images")
@heavy
def list_suggested_images(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    limit: Annotated[int, Query(ge=1, le=MOST_SUGGESTED)] = 24,
) -> SuggestionsOut:
    """Return the images that the newest model is least certain of, among those that the campaign
    does not ask about."""
    campaign = get_campaign(session, account, campaign_id)
    suggestions = suggested_images(session, campaign, limit)
    return SuggestionsOut(
        version=suggestions.version,
        certainty_of=suggestions.certainty_of,
        images=[
            SuggestedImageOut(
                image=image.position,
                filename=image.filename,
                url=image_url(image),
                certainty=round(certainty, 6),
            )
            for image, certainty in suggestions.images
        ],
    )
