"""Finds images by free text, attributes, or missing attributes, in any order, page by page."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    UnaryExpression,
    and_,
    cast,
    func,
    literal,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSONPATH
from sqlalchemy.orm import Session, defer

from app.collections.models import Collection, Image
from app.collections.shapes import elongation
from app.core.errors import InvalidInput

# Matches `name:value`, in quotation marks or not, or a word or phrase.
_TERM = re.compile(r'(?:(?:"([^"]+)"|([^\s:"]+)):)?(?:"([^"]*)"|(\S+))')
MAX_SEARCH = 500
VALUES_SHOWN = 40
SORTS = ("position", "filename", "size", "shape", "features")


@dataclass(frozen=True)
class ImageFilter:
    """A filter of images. All conditions must hold; values of the same attribute are alternatives.

    search:     words of the file name or of attribute values, `name:value` (`*` matches anything)
    attributes: name and exact value
    missing:    names of attributes for which the image has no value
    """

    search: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.search.strip() or self.attributes or self.missing)


@dataclass(frozen=True)
class AttributeValues:
    """The number of images per value of one attribute, the most frequent first."""

    name: str
    n_images: int
    n_values: int
    values: list[tuple[str, int]]


def filter_of(search: str, attributes: list[str], missing: list[str]) -> ImageFilter:
    """Return the filter that an address states, with attributes as `name:value`. Raises
    InvalidInput."""
    if len(search) > MAX_SEARCH:
        raise InvalidInput(f"A search can have at most {MAX_SEARCH} characters.", code="bad_search")
    pairs = []
    for pair in attributes:
        name, colon, value = pair.partition(":")
        if not colon:
            raise InvalidInput(
                f"attribute must be name:value, such as colour:red, not {pair[:50]!r}.",
                code="bad_search",
            )
        pairs.append((name, value))
    return ImageFilter(search, tuple(pairs), tuple(missing))


def matches(collection_id: UUID, wanted: ImageFilter) -> ColumnElement[bool]:
    """Return the filter as a condition on images."""
    of_attribute: dict[str, list[ColumnElement[bool]]] = defaultdict(list)
    for name, value in wanted.attributes:
        of_attribute[name].append(Image.attributes[name].astext == value)
    for name in wanted.missing:
        of_attribute[name].append(not_(Image.attributes.has_key(name)))
    terms = [_term(*match.groups()) for match in _TERM.finditer(wanted.search)]
    return and_(
        Image.collection_id == collection_id,
        *(or_(*alternatives) for alternatives in of_attribute.values()),
        *terms,
    )


def _term(
    quoted_name: str | None, plain_name: str | None, quoted: str | None, word: str | None
) -> ColumnElement[bool]:
    name = quoted_name or plain_name
    wanted = quoted if quoted is not None else word or ""
    if name is None:
        return _somewhere(wanted)
    value = _escaped(wanted).replace("*", "%")
    # A file name may contain a colon, too.
    return or_(
        Image.attributes[name].astext.ilike(value, escape="\\"), _in_filename(f"{name}:{wanted}")
    )


def _somewhere(wanted: str) -> ColumnElement[bool]:
    # This is twice as fast as expanding the values into rows. Flag q: the word is not a pattern.
    path = f'$.* ? (@ like_regex {json.dumps(wanted, ensure_ascii=False)} flag "iq")'
    in_values = func.jsonb_path_exists(Image.attributes, cast(literal(path), JSONPATH))
    return or_(_in_filename(wanted), in_values)


def _in_filename(wanted: str) -> ColumnElement[bool]:
    return Image.filename.ilike(f"%{_escaped(wanted)}%", escape="\\")


def _escaped(wanted: str) -> str:
    return wanted.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def find_images(
    session: Session,
    collection: Collection,
    wanted: ImageFilter,
    *,
    sort: str = "position",
    descending: bool = False,
    offset: int = 0,
    limit: int = 200,
) -> list[tuple[Image, int]]:
    """Return the images of one page, each with its number of features; raises InvalidInput."""
    query = (
        select(Image, func.coalesce(func.cardinality(Image.features), 0))
        .options(defer(Image.features))
        .where(matches(collection.id, wanted))
    )
    if sort == "position" and wanted.empty:
        # Positions have no gaps, so no row needs to be skipped.
        query = query.where(
            Image.position <= collection.n_images - 1 - offset
            if descending
            else Image.position >= offset
        )
        offset = 0
    column = _sorted_by(sort)
    order: UnaryExpression[Any] = column.desc() if descending else column.asc()
    if sort != "position":
        # This does not apply to positions: the index has another order, and no position is missing.
        order = order.nulls_last()
    query = query.order_by(order, Image.position).offset(offset).limit(limit)
    return [(image, n_features) for image, n_features in session.execute(query)]


def _sorted_by(sort: str) -> ColumnElement[Any]:
    by_name: dict[str, ColumnElement[Any]] = {
        "position": Image.position.expression,
        "filename": Image.filename.expression,
        "size": Image.width * Image.height,
        "shape": elongation(),
        "features": func.cardinality(Image.features),
    }
    if sort in by_name:
        return by_name[sort]
    kind, colon, name = sort.partition(":")
    if kind == "attribute" and colon:
        value: ColumnElement[Any] = Image.attributes[name].astext
        return value
    raise InvalidInput(
        f"sort must be one of {', '.join(SORTS)} or attribute:name, not {sort[:50]!r}.",
        code="bad_sort",
    )


def count_images(session: Session, collection: Collection, wanted: ImageFilter) -> int:
    if wanted.empty:
        return collection.n_images
    query = select(func.count()).select_from(Image).where(matches(collection.id, wanted))
    return session.scalar(query) or 0


def attribute_values(
    session: Session, collection: Collection, wanted: ImageFilter
) -> list[AttributeValues]:
    """Return the attributes of the images found, sorted by name, with their most frequent
    values."""
    found_images = (
        select(Image.attributes).where(matches(collection.id, wanted)).subquery("found_images")
    )
    pairs = func.jsonb_each_text(found_images.c.attributes).table_valued("key", "value").lateral()
    counted = (
        select(pairs.c.key, pairs.c.value, func.count().label("n"))
        .select_from(found_images)
        .join(pairs, true())
        .group_by(pairs.c.key, pairs.c.value)
        .subquery("counted")
    )
    key, value, n = counted.c.key, counted.c.value, counted.c.n
    rank = func.row_number().over(partition_by=key, order_by=(n.desc(), value))
    ranked = select(
        key,
        value,
        n,
        rank.label("rank"),
        func.sum(n).over(partition_by=key).label("n_images"),
        func.count().over(partition_by=key).label("n_values"),
    ).subquery("ranked")
    rows = session.execute(
        select(*ranked.c).where(ranked.c.rank <= VALUES_SHOWN).order_by(ranked.c.key, ranked.c.rank)
    )
    by_name: dict[str, AttributeValues] = {}
    for row in rows:
        known = AttributeValues(row.key, int(row.n_images), row.n_values, [])
        by_name.setdefault(row.key, known).values.append((row.value, row.n))
    return list(by_name.values())
