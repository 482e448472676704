"""What is owed to people who used links. Likewise does not pay them; it records what they earned,
and the requester pays."""

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation.models import Assignment
from app.recruitment import ledger
from app.recruitment.ledger import NewPayment
from app.recruitment.models import Payment, Recruitment


def owe_for(session: Session, assignment: Assignment) -> None:
    """Record what a finished assignment of a link has earned. The caller must hold its row lock.

    Nothing happens if it is already recorded. If more answers arrive later, for example after a
    lost connection, the difference is recorded as another payment, because a payment never changes.
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
        NewPayment(
            "outside",
            "reward" if booked is None else f"late:{done}",
            earned - (booked or 0),
            f"{done} of {assignment.target} grids.",
        ),
        assignment=assignment,
        submission=None,
    )


def _booked(session: Session, assignment_id: UUID) -> int | None:
    """Return what was recorded in cents, including what the requester has cancelled, or None if
    nothing was ever recorded."""
    return session.scalar(
        select(func.sum(Payment.amount_cents)).where(
            Payment.assignment_id == assignment_id, Payment.kind == "outside"
        )
    )


def earned_cents(session: Session, assignment: Assignment) -> int | None:
    """Return what an assignment of a link has earned according to the ledger, or None."""
    booked = select(func.sum(Payment.amount_cents)).where(
        Payment.assignment_id == assignment.id,
        Payment.kind == "outside",
        Payment.state != "cancelled",
    )
    return session.scalar(booked)
