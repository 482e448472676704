"""What is owed on links, where Likewise pays nobody itself: written down, and settled by hand."""

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation.models import Assignment
from app.recruitment import ledger
from app.recruitment.ledger import Owed
from app.recruitment.models import Payment, Recruitment


def owe_for(session: Session, assignment: Assignment) -> None:
    """Book what a finished assignment of a link has earned; the caller holds its row lock.

    Nothing where it is booked already. What is handed in later (a connection was away) is booked
    on top, because a payment never changes.
    """
    if assignment.state != "completed" or assignment.recruitment_id is None:
        return
    link = session.get_one(Recruitment, assignment.recruitment_id)
    if link.channel != "link":
        return
    booked = _booked(session, assignment.id)
    earned = ledger.share_of_reward(link, assignment)
    if not earned or (booked is not None and earned <= booked):
        return
    done = min(assignment.n_answered, assignment.target)
    ledger.owe(
        session,
        link,
        Owed(
            "outside",
            "reward" if booked is None else f"late:{done}",
            earned - (booked or 0),
            f"{done} of {assignment.target} grids.",
        ),
        assignment=assignment,
        submission=None,
    )


def _booked(session: Session, assignment_id: UUID) -> int | None:
    """In hundredths, also what the requester has cancelled; None: nothing was ever booked."""
    return session.scalar(
        select(func.sum(Payment.amount_cents)).where(
            Payment.assignment_id == assignment_id, Payment.kind == "outside"
        )
    )


def earned_cents(session: Session, assignment: Assignment) -> int | None:
    """What the books say that an assignment of a link has earned; None: nothing."""
    booked = select(func.sum(Payment.amount_cents)).where(
        Payment.assignment_id == assignment.id,
        Payment.kind == "outside",
        Payment.state != "cancelled",
    )
    return session.scalar(booked)
