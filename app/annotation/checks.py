"""Gold grids and hidden repeats: they decide when an annotator gets which, and score the
answers."""

from math import ceil, floor
from uuid import UUID

import numpy as np
from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from app.annotation.models import Answer
from app.annotation.sessions import AnnotatorSession
from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.known import known_grid
from app.campaigns.models import Campaign, Grid
from app.core.security import pseudonym
from app.kinds import kind_of
from learning.quality import Agreement

FINISHED = ("submitted", "surplus")
# A repeat comes after other grids, so that it is not answered from memory.
GRIDS_BETWEEN = 3
# Checks come early in their stretch, so that a delayed one still falls into it.
EARLY = 0.8


def due(annotator_id: UUID, kind: str, share: float, index: int) -> int:
    """Return how many checks of a kind an annotator should have had by grid `index` (from 0).

    There is one in each stretch of 1 / share grids, at a place that the annotator cannot guess.
    """
    if share <= 0:
        return 0
    n_stretches = floor((index + 1) * share) + 1
    return sum(_place(annotator_id, kind, share, n) <= index for n in range(n_stretches))


def _place(annotator_id: UUID, kind: str, share: float, stretch: int) -> int:
    first, last = ceil(stretch / share), ceil((stretch + 1) / share)
    # The hash is keyed, so that someone who reads this code and knows the id can't predict the
    # places.
    digest = pseudonym("places of checks", f"{annotator_id}/{kind}/{stretch}")
    return first + int(digest[:8], 16) % max(1, floor(EARLY * (last - first)))


def has_checks(settings: AnnotationSettings) -> bool:
    """Return whether annotators get gold grids or repeats."""
    return bool(settings.gold_share or settings.repeat_share)


def next_check(session: Session, who: AnnotatorSession) -> Grid | None:
    """Return the check that is this annotator's next grid, or None if an ordinary grid is next."""
    settings = who.settings
    if not has_checks(settings):
        return None
    had = _grids_had(session, who)
    # A returned check is not replaced, because that would reveal that it was a check.
    n_returned = had.pop("returned", 0)
    index = sum(had.values()) - n_returned
    if due(who.annotator_id, "gold", settings.gold_share, index) > had.get("gold", 0):
        gold = _unseen_gold(session, who)
        if gold is not None:
            return gold
    if due(who.annotator_id, "repeat", settings.repeat_share, index) > had.get("repeat", 0):
        return _repeat(session, who, index)
    return None


def _grids_had(session: Session, who: AnnotatorSession) -> dict[str, int]:
    """Count by role the grids that the annotator has answered or works on. Checks also count if
    they were returned; `returned` is how many were."""
    is_back = Answer.state == "returned"
    query = (
        select(Grid.role, is_back, func.count())
        .join(Answer, Answer.grid_id == Grid.id)
        .where(Answer.annotator_id == who.annotator_id, or_(_taken_on(), is_back))
        .group_by(Grid.role, is_back)
    )
    had: dict[str, int] = {}
    for role, back, n in session.execute(query):
        if not back or role != "ask":
            had[role] = had.get(role, 0) + n
        if back and role != "ask":
            had["returned"] = had.get("returned", 0) + n
    return had


def _taken_on() -> ColumnElement[bool]:
    """SQL: answers that are finished, in progress or started, but not leases that expired
    unused."""
    at_work = or_(Answer.lease_expires_at > func.now(), Answer.draft.is_not(None))
    return or_(Answer.state.in_(FINISHED), and_(Answer.state == "leased", at_work))


def _unseen_gold(session: Session, who: AnnotatorSession) -> Grid | None:
    mine = select(Answer.id).where(
        Answer.grid_id == Grid.id,
        Answer.annotator_id == who.annotator_id,
        or_(_taken_on(), Answer.state == "returned"),
    )
    of_campaign = (Grid.campaign_id == who.campaign.id, Grid.role == "gold")
    query = select(Grid).where(*of_campaign, ~mine.exists()).order_by(Grid.number).limit(1)
    gold = session.scalar(query)
    if gold is not None:
        return gold
    last = session.scalar(select(func.max(Grid.number)).where(*of_campaign))
    return known_grid(session, who.campaign, "gold", 0 if last is None else last + 1)


def _repeat(session: Session, who: AnnotatorSession, index: int) -> Grid | None:
    """Return a repeat of one of the annotator's earlier grids with the images in other places, or
    None if there is none yet."""
    again = aliased(Grid)
    repeated = (
        select(Answer.id)
        .join(again, Answer.grid_id == again.id)
        .where(again.repeats == Grid.id, Answer.annotator_id == who.annotator_id)
    )
    query = (
        select(Grid)
        .join(Answer, Answer.grid_id == Grid.id)
        .where(
            Answer.annotator_id == who.annotator_id,
            Answer.state.in_(FINISHED),
            Grid.role == "ask",
            ~repeated.exists(),
        )
        .order_by(Answer.submitted_at.desc())
        .offset(GRIDS_BETWEEN)
    )
    earlier = session.scalars(query).all()
    if not earlier:
        return None
    rng = np.random.default_rng([who.campaign.seed, who.annotator_id.int % 2**32, index])
    original = earlier[int(rng.integers(len(earlier)))]
    grid = Grid(
        campaign_id=who.campaign.id,
        role="repeat",
        repeats=original.id,
        number=0,
        images=kind_of(who.campaign).in_another_order(original.images, rng),
        wanted=1,
    )
    session.add(grid)
    session.flush()
    return grid


def compare(session: Session, campaign: Campaign, grid: Grid, answer: Answer) -> Agreement | None:
    """Return how well an answer to a check agrees with the known answer, or with the annotator's
    earlier answer."""
    given = dict(zip(grid.images, answer.groups or [], strict=True))
    if grid.truth is not None:
        seen = [k for k, image in enumerate(grid.images) if image not in answer.unseen]
        by = kind_of(campaign).agreement
        return by([grid.truth[k] for k in seen], [given[grid.images[k]] for k in seen])
    if grid.repeats is None:
        return None
    earlier = session.scalar(
        select(Answer).where(
            Answer.grid_id == grid.repeats, Answer.annotator_id == answer.annotator_id
        )
    )
    if earlier is None or earlier.groups is None:
        return None
    images = session.get_one(Grid, grid.repeats).images
    unseen = {*answer.unseen, *earlier.unseen}
    pairs = [
        (group, given[image])
        for image, group in zip(images, earlier.groups, strict=True)
        if image not in unseen
    ]
    consistent = kind_of(campaign).consistency
    return consistent([group for group, _ in pairs], [other for _, other in pairs])
