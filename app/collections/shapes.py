"""Finds images of extreme shapes. Annotators see images in square tiles, where little is left of
a very long one."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Float, cast, func, select
from sqlalchemy.orm import Session

from app.collections.models import Collection, Image

# At 4:1, the picture fills a quarter of its tile.
MOST_ELONGATED = 4
EXAMPLES = 5


@dataclass(frozen=True)
class Shapes:
    """How many images of a collection are more than MOST_ELONGATED times as long as wide or high,
    with the names of the most extreme ones."""

    n_extreme: int
    examples: list[str]


def elongation() -> ColumnElement[Any]:
    """Return the longer side of an image divided by the shorter one."""
    shorter = cast(func.least(Image.width, Image.height), Float)
    return func.greatest(Image.width, Image.height) / shorter


def shapes_of(session: Session, collection: Collection) -> Shapes:
    ratio = elongation()
    extreme = (Image.collection_id == collection.id, ratio > MOST_ELONGATED)
    n_extreme = session.scalar(select(func.count()).select_from(Image).where(*extreme)) or 0
    names = select(Image.filename).where(*extreme).order_by(ratio.desc(), Image.position)
    return Shapes(n_extreme, list(session.scalars(names.limit(EXAMPLES))))
