"""What an action would mean for each of several selected people, before anything is done."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.annotation.models import Annotator, Assignment
from app.campaigns.models import Campaign
from app.campaigns.platforms import LINK
from app.core.errors import LikewiseError, NotFound
from app.recruitment import ledger
from app.recruitment.accounts import require_payer
from app.recruitment.channels.registry import get_channel
from app.recruitment.costs import bonus_fee, reward_fee, reward_of
from app.recruitment.models import Posting, Recruitment, Submission
from app.recruitment.people import person_of

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


def selected_people(
    session: Session, campaign: Campaign, positions: Sequence[int]
) -> list[Selected]:
    """Return the people with these numbers. Raises NotFound for a number that nobody has."""
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


def waiting_work(person: Selected) -> list[Submission]:
    """Return the submissions that wait for approval."""
    return [
        row
        for row in person.submissions
        if row.state == "submitted" and row.flag == "awaits_review"
    ]


def approval_of(session: Session, account: Account, person: Selected) -> Effect:
    """Return what approving a person's work that waits costs. The limit already counts it."""
    waiting = waiting_work(person)
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


def delivery_to(session: Session, account: Account, person: Selected) -> Effect:
    """Return whether a message can be sent to a person."""
    if not person.submissions:
        no_messages = "Likewise can't send them messages."
        return Effect(person.position, _why_no_submission(session, person, no_messages))
    row = person.submissions[0]
    channel = get_channel(session.get_one(Recruitment, row.recruitment_id).channel)
    if not channel.messages:
        return Effect(person.position, f"{channel.title} has no messages.")
    recruitment = session.get_one(Recruitment, row.recruitment_id)
    if not person_of(session, recruitment, row.person_hash):
        return Effect(person.position, "Their platform ID was deleted.")
    return _paid_by(session, account, person, row)


def payable_work(person: Selected) -> Submission | str:
    """Return the newest submission that can get a bonus, or why there is none."""
    return next(
        (row for row in person.submissions if row.state not in _NO_BONUS),
        _NO_BONUS.get(person.submissions[0].state, ""),
    )


def worked_assignment(person: Selected) -> Assignment | None:
    """Return the newest assignment with answers: the next one may have just begun."""
    return next((each for each in person.assignments if each.n_answered), None)


def bonus_of(session: Session, account: Account, person: Selected, amount_cents: int) -> Effect:
    """Return what a bonus for a person costs."""
    if person.submissions:
        row = payable_work(person)
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
    if worked_assignment(person) is None:
        return Effect(person.position, "They have not done any work yet.")
    return Effect(person.position, "", amount_cents, 0, link.currency, link.id)


def problem_of(session: Session, effects: Sequence[Effect]) -> str:
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
