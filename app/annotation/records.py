"""Finished answers as the API lists them. With their traces, they can be played back."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.annotation.bundles import images_at
from app.annotation.checks import FINISHED
from app.annotation.exclusion import is_left_out
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid, Round
from app.collections.media import image_url
from app.core.errors import NotFound
from app.kinds import kind_of

Role = Literal["ask", "gold", "repeat"]


class Replay(BaseModel):
    """How an answer was made, with the trace as the page sent it (docs/annotator-api.md).

    `urls[k]` is the address of `images[k]`. `choices` has the names of the groups if they are
    votes for yes or no, `group_names` if they always mean the same in another kind. `classes` has
    the names that annotators choose from, if the requester gives them; if `several` is true, groups
    are bit masks of them.
    `columns` is the number of columns that the annotator saw on a wide screen. `colours[g]` is the
    number of the colour in which they saw group `g`, null for none; it is empty if `several` is
    true. Colours follow from the answer's ID: in a campaign restored from an archive, whose answers
    have other IDs, they can be others than those seen. `repeats` is the annotator's earlier answer
    to the same images, if the grid is a repeat.
    """

    urls: list[str]
    choices: list[str]
    group_names: list[str]
    classes: list[str]
    several: bool
    columns: int
    colours: list[int | None]
    repeats: UUID | None
    device: dict[str, Any] | None
    trace: list[Any]


class AnswerRecord(BaseModel):
    """A finished answer. `groups[k]` is the group of `images[k]`, −1 for a leftover."""

    id: UUID
    annotator: int = Field(description="Number of the annotator in this campaign.")
    grid: int
    role: Role = Field(
        description="Models learn from the role `ask`. The others check the annotator."
    )
    round: int | None = Field(
        description="Number of the round. Null for a check, 0 for an imported answer."
    )
    state: Literal["submitted", "surplus"]
    submitted_at: datetime
    elapsed_ms: int | None
    left_out: bool = Field(description="The answer is left out of learning.")
    asked_again: bool = Field(description="Its place was opened for another annotator.")
    replaces: UUID | None = Field(
        description="The answer that was asked again and whose place this one fills."
    )
    images: list[int] = Field(description="Positions of the images in the collection.")
    groups: list[int]
    descriptions: list[str]
    unseen: list[int] = Field(
        description="Images that were not shown to the annotator, or that they reported as broken."
    )
    truth: list[int] | None = Field(description="Known groups of a gold grid.")
    agreement: float | None = Field(
        description="Agreement with the known or earlier answer: 1 is perfect, 0 is chance."
    )
    replay: Replay | None = Field(description="Only when you request it.")

    @classmethod
    def of(
        cls,
        answer: Answer,
        grid: Grid,
        round_number: int | None,
        annotator: Annotator,
        left_out: bool,
    ) -> "AnswerRecord":
        return cls.model_validate(
            {
                "id": answer.id,
                "annotator": annotator.position,
                "grid": grid.id,
                "role": grid.role,
                "round": round_number,
                "state": answer.state,
                "submitted_at": answer.submitted_at,
                "elapsed_ms": answer.elapsed_ms,
                "left_out": left_out,
                "asked_again": answer.reopened_at is not None,
                "replaces": answer.replaces,
                "images": grid.images,
                "groups": answer.groups,
                "descriptions": answer.descriptions,
                "unseen": answer.unseen,
                "truth": grid.truth,
                "agreement": answer.agreement,
                "replay": None,
            }
        )


def answers_of(
    campaign: Campaign,
    annotator: int | None = None,
    round_number: int | None = None,
    role: Role | None = None,
) -> Select[Answer, Grid, int, Annotator, bool]:
    """Select the finished answers of a campaign, or only those of one annotator, round or role."""
    query = (
        select(Answer, Grid, Round.number, Annotator, is_left_out())
        .join(Grid, Answer.grid_id == Grid.id)
        .outerjoin(Round, Grid.round_id == Round.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(Answer.campaign_id == campaign.id, Answer.state.in_(FINISHED))
        # This follows from the states, but the condition lets the index of finished answers be
        # used.
        .where(Answer.submitted_at.is_not(None))
    )
    if annotator is not None:
        query = query.where(Annotator.position == annotator)
    if round_number is not None:
        query = query.where(Round.number == round_number)
    if role is not None:
        query = query.where(Grid.role == role)
    return query


def replay_of(session: Session, campaign: Campaign, answer: Answer, grid: Grid) -> Replay:
    images = images_at(session, campaign, grid.images)
    urls = [image_url(image) for image in images]
    kind = kind_of(campaign)
    return Replay(
        urls=urls,
        choices=[] if kind.asks_for_classes else list(kind.choices),
        group_names=[] if kind.choices else list(kind.group_names),
        classes=campaign.classes,
        several=kind.n_groups(campaign.max_groups) > campaign.max_groups,
        columns=kind.columns,
        colours=kind.colours(campaign.max_groups, answer.id),
        repeats=_repeated(session, answer, grid),
        device=answer.device,
        trace=answer.trace,
    )


def _repeated(session: Session, answer: Answer, grid: Grid) -> UUID | None:
    if grid.repeats is None:
        return None
    earlier = select(Answer.id).where(
        Answer.grid_id == grid.repeats,
        Answer.annotator_id == answer.annotator_id,
        Answer.state.in_(FINISHED),
    )
    return session.scalar(earlier)


def answer_with_replay(session: Session, campaign: Campaign, answer_id: UUID) -> AnswerRecord:
    """Return one finished answer of this campaign. Raises NotFound."""
    query = answers_of(campaign).where(Answer.id == answer_id)
    row = session.execute(query).one_or_none()
    if row is None:
        raise NotFound("This campaign has no such answer.")
    answer, grid, *_ = row
    record = AnswerRecord.of(*row)
    record.replay = replay_of(session, campaign, answer, grid)
    return record
