"""API of submissions on platforms and of payments. Amounts of money are in cents."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import func, or_, select

from app.accounts.api import api_router
from app.accounts.routes import Paying, SignedIn
from app.annotation.models import Annotator, Assignment
from app.annotation.requester import AskAgainOut
from app.campaigns.service import get_campaign
from app.core.fields import StrictBool, StrictInt
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.recruitment import decisions, ledger
from app.recruitment.ledger import WHY_CODES
from app.recruitment.models import Payment, Recruitment, Submission

PaymentState = Literal["held", "due", "running", "paid", "failed", "parked", "cancelled"]
api = api_router("/campaigns/{campaign_id}", "recruitment")


class SubmissionOut(BaseModel):
    """A person's work on a posting.

    annotator: the person's number in the campaign; null if they never started here.
    assignment_id: their assignment; null if they never started here.
    earned_cents: the part of the reward that the completed work is worth.
    part_paid: whether that part has been paid, or is being paid, as a bonus.
    """

    id: UUID
    recruitment_id: UUID
    assignment_id: UUID | None
    external_id: str
    state: str
    annotator: int | None
    n_answered: int | None
    target: int | None
    earned_cents: int | None
    part_paid: bool
    flag: str
    decision: str | None
    reason: str
    submitted_at: datetime | None
    auto_approved_at: datetime | None
    seen_at: datetime

    @classmethod
    def of(
        cls,
        row: Submission,
        annotator: int | None,
        n_answered: int | None,
        target: int | None,
        earned_cents: int | None,
        *,
        part_paid: bool,
    ) -> "SubmissionOut":
        return cls(
            id=row.id,
            recruitment_id=row.recruitment_id,
            assignment_id=row.assignment_id,
            external_id=row.external_id,
            state=row.state,
            annotator=annotator,
            n_answered=n_answered,
            target=target,
            earned_cents=earned_cents,
            part_paid=part_paid,
            flag=row.flag,
            decision=row.decision,
            reason=row.reason,
            submitted_at=row.submitted_at,
            auto_approved_at=row.auto_approved_at,
            seen_at=row.seen_at,
        )


class ReasonIn(BaseModel, extra="forbid"):
    reason: str = Field(default="", max_length=1000)


class RejectionIn(BaseModel, extra="forbid"):
    """`category` must be one of Prolific's rejection categories. MTurk ignores it. `ask_again`
    leaves the answers out of learning and asks others for them."""

    category: str = Field(default="", max_length=50)
    reason: str = Field(max_length=1000)
    ask_again: StrictBool = True


class DismissalIn(ReasonIn):
    """`ask_again` concerns work that was rejected on the platform: its answers are left out of
    learning, and others are asked for them."""

    ask_again: StrictBool = True


class BonusIn(BaseModel, extra="forbid"):
    amount_cents: StrictInt
    reason: str = Field(max_length=1000)


class SubmissionBonusIn(BonusIn):
    """`part` pays for the completed part of unfinished work. This is possible once."""

    part: StrictBool = False


class PaymentOut(BaseModel):
    """A payment of the ledger. `history` lists every attempt with its time and the platform's
    response. `why_code` names the reason in `why` if it is `awaits_approval` or `over_limit`; else
    it is empty."""

    id: UUID
    recruitment_id: UUID
    submission_id: UUID | None
    annotator: int | None
    kind: str
    rule: str
    amount_cents: int
    fee_cents: int
    currency: str
    reason: str
    state: str
    why: str
    why_code: str
    attempts: int
    paid_at: datetime | None
    created_at: datetime
    history: list[dict[str, Any]]

    @classmethod
    def of(cls, payment: Payment, annotator: int | None) -> "PaymentOut":
        return cls(
            id=payment.id,
            recruitment_id=payment.recruitment_id,
            submission_id=payment.submission_id,
            annotator=annotator,
            kind=payment.kind,
            rule=payment.rule.partition(":")[0],
            amount_cents=payment.amount_cents,
            fee_cents=payment.fee_cents,
            currency=payment.currency,
            reason=payment.reason,
            state=payment.state,
            why=payment.why,
            why_code=WHY_CODES.get(payment.why, ""),
            attempts=payment.attempts,
            paid_at=payment.paid_at,
            created_at=payment.created_at,
            history=payment.history,
        )


class TotalOut(BaseModel):
    """The sum of the payments in one state and currency. Fees follow the platform's published
    rates."""

    state: str
    currency: str
    n: int
    amount_cents: int
    fee_cents: int


class TotalsOut(BaseModel):
    totals: list[TotalOut]


@api.get("/submissions")
def list_submissions(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
    flagged: bool = False,
    rejected: bool = False,
) -> Page[SubmissionOut]:
    """List what people submitted on platforms, the newest first. You can list only submissions that
    need attention, or only rejected ones."""
    campaign = get_campaign(session, account, campaign_id)
    query = (
        select(Submission, Recruitment, Assignment, Annotator.position, decisions.is_part_paid())
        .join(Recruitment, Submission.recruitment_id == Recruitment.id)
        .outerjoin(Assignment, Submission.assignment_id == Assignment.id)
        .outerjoin(Annotator, Assignment.annotator_id == Annotator.id)
        .where(Recruitment.campaign_id == campaign.id)
    )
    if flagged:
        query = query.where(Submission.flag != "")
    if rejected:
        query = query.where(or_(Submission.state == "rejected", Submission.decision == "reject"))
    rows = paging.rows(session, query, Submission.id, newest_first=True)
    return paging.page([_submission_out(*row) for row in rows])


def _submission_out(
    row: Submission,
    recruitment: Recruitment,
    assignment: Assignment | None,
    position: int | None,
    part_paid: bool,
) -> SubmissionOut:
    if assignment is None:
        return SubmissionOut.of(row, None, None, None, None, part_paid=part_paid)
    earned = ledger.share_of_reward(recruitment, assignment)
    n_answered, target = assignment.n_answered, assignment.target
    return SubmissionOut.of(row, position, n_answered, target, earned, part_paid=part_paid)


@api.post("/submissions/{submission_id}/approve")
def approve_submission(
    campaign_id: UUID,
    submission_id: UUID,
    body: ReasonIn,
    session: DatabaseSession,
    account: Paying,
) -> PaymentOut:
    """Pay the reward of a submission. If it was rejected, this reverses the rejection."""
    payment = decisions.approve(session, account, campaign_id, submission_id, body.reason)
    return _payment_out(session, payment)


@api.post("/submissions/{submission_id}/reject", status_code=202)
def reject_submission(
    campaign_id: UUID,
    submission_id: UUID,
    body: RejectionIn,
    session: DatabaseSession,
    account: SignedIn,
) -> ReasonIn:
    """Reject a submission with a reason that the person will read. You can reverse a rejection."""
    row = decisions.reject(
        session,
        account,
        campaign_id,
        submission_id,
        body.category,
        body.reason,
        ask_again=body.ask_again,
    )
    return ReasonIn(reason=row.reason)


@api.get("/submissions/{submission_id}/ask-again")
def price_of_rejecting(
    campaign_id: UUID, submission_id: UUID, session: DatabaseSession, account: SignedIn
) -> AskAgainOut:
    """Return how many answers would be asked again if you rejected the submission, and about what
    that costs."""
    price = decisions.price_of_asking_again(session, account, campaign_id, submission_id)
    return AskAgainOut.of(price)


@api.post("/submissions/{submission_id}/dismiss")
def dismiss_flag(
    campaign_id: UUID,
    submission_id: UUID,
    body: DismissalIn,
    session: DatabaseSession,
    account: SignedIn,
) -> ReasonIn:
    """Mark a flagged submission as needing no action."""
    row = decisions.dismiss(
        session, account, campaign_id, submission_id, body.reason, ask_again=body.ask_again
    )
    return ReasonIn(reason=row.reason)


@api.post("/submissions/{submission_id}/bonus", status_code=201)
def give_bonus(
    campaign_id: UUID,
    submission_id: UUID,
    body: SubmissionBonusIn,
    session: DatabaseSession,
    account: Paying,
) -> PaymentOut:
    """Pay a bonus on top of the reward, or pay once for the completed part of unfinished work."""
    payment = decisions.give_bonus(
        session, account, campaign_id, submission_id, body.amount_cents, body.reason, part=body.part
    )
    return _payment_out(session, payment)


@api.post("/assignments/{assignment_id}/compensate", status_code=202)
def compensate(
    campaign_id: UUID,
    assignment_id: UUID,
    body: BonusIn,
    session: DatabaseSession,
    account: Paying,
) -> BonusIn:
    """Pay someone who did the work but could not submit it on MTurk, through a task that only they
    can see."""
    decisions.compensate(
        session, account, campaign_id, assignment_id, body.amount_cents, body.reason
    )
    return body


@api.get("/payments")
def list_payments(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
    state: PaymentState | None = None,
) -> Page[PaymentOut]:
    """List a campaign's payments, the newest first, or only those in one state."""
    campaign = get_campaign(session, account, campaign_id)
    query = (
        select(Payment, Annotator.position)
        .outerjoin(Annotator, Payment.annotator_id == Annotator.id)
        .where(Payment.campaign_id == campaign.id)
    )
    if state is not None:
        query = query.where(Payment.state == state)
    rows = paging.rows(session, query, Payment.id, newest_first=True)
    return paging.page([PaymentOut.of(*row) for row in rows])


@api.get("/payments/totals")
def payment_totals(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> TotalsOut:
    """Return the sums of a campaign's payments by state and currency."""
    campaign = get_campaign(session, account, campaign_id)
    rows = session.execute(
        select(
            Payment.state,
            Payment.currency,
            func.count(),
            func.sum(Payment.amount_cents),
            func.sum(Payment.fee_cents),
        )
        .where(Payment.campaign_id == campaign.id)
        .group_by(Payment.state, Payment.currency)
        .order_by(Payment.currency, Payment.state)
    )
    totals = [
        TotalOut(state=state, currency=currency, n=n, amount_cents=amount, fee_cents=fee)
        for state, currency, n, amount, fee in rows
    ]
    return TotalsOut(totals=totals)


@api.post("/payments/{payment_id}/{decision}")
def decide_payment(
    campaign_id: UUID,
    payment_id: UUID,
    decision: Literal["release", "cancel", "paid", "unpaid"],
    body: ReasonIn,
    session: DatabaseSession,
    account: Paying,
) -> PaymentOut:
    """Approve a held or refused payment, cancel one that was not sent to a platform, or record
    whether a payment with an unknown outcome was made."""
    payment = decisions.decide_payment(
        session, account, campaign_id, payment_id, decision, body.reason
    )
    return _payment_out(session, payment)


def _payment_out(session: DatabaseSession, payment: Payment) -> PaymentOut:
    annotator = session.get(Annotator, payment.annotator_id) if payment.annotator_id else None
    return PaymentOut.of(payment, annotator.position if annotator else None)
