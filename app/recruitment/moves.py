"""Pausing, resuming and stopping all that stands on a platform for a recruitment."""

from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.database import locked
from app.recruitment import calls
from app.recruitment.models import ChannelAccount, ChannelCall, Posting, Recruitment

Deed = Literal["pause", "resume", "stop"]


def move(session: Session, recruitment: Recruitment, deed: Deed) -> None:
    """Have all postings paused, resumed or stopped. The caller holds the recruitment."""
    recruitment.state = {"pause": "paused", "resume": "open", "stop": "stopped"}[deed]
    if deed == "stop":
        recruitment.stopped_at = datetime.now(UTC)
    for posting in session.scalars(
        select(Posting).where(
            Posting.recruitment_id == recruitment.id,
            Posting.state.in_(("planned", "open", "paused")),
            # Who was promised pay for lost work is paid, whatever becomes of the rest.
            Posting.compensates.is_(None),
        )
    ):
        if deed == "stop" and _withdrawn(session, posting):
            continue
        calls.ask(session, recruitment, deed, posting=posting)


def _withdrawn(session: Session, posting: Posting) -> bool:
    """Whether a posting that no platform has heard of could be given up."""
    call = session.scalar(
        select(ChannelCall)
        .where(ChannelCall.posting_id == posting.id, ChannelCall.deed == "publish")
        .with_for_update()
    )
    if posting.state != "planned" or call is None or call.attempts or call.state != "due":
        return False
    call.state, call.ended_at, call.why = "cancelled", datetime.now(UTC), "Stopped earlier."
    posting.state, posting.closed_at = "failed", datetime.now(UTC)
    return True


def pause_all(session: Session, campaign_id: UUID) -> None:
    """The campaign is paused: platforms send nobody new to it until its recruiting is resumed.
    Links tell people themselves."""
    query = select(Recruitment.id).where(
        Recruitment.campaign_id == campaign_id,
        Recruitment.channel != "link",
        Recruitment.state == "open",
    )
    for found in session.scalars(query).all():
        recruitment = locked(session, Recruitment, found)
        if recruitment.state == "open":
            move(session, recruitment, "pause")


def stop_all(session: Session, campaign_id: UUID, payer: UUID | None = None) -> None:
    """The campaign has ended, or the account that pays has left it (`payer`): platforms send nobody
    new to it. Its links are as they were when it is opened again."""
    query = select(Recruitment.id).where(
        Recruitment.campaign_id == campaign_id,
        Recruitment.channel != "link",
        Recruitment.state.in_(("open", "paused")),
    )
    if payer is not None:
        theirs = select(ChannelAccount.id).where(ChannelAccount.account_id == payer)
        query = query.where(Recruitment.channel_account_id.in_(theirs))
    for found in session.scalars(query).all():
        recruitment = locked(session, Recruitment, found)
        if recruitment.state in ("open", "paused"):
            move(session, recruitment, "stop")
