"""What takes a place of a link: finished work, and people at work."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from app.annotation.models import Answer, Assignment
from app.core.clock import latest_now
from app.core.settings import get_settings
from app.recruitment.models import Recruitment


def is_finished() -> ColumnElement[bool]:
    """SQL: an assignment that is done, with at least one answer."""
    return and_(Assignment.state == "completed", Assignment.n_answered > 0)


def is_at_the_end() -> ColumnElement[bool]:
    """SQL: an assignment whose grids are done, and whose person has yet to answer the questions
    that come then. They may do so later, and are paid in any case."""
    done = Assignment.n_answered >= Assignment.target + Assignment.extra
    over = or_(done, Assignment.grids_over_at.is_not(None))
    return and_(Assignment.state == "open", Assignment.n_answered > 0, over)


def is_at_work() -> ColumnElement[bool]:
    """SQL: an open assignment with a live lease, or whose page was opened no longer ago than a
    lease lasts, because people read instructions before they have a lease."""
    lately = datetime.now(UTC) - timedelta(seconds=get_settings().lease_seconds)
    leased = (
        select(Answer.id)
        .where(
            Answer.assignment_id == Assignment.id,
            Answer.state == "leased",
            Answer.lease_expires_at > func.now(),
        )
        .exists()
    )
    came = Assignment.created_at.between(lately, latest_now())
    here = or_(came, Assignment.seen_at > lately, leased)
    return and_(Assignment.state == "open", Assignment.screened_out_at.is_(None), here)


def free_place(session: Session, assignment: Assignment) -> None:
    """Give the place of somebody who was screened out to the next person, although their page may
    still be open. Nothing is owed to them."""
    assignment.seen_at = None


def has_place(session: Session, link: Recruitment) -> bool:
    """Return whether one more person can start. This is certain only while the link's row is
    locked."""
    if link.places == 0:
        return True
    taken = select(func.count()).where(
        Assignment.recruitment_id == link.id, or_(is_finished(), is_at_the_end(), is_at_work())
    )
    return (session.scalar(taken) or 0) < link.places
