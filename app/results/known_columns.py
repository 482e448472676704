"""Compares a model's attributes with columns of the collection's table."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.errors import NotFound
from app.results.models import Model
from app.results.vectors import one_at_a_time, read_vectors
from learning.known_columns import Agreement, KnownColumn, agreement_with, known_column

# More images give the same result, and k-means for each attribute and column takes time.
MOST_IMAGES = 1_500
MOST_COLUMNS = 12


@dataclass(frozen=True)
class Compared:
    """A column of the collection's table. `kind` is None if it cannot be compared: hardly any
    values, only one, or a different one for nearly every image."""

    name: str
    kind: Literal["categories", "numbers"] | None
    n_images: int
    n_values: int


@dataclass(frozen=True)
class AttributeAgreement:
    """One attribute's insight, or None for all columns of the embedding together. `cells` has an
    agreement for each column, None if it cannot be compared."""

    attribute: dict[str, Any] | None
    cells: list[Agreement | None]


@dataclass(frozen=True)
class KnownColumns:
    """A table of agreements. n_images: number compared, at most MOST_IMAGES drawn at random; names:
    all columns there are; columns: those compared."""

    model: Model
    n_images: int
    names: list[str]
    columns: list[Compared]
    rows: list[AttributeAgreement]


def compare_with_columns(
    session: Session, campaign: Campaign, model: Model, chosen: list[str]
) -> KnownColumns:
    """Compare every attribute of a model with the chosen columns, or the first MOST_COLUMNS by
    name.

    Raises NotFound for a column that no image has, Busy.
    """
    names = _column_names(session, campaign)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise NotFound(f"No image of this campaign has the attribute {unknown[0]!r}.")
    shown = list(dict.fromkeys(chosen)) or names[:MOST_COLUMNS]
    if not shown:
        return KnownColumns(model, 0, [], [], [])
    with one_at_a_time():
        vectors = np.nan_to_num(read_vectors(session, model))
        positions = _sample(len(vectors), campaign.seed)
        texts = _texts(session, campaign, positions, shown)
        known = [known_column(texts[name]) for name in shown]
        places = vectors[positions]
        rows = [
            AttributeAgreement(
                attribute,
                [_agreement(column, places[:, axes], campaign.seed) for column in known],
            )
            for attribute, axes in _attributes(model, vectors.shape[1])
        ]
    columns = [_compared(name, column) for name, column in zip(shown, known, strict=True)]
    return KnownColumns(model, len(positions), names, columns, rows)


def _column_names(session: Session, campaign: Campaign) -> list[str]:
    names = select(func.jsonb_object_keys(Image.attributes).label("name")).where(
        Image.collection_id == campaign.collection_id, Image.position < campaign.n_images
    )
    return sorted(session.scalars(select(names.subquery().c.name).distinct()))


def _sample(n: int, seed: int) -> NDArray[np.int64]:
    if n <= MOST_IMAGES:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MOST_IMAGES, replace=False))


def _texts(
    session: Session, campaign: Campaign, positions: NDArray[np.int64], names: list[str]
) -> dict[str, list[str | None]]:
    """Return the values of each column, one for each of the positions."""
    query = select(Image.position, Image.attributes).where(
        Image.collection_id == campaign.collection_id, Image.position.in_(positions.tolist())
    )
    by_position = {position: attributes for position, attributes in session.execute(query)}
    values = {
        name: [by_position.get(at, {}).get(name) for at in positions.tolist()] for name in names
    }
    return {
        name: [None if value is None else str(value) for value in column]
        for name, column in values.items()
    }


def _attributes(model: Model, d: int) -> list[tuple[dict[str, Any] | None, list[int]]]:
    """Return the attributes with their columns of the embedding, the largest share first, and last
    the whole embedding, unless it is one overall attribute."""
    insight = model.insight or {}
    attributes = sorted(insight.get("attributes", []), key=lambda attribute: -attribute["share"])
    pairs: list[tuple[dict[str, Any] | None, list[int]]] = [
        (attribute, attribute.get("columns", [attribute["index"]])) for attribute in attributes
    ]
    if insight.get("structure") != "pooled" or not pairs:
        pairs.append((None, list(range(d))))
    return pairs


def _agreement(
    column: KnownColumn | None, places: NDArray[np.float64], seed: int
) -> Agreement | None:
    return None if column is None else agreement_with(column, places, seed)


def _compared(name: str, column: KnownColumn | None) -> Compared:
    if column is None:
        return Compared(name, None, 0, 0)
    return Compared(name, column.kind, len(column.rows), column.n_values)
