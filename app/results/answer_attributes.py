"""The attribute that each answer is about, according to the newest model; written when the model is
published.

Publishing writes this, rather than readers computing it, because then it matches the shares that
the model counted, needs no torch in the web server, and exists even if the model's own files are of
a version that can no longer be loaded.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.checks import FINISHED
from app.annotation.exclusion import is_left_out
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid
from app.core.errors import NotFound
from app.core.storage import StorageError, get_object
from app.results.answers import AnswerRow
from app.results.attribute_parts import merged_numbers
from app.results.models import Model
from app.strategies.answer_attributes import FILE, AnswerAttribute, AnswerAttributes, answer_key

logger = logging.getLogger(__name__)
# Number and probability of the attribute of an answer.
Attribute = tuple[int | None, float | None]
UNKNOWN: Attribute = (None, None)


@dataclass(frozen=True)
class AttributeReading:
    """The attribute of one answer. `attribute` is the model's insight into it, None if the answer
    is most likely about none of the attributes."""

    model: Model
    attribute: dict[str, Any] | None
    probability: float


def newest_attributes(
    session: Session, campaign: Campaign
) -> tuple[Model, AnswerAttributes] | None:
    """Read the attributes of the newest model. None if there is no model, its strategy finds no
    attributes, it is older than this file, or the file cannot be read, which is logged."""
    query = select(Model).where(Model.campaign_id == campaign.id)
    model = session.scalar(query.order_by(Model.version.desc()).limit(1))
    if model is None or not (model.insight or {}).get("attributes"):
        return None
    try:
        return model, AnswerAttributes.from_bytes(get_object(f"{model.artifact_key}/{FILE}"))
    except FileNotFoundError:
        return None
    except (OSError, StorageError, ValueError):
        # The answers are useful without it.
        logger.warning(
            "could not read the attributes of answers from model %d of campaign %s",
            model.version,
            campaign.id,
            exc_info=True,
        )
        return None


class AttributeColumns:
    """The columns `attribute` and `attribute_probability` of exported answers."""

    def __init__(self, session: Session, campaign: Campaign) -> None:
        newest = newest_attributes(session, campaign)
        self._attributes = None if newest is None else newest[1]
        self._merged = {} if newest is None else _merged(newest[0])

    def of(self, rows: Sequence[AnswerRow]) -> list[Attribute]:
        """Return a pair for each answer; both values are None for one that the model did not learn
        from."""
        if self._attributes is None:
            return [UNKNOWN] * len(rows)
        keys = [answer_key_of(row) for row in rows]
        # The model did not learn from this answer, although it learned from an equal one of another
        # annotator.
        return [
            UNKNOWN
            if attribute is None or row.left_out
            else (_number(attribute.attribute, self._merged), attribute.probability)
            for row, attribute in zip(rows, self._attributes.find(keys), strict=True)
        ]


def read_answer_attribute(
    session: Session, campaign: Campaign, answer_id: UUID
) -> AttributeReading | None:
    """Return what one answer is about, None if that is unknown. Raises NotFound."""
    query = (
        select(Annotator.position, is_left_out(), Grid.images, Answer.groups, Answer.unseen)
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(
            Answer.campaign_id == campaign.id, Answer.id == answer_id, Answer.state.in_(FINISHED)
        )
    )
    answer = session.execute(query).one_or_none()
    if answer is None:
        raise NotFound("This answer does not exist in this campaign.")
    annotator, left_out, images, groups, unseen = answer
    newest = newest_attributes(session, campaign)
    if newest is None or left_out:
        return None
    model, attributes = newest
    [attribute] = attributes.find([_key(annotator, images, groups or [], unseen)])
    return None if attribute is None else _reading(model, attribute)


def _reading(model: Model, learned: AnswerAttribute) -> AttributeReading:
    by_number = {each["index"]: each for each in (model.insight or {})["attributes"]}
    number = _number(learned.attribute, _merged(model))
    attribute = None if number is None else by_number.get(number)
    return AttributeReading(model, attribute, learned.probability)


def _merged(model: Model) -> dict[int, int]:
    return merged_numbers((model.insight or {})["attributes"])


def _number(attribute: int | None, merged: dict[int, int]) -> int | None:
    """Return the number of an answer's attribute, of a merged one that of the merge."""
    return None if attribute is None else merged.get(attribute, attribute)


def answer_key_of(row: AnswerRow) -> int:
    """Return the number that stands for what a model reads of an answer."""
    return _key(row.annotator, row.images, row.groups, row.unseen)


def _key(
    annotator: int, images: Sequence[int], groups: Sequence[int], unseen: Iterable[int]
) -> int:
    hidden = set(unseen)
    if not hidden:
        return answer_key(annotator, images, groups)
    seen = [pair for pair in zip(images, groups, strict=True) if pair[0] not in hidden]
    return answer_key(annotator, [image for image, _ in seen], [group for _, group in seen])
