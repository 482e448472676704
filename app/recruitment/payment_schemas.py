"""Request and response bodies of the submissions and payments API. Amounts of money are in
cents."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from app.core.fields import StrictBool, StrictInt
from app.recruitment.ledger import WHY_CODES
from app.recruitment.models import Payment, Recruitment, Submission
from app.recruitment.report import Difference, Reconciliation
from app.recruitment.schemas import MoneyOut


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
    """`category` must be one of Prolific's rejection categories. MTurk ignores it."""

    category: str = Field(default="", max_length=50)
    reason: str = Field(max_length=1000)


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


class DifferenceOut(BaseModel):
    """A difference between the ledger and the platform. `earned_cents` is set for `ours_only`: the
    part of the reward that the completed work is worth."""

    what: str
    sentence: str
    submission_id: UUID | None
    assignment_id: UUID | None
    payment_id: UUID | None
    annotator: int | None
    earned_cents: int | None

    @classmethod
    def of(cls, difference: Difference) -> "DifferenceOut":
        return cls(**vars(difference))


class ReconciliationOut(BaseModel):
    """The ledger compared with the platform as it was last checked. They agree if `differences` is
    empty."""

    recruitment_id: UUID
    polled_at: datetime | None
    submissions: dict[str, int]
    payments: dict[str, int]
    money: MoneyOut
    differences: list[DifferenceOut]

    @classmethod
    def of(cls, reconciliation: Reconciliation, recruitment: Recruitment) -> "ReconciliationOut":
        return cls(
            recruitment_id=reconciliation.recruitment_id,
            polled_at=recruitment.polled_at,
            submissions=reconciliation.submissions,
            payments=reconciliation.payments,
            money=MoneyOut.of(reconciliation.commitments),
            differences=[DifferenceOut.of(difference) for difference in reconciliation.differences],
        )
