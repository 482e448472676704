"""The layout of a model's map as bytes, for a browser that shows a hundred thousand images.

It is little-endian: `LWM1`, N as uint32, then x, y of every position as float32 (N × 2, in [0, 1]),
then the level of every position's picture as uint8 (see `levels`). That is nine bytes per image,
and a typed array can use them without parsing. A model never changes, so neither does its layout:
it is generated once and kept in storage.

There are three kinds of layouts: the principal axes, which publishing has computed; two ordered
attributes of the model; and t-SNE, which takes some seconds and is computed on the first request,
for one request at a time.
"""

import re
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.storage import get_object, put_object
from app.maps.learned import ordered_attribute
from app.maps.levels import picture_levels
from app.results.models import EmbeddedImage, Model
from app.results.vectors import one_at_a_time, read_vectors

LAYOUT_TYPE = "application/vnd.likewise.map"
MAGIC = b"LWM1"
HEADER = 8
MOST_RECENT = 8
# `axes-2-0`: attribute 2 to the right, attribute 0 upwards.
METHOD = r"^(pca|tsne|axes-(0|[1-9][0-9]{0,2})-(0|[1-9][0-9]{0,2}))$"
_AXES = re.compile(r"axes-(\d+)-(\d+)")


@dataclass(frozen=True)
class Layout:
    """A layout. places: (N, 2) float32 in [0, 1]; levels: (N,) uint8; both by position."""

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


_recent: dict[tuple[UUID, str], Layout] = {}


def layout_bytes(session: Session, model: Model, method: str = "pca") -> bytes:
    """Return the stored layout, and generate it first if there is none.

    method: matches METHOD. Raises Busy while another layout is being computed, and NotFound if the
    model has no such ordered attributes.
    """
    suffix = "" if method == "pca" else f"-{method}"
    key = f"maps/{model.campaign_id}/{model.id}{suffix}.bin"
    try:
        return get_object(key)
    except FileNotFoundError:
        data = _computed(session, model, method).encoded()
        put_object(key, data)
        return data


def read_layout(session: Session, model: Model, method: str = "pca") -> Layout:
    """The layouts of the models requested last, to avoid reading storage again."""
    known = _recent.get((model.id, method))
    if known is None:
        known = Layout.decoded(layout_bytes(session, model, method))
        _recent[model.id, method] = known
        for oldest in list(_recent)[:-MOST_RECENT]:
            _recent.pop(oldest, None)
    return known


def _computed(session: Session, model: Model, method: str) -> Layout:
    if axes := _AXES.fullmatch(method):
        return _by_attributes(session, model, int(axes[1]), int(axes[2]))
    return _tsne(session, model) if method == "tsne" else _principal(session, model)


def _by_attributes(session: Session, model: Model, across: int, up: int) -> Layout:
    """Each attribute fills the whole side of the square. y grows downwards on the map, and high
    values belong at the top."""
    columns = [ordered_attribute(model, index)["index"] for index in (across, up)]
    with one_at_a_time():
        places = np.nan_to_num(read_vectors(session, model)[:, columns])
    low = places.min(axis=0)
    places = (places - low) / np.maximum(places.max(axis=0) - low, 1e-12)
    return _leveled(np.stack([places[:, 0], 1 - places[:, 1]], axis=1))


def _principal(session: Session, model: Model) -> Layout:
    return _leveled(_stored_places(session, model))


def _tsne(session: Session, model: Model) -> Layout:
    # Imported here, so that servers start a second faster.
    from learning.tsne_map import tsne_map

    with one_at_a_time():
        vectors = np.nan_to_num(read_vectors(session, model))
        places = _stored_places(session, model)
        seed = session.get_one(Campaign, model.campaign_id).seed
        return _leveled(tsne_map(vectors, places, seed))


def _stored_places(session: Session, model: Model) -> NDArray[np.float64]:
    """Return (N, 2) positions in [0, 1] on the principal axes, by position."""
    query = (
        select(EmbeddedImage.x, EmbeddedImage.y)
        .where(EmbeddedImage.model_id == model.id)
        .order_by(EmbeddedImage.position)
    )
    rows = [(x, y) for x, y in session.execute(query)]
    return np.clip(np.nan_to_num(np.array(rows, np.float64).reshape(-1, 2)), 0, 1)


def _leveled(points: NDArray[np.float64]) -> Layout:
    places = points.astype(np.float32)
    return Layout(places, picture_levels(places))
