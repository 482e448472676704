"""The ledger: what each person is owed, within a spending limit that is never exceeded.

Only this module writes payments. Money that a platform may still be asked to pay, or may pay
automatically, counts as spent: every place on the platform, and every bonus that is not cancelled.
Code that commits money must hold the recruitment's row lock, so that two transactions cannot exceed
the limit together.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from app.annotation.models import Assignment
from app.core.database import locked
from app.core.errors import Conflict
from app.core.events import campaign_changed
from app.recruitment.costs import (
    bonus_fee,
    cost_of_bonus,
    cost_of_places,
    cost_of_screen_outs,
    reward_fee,
    reward_of,
)
from app.recruitment.models import Payment, Posting, Recruitment, Submission

Kind = Literal["reward", "bonus", "screen_out", "outside"]
# A platform has been, or will be, asked to make these payments.
COMMITTED = ("due", "running", "paid", "parked")
OVER_LIMIT = "The spending limit would be passed. Raise it, or cancel this payment."
AWAITS_WORD = "Awaits your word."
# Names of these reasons, for programs; any other reason is only a sentence.
WHY_CODES = {OVER_LIMIT: "over_limit", AWAITS_WORD: "awaits_approval"}
# The rule of the bonus for extra grids.
EXTRA = "extra"
# Rules of bonuses that a requester gives begin with it.
BY_HAND = "hand:"
# After this time, work that a platform does not list was not submitted.
LISTED_WITHIN = timedelta(days=1)


class OverLimit(Conflict):
    """This would commit more money than the recruitment's limit allows."""

    code = "over_spend_limit"


@dataclass(frozen=True)
class Commitments:
    """A recruitment's commitments in cents, with fees.

    places_cents: rewards and screen-outs for all places on the platform, whether paid or not.
    extra_cents: bonuses, paid or due.
    at_work_cents: bonuses for extra grids that someone has taken on but that are not recorded yet.
    held_cents: payments that wait for a decision; they are in none of the others.
    waiting_cents: bonuses that people have earned but that are held or were refused.
    """

    limit_cents: int | None
    places_cents: int
    extra_cents: int
    at_work_cents: int
    held_cents: int
    waiting_cents: int
    paid_cents: int

    @property
    def committed_cents(self) -> int:
        return self.places_cents + self.extra_cents + self.at_work_cents

    @property
    def left_cents(self) -> int | None:
        return None if self.limit_cents is None else self.limit_cents - self.committed_cents

    @property
    def left_to_promise_cents(self) -> int | None:
        """What nobody has earned yet: bonuses that were earned come before new promises."""
        return None if self.left_cents is None else self.left_cents - self.waiting_cents


@dataclass(frozen=True)
class NewPayment:
    """A payment to record; `rule` is what it is for, once for each assignment."""

    kind: Kind
    rule: str
    amount_cents: int
    reason: str
    awaits_word: bool = False


def commitments(session: Session, recruitment: Recruitment) -> Commitments:
    """Return what a recruitment has cost and may still cost."""
    total = func.sum(Payment.amount_cents + Payment.fee_cents)
    query = (
        select(Payment.kind, Payment.state, total)
        .where(Payment.recruitment_id == recruitment.id)
        .group_by(Payment.kind, Payment.state)
    )
    rows = [(kind, state, int(cents)) for kind, state, cents in session.execute(query)]
    return Commitments(
        limit_cents=recruitment.spend_limit_cents,
        places_cents=_places_cents(session, recruitment),
        extra_cents=sum(
            cents
            for kind, state, cents in rows
            if kind not in ("reward", "screen_out") and state in COMMITTED
        ),
        at_work_cents=_extras_at_work_cents(session, recruitment),
        held_cents=sum(cents for _, state, cents in rows if state == "held"),
        waiting_cents=sum(
            cents for kind, state, cents in rows if kind == "bonus" and state in ("held", "failed")
        ),
        paid_cents=sum(cents for _, state, cents in rows if state == "paid"),
    )


def _places_cents(session: Session, recruitment: Recruitment) -> int:
    postings = session.scalars(
        select(Posting).where(Posting.recruitment_id == recruitment.id, Posting.state != "failed")
    ).all()
    by_posting = (
        select(Submission.posting_id, func.count())
        .where(Submission.recruitment_id == recruitment.id)
        .group_by(Submission.posting_id)
    )
    to_pay = by_posting.where(
        or_(Submission.state.in_(("accepted", "submitted", "approved")), _is_payable("reward"))
    )
    payable = dict(session.execute(to_pay).all())
    screened = dict(session.execute(by_posting.where(_is_payable("screen_out"))).all())
    cents = 0
    for posting in postings:
        # No new people come to a closed posting, so only the places that are taken are paid.
        places = posting.taken if posting.state == "closed" else posting.places
        n = max(places, payable.get(posting.id, 0))
        reward = reward_of(recruitment, posting)
        cents += n * (reward + reward_fee(recruitment.channel, reward, posting.places))
        if posting.compensates is not None:
            continue
        cents += cost_of_screen_outs(
            recruitment, posting.places, screened.get(posting.id, 0), posting.state
        )
    return cents


def _extras_at_work_cents(session: Session, recruitment: Recruitment) -> int:
    """Return what extra grids that someone has taken on may cost. What they earn is decided when
    the reward is paid."""
    cents = recruitment.settings.get("extra_cents") or 0
    if not cents:
        return 0
    decided = select(Payment.id).where(
        # With this condition, rows are found by an index.
        Payment.recruitment_id == recruitment.id,
        Payment.assignment_id == Assignment.id,
        or_(Payment.rule == EXTRA, and_(Payment.kind == "reward", Payment.state == "paid")),
    )
    query = (
        select(Assignment.extra, func.count())
        .join(Posting, Assignment.posting_id == Posting.id)
        .where(
            Assignment.recruitment_id == recruitment.id,
            Assignment.extra > 0,
            ~decided.exists(),
            _may_be_paid(),
        )
        .group_by(Assignment.extra)
    )
    return sum(n * cost_of_bonus(recruitment, extra * cents) for extra, n in session.execute(query))


def _may_be_paid() -> ColumnElement[bool]:
    """SQL: an assignment that was submitted or may still be. Nothing is payable to people who left
    an ended posting, but until all are listed and at rest, nobody knows who has left."""
    submitted = (
        select(Submission.id)
        .where(
            Submission.assignment_id == Assignment.id,
            Submission.state.in_(("submitted", "approved")),
        )
        .exists()
    )
    lately = datetime.now(UTC) - LISTED_WITHIN
    may_come = or_(Posting.state != "closed", Posting.at_work > 0, Assignment.handed_in_at > lately)
    return or_(submitted, and_(Assignment.state != "returned", may_come))


def _is_payable(kind: Kind) -> ColumnElement[bool]:
    """SQL: a submission has a payment of this kind that a platform has been, or may be, asked to
    make."""
    return (
        select(Payment.id)
        .where(
            Payment.submission_id == Submission.id,
            Payment.kind == kind,
            Payment.state.in_(COMMITTED),
        )
        .exists()
    )


def require_room(session: Session, recruitment: Recruitment, sizes: list[int]) -> None:
    """Raise OverLimit if further postings of these sizes would exceed the limit. The caller must
    hold the recruitment's row lock and add the postings in the same transaction."""
    left = commitments(session, recruitment).left_cents
    cost = cost_of_places(recruitment, sizes)
    if left is not None and cost > left:
        raise OverLimit(
            f"{sum(sizes)} places cost {in_money(cost, recruitment.currency)} with fees, but only "
            f"{in_money(max(0, left), recruitment.currency)} of the spending limit is left. Raise "
            "the limit, or ask for fewer places."
        )


def owe(
    session: Session,
    recruitment: Recruitment,
    new_payment: NewPayment,
    *,
    assignment: Assignment | None,
    submission: Submission | None,
) -> Payment:
    """Record a payment, once for each rule. An existing one is returned unchanged.

    A bonus that would exceed the limit is held until someone raises the limit. The caller must hold
    the recruitment's row lock.
    """
    earlier = _earlier(session, new_payment.rule, assignment, submission)
    if earlier is not None:
        return earlier
    fee = (
        reward_fee(recruitment.channel, new_payment.amount_cents, _places_of(session, submission))
        if new_payment.kind == "reward"
        else bonus_fee(recruitment.channel, new_payment.amount_cents)
    )
    payment = Payment(
        campaign_id=recruitment.campaign_id,
        recruitment_id=recruitment.id,
        submission_id=submission.id if submission else None,
        assignment_id=assignment.id if assignment else None,
        annotator_id=assignment.annotator_id if assignment else None,
        kind=new_payment.kind,
        rule=new_payment.rule,
        amount_cents=new_payment.amount_cents,
        fee_cents=fee,
        currency=recruitment.currency,
        reason=new_payment.reason,
        state="held",
        why=AWAITS_WORD,
    )
    session.add(payment)
    session.flush()
    if not new_payment.awaits_word:
        _make_due(session, recruitment, payment)
    campaign_changed(session, recruitment.campaign_id)
    return payment


def _earlier(
    session: Session, rule: str, assignment: Assignment | None, submission: Submission | None
) -> Payment | None:
    for column, row in (
        (Payment.assignment_id, assignment),
        (Payment.submission_id, submission),
    ):
        if row is not None:
            payment = session.scalar(
                select(Payment).where(
                    column == row.id,
                    Payment.rule == rule,
                    # A cancelled bonus stays cancelled, but a reward can be owed again.
                    or_(Payment.state != "cancelled", Payment.kind == "bonus"),
                )
            )
            if payment is not None:
                return payment
    return None


def _places_of(session: Session, submission: Submission | None) -> int:
    return session.get_one(Posting, submission.posting_id).places if submission else 1


def _make_due(session: Session, recruitment: Recruitment, payment: Payment) -> None:
    """Change a payment from held to due if the limit allows it."""
    payment.state, payment.due_at, payment.why = "due", datetime.now(UTC), ""
    session.flush()
    committed = commitments(session, recruitment)
    # Finished work is paid before what others may still do.
    ahead = committed.at_work_cents if payment.kind in ("reward", "screen_out") else 0
    if committed.left_cents is not None and committed.left_cents + ahead < 0:
        payment.state, payment.why = "held", OVER_LIMIT
        session.flush()


def release(session: Session, payment_id: UUID) -> Payment:
    """Let a held or failed payment continue. Raises OverLimit, or Conflict if it is in another
    state."""
    payment, recruitment = _with_recruitment(session, payment_id)
    if payment.state not in ("held", "failed"):
        raise Conflict(f"This payment is {payment.state}, so there is nothing to approve.")
    _make_due(session, recruitment, payment)
    if payment.why == OVER_LIMIT:
        raise OverLimit(OVER_LIMIT)
    campaign_changed(session, payment.campaign_id)
    return payment


def release_within_limit(session: Session, recruitment: Recruitment) -> int:
    """After the limit was raised, release the payments that the old limit held, the oldest first.
    Return how many."""
    held = session.scalars(
        select(Payment)
        .where(
            Payment.recruitment_id == recruitment.id,
            Payment.state == "held",
            Payment.why == OVER_LIMIT,
        )
        .order_by(Payment.id)
        .with_for_update()
    ).all()
    for payment in held:
        _make_due(session, recruitment, payment)
    return sum(payment.state == "due" for payment in held)


def cancel(session: Session, payment_id: UUID, why: str) -> Payment:
    """Cancel a payment that was not sent to a platform. Raises Conflict otherwise."""
    payment, _ = _with_recruitment(session, payment_id)
    if payment.state not in ("held", "due", "failed") or payment.unsure or payment.kind == "reward":
        raise Conflict(
            "You can cancel only payments that have not been sent to a platform. To cancel a "
            "reward, reject the work."
        )
    payment.state, payment.why = "cancelled", why.strip() or "Cancelled."
    campaign_changed(session, payment.campaign_id)
    return payment


def settle(session: Session, payment_id: UUID, *, paid: bool, why: str) -> Payment:
    """Record whether a payment with an unknown outcome, or one that the requester makes, was
    paid."""
    payment, _ = _with_recruitment(session, payment_id)
    if payment.state != "parked" and not (payment.kind == "outside" and payment.state == "due"):
        raise Conflict(
            f"This payment is {payment.state}. You can record the outcome only of payments whose "
            "outcome is unknown or that you pay yourself."
        )
    if paid:
        mark_paid(payment, payment.external_id)
        payment.why = why.strip() or "Recorded by hand."
    else:
        payment.state, payment.unsure, payment.why = "held", False, why.strip() or AWAITS_WORD
    campaign_changed(session, payment.campaign_id)
    return payment


def mark_paid(payment: Payment, external_id: str) -> None:
    payment.state, payment.paid_at = "paid", datetime.now(UTC)
    payment.external_id, payment.unsure, payment.why = external_id, False, ""


def _with_recruitment(session: Session, payment_id: UUID) -> tuple[Payment, Recruitment]:
    """Return both with their rows locked. The recruitment is locked first because its limit may be
    checked."""
    payment = session.get_one(Payment, payment_id)
    recruitment = locked(session, Recruitment, payment.recruitment_id)
    return locked(session, Payment, payment_id), recruitment


def share_of_reward(recruitment: Recruitment, assignment: Assignment) -> int:
    """Return what a person who did part of an assignment has earned, in cents: in proportion, with
    fractions of a cent rounded up."""
    done = min(assignment.n_answered, assignment.target)
    return -(-recruitment.reward_cents * done // assignment.target)


def in_money(cents: int, currency: str) -> str:
    """Return an amount as people read it: `12.50 USD`."""
    return f"{cents // 100}.{cents % 100:02d} {currency}"
