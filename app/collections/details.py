"""One image looked at closely."""

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
    """Raises NotFound."""
    query = select(Image).where(Image.collection_id == collection.id, Image.sha256 == sha256)
    image = session.scalar(query)
    if image is None:
        raise NotFound("There is no such image in this collection.")
    return Details(image, showings(session, image))
