"""What the ledger says: what a campaign has cost, and what agrees with the platform or needs
attention."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, Assignment
from app.campaigns.models import Campaign
from app.recruitment import ledger
from app.recruitment.costs import reward_of
from app.recruitment.models import Payment, Posting, Recruitment, Submission

# How long the platform may take to show a bonus before it counts as missing.
SHOWN_WITHIN = timedelta(hours=1)
PATIENCE = timedelta(minutes=15)


@dataclass(frozen=True)
class Difference:
    """Something that does not agree. `what` is paid_not_booked, booked_not_paid, amount, ours_only,
    theirs_only, incomplete, parked, failed or held."""

    what: str
    sentence: str
    submission_id: UUID | None = None
    assignment_id: UUID | None = None
    payment_id: UUID | None = None
    annotator: int | None = None
    # What the work of `ours_only` is worth, as part of the reward.
    earned_cents: int | None = None


@dataclass(frozen=True)
class Reconciliation:
    """Counts and money of a recruitment, in cents."""

    recruitment_id: UUID
    submissions: dict[str, int]
    payments: dict[str, int]
    commitments: ledger.Commitments
    differences: list[Difference]

    @property
    def is_clean(self) -> bool:
        return not self.differences


def reconcile(session: Session, recruitment: Recruitment) -> Reconciliation:
    """Compare the ledger with what the platform last reported."""
    return Reconciliation(
        recruitment_id=recruitment.id,
        submissions=_counts(session, Submission, recruitment),
        payments=_counts(session, Payment, recruitment),
        commitments=ledger.commitments(session, recruitment),
        differences=list(_differences(session, recruitment)),
    )


def _counts(
    session: Session, table: type[Submission] | type[Payment], recruitment: Recruitment
) -> dict[str, int]:
    query = (
        select(table.state, func.count())
        .where(table.recruitment_id == recruitment.id)
        .group_by(table.state)
    )
    return dict(session.execute(query).all())


def _differences(session: Session, recruitment: Recruitment) -> Iterator[Difference]:
    if recruitment.channel == "link":
        # No platform has records that could differ from ours.
        return
    yield from _of_rewards(session, recruitment)
    yield from _of_payments(session, recruitment)
    yield from _of_bonuses(session, recruitment)
    yield from _of_flags(session, recruitment)
    yield from _ours_only(session, recruitment)


def _of_rewards(session: Session, recruitment: Recruitment) -> Iterator[Difference]:
    reward = and_(
        Payment.submission_id == Submission.id,
        Payment.kind == "reward",
        Payment.state != "cancelled",
    )
    rows = session.execute(
        select(Submission, Payment, Annotator.position, Posting)
        .join(Posting, Submission.posting_id == Posting.id)
        .outerjoin(Payment, reward)
        .outerjoin(Assignment, Submission.assignment_id == Assignment.id)
        .outerjoin(Annotator, Assignment.annotator_id == Annotator.id)
        .where(Submission.recruitment_id == recruitment.id)
        .order_by(Submission.id)
    )
    for row, payment, position, posting in rows:
        paid = payment is not None and payment.state == "paid"
        if row.state == "approved" and not paid:
            sentence = "The platform says this was paid, but the ledger does not."
            yield Difference("paid_not_booked", sentence, row.id, annotator=position)
        elif paid and row.state != "approved":
            sentence = f"The ledger says this was paid, but on the platform it is {row.state}."
            yield Difference("booked_not_paid", sentence, row.id, annotator=position)
        elif paid and payment.amount_cents != reward_of(recruitment, posting):
            sentence = "The reward in the ledger differs from what the platform pays."
            yield Difference("amount", sentence, row.id, annotator=position)


STATES = {
    "parked": "It is unknown whether this was paid. Check on the platform and say so here.",
    "failed": "The platform refused this payment.",
    "held": "This payment is waiting for your approval or for a higher spending limit.",
}


def _of_payments(session: Session, recruitment: Recruitment) -> Iterator[Difference]:
    rows = session.execute(
        select(Payment, Annotator.position)
        .outerjoin(Annotator, Payment.annotator_id == Annotator.id)
        .where(Payment.recruitment_id == recruitment.id, Payment.state.in_(STATES))
        .order_by(Payment.id)
    )
    for payment, position in rows:
        sentence = payment.why or STATES[payment.state]
        yield Difference(
            payment.state, sentence, payment.submission_id, payment_id=payment.id,
            annotator=position,
        )  # fmt: skip


def _of_bonuses(session: Session, recruitment: Recruitment) -> Iterator[Difference]:
    """Compare the platform's bonuses with those in the ledger. The platform may show them with a
    delay."""
    booked = (
        select(
            Payment.submission_id,
            func.sum(Payment.amount_cents).label("cents"),
            func.max(Payment.paid_at).label("paid_at"),
        )
        .where(
            Payment.recruitment_id == recruitment.id,
            Payment.kind == "bonus",
            Payment.state == "paid",
        )
        .group_by(Payment.submission_id)
        .subquery()
    )
    rows = session.execute(
        select(Submission, booked.c.cents, booked.c.paid_at, Annotator.position)
        .join(booked, booked.c.submission_id == Submission.id)
        .outerjoin(Assignment, Submission.assignment_id == Assignment.id)
        .outerjoin(Annotator, Assignment.annotator_id == Annotator.id)
        .where(Submission.bonus_cents.is_not(None))
        .order_by(Submission.id)
    )
    late = datetime.now(UTC) - SHOWN_WITHIN
    for row, cents, paid_at, position in rows:
        seen = row.bonus_cents or 0
        if seen > cents or (seen < cents and paid_at < late):
            has, says = (ledger.in_money(amount, recruitment.currency) for amount in (cents, seen))
            sentence = f"Bonuses in the ledger: {has}. On the platform: {says}."
            yield Difference("bonus", sentence, row.id, annotator=position)


FLAGS = {
    "unknown_person": ("theirs_only", "Submitted by someone who never started here."),
    "incomplete": ("incomplete", "Submitted before all grids were done."),
    "wrong_code": ("wrong_code", "Submitted with a code that does not belong to the study."),
    "screened_out_there": ("screened_out_there", "Screened out on the platform itself."),
    "compensated": (
        "compensated",
        "Submitted after all, although a task to pay for the lost work was already published. "
        "Approve or reject it.",
    ),
    "asked_to_return": (
        "asked_to_return",
        "The person was asked to return this days ago. Reject it, or the platform will pay it "
        "automatically.",
    ),
    "rejected_there": ("rejected_there", "Rejected on the platform itself."),
    "decision_failed": ("decision_failed", "The platform refused your decision."),
}


def _of_flags(session: Session, recruitment: Recruitment) -> Iterator[Difference]:
    rows = session.execute(
        select(Submission, Annotator.position)
        .outerjoin(Assignment, Submission.assignment_id == Assignment.id)
        .outerjoin(Annotator, Assignment.annotator_id == Annotator.id)
        .where(Submission.recruitment_id == recruitment.id, Submission.flag.in_(FLAGS))
        .order_by(Submission.id)
    )
    for row, position in rows:
        what, sentence = FLAGS[row.flag]
        yield Difference(what, sentence, row.id, row.assignment_id, annotator=position)


def _ours_only(session: Session, recruitment: Recruitment) -> Iterator[Difference]:
    """Yield work that was finished here but that the platform does not know."""
    known = (
        select(Submission.id)
        .where(
            Submission.assignment_id == Assignment.id,
            Submission.state.not_in(("accepted", "returned", "timed_out")),
        )
        .exists()
    )
    paid = (
        select(Payment.id)
        .where(Payment.assignment_id == Assignment.id, Payment.state != "cancelled")
        .exists()
    )
    compensated = (
        select(Posting.id)
        .where(
            Posting.compensates == Assignment.id,
            Posting.state.in_(("planned", "open", "paused")),
        )
        .exists()
    )
    late = datetime.now(UTC) - PATIENCE
    rows = session.execute(
        select(Assignment, Annotator.position)
        .join(Annotator, Assignment.annotator_id == Annotator.id)
        .where(
            Assignment.recruitment_id == recruitment.id,
            Assignment.n_answered > 0,
            or_(Assignment.completed_at < late, Assignment.handed_in_at < late),
            ~known,
            ~paid,
            ~compensated,
        )
        .order_by(Assignment.id)
    )
    for assignment, position in rows:
        sentence = (
            f"{assignment.n_answered} grids were done here, but nothing was submitted on the "
            "platform. Pay for the work if it was lost on the way."
        )
        earned = ledger.share_of_reward(recruitment, assignment)
        yield Difference(
            "ours_only", sentence, assignment_id=assignment.id, annotator=position,
            earned_cents=earned,
        )  # fmt: skip


@dataclass(frozen=True)
class Spending:
    """A campaign's spending in cents, with fees.

    payable_cents: paid, or to be paid by a platform, or by the requester to people who used links.
    committed_cents: the same, plus what open places on platforms may still cost.
    """

    currency: str
    payable_cents: int
    committed_cents: int


def spending_of(session: Session, campaign: Campaign) -> Spending | None:
    """Return the spending, or None before the campaign's start. Amounts in different currencies
    cannot be added: the campaign's own currency is used if anything is spent in it, otherwise the
    one with the largest amount."""
    recruitments = session.scalars(
        select(Recruitment)
        .where(Recruitment.campaign_id == campaign.id, Recruitment.state != "draft")
        .order_by(Recruitment.id)
    ).all()
    if not recruitments:
        return None
    payable = _payable(session, campaign)
    committed = dict.fromkeys([campaign.currency, *payable], 0)
    for recruitment in recruitments:
        cents = ledger.commitments(session, recruitment).committed_cents
        committed[recruitment.currency] = committed.get(recruitment.currency, 0) + cents
    each = [
        Spending(currency, payable.get(currency, 0), cents) for currency, cents in committed.items()
    ]
    own, most = (
        each[0],
        max(each, key=lambda spending: (spending.committed_cents, spending.payable_cents)),
    )
    return own if own.payable_cents or own.committed_cents else most


def _payable(session: Session, campaign: Campaign) -> dict[str, int]:
    """Return what is payable by currency."""
    rows = session.execute(
        select(Payment.currency, func.sum(Payment.amount_cents + Payment.fee_cents))
        .where(Payment.campaign_id == campaign.id, Payment.state.in_(ledger.COMMITTED))
        .group_by(Payment.currency)
    )
    return {currency: int(cents) for currency, cents in rows}
