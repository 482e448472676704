"""Actions on several selected people at once: approving their work, paying bonuses by hand and
sending messages.

Each person is handled by the services for single people (app/recruitment/decisions.py,
app/recruitment/ledger.py, app/recruitment/calls.py). The campaign's row is locked first, so two
requests about the same people never run at the same time.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.annotation.models import Annotator, Assignment
from app.campaigns.models import Campaign
from app.campaigns.platforms import LINK
from app.campaigns.service import get_campaign
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, LikewiseError, NotFound
from app.recruitment import calls, decisions, ledger
from app.recruitment.accounts import require_payer
from app.recruitment.channels.registry import get_channel
from app.recruitment.costs import bonus_fee, reward_fee, reward_of
from app.recruitment.ledger import NewPayment
from app.recruitment.models import ChannelCall, Payment, Posting, Recruitment, Submission

Action = Literal["approve", "message", "bonus"]
NOT_RECRUITED = "They were not recruited through a link or platform of this campaign."
_NO_BONUS = {
    "accepted": "They have not submitted their work yet.",
    "returned": "They returned their work. Pay the completed part under Needs attention.",
    "timed_out": "Their time ran out. Pay the completed part under Needs attention.",
}
_NOT_WAITING = {
    "accepted": "They have not submitted their work yet.",
    "approved": "Their work is already approved.",
    "rejected": "Their work was rejected. Reverse the rejection on the Recruit page.",
    "returned": "They returned their work.",
    "timed_out": "They did not submit their work in time.",
    "screened_out": "They were screened out.",
}


@dataclass(frozen=True)
class Selected:
    """A selected person. `assignments` and `submissions` have their recruited work, the newest
    first."""

    position: int
    annotator_id: UUID
    assignments: list[Assignment] = field(default_factory=list)
    submissions: list[Submission] = field(default_factory=list)


@dataclass(frozen=True)
class Effect:
    """What an action means for one person. Amounts are in cents.

    why: why the person is left out; empty otherwise.
    recruitment_id: the recruitment whose money and platform are used; None if left out.
    """

    annotator: int
    why: str = ""
    amount_cents: int = 0
    fee_cents: int = 0
    currency: str = ""
    recruitment_id: UUID | None = None

    @property
    def cents(self) -> int:
        return self.amount_cents + self.fee_cents


def check(
    session: Session,
    account: Account,
    campaign_id: UUID,
    action: Action,
    positions: Sequence[int],
    amount_cents: int,
) -> tuple[list[Effect], str]:
    """Return what an action would do for each person, and why it is impossible as a whole, or "".
    Raises NotFound for people who are not in the campaign."""
    campaign = get_campaign(session, account, campaign_id)
    people = _selected(session, campaign, positions)
    if action == "approve":
        return [_approval(session, account, person) for person in people], ""
    if action == "message":
        return [_delivery(session, account, person) for person in people], ""
    effects = [_bonus(session, account, person, amount_cents) for person in people]
    return effects, _problem(session, effects)


def approve(
    session: Session,
    account: Account,
    campaign_id: UUID,
    positions: Sequence[int],
    message: str,
    most_cents: int,
) -> list[Effect]:
    """Approve the work of these people that waits for approval. What cannot be approved is left
    out. Raises Conflict if it would cost more than `most_cents`, with fees."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    people = _selected(session, campaign, positions)
    effects = [_approval(session, account, person) for person in people]
    _require_at_most(effects, most_cents)
    return [
        effect if effect.why else _approved(session, account, campaign, person, effect, message)
        for person, effect in zip(people, effects, strict=True)
    ]


def _approved(
    session: Session,
    account: Account,
    campaign: Campaign,
    person: Selected,
    effect: Effect,
    message: str,
) -> Effect:
    """Approve all that waits, or nothing of this person."""
    try:
        with session.begin_nested():
            for row in _waiting(person):
                decisions.approve(session, account, campaign.id, row.id, message)
    except LikewiseError as error:
        return Effect(effect.annotator, str(error))
    return effect


def pay_bonuses(
    session: Session,
    account: Account,
    campaign_id: UUID,
    positions: Sequence[int],
    amount_cents: int,
    reason: str,
    request: UUID,
    most_cents: int,
) -> list[Effect]:
    """Pay the same bonus to each of these people, once for each person and `request`, whatever is
    repeated. People who cannot be paid are left out.

    Raises InvalidInput, OverLimit, or Conflict if the bonuses cost more than `most_cents` with
    fees; then nobody is paid.
    """
    campaign = get_campaign(session, account, campaign_id, edit=True)
    people = _selected(session, campaign, positions)
    earlier = _earlier_bonuses(session, campaign, request, amount_cents, reason)
    effects = [
        _repeated(person, earlier[person.annotator_id])
        if person.annotator_id in earlier
        else _bonus(session, account, person, amount_cents)
        for person in people
    ]
    _require_at_most(effects, most_cents)
    new = [
        (person, effect)
        for person, effect in zip(people, effects, strict=True)
        if not effect.why and person.annotator_id not in earlier
    ]
    # In one order, so that requests that lock several recruitments never wait for each other.
    for recruitment_id in sorted({effect.recruitment_id for _, effect in new}, key=str):
        locked(session, Recruitment, recruitment_id)
    if problem := _problem(session, [effect for _, effect in new]):
        raise ledger.OverLimit(problem)
    for person, _ in new:
        _pay(session, account, campaign, person, amount_cents, reason, request)
    return effects


def _pay(
    session: Session,
    account: Account,
    campaign: Campaign,
    person: Selected,
    amount_cents: int,
    reason: str,
    request: UUID,
) -> None:
    if person.submissions:
        row = _payable(person)
        assert isinstance(row, Submission)
        decisions.give_bonus(
            session, account, campaign.id, row.id, amount_cents, reason, request=request
        )
        return
    assignment = person.assignments[0]
    link = session.get_one(Recruitment, assignment.recruitment_id)
    text = decisions.checked_reason(link, amount_cents, reason)
    bonus = NewPayment("outside", decisions.by_hand(request), amount_cents, text)
    payment = ledger.owe(session, link, bonus, assignment=assignment, submission=None)
    record_audit(
        session, account.id, "payment.bonus", "payment", payment.id,
        campaign=str(campaign.id), amount_cents=amount_cents, reason=text,
    )  # fmt: skip


def send_message(
    session: Session,
    account: Account,
    campaign_id: UUID,
    positions: Sequence[int],
    text: str,
    request: UUID,
) -> list[Effect]:
    """Send a message to each of these people on the platform from which they came, once for each
    person and `request`. People who cannot be reached are left out."""
    campaign = get_campaign(session, account, campaign_id, edit=True)
    clean = "".join(letter for letter in text if letter in "\t\n" or ord(letter) >= 32).strip()
    if not clean:
        raise InvalidInput("Enter a message.", code="no_text")
    people = _selected(session, campaign, positions)
    effects = [_delivery(session, account, person) for person in people]
    earlier = _earlier_messages(session, campaign, request, clean)
    reached = 0
    for person, effect in zip(people, effects, strict=True):
        if effect.why or str(person.annotator_id) in earlier:
            continue
        row = person.submissions[0]
        recruitment = session.get_one(Recruitment, row.recruitment_id)
        calls.ask(
            session, recruitment, "message", submission=row, text=clean, request=request.hex,
            annotator=str(person.annotator_id), sender=str(account.id),
        )  # fmt: skip
        reached += 1
    if reached:
        record_audit(
            session, account.id, "campaign.message", "campaign", campaign.id,
            people=reached, text=clean, request=request.hex,
        )  # fmt: skip
    return effects


def _selected(session: Session, campaign: Campaign, positions: Sequence[int]) -> list[Selected]:
    rows = session.execute(
        select(Annotator.position, Annotator.id)
        .where(Annotator.campaign_id == campaign.id, Annotator.position.in_(positions))
        .order_by(Annotator.position)
    ).all()
    people = {annotator_id: Selected(position, annotator_id) for position, annotator_id in rows}
    missing = sorted(set(positions) - {position for position, _ in rows})
    if missing:
        raise NotFound(f"This campaign has no annotator {missing[0]}.")
    recruited = Assignment.annotator_id.in_(people), Assignment.recruitment_id.is_not(None)
    for assignment in session.scalars(
        select(Assignment).where(*recruited).order_by(Assignment.id.desc())
    ):
        people[assignment.annotator_id].assignments.append(assignment)
    for annotator_id, submission in session.execute(
        select(Assignment.annotator_id, Submission)
        .join(Submission, Submission.assignment_id == Assignment.id)
        .where(*recruited)
        .order_by(Submission.id.desc())
    ):
        people[annotator_id].submissions.append(submission)
    return list(people.values())


def _waiting(person: Selected) -> list[Submission]:
    return [
        row
        for row in person.submissions
        if row.state == "submitted" and row.flag == "awaits_review"
    ]


def _approval(session: Session, account: Account, person: Selected) -> Effect:
    """Return what approving a person's work that waits costs. The limit already counts it."""
    waiting = _waiting(person)
    if not waiting:
        return Effect(person.position, _why_not_waiting(session, person))
    effect = _paid_by(session, account, person, waiting[0])
    if effect.why:
        return effect
    for row in waiting:
        recruitment = session.get_one(Recruitment, row.recruitment_id)
        posting = session.get_one(Posting, row.posting_id)
        cents = reward_of(recruitment, posting)
        fee = reward_fee(recruitment.channel, cents, posting.places)
        effect = replace(
            effect, amount_cents=effect.amount_cents + cents, fee_cents=effect.fee_cents + fee
        )
    return effect


def _why_not_waiting(session: Session, person: Selected) -> str:
    if not person.submissions:
        return _why_no_submission(session, person, "their work is not approved here.")
    row = person.submissions[0]
    if row.state == "submitted" and row.flag:
        return "Their work needs a closer look. See Needs attention on the Recruit page."
    if row.state == "submitted":
        return "Nothing has to be approved: the reward is already being paid, or is not due."
    return _NOT_WAITING[row.state]


def _why_no_submission(session: Session, person: Selected, consequence: str) -> str:
    if not person.assignments:
        return NOT_RECRUITED
    recruitment = session.get_one(Recruitment, person.assignments[0].recruitment_id)
    if recruitment.channel == LINK:
        return f"They came through a link, so {consequence}"
    return f"{get_channel(recruitment.channel).title} has not listed their work yet."


def _paid_by(session: Session, account: Account, person: Selected, row: Submission) -> Effect:
    """Return an effect without amounts, or why the account may not use the platform account."""
    recruitment = session.get_one(Recruitment, row.recruitment_id)
    try:
        require_payer(session, account, recruitment)
    except LikewiseError as error:
        return Effect(person.position, str(error))
    return Effect(person.position, currency=recruitment.currency, recruitment_id=row.recruitment_id)


def _delivery(session: Session, account: Account, person: Selected) -> Effect:
    if not person.submissions:
        no_messages = "Likewise can't send them messages."
        return Effect(person.position, _why_no_submission(session, person, no_messages))
    row = person.submissions[0]
    channel = get_channel(session.get_one(Recruitment, row.recruitment_id).channel)
    if not channel.messages:
        return Effect(person.position, f"{channel.title} has no messages.")
    return _paid_by(session, account, person, row)


def _payable(person: Selected) -> Submission | str:
    """Return the newest submission that can get a bonus, or why there is none."""
    return next(
        (row for row in person.submissions if row.state not in _NO_BONUS),
        _NO_BONUS.get(person.submissions[0].state, ""),
    )


def _bonus(session: Session, account: Account, person: Selected, amount_cents: int) -> Effect:
    if person.submissions:
        row = _payable(person)
        if isinstance(row, str):
            return Effect(person.position, row)
        effect = _paid_by(session, account, person, row)
        if effect.why:
            return effect
        recruitment = session.get_one(Recruitment, row.recruitment_id)
        fee = bonus_fee(recruitment.channel, amount_cents)
        return replace(effect, amount_cents=amount_cents, fee_cents=fee)
    if not person.assignments:
        return Effect(person.position, NOT_RECRUITED)
    link = session.get_one(Recruitment, person.assignments[0].recruitment_id)
    if link.channel != LINK:
        return Effect(person.position, _why_no_submission(session, person, ""))
    if not person.assignments[0].n_answered:
        return Effect(person.position, "They have not done any work yet.")
    return Effect(person.position, "", amount_cents, 0, link.currency, link.id)


def _problem(session: Session, effects: Sequence[Effect]) -> str:
    """Return why these bonuses cannot be paid together, or ""."""
    costs: dict[UUID, int] = defaultdict(int)
    for effect in effects:
        if effect.recruitment_id is not None:
            costs[effect.recruitment_id] += effect.cents
    currencies = sorted({effect.currency for effect in effects if effect.currency})
    if len(currencies) > 1:
        return (
            f"These people are paid in different currencies ({', '.join(currencies)}). Select "
            "people of one currency at a time."
        )
    for recruitment_id, cost in costs.items():
        recruitment = session.get_one(Recruitment, recruitment_id)
        left = ledger.commitments(session, recruitment).left_cents
        if left is not None and cost > left:
            return (
                f"The bonuses cost {ledger.in_money(cost, recruitment.currency)} with fees, but "
                f"only {ledger.in_money(max(0, left), recruitment.currency)} of the spending limit "
                f"of “{recruitment.name}” is left. Raise the limit, or select fewer people."
            )
    return ""


def _require_at_most(effects: Sequence[Effect], most_cents: int) -> None:
    cents = sum(effect.cents for effect in effects)
    if cents > most_cents:
        raise Conflict(
            "This costs more than you were shown, because something has changed. Nobody was paid. "
            "Look at the costs again.",
            code="costs_changed",
        )


def _earlier_bonuses(
    session: Session, campaign: Campaign, request: UUID, amount_cents: int, reason: str
) -> dict[UUID, Payment]:
    """Return what was paid with this request, by annotator. Raises Conflict if it was for another
    amount or reason."""
    payments = session.scalars(
        select(Payment).where(
            Payment.campaign_id == campaign.id, Payment.rule == decisions.by_hand(request)
        )
    ).all()
    wanted = (amount_cents, reason.replace("\0", "").strip())
    if any((payment.amount_cents, payment.reason) != wanted for payment in payments):
        raise Conflict(
            "This request has already paid another amount, or for another reason.",
            code="request_used",
        )
    return {payment.annotator_id: payment for payment in payments if payment.annotator_id}


def _repeated(person: Selected, payment: Payment) -> Effect:
    return Effect(
        person.position,
        "",
        payment.amount_cents,
        payment.fee_cents,
        payment.currency,
        payment.recruitment_id,
    )


def _earlier_messages(session: Session, campaign: Campaign, request: UUID, text: str) -> set[str]:
    """Return to whom this request has sent its message. Raises Conflict if it had another text."""
    rows = session.scalars(
        select(ChannelCall.arguments)
        .join(Recruitment, ChannelCall.recruitment_id == Recruitment.id)
        .where(
            Recruitment.campaign_id == campaign.id,
            ChannelCall.action == "message",
            ChannelCall.arguments["request"].astext == request.hex,
        )
    ).all()
    if any(arguments["text"] != text for arguments in rows):
        raise Conflict("This request has already sent another text.", code="request_used")
    return {arguments["annotator"] for arguments in rows}
