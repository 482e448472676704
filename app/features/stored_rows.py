"""The stored rows of a feature set, as they were uploaded or encoded, before any scaling."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.collections.models import Image
from app.core.errors import InvalidInput
from app.features.models import OF_TABLE, UPLOADED, FeatureSet
from app.features.shards import Float32, StoredSet
from app.features.sources import Source, get_source
from app.features.tables import MOST_COLUMNS_READ, SAMPLE_ROWS

if TYPE_CHECKING:
    from learning.linear_reduction import LinearReduction

_ROWS_AT_A_TIME = 500
Parts = Iterator[tuple[NDArray[np.int64], Float32]]


@dataclass(frozen=True)
class StoredRows:
    """The rows of a set for all images of its collection.

    hashes: of the N images, in their order; n_features: F_raw; source: of a computed set;
    parts: yields places and (B, F_raw) rows of images that have one. Call it without a
    transaction; it raises DamagedFeatures.
    """

    name: str
    hashes: list[str]
    n_features: int
    source: Source | None
    parts: Callable[[], Parts]


def read_rows(session: Session, feature_set: FeatureSet) -> StoredRows:
    """Raises InvalidInput if a computed set is of an earlier version of its source."""
    query = select(Image.sha256).where(Image.collection_id == feature_set.collection_id)
    hashes = list(session.scalars(query.order_by(Image.position)))
    name, width = feature_set.name, feature_set.n_features or 0
    if feature_set.kind == OF_TABLE:
        parts = list(_rows_of_table(session, feature_set))
        return StoredRows(name, hashes, width, None, lambda: iter(parts))
    places = {sha256: place for place, sha256 in enumerate(hashes)}
    stored = StoredSet.of(session, feature_set)
    source = None if feature_set.kind == UPLOADED else current_source(feature_set)
    return StoredRows(name, hashes, width, source, lambda: stored.rows(places))


def current_source(feature_set: FeatureSet) -> Source:
    """Return the source of a computed set; raises InvalidInput if the server no longer has the
    version that encoded it."""
    try:
        source = get_source(feature_set.kind)
    except ValueError as error:
        raise InvalidInput(f"{feature_set.name}: {error}.", code="no_source") from error
    if source.version_hash != feature_set.version:
        raise InvalidInput(
            f"The features {feature_set.name!r} were computed by another version of their source. "
            "Delete them on the page of the collection and compute them again.",
            code="outdated_features",
        )
    return source


def _rows_of_table(session: Session, feature_set: FeatureSet) -> Parts:
    query = select(Image.position, Image.features).where(
        Image.collection_id == feature_set.collection_id, Image.features.is_not(None)
    )
    rows = session.execute(query.execution_options(yield_per=_ROWS_AT_A_TIME))
    for partition in rows.partitions():
        known = [(place, row) for place, row in partition if row]
        if any(len(row) != feature_set.n_features for _, row in known):
            raise InvalidInput(
                "The images of this collection have different numbers of features. Upload one "
                "table with the features of all images.",
                code="no_features",
            )
        if known:
            places, values = zip(*known, strict=True)
            yield np.array(places, np.int64), np.array(values, np.float32)


def reduced_rows(
    rows: StoredRows,
) -> "tuple[Float32, NDArray[np.bool_], LinearReduction | None]":
    """Return (N, F) values, zero without a row; (N,) which images have one; and what turns other
    rows (M, F_raw) into values, None if they are the values.

    Uploaded tables stay as they are, unless they are too wide to be in memory. Raises ValueError
    without a row, DamagedFeatures.
    """
    if rows.source is None and rows.n_features > MOST_COLUMNS_READ:
        return _wide_rows(rows)
    values = np.zeros((len(rows.hashes), rows.n_features), np.float32)
    known = np.zeros(len(rows.hashes), np.bool_)
    for here, part in rows.parts():
        values[here], known[here] = part, True
    _require_some(rows, known)
    if rows.source is None or rows.source.reduction is None:
        return values, known, None
    reduction = rows.source.reduction().fit(values[known]).as_linear()
    result = np.zeros((len(values), reduction.components.shape[1]), np.float32)
    result[known] = reduction.transform(values[known])
    return result, known, reduction


def _wide_rows(rows: StoredRows) -> "tuple[Float32, NDArray[np.bool_], LinearReduction | None]":
    # The import is local, because only learning jobs need it and it is slow.
    from learning.linear_reduction import LinearReduction

    known = np.zeros(len(rows.hashes), np.bool_)
    for here, _ in rows.parts():
        known[here] = True
    _require_some(rows, known)
    step, seen = max(1, -(-int(known.sum()) // SAMPLE_ROWS)), 0
    sample = []
    for _, part in rows.parts():
        sample.append(part[(-seen) % step :: step])
        seen += len(part)
    reduction = LinearReduction.of_sample(np.concatenate(sample))
    values = np.zeros((len(known), reduction.components.shape[1]), np.float32)
    for here, part in rows.parts():
        values[here] = reduction.transform(part)
    return values, known, reduction


def _require_some(rows: StoredRows, known: NDArray[np.bool_]) -> None:
    if not known.any():
        raise ValueError(
            f"No image of the collection has a row in the feature set {rows.name!r}. Upload it "
            "again, or choose other features."
        )
