"""What a requester owes people who used links: recording it, listing it, exporting it and marking
it as paid. Likewise does not pay them; the requester does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.annotation.models import Annotator, Assignment
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.errors import Conflict, NotFound
from app.core.events import campaign_changed
from app.core.spreadsheets import csv_line
from app.recruitment import ledger
from app.recruitment.ledger import NewPayment
from app.recruitment.models import Invitation, Payment, Recruitment

COLUMNS = [
    "annotator",
    "link",
    "person",
    "completion_code",
    "grids",
    "amount",
    "currency",
    "state",
    "since",
    "payment",
]
ROWS = 500


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
            Payment.assignment_id == assignment_id,
            Payment.kind == "outside",
            # A bonus is paid on top of what the answers earn.
            Payment.rule.not_like(f"{ledger.BY_HAND}%"),
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


@dataclass(frozen=True)
class PayableRow:
    """A payment that the requester makes.

    person: the name on an imported list, or empty.
    completion_code: set if the campaign shows people a code.
    grids: how many grids the payment is for.
    """

    payment: Payment
    link: str
    annotator: int | None
    person: str
    completion_code: str
    grids: int


PayableQuery = Select[Payment, str, int, str, str, int]


def payable_query(campaign: Campaign) -> PayableQuery:
    """Select everything that the requester has to pay or has paid. `payable_row` reads its rows."""
    return (
        select(
            Payment,
            Recruitment.name,
            Annotator.position,
            Invitation.label,
            Assignment.completion_code,
            Assignment.n_answered,
        )
        .join(Recruitment, Payment.recruitment_id == Recruitment.id)
        .outerjoin(Annotator, Payment.annotator_id == Annotator.id)
        .outerjoin(Assignment, Payment.assignment_id == Assignment.id)
        .outerjoin(
            Invitation,
            (Invitation.annotator_id == Payment.annotator_id)
            & (Invitation.recruitment_id == Payment.recruitment_id),
        )
        .where(Payment.campaign_id == campaign.id, Payment.kind == "outside")
    )


def payable_row(
    campaign: Campaign,
    payment: Payment,
    link: str,
    annotator: int | None,
    person: str | None,
    code: str | None,
    grids: int | None,
) -> PayableRow:
    tells = annotation_of(campaign.annotation).completion == "code"
    return PayableRow(
        payment, link, annotator, person or "", code or "" if tells else "", grids or 0
    )


def payables_csv(session: Session, campaign: Campaign, state: str | None) -> Iterator[bytes]:
    """Yield a CSV line for each payment, the oldest first."""
    yield csv_line(COLUMNS).encode()
    query = payable_query(campaign).order_by(Payment.id).execution_options(yield_per=ROWS)
    if state is not None:
        query = query.where(Payment.state == state)
    for record in session.execute(query):
        row = payable_row(campaign, *record)
        cents = row.payment.amount_cents
        yield csv_line(
            [
                "" if row.annotator is None else str(row.annotator),
                row.link,
                row.person,
                row.completion_code,
                str(row.grids),
                f"{cents // 100}.{cents % 100:02d}",
                row.payment.currency,
                row.payment.state,
                row.payment.created_at.isoformat(),
                str(row.payment.id),
            ]
        ).encode()


def mark_paid(
    session: Session, account: Account, campaign_id: UUID, payment_ids: Sequence[UUID], note: str
) -> int:
    """Mark payments as paid by the requester: either all of them or none. Return how many were
    marked. Payments that are already paid stay as they are. Raises NotFound, Conflict."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    payments = session.scalars(
        select(Payment)
        .where(
            Payment.id.in_(payment_ids),
            Payment.campaign_id == campaign.id,
            Payment.kind == "outside",
        )
        .order_by(Payment.id)
        .with_for_update()
    ).all()
    if len(payments) != len(set(payment_ids)):
        raise NotFound("Some of these are not payments that you make for this campaign yourself.")
    given_up = [payment for payment in payments if payment.state not in ("due", "paid")]
    if given_up:
        raise Conflict(f"You can't mark a payment as paid when it is {given_up[0].state}.")
    due = [payment for payment in payments if payment.state == "due"]
    for payment in due:
        ledger.mark_paid(payment, "")
        payment.why = note.strip() or "Paid by you."
    if due:
        record_audit(
            session, account.id, "payment.paid_outside", "campaign", campaign.id,
            payments=len(due), reason=note.strip(),
        )  # fmt: skip
        campaign_changed(session, campaign.id)
    return len(due)
