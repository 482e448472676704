"""Details of one image."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import any_, func, literal, select, true
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign, Grid
from app.collections.models import Collection, Image
from app.core.errors import NotFound


@dataclass(frozen=True)
class Showing:
    """A campaign that uses an image: in how many grids, and with how many answers."""

    id: UUID
    name: str
    state: str
    n_grids: int
    n_answers: int


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
    grids = (
        select(func.count().label("n_grids"), func.coalesce(func.sum(Grid.n_answers), 0).label("n"))
        .where(Grid.campaign_id == Campaign.id, literal(image.position) == any_(Grid.images))
        .lateral()
    )
    rows = session.execute(
        select(Campaign.id, Campaign.name, Campaign.state, grids.c.n_grids, grids.c.n)
        .join(grids, true())
        .where(
            Campaign.collection_id == collection.id,
            (Campaign.n_images > image.position) | (grids.c.n_grids > 0),
        )
        .order_by(Campaign.id.desc())
    )
    return Details(image, [Showing(*row) for row in rows])
