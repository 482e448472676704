"""What follows from the state of a submission: who is paid, and what needs attention.

If the platform's record matches ours and the work is complete, the reward is owed. If only the
platform has it, or it is incomplete, it is flagged but never rejected automatically. If it was
approved on the platform, the reward is recorded, and the bonuses that the recruitment's settings
promise are owed.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.asking_again import free_leases
from app.annotation.models import Annotator, Answer, Assignment
from app.annotation.quality import verdict_of
from app.campaigns.models import Campaign
from app.recruitment import ledger
from app.recruitment.costs import reward_of
from app.recruitment.ledger import NewPayment
from app.recruitment.models import Payment, Posting, Recruitment, Submission
from app.recruitment.settings import paid_settings

# The platform eventually pays people who were asked to return a submission and did not.
TO_RETURN = timedelta(days=3)
COMPENSATION = "compensation"
# The rule of the bonus for grids beyond the assignment that were not requested as extra grids:
# their answers arrived after the assignment had ended.
LATE = f"{ledger.EXTRA}:late"


def settle(session: Session, recruitment: Recruitment, row: Submission) -> None:
    """Decide what follows from a submission's state. The caller must hold the recruitment's row
    lock."""
    assignment = session.get(Assignment, row.assignment_id) if row.assignment_id else None
    if row.state == "submitted":
        _settle_submitted(session, recruitment, row, assignment)
    elif row.state == "approved":
        _settle_approved(session, recruitment, row, assignment)
    elif row.state == "screened_out":
        _settle_screened_out(session, recruitment, row, assignment)
    elif row.state in ("returned", "timed_out") and assignment is not None:
        if assignment.state == "open":
            # Others need not wait until the leases run out.
            free_leases(session, Answer.assignment_id == assignment.id)
            assignment.state = "returned"
        _cancel_reward(session, row, "The work was returned on the platform.")
        # A reason means that someone has already looked at the submission.
        row.flag = "broken_off" if assignment.n_answered and not row.reason else ""
    elif row.state == "rejected" and row.decision != "reject":
        row.flag = row.flag or "rejected_there"


def _settle_submitted(
    session: Session, recruitment: Recruitment, row: Submission, assignment: Assignment | None
) -> None:
    if row.decision is not None:
        return
    posting = session.get_one(Posting, row.posting_id)
    settings = paid_settings(recruitment)
    if assignment is None:
        row.flag = "unknown_person"
    elif (ending := _ending_of(session, row)) in ("no_consent", "screened_out"):
        # The platform has asked them to return it, or pays them automatically.
        late = row.submitted_at is not None and datetime.now(UTC) - row.submitted_at > TO_RETURN
        row.flag = "asked_to_return" if late else ""
    elif ending == "unknown":
        row.flag = "wrong_code"
    elif posting.compensates is not None:
        approve(session, recruitment, row, assignment, "Thank you for your work.")
    elif not _is_complete(session, assignment):
        row.flag = "incomplete"
    elif _is_compensated(session, assignment):
        # The work was submitted after all, so a person decides and it is not paid twice.
        row.flag = "compensated"
    elif settings.approve == "review":
        row.flag = "awaits_review"
    else:
        approve(session, recruitment, row, assignment, "Thank you for your work.")


def _ending_of(session: Session, row: Submission) -> str:
    """Return what the completion code means: `complete`, `no_consent`, `screened_out` or `unknown`.
    On platforms without codes, everything that is submitted is `complete`."""
    codes = session.get_one(Posting, row.posting_id).details.get("codes", {})
    if not codes:
        return "complete"
    return next((what for what, code in codes.items() if code == row.code), "unknown")


def _is_complete(session: Session, assignment: Assignment) -> bool:
    """Return whether everything was done: the target, or what was left of the campaign."""
    if assignment.n_answered >= assignment.target:
        return True
    return assignment.state == "completed" and assignment.n_answered > 0


def _is_compensated(session: Session, assignment: Assignment) -> bool:
    """Return whether a task to pay for lost work was published for the assignment, or paid."""
    query = select(Posting.id).where(
        Posting.compensates == assignment.id, Posting.state != "failed"
    )
    return session.scalar(query.limit(1)) is not None


def approve(
    session: Session,
    recruitment: Recruitment,
    row: Submission,
    assignment: Assignment | None,
    message: str,
) -> Payment:
    """Record the reward of a submission as owed. The payment then approves it on the platform."""
    row.decision, row.flag, row.reason = "approve", "", message
    posting = session.get_one(Posting, row.posting_id)
    rule = "reward" if posting.compensates is None else COMPENSATION
    reward = NewPayment("reward", rule, reward_of(recruitment, posting), message)
    return ledger.owe(session, recruitment, reward, assignment=assignment, submission=row)


def _settle_approved(
    session: Session, recruitment: Recruitment, row: Submission, assignment: Assignment | None
) -> None:
    """Record a submission that was approved here, on the platform, or automatically after a
    delay."""
    payment = session.scalar(
        select(Payment)
        .where(
            Payment.submission_id == row.id,
            Payment.kind == "reward",
            Payment.state != "cancelled",
        )
        .with_for_update()
    )
    if payment is None:
        payment = approve(session, recruitment, row, assignment, "Approved on the platform.")
    if payment.state in ("held", "due", "failed"):
        ledger.mark_paid(payment, row.external_id)
        payment.why = "Paid according to the platform."
    is_work = session.get_one(Posting, row.posting_id).compensates is None
    if payment.state == "paid" and is_work:
        owe_bonuses(session, recruitment, row)


def _settle_screened_out(
    session: Session, recruitment: Recruitment, row: Submission, assignment: Assignment | None
) -> None:
    """Record the fixed amount that the platform has paid for a screen-out."""
    _cancel_reward(session, row, "Screened out instead.")
    cents = paid_settings(recruitment).failed_practice_cents
    if cents is None:
        row.flag = "" if row.reason else "screened_out_there"
        return
    screen_out = NewPayment("screen_out", "screen_out", cents, "Screened out.")
    payment = ledger.owe(session, recruitment, screen_out, assignment=assignment, submission=row)
    row.flag = ""
    if payment.state in ("held", "due", "failed"):
        ledger.mark_paid(payment, row.external_id)
        payment.why = "Paid according to the platform."


def _cancel_reward(session: Session, row: Submission, why: str) -> None:
    payment = session.scalar(
        select(Payment)
        .where(
            Payment.submission_id == row.id,
            Payment.rule == "reward",
            Payment.state.in_(("held", "due", "failed")),
        )
        .with_for_update()
    )
    if payment is not None:
        payment.state, payment.why = "cancelled", why
        row.decision, row.reason = None, ""


def owe_bonuses(session: Session, recruitment: Recruitment, row: Submission) -> None:
    """Record what the person of a paid submission has earned on top of the reward. The caller must
    hold the recruitment's row lock."""
    if row.assignment_id is None:
        return
    assignment = session.get_one(Assignment, row.assignment_id)
    for bonus in bonuses_of(session, recruitment, assignment):
        ledger.owe(session, recruitment, bonus, assignment=assignment, submission=row)


def bonuses_of(
    session: Session, recruitment: Recruitment, assignment: Assignment
) -> Iterable[NewPayment]:
    """Yield the bonuses that follow from the recruitment's settings."""
    settings = paid_settings(recruitment)
    beyond = min(max(0, assignment.n_answered - assignment.target), settings.extra_grids)
    promised = min(beyond, assignment.extra)
    # Late answers were promised to nobody, so their bonus must not hold back the promised one.
    for rule, grids in ((ledger.EXTRA, promised), (LATE, beyond - promised)):
        if grids and settings.extra_cents:
            noun = "grid" if grids == 1 else "grids"
            reason = f"{grids} extra {noun}. Thank you!"
            yield NewPayment("bonus", rule, grids * settings.extra_cents, reason)
    if settings.quality_cents and _is_good(session, recruitment, assignment):
        yield NewPayment("bonus", "quality", settings.quality_cents, "For careful work. Thank you!")


def _is_good(session: Session, recruitment: Recruitment, assignment: Assignment) -> bool:
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    annotator = session.get_one(Annotator, assignment.annotator_id)
    return verdict_of(session, campaign, annotator) == "good"
