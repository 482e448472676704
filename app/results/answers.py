"""Reads finished answers as rows, a limited number at a time."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, Text, cast, func, select, type_coerce
from sqlalchemy.orm import Session
from sqlalchemy.types import NullType

from app.annotation.checks import FINISHED
from app.annotation.exclusion import is_learned_from, is_left_out
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid, Round
from app.collections.models import Image

ROWS_AT_ONCE = 500
MOMENT = 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'


class AnswerRow(NamedTuple):
    """A finished answer to a grid of a round, its time in UTC.

    `annotator` is a number, never an identity. `question_language` is None if the answer does not
    say it. `asked_again`: its place was opened for another annotator; `replaces`: the answer whose
    place it fills.
    """

    answer: str
    grid: int
    round: int
    annotator: int
    state: str
    submitted_at: str
    elapsed_ms: int | None
    left_out: bool
    unseen: list[int]
    images: list[int]
    groups: list[int]
    descriptions: list[str]
    question_language: str | None
    asked_again: bool
    replaces: str | None


def read_answers(
    session: Session, campaign: Campaign, *, left_out: bool = True
) -> Iterator[Sequence[AnswerRow]]:
    """Yield finished answers, oldest first, read ROWS_AT_ONCE at a time.

    Quality checks are not included, because they belong to no round; neither are answers of
    annotators who are left out, unless `left_out`.
    """
    query = _finished(campaign)
    if not left_out:
        query = query.where(is_learned_from())
    rows = session.execute(query.execution_options(yield_per=ROWS_AT_ONCE))
    for some in rows.partitions():
        yield [AnswerRow._make(row) for row in some]


def _finished(campaign: Campaign) -> Select[*tuple[Any, ...]]:
    # This selects plain columns in the form in which they are written, not objects, because there
    # are millions of them.
    lists = (Answer.unseen, Grid.images, Answer.groups, Answer.descriptions)
    return (
        select(
            cast(Answer.id, Text),
            Answer.grid_id,
            Round.number,
            Annotator.position,
            Answer.state,
            func.to_char(func.timezone("UTC", Answer.submitted_at), MOMENT),
            Answer.elapsed_ms,
            is_left_out(),
            *(type_coerce(column, NullType()) for column in lists),
            func.nullif(Answer.device["question_language"].astext, ""),
            Answer.reopened_at.is_not(None),
            cast(Answer.replaces, Text),
        )
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Round, Grid.round_id == Round.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(Answer.campaign_id == campaign.id, Answer.state.in_(FINISHED))
        .order_by(Answer.submitted_at, Answer.id)
    )


def filenames(session: Session, campaign: Campaign) -> dict[int, str]:
    """Return the file name of every image of the campaign's collection, by position."""
    query = select(Image.position, Image.filename)
    rows = session.execute(query.where(Image.collection_id == campaign.collection_id)).all()
    return {position: name for position, name in rows}
