"""Actions on several selected people at once: approving their work, paying bonuses by hand and
sending messages.

Each person is handled by the services for single people (app/recruitment/decisions.py,
app/recruitment/ledger.py, app/recruitment/calls.py). The campaign's row is locked first, so two
requests about the same people never run at the same time.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, LikewiseError
from app.recruitment import calls, decisions, ledger
from app.recruitment.ledger import NewPayment
from app.recruitment.models import ChannelCall, Payment, Recruitment, Submission
from app.recruitment.selected_checks import (
    Action,
    Effect,
    Selected,
    approval_of,
    bonus_of,
    delivery_to,
    payable_work,
    problem_of,
    selected_people,
    waiting_work,
    worked_assignment,
)


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
    people = selected_people(session, campaign, positions)
    if action == "approve":
        return [approval_of(session, account, person) for person in people], ""
    if action == "message":
        return [delivery_to(session, account, person) for person in people], ""
    effects = [bonus_of(session, account, person, amount_cents) for person in people]
    return effects, problem_of(session, effects)


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
    people = selected_people(session, campaign, positions)
    effects = [approval_of(session, account, person) for person in people]
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
            for row in waiting_work(person):
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
    people = selected_people(session, campaign, positions)
    earlier = _earlier_bonuses(session, campaign, request, amount_cents, reason)
    effects = [
        _repeated(person, earlier[person.annotator_id])
        if person.annotator_id in earlier
        else bonus_of(session, account, person, amount_cents)
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
    if problem := problem_of(session, [effect for _, effect in new]):
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
        row = payable_work(person)
        assert isinstance(row, Submission)
        decisions.give_bonus(
            session, account, campaign.id, row.id, amount_cents, reason, request=request
        )
        return
    assignment = worked_assignment(person)
    assert assignment is not None
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
    people = selected_people(session, campaign, positions)
    effects = [delivery_to(session, account, person) for person in people]
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


def _require_at_most(effects: Sequence[Effect], most_cents: int) -> None:
    cents = sum(effect.cents for effect in effects)
    if cents > most_cents:
        raise Conflict(
            "This costs more than you were shown, because something has changed, and was not paid. "
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
