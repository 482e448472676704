"""Details of one image."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.collections.hooks import Showing, showings
from app.collections.models import Collection, Image
from app.core.errors import NotFound


@dataclass(frozen=True)
class Details:
    image: Image
    campaigns: list[Showing]


def details_of(session: Session, collection: Collection, sha256: str) -> Details:
    """Return the details of an image; raises NotFound."""
    query = select(Image).where(Image.collection_id == collection.id, Image.sha256 == sha256)
    image = session.scalar(query)
    if image is None:
        raise NotFound("This collection has no such image.")
    return Details(image, showings(session, image))
