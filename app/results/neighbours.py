"""Finds nearest neighbours of an image in a model, by exact search."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.errors import InvalidInput, NotFound
from app.results.models import EmbeddedImage, Model


def position_of(
    session: Session,
    campaign: Campaign,
    image: int | None,
    sha256: str | None,
    filename: str | None,
) -> int:
    """Return the position of the image identified by exactly one of the three.

    Raises InvalidInput if none or several are given, or several images have the file name;
    NotFound.
    """
    if [image, sha256, filename].count(None) != 2:
        raise InvalidInput(
            "Choose the image by exactly one of image (its position), sha256 (of the "
            "uploaded file) or filename.",
            code="name_one_image",
        )
    if image is not None:
        return image
    query = select(Image.position).where(Image.collection_id == campaign.collection_id)
    if sha256 is not None:
        query = query.where(Image.sha256 == sha256.lower())
    else:
        query = query.where(Image.filename == filename)
    positions = session.scalars(query.order_by(Image.position).limit(2)).all()
    if not positions:
        raise NotFound(
            "This collection has no image with this "
            + ("hash." if sha256 is not None else "file name."),
            code="unknown_image",
        )
    if len(positions) > 1:
        raise InvalidInput(
            f"Several images are called {filename}, for example {positions[0]} and "
            f"{positions[1]}. Choose one by its position or hash.",
            code="ambiguous_filename",
        )
    return positions[0]


def nearest_neighbours(
    session: Session, campaign: Campaign, model: Model, position: int, k: int
) -> list[tuple[Image, float]]:
    """Return the k images nearest to the image at `position`, with Euclidean distances, nearest
    first.

    Raises InvalidInput if the model has no image at `position`.
    """
    here = EmbeddedImage.model_id == model.id
    centre = session.scalar(
        select(EmbeddedImage.vector).where(here, EmbeddedImage.position == position)
    )
    if centre is None:
        raise InvalidInput(
            f"Model {model.version} does not contain image {position}. Images are numbered "
            "from 0; images added to the collection later are part of the next model.",
            code="unknown_image",
        )
    distance: Any = EmbeddedImage.vector.l2_distance(centre).label("distance")
    # Find the nearest first and join their images afterwards: a join before the sort would read all
    # images.
    nearest = (
        select(EmbeddedImage.position, distance)
        .where(here, EmbeddedImage.position != position)
        .order_by(distance, EmbeddedImage.position)
        .limit(k)
        .subquery()
    )
    query = (
        select(Image, nearest.c.distance)
        .join(nearest, nearest.c.position == Image.position)
        .where(Image.collection_id == campaign.collection_id)
        .order_by(nearest.c.distance, nearest.c.position)
    )
    return [(image, float(far)) for image, far in session.execute(query)]
