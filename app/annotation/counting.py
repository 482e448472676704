"""Counting an answer in its campaign and round, and what follows when a round is full.

All submissions of a campaign change these two rows. Each transaction therefore does this at its
very end, with one statement, so that the next one waits for little more than a commit.
"""

from typing import cast as cast_type

from sqlalchemy import BigInteger, Integer, Table, Text, bindparam, cast, func, select, true, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from app.annotation.models import Answer
from app.campaigns.models import Campaign, Round
from app.campaigns.rounds import close_round, open_next
from app.core.database import advisory_key
from app.core.events import campaign_changed
from app.core.prepared import Prepared
from app.jobs.service import request_job

# The queue of a campaign in which submissions count (app.core.database.advisory_lock). The rows
# alone would not keep the order of those who wait.
COUNTING = 5
# A transaction that finds a row waits for its turn before locking it.
_IN_TURN = cast(func.pg_advisory_xact_lock(bindparam("turn", type_=BigInteger)), Text).is_not(None)
_stored = bindparam("stored", type_=Integer)
_NUMBERS = ("n_answers", "n_surplus", "n_reopened", "n_annotators", "learn_at")
# Tables, and not entities, because the objects are set by hand below.
_campaign = cast_type(Table, Campaign.__table__)
_round = cast_type(Table, Round.__table__)
_IN_CAMPAIGN = (
    update(_campaign)
    .where(_campaign.c.id == bindparam("of_campaign"), _IN_TURN)
    .values(
        n_answers=_campaign.c.n_answers + _stored,
        n_surplus=_campaign.c.n_surplus + 1 - _stored,
        n_reopened=_campaign.c.n_reopened - bindparam("again", type_=Integer),
        n_annotators=func.greatest(_campaign.c.n_annotators, bindparam("annotators")),
    )
    .returning(*(_campaign.c[name] for name in _NUMBERS))
    .cte("in_campaign")
)
_IN_ROUND = (
    update(_round)
    .where(_round.c.id == bindparam("of_round"), _IN_TURN)
    .values(n_answers=_round.c.n_answers + _stored)
    .returning(_round.c.n_answers.label("in_round"))
    .cte("in_round")
)
_COUNTED = Prepared(
    select(_IN_CAMPAIGN, _IN_ROUND).select_from(_IN_CAMPAIGN.join(_IN_ROUND, true()))
)


def count(
    session: Session, campaign: Campaign, current: Round, answer: Answer, position: int
) -> None:
    """Count a submitted or surplus answer of the annotator at `position`. If it fills the round,
    the next one opens, and a model is requested."""
    campaign_changed(session, campaign.id)
    ((*of_campaign, in_round),) = _COUNTED.rows(
        session,
        turn=advisory_key(campaign.id, COUNTING),
        of_campaign=campaign.id,
        of_round=current.id,
        stored=int(answer.state == "submitted"),
        again=int(answer.replaces is not None),
        annotators=position + 1,
    )
    for name, number in zip(_NUMBERS, of_campaign, strict=True):
        set_committed_value(campaign, name, number)
    set_committed_value(current, "n_answers", in_round)
    if answer.state == "submitted":
        _move_on(session, campaign, current)


def _move_on(session: Session, campaign: Campaign, current: Round) -> None:
    round_is_full = current.n_answers == current.n_wanted
    if round_is_full:
        close_round(session, current)
        open_next(session, campaign)
    # Its last model ends a campaign that runs only for places that are asked again.
    is_over = campaign.reopened_only and not campaign.n_reopened
    if round_is_full or is_over or campaign.n_answers >= campaign.learn_at:
        campaign.learn_at = campaign.n_answers + campaign.learn_every
        request_job(session, campaign.id, campaign.n_answers)
