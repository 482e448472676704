"""A feature set as a table, line by line."""

import csv
import io
from collections.abc import Iterator, Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.collections.models import Image
from app.core.spreadsheets import neutral
from app.features.columns import columns_of
from app.features.models import OF_TABLE, FeatureSet
from app.features.shards import StoredSet

ROWS_AT_A_TIME = 200


def as_csv(session: Session, feature_set: FeatureSet) -> Iterator[str]:
    """Yield the vectors of the collection's images as they are stored, in nine digits, which is
    what float32 has. Raises DamagedFeatures."""
    columns = columns_of(feature_set)
    if feature_set.kind == OF_TABLE:
        columns = [f"feature_{number}" for number in range(feature_set.n_features or 0)]
    yield _line(["filename", "sha256", *map(neutral, columns)])
    rows = _of_table if feature_set.kind == OF_TABLE else _of_shards
    for filename, sha256, values in rows(session, feature_set):
        yield _line([neutral(filename), sha256, *(f"{value:.9g}" for value in values)])


Rows = Iterator[tuple[str, str, Sequence[float]]]


def _of_table(session: Session, feature_set: FeatureSet) -> Rows:
    query = select(Image.filename, Image.sha256, Image.features).where(
        Image.collection_id == feature_set.collection_id, func.cardinality(Image.features) > 0
    )
    query = query.order_by(Image.position).execution_options(yield_per=ROWS_AT_A_TIME)
    for filename, sha256, features in session.execute(query):
        yield filename, sha256, features or ()


def _of_shards(session: Session, feature_set: FeatureSet) -> Rows:
    query = select(Image.sha256, Image.filename).where(
        Image.collection_id == feature_set.collection_id
    )
    images = session.execute(query.order_by(Image.position)).all()
    places = {sha256: place for place, (sha256, _) in enumerate(images)}
    for here, values in StoredSet.of(session, feature_set).rows(places):
        for place, row in zip(here, values, strict=True):
            sha256, filename = images[place]
            yield filename, sha256, row.tolist()


def _line(cells: list[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()
