"""The features of a campaign's images: from the table, or computed once and kept in storage."""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from safetensors.numpy import load, save
from sqlalchemy import Select, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.collections.models import Collection, Image
from app.collections.service import image_key
from app.core.errors import InvalidInput
from app.core.storage import get_object, has_object, put_object
from app.features.sources import TABLE, FeatureArray, Source, get_source

NAME = "features"
_ROWS_AT_A_TIME = 500
NO_TABLE = (
    "This campaign needs features, but no image of its collection has any. Upload a table "
    "with columns feature_0, feature_1, …, or choose other features."
)

Features = FeatureArray | None


class TakingPart(Protocol):
    """Which images take part: the first `n_images` of a collection, all of them while that is 0.

    A campaign is one.
    """

    collection_id: Any
    n_images: Any


Value = TypeVar("Value")


def features_wanted(
    session: Session, campaign: TakingPart, name: str | None
) -> Callable[[], Features]:
    """Return a function that returns the features called `name`, (N, F) or (N, H, W[, C]). Call it
    without a transaction, because it may read every image. Without a name, there are no features.

    Raises ValueError if they should come from a table that has none, or cannot be computed on this
    server.
    """
    if name is None:
        return lambda: None
    if name == TABLE:
        # This reads row by row, because Python floats would take four times the memory.
        query = _of_images(campaign, Image.features).execution_options(yield_per=_ROWS_AT_A_TIME)
        table = features_of_table(session.scalars(query), n_of(session, campaign))
        return lambda: table
    source = get_source(name)
    hashes = list(session.scalars(_of_images(campaign, Image.sha256)))
    return partial(computed_features, campaign.collection_id, hashes, source)


def require_features(session: Session, campaign: TakingPart, name: str | None) -> None:
    """Raise InvalidInput if a campaign learns from features of the table and there are none, so
    that this is found before the first answer and not after it. Other features are computed when
    they are needed."""
    if name != TABLE:
        return
    n = func.cardinality(Image.features)
    query = select(n).where(Image.collection_id == campaign.collection_id, n > 0)
    lengths = sorted(session.scalars(query.distinct()))
    if not lengths:
        raise InvalidInput(NO_TABLE, code="no_features")
    if len(lengths) > 1:
        raise InvalidInput(_differently_many(lengths[0], lengths[-1]), code="no_features")


def _differently_many(length: int, other_length: int) -> str:
    return (
        f"The images of this collection have different numbers of features ({length} and "
        f"{other_length}). Upload one table with the features of all images."
    )


def n_of(session: Session, campaign: TakingPart) -> int:
    """Return the number of images that take part, or would if the campaign started now."""
    return campaign.n_images or session.get_one(Collection, campaign.collection_id).n_images


def _of_images(campaign: TakingPart, column: InstrumentedAttribute[Value]) -> Select[Value]:
    """Select one column of the campaign's images, in their order."""
    own = select(column).where(Image.collection_id == campaign.collection_id)
    own = own.order_by(Image.position)
    return own.limit(campaign.n_images) if campaign.n_images else own


def features_of_table(rows: Iterable[list[float] | None], n: int) -> NDArray[np.float64]:
    """Return the features of n images as (n, F); images without features get the mean of the
    others.

    Raises ValueError if no image has features, or their numbers differ.
    """
    table = np.empty((n, 0))
    known = np.zeros(n, np.bool_)
    for place, given in enumerate(rows):
        if not given:
            continue
        if not known.any():
            table = np.empty((n, len(given)))
        if len(given) != table.shape[1]:
            raise ValueError(_differently_many(table.shape[1], len(given)))
        table[place], known[place] = given, True
    if not known.any():
        raise ValueError(NO_TABLE)
    table[~known] = table.mean(axis=0, where=known[:, None])
    return table


def computed_features(collection_id: UUID, hashes: list[str], source: Source) -> FeatureArray:
    """Return the features of these images from a source, computed once and kept in storage."""
    if source.compute is None:
        raise ValueError(f"The {source.title} are not computed from images.")
    about = f" {source.version}" if source.version else ""
    digest = hashlib.sha256(("".join(hashes) + about).encode()).hexdigest()[:16]
    key = f"features/{collection_id}/{source.name}-{digest}.safetensors"
    if has_object(key):
        return load(get_object(key))[NAME]
    features = np.ascontiguousarray(source.compute(_pixels(collection_id, hashes)))
    put_object(key, save({NAME: features}))
    return features


def _pixels(collection_id: UUID, hashes: list[str]) -> Iterator[NDArray[np.uint8]]:
    for sha256 in hashes:
        with Pillow.open(
            io.BytesIO(get_object(image_key(collection_id, sha256, "thumb")))
        ) as picture:
            yield np.asarray(picture.convert("RGB"))
