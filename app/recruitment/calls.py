"""Platform requests that must take effect exactly once: what they are, and what follows from
them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from app.annotation.models import AnnotatorIdentity, Assignment
from app.campaigns.models import Campaign
from app.core.events import campaign_changed
from app.core.security import encrypt, sign
from app.core.settings import get_settings
from app.recruitment.channel import (
    Channel,
    ChannelRefused,
    ChannelUnavailable,
    Compensation,
    Message,
    PostingOrder,
    PostingRef,
    Rejection,
    SubmissionRef,
    can_compensate,
    can_message,
    can_notify,
)
from app.recruitment.channels.paid import Paid
from app.recruitment.models import ChannelAccount, ChannelCall, Posting, Recruitment, Submission
from app.recruitment.people import checker, person_of, posting_ref, submission_ref
from app.recruitment.settings import settings_model

Action = Literal[
    "publish",
    "extend",
    "pause",
    "resume",
    "stop",
    "reject",
    "exclude",
    "notify",
    "compensate",
    "message",
]
LINK = "recruitment-link"
HOOK_PURPOSE = "channel-hooks"


@dataclass(frozen=True)
class Request:
    """Everything that a call needs, so that performing it needs no database."""

    action: str
    token: str
    order: PostingOrder | None = None
    compensation: Compensation | None = None
    message: Message | None = None
    posting: PostingRef | None = None
    submission: SubmissionRef | None = None
    is_person: Callable[[str], bool] | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


def ask(
    session: Session,
    recruitment: Recruitment,
    action: Action,
    *,
    posting: Posting | None = None,
    submission: Submission | None = None,
    **arguments: Any,
) -> ChannelCall:
    """Request a platform call, which is made after the transaction commits. `arguments` must be
    JSON."""
    call = ChannelCall(
        recruitment_id=recruitment.id,
        posting_id=posting.id if posting else None,
        submission_id=submission.id if submission else None,
        action=action,
        arguments=arguments,
    )
    session.add(call)
    session.flush()
    return call


def link_of(recruitment: Recruitment) -> str:
    """Return the unguessable part of the addresses of a recruitment's annotators' page."""
    return sign(LINK, recruitment.link_token)


def page_address(recruitment: Recruitment) -> str:
    """Return the address of this recruitment's annotators' page, without the platform's
    parameters."""
    base = get_settings().base_url.rstrip("/")
    return f"{base}/a/{recruitment.channel}/{link_of(recruitment)}"


def request_of(session: Session, recruitment: Recruitment, call: ChannelCall) -> Request:
    """Read what a call needs. Raises ChannelRefused if the call can no longer be made."""
    posting = session.get(Posting, call.posting_id) if call.posting_id else None
    submission = session.get(Submission, call.submission_id) if call.submission_id else None
    if call.action == "message":
        assert submission is not None
        message = _message(session, recruitment, submission, call)
        return Request(call.action, call.id.hex, message=message)
    if call.action == "compensate":
        assert posting is not None
        return Request(
            call.action,
            call.id.hex,
            compensation=_compensation(session, recruitment, posting, call),
        )
    if call.action == "publish":
        assert posting is not None
        order = order_of(session, recruitment, posting.places, call.id.hex, call.attempts)
        return Request(call.action, call.id.hex, order=order)
    if posting is not None and posting.external_id is None:
        raise ChannelRefused("This was never published on the platform.")
    arguments = dict(call.arguments)
    if call.action == "exclude":
        arguments["people"] = _people(session, recruitment, call.arguments["submissions"])
    return Request(
        call.action,
        call.id.hex,
        posting=posting_ref(recruitment, posting) if posting else None,
        submission=submission_ref(session, recruitment, submission) if submission else None,
        is_person=checker(recruitment, submission.person_hash) if submission else None,
        arguments=arguments,
    )


def _message(
    session: Session, recruitment: Recruitment, submission: Submission, call: ChannelCall
) -> Message:
    ref = submission_ref(session, recruitment, submission)
    if not ref.person:
        raise ChannelRefused("This person can't be reached because their platform ID was deleted.")
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    answered = call.history[-1]["attempt"] if call.history else 0
    return Message(
        person=ref.person,
        posting=ref.posting,
        subject=f"About your work: {campaign.question}"[:200],
        text=call.arguments["text"],
        since=call.created_at,
        repeated=call.attempts > 1,
        unanswered=answered != call.attempts - 1,
    )


def _people(session: Session, recruitment: Recruitment, submissions: list[str]) -> list[str]:
    """Return the people of these submissions. Calls do not store the platform's ids of people."""
    rows = session.scalars(select(Submission).where(Submission.id.in_(map(UUID, submissions))))
    people = (person_of(session, recruitment, row.person_hash) for row in rows)
    return [person for person in people if person]


def order_of(
    session: Session, recruitment: Recruitment, places: int, token: str, attempts: int
) -> PostingOrder:
    """Return the order for a posting of this recruitment with so many places."""
    settings = settings_model(recruitment.channel).model_validate(recruitment.settings)
    assert isinstance(settings, Paid)
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    return PostingOrder(
        token=token,
        title=settings.title or campaign.question[:128],
        description=settings.description or campaign.question[:2000],
        url=page_address(recruitment),
        places=places,
        reward_cents=recruitment.reward_cents,
        currency=recruitment.currency,
        settings=settings,
        excluded=former_people(session, recruitment) if settings.exclude_former else (),
        campaign=recruitment.campaign_id.hex,
        attempts=attempts,
    )


def _compensation(
    session: Session, recruitment: Recruitment, posting: Posting, call: ChannelCall
) -> Compensation:
    assignment = session.get_one(Assignment, posting.compensates)
    identity = session.get(AnnotatorIdentity, assignment.annotator_id)
    if identity is None or not identity.external_id:
        raise ChannelRefused("This person can't be paid because their platform ID was deleted.")
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    return Compensation(
        token=call.id.hex,
        person=identity.external_id,
        amount_cents=posting.amount_cents or 0,
        currency=recruitment.currency,
        title=f"Pay for your work: {campaign.question}"[:128],
        description=call.arguments["reason"],
        url=f"{page_address(recruitment)}/thanks",
        attempts=call.attempts,
    )


def former_people(session: Session, recruitment: Recruitment) -> tuple[str, ...]:
    """Return the platform's ids of people who have submitted work of this campaign on the
    channel."""
    query = (
        select(AnnotatorIdentity.external_id)
        .join(Submission, Submission.person_hash == AnnotatorIdentity.key_hash)
        .where(
            AnnotatorIdentity.campaign_id == recruitment.campaign_id,
            AnnotatorIdentity.channel == recruitment.channel,
            AnnotatorIdentity.external_id.is_not(None),
            Submission.state.in_(("submitted", "approved", "rejected", "screened_out")),
        )
        .distinct()
    )
    return tuple(person for person in session.scalars(query) if person)


def perform(channel: Channel, request: Request) -> dict[str, Any]:
    """Send the request to the platform and return its response as JSON. Raises ChannelError."""
    if request.action == "publish":
        assert request.order is not None
        external_id, details = channel.publish(request.order)
        return {"external_id": external_id, "details": details}
    if request.action == "compensate":
        assert request.compensation is not None
        if not can_compensate(channel):
            raise ChannelRefused("This platform can pay for lost work only by a bonus.")
        external_id, details = channel.compensate(request.compensation)
        return {"external_id": external_id, "details": details}
    if request.action == "message":
        assert request.message is not None
        if not can_message(channel):
            raise ChannelRefused("This platform has no messages.")
        channel.send_message(request.message)
        return {}
    if request.action == "notify":
        if not can_notify(channel):
            raise ChannelRefused("This platform sends no notifications.")
        return {"secret": channel.ensure_hooks(request.arguments["url"])}
    if request.submission is not None:
        arguments = request.arguments
        ref = _known_person(channel, request)
        channel.reject(ref, Rejection(arguments["category"], arguments["message"]))
        return {}
    assert request.posting is not None
    actions: dict[str, Callable[[PostingRef], None]] = {
        "pause": channel.pause,
        "resume": channel.resume,
        "stop": channel.stop,
        "extend": lambda posting: channel.extend(
            posting, request.arguments["places"], request.token, request.arguments["total"]
        ),
        "exclude": lambda posting: channel.exclude(posting, request.arguments["people"]),
    }
    actions[request.action](request.posting)
    return {}


def _known_person(channel: Channel, request: Request) -> SubmissionRef:
    """Return the submission with the person whom the platform names, who may never have come here.
    Raises ChannelRefused if it is not the person who was meant."""
    assert request.submission is not None
    assert request.is_person is not None
    known = channel.submission(request.submission)
    if known is None:
        raise ChannelUnavailable("The platform does not show this submission yet.")
    if not request.is_person(known.person):
        raise ChannelRefused("According to the platform, someone else submitted this.")
    return replace(request.submission, person=known.person)


AFTER = {
    "publish": "open",
    "compensate": "open",
    "resume": "open",
    "pause": "paused",
    "stop": "closed",
}


def finish(session: Session, call: ChannelCall, reply: dict[str, Any]) -> None:
    """Record that a call has taken effect."""
    call.state, call.why, call.ended_at = "done", "", datetime.now(UTC)
    recruitment = session.get_one(Recruitment, call.recruitment_id)
    if call.action == "notify":
        account = session.get_one(ChannelAccount, recruitment.channel_account_id)
        account.hook_secret = encrypt(HOOK_PURPOSE, reply["secret"].encode())
    if call.posting_id is not None:
        posting = session.get_one(Posting, call.posting_id, with_for_update=True)
        if call.action in ("publish", "compensate"):
            posting.external_id, posting.details = reply["external_id"], reply["details"]
        if call.action in AFTER:
            posting.state = AFTER[call.action]
            posting.closed_at = call.ended_at if posting.state == "closed" else None
            if posting.state == "closed":
                # It is not known who is at work there until the next check.
                posting.taken, posting.at_work = posting.places, 1
        recruitment.poll_at = call.ended_at
    if call.action == "reject":
        submission = session.get_one(Submission, call.submission_id, with_for_update=True)
        submission.state, submission.flag = "rejected", ""
        recruitment.poll_at = call.ended_at
    campaign_changed(session, recruitment.campaign_id)


def fail(session: Session, call: ChannelCall, why: str) -> None:
    """Record that the platform refused a call permanently. The caller must hold the recruitment's
    row lock."""
    call.state, call.why, call.ended_at = "failed", why, datetime.now(UTC)
    recruitment = session.get_one(Recruitment, call.recruitment_id)
    if call.action in ("publish", "compensate") and call.posting_id is not None:
        posting = session.get_one(Posting, call.posting_id, with_for_update=True)
        posting.state, posting.closed_at = "failed", call.ended_at
        if posting.compensates is None:
            _give_up_places(session, recruitment, posting)
    if call.action == "extend" and call.posting_id is not None:
        posting = session.get_one(Posting, call.posting_id, with_for_update=True)
        # If publishing was refused, these places were removed together with the others.
        if posting.state != "failed":
            _take_back(session, recruitment, posting, call)
    if call.action == "reject":
        submission = session.get_one(Submission, call.submission_id, with_for_update=True)
        submission.flag = "decision_failed"
    campaign_changed(session, recruitment.campaign_id)


def _give_up_places(session: Session, recruitment: Recruitment, posting: Posting) -> None:
    """Handle a posting that the platform refused. If no other posting exists, nothing was opened
    and the recruitment becomes a draft again; otherwise it has fewer places."""
    left = session.scalar(
        select(Posting.id)
        .where(
            Posting.recruitment_id == recruitment.id,
            Posting.id != posting.id,
            Posting.state != "failed",
        )
        .limit(1)
    )
    if left is None and recruitment.state == "open":
        recruitment.state, recruitment.opened_at = "draft", None
    else:
        recruitment.places = max(0, recruitment.places - posting.places)


def _take_back(
    session: Session, recruitment: Recruitment, posting: Posting, call: ChannelCall
) -> None:
    """Remove places that the platform refused. They are no longer promised, and later calls don't
    count them."""
    places = call.arguments["places"]
    posting.places -= places
    recruitment.places -= places
    for later in session.scalars(
        select(ChannelCall)
        .where(
            ChannelCall.posting_id == posting.id,
            ChannelCall.action == "extend",
            ChannelCall.state.in_(("due", "running")),
            ChannelCall.id > call.id,
        )
        .with_for_update()
    ):
        total = later.arguments["total"] - places
        later.arguments = {**later.arguments, "total": total}


def newest_failure(session: Session, recruitment_id: UUID) -> ChannelCall | None:
    """Return the last refused call about postings, unless a later call of the same kind succeeded.
    Refused decisions about submissions are flagged on the submission instead."""
    later = aliased(ChannelCall)
    later_success = (
        select(later.id)
        .where(
            later.recruitment_id == recruitment_id,
            later.action == ChannelCall.action,
            later.state == "done",
            later.created_at > ChannelCall.ended_at,
        )
        .exists()
    )
    return session.scalar(
        select(ChannelCall)
        .where(
            ChannelCall.recruitment_id == recruitment_id,
            ChannelCall.submission_id.is_(None),
            ChannelCall.state == "failed",
            ~later_success,
        )
        .order_by(ChannelCall.id.desc())
        .limit(1)
    )
