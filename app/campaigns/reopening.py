"""Places that lost their answer and are asked again: what this changes in grids, rounds and the
campaign.

A place is one of the answers that a grid wants. A place that is open again no longer counts as
answered, so that the budget in answers pays for its new answer. `n_reopened` of grid and campaign
count the open ones. The caller of each function holds the campaign's row lock while no answer is
being submitted (app/campaigns/locks.py).
"""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import any_, literal, select, update
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.quota import require_room_for_answers
from app.campaigns.rounds import close_round, end_campaign, open_next
from app.core.events import campaign_changed
from app.jobs.service import request_job


def reopen_places(session: Session, campaign: Campaign, grids: Sequence[int]) -> bool:
    """Open a place of each of these grids again, which were answered. A campaign that has ended
    runs again, but only for such places. Returns whether it had ended.

    Raises InvalidInput if the account has no room for more answers.
    """
    _move(session, campaign, grids, -1)
    campaign.n_surplus += len(grids)
    campaign.learn_at = min(campaign.learn_at, campaign.n_answers + campaign.learn_every)
    had_ended = campaign.state == "finished"
    if had_ended:
        campaign.state, campaign.reopened_only = "running", True
        campaign.finished_at = campaign.archived_at = None
    require_room_for_answers(session, campaign.owner_id)
    return had_ended


def withdraw_places(session: Session, campaign: Campaign, grids: Sequence[int]) -> None:
    """Give the open places of these grids their answers back. What follows from the last answer of
    a round, or of a campaign that runs for such places only, follows from this as well."""
    _move(session, campaign, grids, 1)
    campaign.n_surplus -= len(grids)
    full = session.scalars(
        select(Round)
        .where(
            Round.campaign_id == campaign.id,
            Round.state.in_(("open", "ready", "reopened")),
            Round.n_answers == Round.n_wanted,
        )
        .order_by(Round.number)
        .with_for_update(key_share=True)
    ).all()
    for round_ in full:
        close_round(session, round_)
    if full:
        open_next(session, campaign)
        request_job(session, campaign.id, campaign.n_answers)
    if campaign.reopened_only and not campaign.n_reopened:
        end_campaign(session, campaign)


def _move(session: Session, campaign: Campaign, grids: Sequence[int], by: int) -> None:
    """Count one answer more or less, and one open place less or more, in each of these grids."""
    moved = session.execute(
        update(Grid)
        .where(Grid.id == any_(literal(list(grids), ARRAY(BIGINT))))
        .values(n_answers=Grid.n_answers + by, n_reopened=Grid.n_reopened - by)
        .returning(Grid.round_id)
        .execution_options(synchronize_session=False)
    )
    of_rounds = Counter(moved.scalars())
    rounds = select(Round).where(Round.id.in_(of_rounds)).order_by(Round.number)
    for round_ in session.scalars(rounds.with_for_update(key_share=True)):
        round_.n_answers += by * of_rounds[round_.id]
        if by < 0 and round_.state == "closed":
            round_.state, round_.closed_at = "reopened", None
    campaign.n_answers += by * len(grids)
    campaign.n_reopened -= by * len(grids)
    session.flush()
    campaign_changed(session, campaign.id)
