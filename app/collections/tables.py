"""Imports and exports attribute tables: a CSV changes the images it names, and all attributes can
be exported."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, String, any_, func, literal, or_, select, text
from sqlalchemy.orm import Session

from app.collections import hooks
from app.collections.attributes import AttributeRow, BadAttributeTable, read_attribute_table
from app.collections.models import Collection, Image
from app.core.database import locked
from app.core.errors import LikewiseError
from app.core.spreadsheets import csv_line

ROWS_AT_A_TIME = 500
_UPDATE = text(
    """
    UPDATE image
    SET attributes = (image.attributes - new.emptied) || new.attributes,
        features = coalesce(new.features, image.features)
    FROM jsonb_to_recordset(CAST(:rows AS jsonb))
         AS new(id uuid, attributes jsonb, emptied text[], features real[])
    WHERE image.id = new.id
    """
)


@dataclass(frozen=True)
class TableOutcome:
    """The result of a table. refused: why nothing of it was used; unused: which of its rows were
    not used, if any."""

    refused: LikewiseError | None = None
    unused: str = ""


@dataclass(frozen=True)
class ImageUpdate:
    """The attributes and features of a row for one image."""

    image_id: UUID
    row: AttributeRow


def attribute_names(session: Session, collection: Collection) -> list[str]:
    """Return all attribute names in use, sorted."""
    names = select(func.jsonb_object_keys(Image.attributes)).distinct()
    return sorted(session.scalars(names.where(Image.collection_id == collection.id)))


def apply_table(
    session: Session, collection: Collection, data: bytes, aliases: dict[str, str]
) -> TableOutcome:
    """Change attributes and features of the images named in a CSV, and return what is wrong with
    it.

    A cell with text sets the attribute, and an empty one removes it. Rows that name no image are
    reported and the others are used. A table that cannot be read, or names none of the images,
    changes nothing. aliases: names of duplicates, and the names of the images that were kept
    """
    try:
        rows = read_attribute_table(data)
        # Two simultaneous tables would lock images in different orders.
        locked(session, Collection, collection.id)
        updates, unknown, ambiguous = _matched(session, collection, rows, aliases)
        with session.begin_nested():
            update_images(session, updates)
            if any(row.features for row in rows):
                _check_feature_lengths(session, collection)
                hooks.features_changed(session, collection)
    except LikewiseError as error:
        return TableOutcome(error)
    unused = _unused(len(rows), unknown, ambiguous)
    if unused and not updates:
        return TableOutcome(BadAttributeTable(unused))
    return TableOutcome(unused=f"{unused} The other rows were used." if unused else "")


def _matched(
    session: Session, collection: Collection, rows: list[AttributeRow], aliases: dict[str, str]
) -> tuple[list[ImageUpdate], list[str], list[str]]:
    """Return the rows with their images, the file names without an image, and those with
    several."""
    names = [aliases.get(row.filename, row.filename) for row in rows]
    matches = session.execute(
        select(Image.id, Image.sha256, Image.filename).where(
            Image.collection_id == collection.id,
            or_(
                Image.filename == any_(literal(names, ARRAY(String))),
                Image.sha256
                == any_(literal([row.sha256 for row in rows if row.sha256], ARRAY(String))),
            ),
        )
    ).all()
    by_name: dict[str, list[UUID]] = defaultdict(list)
    for image_id, _, filename in matches:
        by_name[filename].append(image_id)
    by_hash = {sha256: image_id for image_id, sha256, _ in matches}
    updates: list[ImageUpdate] = []
    unknown: list[str] = []
    ambiguous: list[str] = []
    for row, name in zip(rows, names, strict=True):
        if row.sha256:
            images = [by_hash[row.sha256]] if row.sha256 in by_hash else []
        else:
            images = by_name.get(name, [])
        if len(images) == 1:
            updates.append(ImageUpdate(images[0], row))
        else:
            (ambiguous if images else unknown).append(row.filename)
    return updates, unknown, ambiguous


def _check_feature_lengths(session: Session, collection: Collection) -> None:
    lengths = feature_lengths(session, collection)
    if len(lengths) > 1:
        raise BadAttributeTable(
            "All feature vectors of a collection must have the same length, but these have "
            f"{lengths}. Upload one table with the features of all images."
        )


def feature_lengths(session: Session, collection: Collection) -> list[int]:
    """Return the lengths of the feature vectors in the collection, sorted."""
    query = select(func.cardinality(Image.features)).distinct()
    own = query.where(Image.collection_id == collection.id, Image.features.is_not(None))
    return sorted(session.scalars(own))


def update_images(session: Session, updates: list[ImageUpdate]) -> None:
    """Write the rows' attributes and features; the last of several rows about one image counts."""
    rows = [
        {
            "id": str(update.image_id),
            "attributes": update.row.attributes,
            "emptied": update.row.emptied,
            "features": update.row.features,
        }
        for update in {update.image_id: update for update in updates}.values()
    ]
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        session.execute(_UPDATE, {"rows": json.dumps(rows[start : start + ROWS_AT_A_TIME])})
    session.expire_all()


def _unused(n_rows: int, unknown: list[str], ambiguous: list[str]) -> str:
    parts = []
    if unknown:
        parts.append(
            f"{len(unknown)} of {n_rows} rows do not match any image of this collection: "
            f"{_some(unknown)}"
        )
    if ambiguous:
        parts.append(
            f"{len(ambiguous)} of {n_rows} rows match several images with the same name: "
            f"{_some(ambiguous)} (add a column sha256 to distinguish them)"
        )
    return " ".join(f"{part}." for part in parts)


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + ("…" if len(names) > 5 else "")


def attributes_csv(session: Session, collection: Collection) -> Iterator[str]:
    """Yield all attributes as a table that can be changed and uploaded again, line by line."""
    names = attribute_names(session, collection)
    query = select(Image.filename, Image.sha256, Image.attributes).where(
        Image.collection_id == collection.id
    )
    yield csv_line(["filename", "sha256", *names])
    for filename, sha256, attributes in session.execute(
        query.order_by(Image.position).execution_options(yield_per=1000)
    ):
        yield csv_line([filename, sha256, *(str(attributes.get(name, "")) for name in names)])
