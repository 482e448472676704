"""The features of a campaign's images: from a feature set, from the table, or computed when they
are needed."""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from app.features.columns import columns_of
from app.features.models import UPLOADED, FeatureSet
from app.features.sets import set_named
from app.features.shards import StoredSet
from app.features.sources import TABLE, FeatureArray, Source, get_source
from app.features.tables import FeatureTable, encoded_table, scaled_table, uploaded_table

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
    """Return a function that returns the features called `name`, (N, F) or (N, H, W[, C]), as
    `table_wanted` does."""
    read = table_wanted(session, campaign, name)

    def shaped() -> Features:
        table = read()
        return None if table is None else table.shaped()

    return shaped


def table_wanted(
    session: Session, campaign: TakingPart, name: str | None
) -> Callable[[], FeatureTable | None]:
    """Return a function that returns the features called `name`. Call it without a transaction,
    because it may read every image. Without a name, there are no features.

    Raises ValueError if they should come from a table that has none, or cannot be computed on this
    server.
    """
    return (lambda: None) if name is None else read_set(session, campaign, name)


def read_set(session: Session, campaign: TakingPart, name: str) -> Callable[[], FeatureTable]:
    """Return a function that returns the features called `name` of the campaign's images: those of
    a feature set of the collection, or of a source. Call it without a transaction, because it may
    read every image.

    Raises ValueError if there are no such features; the function also raises DamagedFeatures.
    """
    if name == TABLE:
        # This reads row by row, because Python floats would take four times the memory.
        query = _of_images(campaign, Image.features).execution_options(yield_per=_ROWS_AT_A_TIME)
        values, known = _rows_of_table(session.scalars(query), n_of(session, campaign))
        columns = [f"feature_{number}" for number in range(values.shape[1])]
        return partial(scaled_table, values.astype(np.float32), known, columns)
    hashes = list(session.scalars(_of_images(campaign, Image.sha256)))
    feature_set = set_named(session, campaign.collection_id, name)
    if feature_set is not None and feature_set.kind == UPLOADED:
        stored = StoredSet.of(session, feature_set)
        return lambda: uploaded_table(stored, hashes, columns_of(feature_set))
    source = get_source(name)
    if feature_set is not None and _is_usable(feature_set, source):
        stored = StoredSet.of(session, feature_set)
        encode = partial(_encoded, campaign.collection_id, source)
        return partial(encoded_table, stored, hashes, source, encode)
    return partial(_computed_table, campaign.collection_id, hashes, source)


def _is_usable(feature_set: FeatureSet, source: Source) -> bool:
    """Tell whether a set has encodings of the source as it is now. A source that encodes all images
    together has them only if it is done."""
    is_current = feature_set.version == source.version_hash and bool(feature_set.n_features)
    return is_current and (source.encode is not None or feature_set.state == "done")


def require_features(session: Session, campaign: TakingPart, name: str | None) -> None:
    """Raise InvalidInput if a campaign learns from features of the table, or of an uploaded set,
    and there are none, so that this is found before the first answer and not after it. Other
    features are computed when they are needed."""
    if name == TABLE:
        _require_table(session, campaign)
    elif name is not None:
        feature_set = set_named(session, campaign.collection_id, name)
        if feature_set is None:
            try:
                get_source(name)
            except ValueError as error:
                raise InvalidInput(
                    f"This collection has no feature set {name!r}. Upload it, or choose other "
                    "features.",
                    code="no_features",
                ) from error
        elif feature_set.kind == UPLOADED and not feature_set.n_known:
            raise InvalidInput(
                f"No image of this collection has a row in the feature set {name!r}. Upload it "
                "again, or choose other features.",
                code="no_features",
            )


def _require_table(session: Session, campaign: TakingPart) -> None:
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
    """Return the features of n images as (n, F), as they are in the table; images without features
    get the mean of the others.

    Raises ValueError if no image has features, or their numbers differ.
    """
    table, known = _rows_of_table(rows, n)
    table[~known] = table.mean(axis=0, where=known[:, None])
    return table


def _rows_of_table(
    rows: Iterable[list[float] | None], n: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return (n, F) values, and which rows have any; the others are zero."""
    table = np.empty((n, 0))
    known = np.zeros(n, np.bool_)
    for place, given in enumerate(rows):
        if not given:
            continue
        if not known.any():
            table = np.zeros((n, len(given)))
        if len(given) != table.shape[1]:
            raise ValueError(_differently_many(table.shape[1], len(given)))
        table[place], known[place] = given, True
    if not known.any():
        raise ValueError(NO_TABLE)
    return table, known


def _computed_table(collection_id: UUID, hashes: list[str], source: Source) -> FeatureTable:
    features = computed_features(collection_id, hashes, source)
    values = features.reshape(len(features), -1).astype(np.float32)
    names = tuple(f"{source.name}_{number}" for number in range(values.shape[1]))
    return FeatureTable(values, np.ones(len(values), np.bool_), names, features.shape[1:])


def computed_features(collection_id: UUID, hashes: list[str], source: Source) -> FeatureArray:
    """Return the features of these images from a source, computed once and kept in storage."""
    if source.compute is None:
        raise ValueError(f"The {source.title} are not computed from images.")
    about = f" {source.version}" if source.version else ""
    digest = hashlib.sha256(("".join(hashes) + about).encode()).hexdigest()[:16]
    key = f"features/{collection_id}/{source.name}-{digest}.safetensors"
    if has_object(key):
        return load(get_object(key))[NAME]
    features = np.ascontiguousarray(source.compute(pixels_of(collection_id, hashes)))
    put_object(key, save({NAME: features}))
    return features


def _encoded(collection_id: UUID, source: Source, hashes: Sequence[str]) -> FeatureArray:
    if source.encode is None:
        raise ValueError(f"{source.title}: new images need all features to be computed again.")
    return source.encode(list(pixels_of(collection_id, hashes)))


def pixels_of(collection_id: UUID, hashes: Iterable[str]) -> Iterator[NDArray[np.uint8]]:
    """Yield the thumbnails of images as (H, W, 3); raises FileNotFoundError for a missing one."""
    for sha256 in hashes:
        with Pillow.open(
            io.BytesIO(get_object(image_key(collection_id, sha256, "thumb")))
        ) as picture:
            yield np.asarray(picture.convert("RGB"))
