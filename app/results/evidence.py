"""Evidence for neighbours: the answers in which two images were together or apart.

This covers the answers that models learn from: finished answers to grids of a round, of annotators
who are not left out, with both images seen. Together means in the same group; apart means in
different groups, or one of them left over. Two leftovers say nothing (the pair rule of
learning.groupings). Votes are groups with fixed names: together is the same vote, and unsure says
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Select, all_, and_, func, literal, or_, select
from sqlalchemy.dialects.postgresql import array
from sqlalchemy.orm import Session

from app.annotation.bundles import images_at
from app.annotation.checks import FINISHED
from app.annotation.exclusion import is_learned_from
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid, Round
from app.collections.models import Image
from app.core.errors import InvalidInput
from app.core.row_security import bypass_row_security
from app.kinds import kind_of

NEWEST = 100


@dataclass(frozen=True)
class Counts:
    """Counts of answers in which two images were together and apart, and of their annotators."""

    together: int = 0
    apart: int = 0
    annotators: int = 0


@dataclass(frozen=True)
class SharedAnswer:
    """An answer with information about two images. words: the description of the group of each,
    blank for none, or the vote on each."""

    id: UUID
    round_number: int
    annotator: int
    submitted_at: datetime
    verdict: Literal["together", "apart"]
    words: tuple[str, str]


@dataclass(frozen=True)
class Evidence:
    """The evidence about two images: all answers are counted, and the newest are listed."""

    images: tuple[Image, Image]
    counts: Counts
    answers: list[SharedAnswer]


def count_evidence(
    session: Session, campaign: Campaign, image: int, others: Sequence[int]
) -> dict[int, Counts]:
    """Count the answers for `image` with each of the others that it shared an answer with."""
    # This is a single query over the grids that contain the image (ix_grid_images), and it returns
    # no row per pair.
    pairs = func.unnest(Grid.images, Answer.groups).table_valued("image", "placed")
    shown = pairs.render_derived(name="shown")
    own, placed = _group_of(image), shown.c.placed
    together, apart = _verdicts(
        campaign, own, placed, or_(_is_first(image), _is_first(shown.c.image))
    )
    query = (
        select(
            shown.c.image,
            func.count().filter(together),
            func.count().filter(apart),
            func.count(Answer.annotator_id.distinct()).filter(together | apart),
        )
        .select_from(Grid)
        .join(Answer, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .join(shown, literal(True))
        .where(
            _showed_all(campaign, [image]),
            shown.c.image.in_(others),
            _was_seen(shown.c.image),
        )
        .group_by(shown.c.image)
    )
    # The policies are not needed, because the campaign was already found. PostgreSQL would check
    # them before `@>` (which is not leakproof), and then could not use the index.
    with bypass_row_security(session):
        rows = session.execute(query).all()
    return {other: Counts(*numbers) for other, *numbers in rows}


def read_evidence(session: Session, campaign: Campaign, image: int, other: int) -> Evidence:
    """Return what is known about two images from answers that showed both. Raises InvalidInput."""
    for position in (image, other):
        if not 0 <= position < campaign.n_images:
            raise InvalidInput(
                f"There is no image {position}. Images of this campaign are numbered 0 to "
                f"{campaign.n_images - 1}.",
                code="unknown_image",
            )
    if image == other:
        raise InvalidInput("Choose two different images.", code="same_image")
    counts = count_evidence(session, campaign, image, [other])
    first, second = images_at(session, campaign, [image, other])
    kind = kind_of(campaign)
    votes = kind.group_names if kind.choices else ()
    # As above.
    with bypass_row_security(session):
        newest = session.execute(_newest(campaign, image, other)).all()
    return Evidence(
        images=(first, second),
        counts=counts.get(other, Counts()),
        answers=[_shared(votes, *row) for row in newest],
    )


def _newest(campaign: Campaign, image: int, other: int) -> Select[Any]:
    own, its = _group_of(image), _group_of(other)
    together, apart = _verdicts(campaign, own, its, or_(_is_first(image), _is_first(other)))
    return (
        select(
            Answer.id,
            Round.number,
            Annotator.position,
            Answer.submitted_at,
            Answer.descriptions,
            own.label("own"),
            its.label("its"),
        )
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Round, Grid.round_id == Round.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(_showed_all(campaign, [image, other]), together | apart)
        .order_by(Answer.submitted_at.desc(), Answer.id)
        .limit(NEWEST)
    )


def _shared(
    votes: Sequence[str],
    answer: UUID,
    number: int,
    annotator: int,
    at: datetime,
    words: list[str],
    own: int,
    its: int,
) -> SharedAnswer:
    names = votes or words

    def group_name(group: int) -> str:
        return names[group] if 0 <= group < len(names) else ""

    verdict: Literal["together", "apart"] = "together" if own == its else "apart"
    return SharedAnswer(answer, number, annotator, at, verdict, (group_name(own), group_name(its)))


def _showed_all(campaign: Campaign, images: list[int]) -> ColumnElement[bool]:
    """Select answers that models learn from, to grids with these images, all of them seen."""
    return and_(
        Grid.campaign_id == campaign.id,
        Grid.role == "ask",
        Grid.images.op("@>", is_comparison=True)(array(images)),
        Answer.state.in_(FINISHED),
        is_learned_from(),
        *(_was_seen(literal(image)) for image in images),
    )


def _was_seen(image: ColumnElement[Any]) -> ColumnElement[bool]:
    return image != all_(Answer.unseen)


def _group_of(image: int) -> ColumnElement[Any]:
    """Return SQL for the group in which an answer put the image. PostgreSQL counts array elements
    from 1, and so does array_position."""
    groups: Any = Answer.groups
    group: ColumnElement[Any] = groups[func.array_position(Grid.images, image)]
    return group


def _is_first(image: ColumnElement[Any] | int) -> ColumnElement[bool]:
    """Return SQL for whether the image is the first of its grid."""
    images: Any = Grid.images
    first: ColumnElement[bool] = images[1] == image
    return first


def _verdicts(
    campaign: Campaign,
    own: ColumnElement[Any],
    its: ColumnElement[Any],
    has_first: ColumnElement[bool],
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return SQL for whether an answer puts two images together, and whether it keeps them apart.
    `has_first`: one of them is the first of its grid."""
    kind = kind_of(campaign)
    if kind.form == "votes":
        decided = and_(*(_is_decided(group, kind.undecided) for group in (own, its)))
        return and_(own == its, decided), and_(own != its, decided)
    apart = own != its
    # Where the others are compared with the first image, nobody compares them with each other.
    return and_(own == its, own >= 0), and_(apart, has_first) if kind.has_reference else apart


def _is_decided(group: ColumnElement[Any], undecided: Sequence[int]) -> ColumnElement[bool]:
    return and_(group >= 0, *(group != number for number in undecided))
