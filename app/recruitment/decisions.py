"""A requester's decisions about submissions and payments: approve, reject, reverse, pay a bonus.

No rule rejects anyone automatically. Every decision has a reason, and the person can read it.
"""

from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.annotation.asking_again import (
    Price,
    ask_again_for_assignment,
    price_of,
)
from app.annotation.models import Answer, Assignment
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.events import campaign_changed
from app.recruitment import calls, ledger, settling
from app.recruitment.accounts import require_payer
from app.recruitment.channels.registry import get_channel
from app.recruitment.ledger import NewPayment
from app.recruitment.models import ChannelCall, Payment, Posting, Recruitment, Submission

MOST_BONUS_CENTS = 10_000_00
LONGEST_REASON = 1000
# The rule of a payment for the completed part. A submission has at most one.
PART = "part"


def get_submission(
    session: Session, account: Account, campaign_id: UUID, submission_id: UUID
) -> tuple[Recruitment, Submission]:
    """Return the recruitment and the submission with their rows locked. Raises NotFound if the
    account has no access."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    submission = session.get(Submission, submission_id)
    if submission is not None:
        recruitment = locked(session, Recruitment, submission.recruitment_id)
        if recruitment.campaign_id == campaign.id:
            return recruitment, locked(session, Submission, submission.id)
    raise NotFound("This campaign has no such submission.")


def approve(
    session: Session, account: Account, campaign_id: UUID, submission_id: UUID, message: str
) -> Payment:
    """Pay the reward of submitted work. If the work was rejected, this reverses the rejection: once
    it is paid, its answers are learned from again, and places that nobody has claimed since are not
    asked again (app/recruitment/paid_work.py).

    Raises Conflict if there is nothing to pay or not enough money.
    """
    recruitment, row = get_submission(session, account, campaign_id, submission_id)
    require_payer(session, account, recruitment)
    _require_no_open_call(session, row)
    if row.state not in ("submitted", "rejected"):
        raise Conflict(f"This submission is {row.state}, so there is nothing to approve.")
    assignment = session.get(Assignment, row.assignment_id) if row.assignment_id else None
    text = _reason(message) or "Thank you for your work."
    payment = settling.approve(session, recruitment, row, assignment, text)
    if payment.state == "failed":
        payment = ledger.release(session, payment.id)
    if payment.state == "held":
        raise ledger.OverLimit(ledger.OVER_LIMIT)
    _note(session, account, recruitment, "approved", row, reason=text)
    return payment


def reject(
    session: Session,
    account: Account,
    campaign_id: UUID,
    submission_id: UUID,
    category: str,
    message: str,
    *,
    ask_again: bool = True,
) -> Submission:
    """Reject submitted work. With `ask_again`, its answers are left out of learning, and others are
    asked for them.

    Raises InvalidInput without a valid reason, or if the account has no room for more answers, and
    Conflict if it is too late.
    """
    recruitment, row = get_submission(session, account, campaign_id, submission_id)
    text = _reason(message)
    _require_reason(recruitment, category, text)
    if row.state != "submitted":
        raise Conflict(f"This submission is {row.state}, so you can't reject it.")
    _require_no_open_call(session, row)
    reward = session.scalar(
        select(Payment)
        .where(
            Payment.submission_id == row.id,
            Payment.rule == "reward",
            Payment.state != "cancelled",
        )
        .with_for_update()
    )
    if reward is not None:
        if reward.state not in ("held", "failed"):
            raise Conflict("You can't reject this because its reward is already being paid.")
        reward.state, reward.why = "cancelled", "Rejected."
    row.decision, row.reason, row.flag = "reject", text, ""
    calls.ask(session, recruitment, "reject", submission=row, category=category, message=text)
    if ask_again:
        _ask_again(session, account, recruitment, row)
    _note(session, account, recruitment, "rejected", row, reason=text, category=category)
    return row


def price_of_asking_again(
    session: Session, account: Account, campaign_id: UUID, submission_id: UUID
) -> Price:
    """Return what it means to ask others for the answers of a submission. Raises NotFound."""
    campaign = get_campaign(session, account, campaign_id)
    row = session.get(Submission, submission_id)
    of_campaign = row is not None and campaign.id == session.scalar(
        select(Recruitment.campaign_id).where(Recruitment.id == row.recruitment_id)
    )
    if row is None or not of_campaign:
        raise NotFound("This campaign has no such submission.")
    return price_of(session, campaign, Answer.assignment_id == row.assignment_id)


def _ask_again(
    session: Session, account: Account, recruitment: Recruitment, row: Submission
) -> None:
    """The caller must hold the campaign's row lock (`get_submission`)."""
    if row.assignment_id is not None:
        campaign = session.get_one(Campaign, recruitment.campaign_id)
        assignment = locked(session, Assignment, row.assignment_id)
        ask_again_for_assignment(session, account, campaign, assignment)


def _require_reason(recruitment: Recruitment, category: str, text: str) -> None:
    """Check at once what the platform would refuse later."""
    if not text:
        raise InvalidInput("Enter a reason. The person will read it.", code="no_reason")
    channel = get_channel(recruitment.channel)
    rules, title = channel.rejections, channel.title
    if len(text) < rules.least:
        raise InvalidInput(
            f"{title} requires a reason of at least {rules.least} characters for a rejection. "
            f"Yours has {len(text)}.",
            code="short_reason",
        )
    if rules.categories and category not in rules.categories:
        raise InvalidInput(
            f"Choose one of {title}'s reason categories: {', '.join(rules.categories)}.",
            code="no_category",
        )


def _require_no_open_call(session: Session, row: Submission) -> None:
    waiting = session.scalar(
        select(ChannelCall.id).where(
            ChannelCall.submission_id == row.id,
            ChannelCall.action == "reject",
            ChannelCall.state.in_(("due", "running")),
        )
    )
    if waiting is not None:
        raise Conflict("Your last decision is still being sent to the platform. Try again later.")


def give_bonus(
    session: Session,
    account: Account,
    campaign_id: UUID,
    submission_id: UUID,
    amount_cents: int,
    reason: str,
    *,
    part: bool = False,
    request: UUID | None = None,
) -> Payment:
    """Pay an amount on top of the reward. With `part`, pay for the completed part of unfinished
    work, which is possible once. A bonus with the same `request` is paid once per assignment.

    Raises InvalidInput, Conflict or OverLimit; then nothing is owed.
    """
    recruitment, row = get_submission(session, account, campaign_id, submission_id)
    require_payer(session, account, recruitment)
    text = checked_reason(recruitment, amount_cents, reason)
    if row.assignment_id is None:
        raise Conflict("No work was done here for this submission, so there is nobody to pay.")
    assignment = session.get_one(Assignment, row.assignment_id)
    if part:
        _require_part_unpaid(session, row)
    rule = PART if part else by_hand(request or uuid4())
    bonus = NewPayment("bonus", rule, amount_cents, text)
    payment = ledger.owe(session, recruitment, bonus, assignment=assignment, submission=row)
    if payment.state == "held":
        raise ledger.OverLimit(ledger.OVER_LIMIT)
    if row.flag == "broken_off":
        row.flag, row.reason = "", text
    _note(session, account, recruitment, "bonus", row, amount_cents=amount_cents, reason=text)
    return payment


def by_hand(request: UUID) -> str:
    """Return the rule of a bonus that a requester gives with one request."""
    return f"{ledger.BY_HAND}{request.hex}"


def is_part_paid() -> ColumnElement[bool]:
    """SQL: the completed part of a submission has been paid or is being paid."""
    return (
        select(Payment.id)
        .where(
            Payment.submission_id == Submission.id,
            Payment.rule == PART,
            Payment.state != "cancelled",
        )
        .exists()
    )


def _require_part_unpaid(session: Session, row: Submission) -> None:
    """The caller must hold the recruitment's row lock."""
    earlier = select(Payment.state).where(Payment.submission_id == row.id, Payment.rule == PART)
    state = session.scalar(earlier)
    if state == "cancelled":
        raise Conflict("The payment for the completed part was cancelled. You can't make it again.")
    if state is not None:
        raise Conflict(
            "The completed part has already been paid or is being paid.", code="part_paid"
        )


def compensate(
    session: Session,
    account: Account,
    campaign_id: UUID,
    assignment_id: UUID,
    amount_cents: int,
    reason: str,
) -> Posting:
    """Pay someone who did the work but could not submit it, through a posting that only they can
    see, on platforms that have no other way.

    Raises InvalidInput, Conflict or OverLimit; then nothing is owed.
    """
    campaign = get_campaign(session, account, campaign_id, edit=True)
    assignment = session.get(Assignment, assignment_id)
    if (
        assignment is None
        or assignment.campaign_id != campaign.id
        or assignment.recruitment_id is None
    ):
        raise NotFound("This campaign has no such assignment.")
    recruitment = locked(session, Recruitment, assignment.recruitment_id)
    require_payer(session, account, recruitment)
    text = checked_reason(recruitment, amount_cents, reason)
    if not get_channel(recruitment.channel).compensates:
        raise Conflict("On this platform, pay a bonus on the person's submission instead.")
    _require_uncompensated(session, assignment)
    last = select(func.max(Posting.number)).where(Posting.recruitment_id == recruitment.id)
    posting = Posting(
        recruitment_id=recruitment.id,
        number=(session.scalar(last) or 0) + 1,
        places=1,
        compensates=assignment.id,
        amount_cents=amount_cents,
    )
    session.add(posting)
    session.flush()
    if (ledger.commitments(session, recruitment).left_cents or 0) < 0:
        raise ledger.OverLimit(ledger.OVER_LIMIT)
    calls.ask(session, recruitment, "compensate", posting=posting, reason=text)
    for row in session.scalars(
        select(Submission)
        .where(Submission.assignment_id == assignment.id, Submission.flag == "broken_off")
        .with_for_update()
    ):
        row.flag, row.reason = "", text
    record_audit(
        session, account.id, "assignment.compensated", "assignment", assignment.id,
        campaign=str(campaign.id), amount_cents=amount_cents, reason=text,
    )  # fmt: skip
    campaign_changed(session, campaign.id)
    return posting


def _require_uncompensated(session: Session, assignment: Assignment) -> None:
    paid = select(Payment.id).where(
        Payment.assignment_id == assignment.id, Payment.state != "cancelled"
    )
    stands = select(Posting.id).where(
        Posting.compensates == assignment.id, Posting.state.in_(("planned", "open", "paused"))
    )
    there = select(Submission.id).where(
        Submission.assignment_id == assignment.id,
        Submission.state.in_(("submitted", "approved")),
    )
    if session.scalar(paid.union(stands, there).limit(1)) is not None:
        raise Conflict("This work has already been paid or is being paid.")


def dismiss(
    session: Session,
    account: Account,
    campaign_id: UUID,
    submission_id: UUID,
    reason: str,
    *,
    ask_again: bool = True,
) -> Submission:
    """Remove a flag because no action is needed. With `ask_again`, others are asked for the answers
    of work that was rejected on the platform. Raises InvalidInput without a reason, and Conflict if
    the submission waits for a decision."""
    recruitment, row = get_submission(session, account, campaign_id, submission_id)
    text = _reason(reason)
    if not text:
        raise InvalidInput("Say why nothing should be done.", code="no_reason")
    if row.state == "submitted" and row.decision is None:
        raise Conflict("Someone is waiting for the reward. Approve or reject this submission.")
    if row.flag == "rejected_there":
        row.decision = "reject"
        if ask_again:
            _ask_again(session, account, recruitment, row)
    row.flag, row.reason = "", text
    _note(session, account, recruitment, "dismissed", row, reason=text)
    return row


def get_payment(session: Session, account: Account, campaign_id: UUID, payment_id: UUID) -> Payment:
    """Return a payment of the campaign. Raises NotFound if the account has no access."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    payment = session.get(Payment, payment_id)
    if payment is None or payment.campaign_id != campaign.id:
        raise NotFound("This campaign has no such payment.")
    return payment


def decide_payment(
    session: Session,
    account: Account,
    campaign_id: UUID,
    payment_id: UUID,
    decision: str,
    reason: str,
) -> Payment:
    """Apply a decision: release (a held or failed payment), cancel, paid or unpaid (a parked
    payment, or one that the requester makes)."""
    existing = get_payment(session, account, campaign_id, payment_id)
    if decision == "release":
        require_payer(session, account, session.get_one(Recruitment, existing.recruitment_id))
        payment = ledger.release(session, existing.id)
    elif decision == "cancel":
        payment = ledger.cancel(session, existing.id, reason)
    else:
        payment = ledger.settle(session, existing.id, paid=decision == "paid", why=reason)
    record_audit(
        session, account.id, f"payment.{decision}", "payment", payment.id,
        campaign=str(campaign_id), reason=reason.strip(),
    )  # fmt: skip
    return payment


def checked_reason(recruitment: Recruitment, amount_cents: int, reason: str) -> str:
    """Return the cleaned reason of a payment. Raises InvalidInput."""
    text = _reason(reason)
    if not text:
        raise InvalidInput(
            "Say what the payment is for. The person will read it.", code="no_reason"
        )
    if not 1 <= amount_cents <= MOST_BONUS_CENTS:
        most = ledger.in_money(MOST_BONUS_CENTS, recruitment.currency)
        raise InvalidInput(f"The amount must be between 0.01 and {most}.")
    return text


def _reason(text: str) -> str:
    reason = text.replace("\0", "").strip()
    if len(reason) > LONGEST_REASON:
        raise InvalidInput(
            f"The reason can have at most {LONGEST_REASON} characters. Yours has {len(reason)}."
        )
    return reason


def _note(
    session: Session,
    account: Account,
    recruitment: Recruitment,
    event: str,
    row: Submission,
    **details: object,
) -> None:
    record_audit(
        session, account.id, f"submission.{event}", "submission", row.id,
        campaign=str(recruitment.campaign_id), **details,
    )  # fmt: skip
    campaign_changed(session, recruitment.campaign_id)
