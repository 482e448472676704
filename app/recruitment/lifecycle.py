"""Pausing, resuming and stopping all postings of a recruitment."""

from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.campaigns import hooks
from app.core.database import locked
from app.recruitment import calls
from app.recruitment.models import ChannelAccount, ChannelCall, Posting, Recruitment

Action = Literal["pause", "resume", "stop"]


def move(session: Session, recruitment: Recruitment, action: Action) -> None:
    """Have all postings paused, resumed or stopped. The caller must hold the recruitment's row
    lock."""
    recruitment.state = {"pause": "paused", "resume": "open", "stop": "stopped"}[action]
    if action == "stop":
        recruitment.stopped_at = datetime.now(UTC)
    for posting in session.scalars(
        select(Posting).where(
            Posting.recruitment_id == recruitment.id,
            Posting.state.in_(("planned", "open", "paused")),
            # Promised pay for lost work is paid, whatever happens to the other postings.
            Posting.compensates.is_(None),
        )
    ):
        if action == "stop" and _withdrawn(session, posting):
            continue
        calls.ask(session, recruitment, action, posting=posting)


def _withdrawn(session: Session, posting: Posting) -> bool:
    """Withdraw a posting that was not sent to a platform. Return whether that was possible."""
    call = session.scalar(
        select(ChannelCall)
        .where(ChannelCall.posting_id == posting.id, ChannelCall.action == "publish")
        .with_for_update()
    )
    if posting.state != "planned" or call is None or call.attempts or call.state != "due":
        return False
    call.state, call.ended_at, call.why = "cancelled", datetime.now(UTC), "Stopped earlier."
    posting.state, posting.closed_at = "failed", datetime.now(UTC)
    return True


@hooks.paused.answered_by
def pause_all(session: Session, campaign_id: UUID) -> None:
    """Pause recruiting because the campaign is paused. Platforms send no new people until
    recruiting is resumed. Links tell people themselves."""
    query = select(Recruitment.id).where(
        Recruitment.campaign_id == campaign_id,
        Recruitment.channel != "link",
        Recruitment.state == "open",
    )
    for recruitment_id in session.scalars(query).all():
        recruitment = locked(session, Recruitment, recruitment_id)
        if recruitment.state == "open":
            move(session, recruitment, "pause")


@hooks.ended.answered_by
def stop_all(session: Session, campaign_id: UUID) -> None:
    """Stop recruiting because the campaign has ended. Links keep their state for when the campaign
    is reopened."""
    _stop(session, select(Recruitment.id).where(Recruitment.campaign_id == campaign_id))


@hooks.edit_ended.answered_by
def stop_paid_by(session: Session, campaign_id: UUID, account_id: UUID) -> None:
    """Stop recruiting that is paid by an account which can no longer edit the campaign."""
    theirs = select(ChannelAccount.id).where(ChannelAccount.account_id == account_id)
    paid = select(Recruitment.id).where(
        Recruitment.campaign_id == campaign_id, Recruitment.channel_account_id.in_(theirs)
    )
    _stop(session, paid)


def _stop(session: Session, chosen: Select[UUID]) -> None:
    live = chosen.where(Recruitment.channel != "link", Recruitment.state.in_(("open", "paused")))
    for recruitment_id in session.scalars(live).all():
        recruitment = locked(session, Recruitment, recruitment_id)
        if recruitment.state in ("open", "paused"):
            move(session, recruitment, "stop")
