"""Finds images of a campaign for the map: by position, by name, or a selection."""

from collections.abc import Iterator, Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation.bundles import images_at
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.cells import csv_line
from app.core.errors import InvalidInput, NotFound
from app.core.spreadsheets import neutral
from app.maps.layout import read_layout
from app.maps.sheets import Tile, cells_of, sheet_bytes
from app.results.models import Model

MOST_FOUND = 20


def find_images(session: Session, campaign: Campaign, text: str) -> tuple[list[Image], int]:
    """Find at most MOST_FOUND images whose file name contains `text`, an exact match first; and
    count all of them."""
    matches = (
        Image.collection_id == campaign.collection_id,
        Image.position < campaign.n_images,
        Image.filename.icontains(text, autoescape=True),
    )
    query = select(Image).where(*matches).order_by(Image.filename != text, Image.position)
    images = list(session.scalars(query.limit(MOST_FOUND)))
    if len(images) < MOST_FOUND:
        return images, len(images)
    total = session.scalar(select(func.count()).select_from(Image).where(*matches))
    return images, total or 0


def some_images(session: Session, campaign: Campaign, positions: Sequence[int]) -> list[Image]:
    """Return images in the order of `positions`; raises InvalidInput if one does not exist."""
    unknown = [position for position in positions if not 0 <= position < campaign.n_images]
    if unknown:
        raise InvalidInput(
            f"There is no image {unknown[0]}. Images of this campaign are numbered 0 to "
            f"{campaign.n_images - 1}.",
            code="unknown_image",
        )
    return images_at(session, campaign, positions)


def read_sheet(
    session: Session, campaign: Campaign, model: Model, tile: Tile, method: str = "pca"
) -> bytes:
    """Return the tile's pictures as WebP; raises NotFound if it has no new picture."""
    cells = cells_of(read_layout(session, model, method), tile)
    if not cells:
        raise NotFound("There are no images in this part of the map.")
    images = images_at(session, campaign, list(cells.values()))
    return sheet_bytes(campaign.collection_id, dict(zip(cells, images, strict=True)))


def selection_csv(
    session: Session,
    campaign: Campaign,
    model: Model,
    positions: Sequence[int],
    method: str = "pca",
) -> Iterator[str]:
    """Yield one line per image: position, file name, position on the map, attributes."""
    images = some_images(session, campaign, sorted(set(positions)))
    places = read_layout(session, model, method).places
    names = sorted({name for image in images for name in image.attributes})
    yield csv_line(["image", "filename", "x", "y", *map(neutral, names)])
    for image in images:
        x, y = places[image.position].tolist()
        values = [image.attributes.get(name) for name in names]
        cells = ["" if value is None else neutral(str(value)) for value in values]
        yield csv_line([image.position, neutral(image.filename), x, y, *cells])
