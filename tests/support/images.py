"""What the database has of a collection's images."""

from uuid import UUID

from sqlalchemy import select

from app.collections.models import Collection, Image
from app.core.database import transaction


def rows_of(collection: UUID) -> list[tuple[int, str]]:
    with transaction() as session:
        query = select(Image.position, Image.filename).where(Image.collection_id == collection)
        return [(position, name) for position, name in session.execute(query.order_by("position"))]


def hashes_of(collection: UUID, *positions: int) -> list[str]:
    with transaction() as session:
        query = select(Image.sha256).where(
            Image.collection_id == collection, Image.position.in_(positions)
        )
        return list(session.scalars(query.order_by(Image.position)))


def is_dense(collection: UUID) -> bool:
    with transaction() as session:
        n = session.get_one(Collection, collection).n_images
    return [position for position, _ in rows_of(collection)] == list(range(n))
