"""The images of a campaign, for results that have a row for each. Deleted ones are omitted."""

from collections.abc import Iterator, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.models import Image


def remaining_at(session: Session, campaign: Campaign, positions: Sequence[int]) -> list[Image]:
    """Return the images at these positions, in this order."""
    query = select(Image).where(
        Image.collection_id == campaign.collection_id, Image.position.in_(positions)
    )
    by_position = {image.position: image for image in session.scalars(query)}
    return [by_position[position] for position in positions if position in by_position]


def all_images(session: Session, campaign: Campaign, n_images: int) -> Iterator[Image]:
    """Yield the images at the first `n_images` positions."""
    query = select(Image).where(
        Image.collection_id == campaign.collection_id, Image.position < n_images
    )
    yield from session.scalars(query.order_by(Image.position).execution_options(yield_per=1000))
