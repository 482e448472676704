"""Uploads of feature sets: rows are matched with images and stored in parts, or nothing is kept."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session
from uuid_utils.compat import uuid7

from app.accounts.models import Account
from app.collections.dependents import counted
from app.collections.models import Collection, Image
from app.core.errors import Conflict
from app.core.storage import delete_below, put_object
from app.features.array_files import read_vectors
from app.features.columns import as_json, columns_key
from app.features.models import UPLOADED, FeatureSet
from app.features.sets import add_set, audit_upload, checked_name, count_known
from app.features.shards import prefix_of, rows_per_shard, store_shard
from app.features.vector_files import BadFeatureTable, VectorFile, VectorRow, read_names

# A table is taken for that of another collection if it names fewer of its images, of either.
FEWEST = 0.5
# Names that a message quotes.
_MOST_NAMED = 5


@dataclass
class _Names:
    """How many names there were, and the first of them: a file may have millions."""

    n: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        self.n += 1
        if len(self.first) < _MOST_NAMED:
            self.first.append(name[:60])

    def __str__(self) -> str:
        return ", ".join(self.first) + ("…" if self.n > len(self.first) else "")


@dataclass
class UploadSummary:
    """What an upload did. n_rows: of the file; unknown: names that no image has; ambiguous: names
    of several images; n_empty: rows without a number."""

    feature_set: FeatureSet
    n_images: int
    n_rows: int = 0
    n_stored: int = 0
    n_empty: int = 0
    unknown: _Names = field(default_factory=_Names)
    ambiguous: _Names = field(default_factory=_Names)

    @property
    def notes(self) -> list[str]:
        """Return what the requester should know, in sentences."""
        notes = []
        for names, what in (
            (self.unknown, "no image of this collection has the name"),
            (self.ambiguous, "several images have the name (add a column sha256)"),
        ):
            if names.n:
                rows = f"{names.n:,} of {self.n_rows:,} rows were not used, because"
                notes.append(f"{rows} {what}: {names}.")
        missing = self.n_images - self.n_stored
        if missing:
            verb = "have" if missing > 1 else "has"
            notes.append(
                f"{missing:,} of {counted(self.n_images, 'image')} {verb} no row, and will be "
                "treated like the mean of the others."
            )
        if n := self.feature_set.n_constant:
            columns = f"{counted(n, 'column')} {'have' if n > 1 else 'has'}"
            notes.append(f"{columns} the same value for all images and will not be used.")
        return notes


def upload_set(
    session: Session,
    owner: Account,
    collection: Collection,
    name: str,
    file: tuple[str, BinaryIO],
    names: bytes | None = None,
) -> UploadSummary:
    """Add a set from a file of vectors (docs/features.md).

    names: a list of file names, one in each line, if the file has none. Raises InvalidInput with
    what is wrong and where, NameTaken, or Conflict; then nothing is stored.
    """
    if collection.n_images == 0:
        raise Conflict("Add the images before their features.", code="no_images")
    filename, content = file
    feature_set = FeatureSet(
        id=uuid7(), name=checked_name(name), kind=UPLOADED, state="done",
        file=filename[:500].replace("\0", ""), epoch=0,
    )  # fmt: skip
    add_set(session, collection, feature_set)
    listed = None if names is None else read_names(names)
    vectors = read_vectors(filename, content, listed)
    feature_set.n_features = vectors.n_features
    summary = UploadSummary(feature_set, collection.n_images)
    with _nothing_left_behind(feature_set):
        matcher = _Matcher.of(session, collection)
        _store(session, summary, vectors, matcher)
        _check_match(summary)
        put_object(columns_key(feature_set), as_json(vectors.columns))
        session.flush()
        count_known(session, collection)
        session.refresh(feature_set)
    audit_upload(session, owner, feature_set)
    return summary


@contextmanager
def _nothing_left_behind(feature_set: FeatureSet) -> Iterator[None]:
    """Stored objects have no transaction, so remove them if anything goes wrong."""
    try:
        yield
    except BaseException:
        delete_below(prefix_of(feature_set.collection_id, feature_set.id))
        raise


@dataclass
class _Matcher:
    """Finds the image of a row; remembers where each image had its row."""

    by_name: dict[str, list[str]]
    hashes: list[str]
    known: set[str] = field(default_factory=set)
    where: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, session: Session, collection: Collection) -> "_Matcher":
        query = select(Image.filename, Image.sha256).where(Image.collection_id == collection.id)
        by_name: dict[str, list[str]] = defaultdict(list)
        hashes = []
        for filename, sha256 in session.execute(query.order_by(Image.position)):
            by_name[filename].append(sha256)
            hashes.append(sha256)
        return cls(dict(by_name), hashes, set(hashes))

    def images(self, row: VectorRow) -> list[str]:
        """Return the hashes of the images that the row may be about. Raises BadFeatureTable."""
        if row.position is not None:
            return [self.hashes[row.position]]
        if row.sha256:
            return [row.sha256] if row.sha256 in self.known else []
        if not row.filename or row.filename == "unnamed":
            raise BadFeatureTable(f"{row.where} has no file name.")
        return self.by_name.get(row.filename, [])

    def note(self, sha256: str, row: VectorRow) -> None:
        """Raise BadFeatureTable if the image had a row before."""
        before = self.where.setdefault(sha256, row.where)
        if before != row.where:
            raise BadFeatureTable(
                f"{row.where} is about {row.filename or row.sha256!r}, which already has a row "
                f"({before[:1].lower()}{before[1:]}). Keep one row for each image."
            )


def _store(
    session: Session, summary: UploadSummary, vectors: VectorFile, matcher: _Matcher
) -> None:
    """Store the rows, and count what is not used."""
    per_shard = rows_per_shard(vectors.n_features)
    waiting: list[tuple[str, NDArray[np.float32]]] = []
    varying = _Varying(vectors.n_features)
    number = 0
    for row in _within_order(vectors, summary.n_images):
        summary.n_rows += 1
        images = matcher.images(row)
        if len(images) != 1:
            (summary.ambiguous if images else summary.unknown).add(row.filename or row.sha256)
            continue
        matcher.note(images[0], row)
        if row.values is None:
            summary.n_empty += 1
            continue
        varying.see(row.values)
        waiting.append((images[0], row.values))
        if len(waiting) == per_shard:
            _store_part(session, summary, number, waiting)
            waiting, number = [], number + 1
    if waiting:
        _store_part(session, summary, number, waiting)
    summary.feature_set.n_constant = varying.n_constant


def _store_part(
    session: Session,
    summary: UploadSummary,
    number: int,
    rows: list[tuple[str, NDArray[np.float32]]],
) -> None:
    hashes = [sha256 for sha256, _ in rows]
    values = np.stack([values for _, values in rows])
    session.add(store_shard(summary.feature_set, number, hashes, values))
    summary.n_stored += len(rows)


def _within_order(vectors: VectorFile, n_images: int) -> Iterator[VectorRow]:
    """Yield the rows; those without names must be as many as the images."""
    for row in vectors.rows:
        if row.position == 0 and vectors.n_rows != n_images:
            raise BadFeatureTable(
                f"The array has {vectors.n_rows:,} rows, and the collection has {n_images:,} "
                "images. Add a list of file names, one for each row."
            )
        yield row


class _Varying:
    """Notes which columns vary."""

    def __init__(self, n_features: int) -> None:
        self.first: NDArray[np.float32] | None = None
        self.varies = np.zeros(n_features, np.bool_)

    def see(self, values: NDArray[np.float32]) -> None:
        if self.first is None:
            self.first = values
        self.varies |= values != self.first

    @property
    def n_constant(self) -> int:
        return 0 if self.first is None else int((~self.varies).sum())


def _check_match(summary: UploadSummary) -> None:
    """Raise BadFeatureTable if the file seems to belong to another collection."""
    n_matched = summary.n_stored + summary.n_empty
    if not summary.n_rows:
        raise BadFeatureTable("The file has no row. Add one row for each image.")
    if not summary.n_stored:
        what = (
            "its rows are empty"
            if n_matched
            else "none of its file names is that of an image in this collection: "
            f"{summary.unknown if summary.unknown.n else summary.ambiguous}. Is it the table of "
            "another collection?"
        )
        raise BadFeatureTable(f"Nothing of {summary.n_rows:,} rows can be used, because {what}")
    is_few = n_matched < FEWEST * summary.n_rows and n_matched < FEWEST * summary.n_images
    if is_few:
        raise BadFeatureTable(
            f"Only {n_matched:,} of {summary.n_rows:,} rows name an image of this collection, "
            f"which has {summary.n_images:,} images. Is it the table of another collection? "
            f"Unknown names: {summary.unknown}. Remove these rows if it is the right one."
        )
    if summary.feature_set.n_constant == summary.feature_set.n_features:
        raise BadFeatureTable(
            "All columns have the same value for all images, so these features cannot distinguish "
            "images."
        )
