"""Loads answers as arrays, with one query and no row per image or pair."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation.exclusion import is_learned_from
from app.annotation.models import Annotator, Answer
from app.campaigns.asking import asked_images, is_chosen
from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.rounds import n_full_rounds
from app.kinds import kind_of
from app.results.models import Model
from app.strategies.base import LearningData
from app.strategies.previous import PreviousModel
from learning.groupings import Groupings, from_answers


def load_learning_data(session: Session, campaign: Campaign) -> LearningData:
    """Return all finished answers of a campaign, by round; raises ValueError if there are none.

    Imported answers are part of the first round.

    Not included are quality checks, which belong to no round, annotators who are left out, and
    images that an annotator could not see.
    """
    query = (
        select(
            Round.number,
            Grid.images,
            Answer.groups,
            Annotator.position,
            Answer.descriptions,
            Grid.purpose,
            Answer.unseen,
        )
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Round, Grid.round_id == Round.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(
            Answer.campaign_id == campaign.id,
            Answer.state.in_(("submitted", "surplus")),
            is_learned_from(),
        )
        .order_by(Answer.submitted_at, Answer.id)
    )
    by_round: dict[int, list[tuple[Any, ...]]] = {}
    for number, *answer in session.execute(query):
        by_round.setdefault(max(number, 1), []).append(tuple(answer))
    if not by_round:
        raise ValueError("This campaign has no answers to learn from yet.")
    numbers = sorted(by_round)
    return LearningData(
        rounds=[
            _groupings(by_round[number], campaign.n_images, campaign.n_annotators)
            for number in numbers
        ],
        n_images=campaign.n_images,
        grid_size=campaign.grid_size,
        n_rounds=campaign.rounds,
        n_groups=campaign.max_groups,
        ballot=kind_of(campaign).ballot,
        seed=campaign.seed,
        words=[answer[3] or [] for number in numbers for answer in by_round[number]],
        purposes=[answer[4] for number in numbers for answer in by_round[number]],
        previous=_previous(session, campaign),
        n_full=n_full_rounds(session, campaign),
        begun=_begun(session, campaign),
        asked=asked_images(session, campaign) if is_chosen(session, campaign) else None,
    )


def _begun(session: Session, campaign: Campaign) -> NDArray[np.int64]:
    """Return (n, S) grids that were shown or imported at least once. Imported ones may have other
    sizes, which no grid of the campaign repeats."""
    begun = select(Answer.id).where(Answer.grid_id == Grid.id)
    query = select(Grid.images).where(
        Grid.campaign_id == campaign.id,
        Grid.role == "ask",
        func.cardinality(Grid.images) == campaign.grid_size,
        begun.exists(),
    )
    rows = session.scalars(query).all()
    return np.array(rows, np.int64).reshape(len(rows), campaign.grid_size)


def _previous(session: Session, campaign: Campaign) -> PreviousModel | None:
    newest = session.scalar(
        select(Model)
        .where(Model.campaign_id == campaign.id)
        .order_by(Model.version.desc())
        .limit(1)
    )
    if newest is None or newest.strategy != campaign.strategy:
        return None
    return PreviousModel(newest.version, newest.n_answers, newest.notes, newest.artifact_key)


def _groupings(rows: list[tuple[Any, ...]], n_images: int, n_annotators: int) -> Groupings:
    images, groups, annotators, _, _, unseen = zip(*rows, strict=True)
    seen = [
        [(image, group) for image, group in zip(*answer, strict=True) if image not in broken]
        for *answer, broken in zip(images, groups, unseen, strict=True)
    ]
    return from_answers(
        [[image for image, _ in answer] for answer in seen],
        [[group for _, group in answer] for answer in seen],
        list(annotators),
        n_images,
        n_annotators,
    )
