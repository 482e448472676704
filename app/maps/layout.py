"""The places of a model's images as bytes, for a browser that shows a hundred thousand of them.

Little-endian: `LWM1`, N as uint32, then x, y of every position as float32 (N × 2, in [0, 1]), then
the level of every position's picture as uint8 (see `levels`). Nine bytes an image; a typed array
is laid over them without parsing. A model never changes, so neither does its layout: it is made
once and kept in storage.
"""

from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.storage import get_object, put_object
from app.maps.levels import picture_levels
from app.results.models import EmbeddedImage, Model

LAYOUT_TYPE = "application/vnd.likewise.map"
MAGIC = b"LWM1"
HEADER = 8
MOST_RECENT = 8


@dataclass(frozen=True)
class Layout:
    """places: (N, 2) float32 in [0, 1]; levels: (N,) uint8; both by position."""

    places: NDArray[np.float32]
    levels: NDArray[np.uint8]

    def encoded(self) -> bytes:
        head = MAGIC + len(self.levels).to_bytes(4, "little")
        return head + self.places.astype("<f4").tobytes() + self.levels.tobytes()

    @classmethod
    def decoded(cls, data: bytes) -> "Layout":
        n = int.from_bytes(data[4:HEADER], "little")
        places = np.frombuffer(data, "<f4", 2 * n, HEADER).reshape(n, 2)
        return cls(places, np.frombuffer(data, np.uint8, n, HEADER + 8 * n))


_recent: dict[UUID, Layout] = {}


def layout_bytes(session: Session, model: Model) -> bytes:
    key = f"maps/{model.campaign_id}/{model.id}.bin"
    try:
        return get_object(key)
    except FileNotFoundError:
        data = _made(session, model.id).encoded()
        put_object(key, data)
        return data


def read_layout(session: Session, model: Model) -> Layout:
    """Of the models looked at last, without asking storage again."""
    known = _recent.get(model.id)
    if known is None:
        known = Layout.decoded(layout_bytes(session, model))
        _recent[model.id] = known
        for oldest in list(_recent)[:-MOST_RECENT]:
            _recent.pop(oldest, None)
    return known


def _made(session: Session, model_id: UUID) -> Layout:
    query = (
        select(EmbeddedImage.x, EmbeddedImage.y)
        .where(EmbeddedImage.model_id == model_id)
        .order_by(EmbeddedImage.position)
    )
    rows = [(x, y) for x, y in session.execute(query)]
    found = np.nan_to_num(np.array(rows, np.float64).reshape(-1, 2))
    places = np.clip(found, 0, 1).astype(np.float32)
    return Layout(places, picture_levels(places))
