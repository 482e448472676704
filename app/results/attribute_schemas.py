"""Bodies of the API of answers' attributes, and of attributes compared with known columns."""

from typing import Any, Literal

from pydantic import BaseModel

from app.results.answer_attributes import AttributeReading
from app.results.attribute_names import name_of
from app.results.known_columns import KnownColumns


class AnswerAttributeOut(BaseModel):
    """The attribute that an answer is about, by model `version`. `attribute`: its number, null if
    the answer is most likely about none of the attributes; `probability`: of that attribute, or of
    none.

    `overall`: the attribute is the one overall notion of similarity; `name`: given by a requester,
    or empty; `low`, `high`, `clusters`: the
    annotators' words for its two sides and for its clusters.
    """

    version: int
    attribute: int | None
    probability: float
    overall: bool
    name: str
    low: list[str]
    high: list[str]
    clusters: list[list[str]]

    @classmethod
    def of(cls, reading: AttributeReading) -> "AnswerAttributeOut":
        attribute = reading.attribute or {}
        structure = (reading.model.insight or {}).get("structure")
        return cls(
            version=reading.model.version,
            attribute=attribute.get("index"),
            probability=reading.probability,
            overall=structure == "pooled",
            **_words(attribute),
        )


class ComparedColumnOut(BaseModel):
    """A column of the collection's table. `kind` is null if the column cannot be compared."""

    name: str
    kind: Literal["categories", "numbers"] | None
    n_images: int
    n_values: int


class AgreementOut(BaseModel):
    """The agreement of an attribute with a column. `score`: for categories the adjusted mutual
    information of clusters and categories, for numbers the rank correlation; 0 is chance, 1 is
    complete agreement. `balanced_accuracy`, for categories only: the mean share of their images in
    the matching cluster, where `chance` is one divided by their number."""

    score: float
    balanced_accuracy: float | None
    chance: float | None


class AttributeAgreementOut(BaseModel):
    """An attribute by number, null for the whole embedding. `name`: given by a requester, or empty.
    `cells` has one entry per column."""

    attribute: int | None
    overall: bool
    name: str
    low: list[str]
    high: list[str]
    clusters: list[list[str]]
    cells: list[AgreementOut | None]


class KnownColumnsOut(BaseModel):
    """A table of agreements. `names`: all columns that the images have; `n_images`: number of
    images compared, at most 1,500 drawn at random."""

    version: int
    n_images: int
    names: list[str]
    columns: list[ComparedColumnOut]
    attributes: list[AttributeAgreementOut]

    @classmethod
    def of(cls, comparison: KnownColumns) -> "KnownColumnsOut":
        overall = (comparison.model.insight or {}).get("structure") == "pooled"
        return cls(
            version=comparison.model.version,
            n_images=comparison.n_images,
            names=comparison.names,
            columns=[ComparedColumnOut(**vars(column)) for column in comparison.columns],
            attributes=[
                AttributeAgreementOut(
                    attribute=(row.attribute or {}).get("index"),
                    overall=overall and row.attribute is not None,
                    **_words(row.attribute or {}),
                    cells=[
                        cell
                        and AgreementOut(
                            score=cell.score,
                            balanced_accuracy=cell.balanced_accuracy,
                            chance=1 / column.n_values if column.kind == "categories" else None,
                        )
                        for cell, column in zip(row.cells, comparison.columns, strict=True)
                    ],
                )
                for row in comparison.rows
            ],
        )


def _words(attribute: dict[str, Any]) -> dict[str, Any]:
    """The requester's name, and the annotators' words for an attribute's two sides and clusters."""
    return {
        "name": name_of(attribute),
        "low": attribute.get("low", []),
        "high": attribute.get("high", []),
        "clusters": [each["words"] for each in attribute.get("clusters", [])],
    }
