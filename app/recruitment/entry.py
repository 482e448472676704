"""People who arrive from a platform. Every claim in an address is checked before it is trusted.

Ids are compared with what exists on the platform, which is asked who is at work before anything is
written (`confirm`, while no transaction is open), and work is paid only after its own record names
the person.
"""

import logging
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from app.annotation import sessions
from app.annotation.asking_again import free_leases
from app.annotation.models import Answer, Assignment
from app.annotation.sessions import AnnotatorSession
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.errors import Conflict, LikewiseError, NotFound
from app.core.security import unsign
from app.core.settings import get_settings
from app.recruitment.accounts import channel_client
from app.recruitment.calls import LINK, page_address
from app.recruitment.channel import ChannelError, NotAtWork
from app.recruitment.channels.spec import Arrival, ChannelSpec, Entry
from app.recruitment.models import ChannelCall, Posting, Recruitment, Submission
from app.recruitment.people import annotator_of, person_hash, posting_ref
from app.recruitment.settings import paid_settings

logger = logging.getLogger(__name__)
# How long it may take until the platform shows a submission.
SUBMISSION_SHOWN_WITHIN = timedelta(minutes=10)
ID = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
SUBMITTED = ("submitted", "approved", "rejected", "screened_out")


class UnknownRecruitment(NotFound):
    """The link does not belong to any recruitment."""

    code = "unknown_link"


class EntryRefused(LikewiseError):
    """The address does not match what the platform knows. `code` tells what does not match."""

    status = 403

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code=code)


class AssignmentTaken(Conflict):
    """As far as is known here, someone else is working on the assignment."""

    code = "assignment_taken"


class NotYet(LikewiseError):
    """The task exists on the platform but is not known here yet."""

    code = "not_yet"
    status = 503


def recruitment_of_link(session: Session, link: str, channel: str) -> Recruitment:
    """Return the recruitment of a link. Raises UnknownRecruitment."""
    token = unsign(LINK, link)
    recruitment = (
        session.scalar(
            select(Recruitment).where(
                Recruitment.link_token == token, Recruitment.channel == channel
            )
        )
        if isinstance(token, str)
        else None
    )
    if recruitment is None or recruitment.state == "draft":
        raise UnknownRecruitment(
            "This link doesn't lead to an open study. Check that you copied the whole link."
        )
    return recruitment


def posting_of_arrival(session: Session, recruitment: Recruitment, arrival: Arrival) -> Posting:
    """Return the posting that an address names. Raises EntryRefused."""
    for what, value in vars(arrival).items():
        if not ID.match(value):
            raise refused(recruitment, arrival, f"the {what} ID is malformed", "malformed_entry")
    named = select(Posting).where(
        Posting.recruitment_id == recruitment.id, Posting.external_id == arrival.posting
    )
    posting = session.scalar(named)
    if posting is None:
        _require_none_on_its_way(session, recruitment)
        # Its id may have come between these two queries.
        posting = session.scalar(named)
    if posting is None:
        raise refused(recruitment, arrival, "it belongs to another task", "unknown_posting")
    elsewhere = session.scalar(
        select(Assignment.id).where(
            Assignment.channel == recruitment.channel,
            Assignment.external_id == arrival.assignment,
            Assignment.campaign_id == recruitment.campaign_id,
            Assignment.posting_id != posting.id,
        )
    )
    if elsewhere is not None:
        raise refused(
            recruitment,
            arrival,
            "the assignment belongs to another task",
            "assignment_of_other_posting",
        )
    return posting


def _require_none_on_its_way(session: Session, recruitment: Recruitment) -> None:
    """Raise NotYet if a posting may already exist although the platform's response with its id has
    not arrived."""
    on_its_way = session.scalar(
        select(ChannelCall.id)
        .where(
            ChannelCall.recruitment_id == recruitment.id,
            ChannelCall.action.in_(("publish", "compensate")),
            ChannelCall.state.in_(("due", "running")),
            ChannelCall.attempts > 0,
        )
        .limit(1)
    )
    if on_its_way is not None:
        raise NotYet("This task is being set up. Your place is reserved. Try again in a minute.")


def is_known(session: Session, recruitment: Recruitment, arrival: Arrival) -> bool:
    """Return whether this person has started this assignment before."""
    annotator_id = annotator_of(session, recruitment, person_hash(recruitment, arrival.person))
    own = select(Assignment.id).where(
        Assignment.channel == recruitment.channel,
        Assignment.external_id == arrival.assignment,
        Assignment.annotator_id == annotator_id,
        Assignment.state != "returned",
    )
    return annotator_id is not None and session.scalar(own) is not None


def refused(recruitment: Recruitment, arrival: Arrival, why: str, code: str) -> EntryRefused:
    """Log the refusal without the person's identity, and return the error to show to them."""
    logger.warning(
        "refused on %s, recruitment %s, person %s…: %s",
        recruitment.channel,
        recruitment.id,
        person_hash(recruitment, arrival.person)[:8],
        why,
    )
    return EntryRefused(
        f"This address doesn't match the task: {why}. Open the task from the platform's own page. "
        "If you came from there, return the task; that doesn't count against you. Please tell "
        "the requester.",
        code,
    )


def enter(
    session: Session, recruitment: Recruitment, posting: Posting, arrival: Arrival
) -> AnnotatorSession:
    """Open the session of a person who was checked. An assignment that was started continues where
    it was.

    Raises EntryRefused, AssignmentTaken.
    """
    campaign = session.get_one(Campaign, recruitment.campaign_id)
    annotator = sessions.annotator_of(session, campaign, arrival.person, recruitment.channel)
    sessions.remember_person(session, annotator.id, arrival.person)
    own = session.scalar(
        select(Assignment)
        .where(
            Assignment.channel == recruitment.channel,
            Assignment.external_id == arrival.assignment,
            Assignment.annotator_id == annotator.id,
        )
        .with_for_update()
    )
    if own is None:
        _require_new(session, recruitment, arrival, annotator.id)
        _take_over(session, recruitment, arrival, annotator.id)
        own = sessions.new_assignment(campaign, annotator, recruitment.channel)
        own.external_id = arrival.assignment
        own.recruitment_id, own.posting_id = recruitment.id, posting.id
        session.add(own)
    elif own.state == "returned":
        _take_over(session, recruitment, arrival, annotator.id)
        _reopen(session, AnnotatorSession(campaign, annotator, own))
    own.seen_at = datetime.now(UTC)
    session.flush()
    return AnnotatorSession(campaign, annotator, own)


def _reopen(session: Session, who: AnnotatorSession) -> None:
    """Reopen an assignment that the same person returned and accepted again. Extra grids that were
    not done may be requested again, because their money was free in the meantime."""
    own = who.assignment
    own.extra = min(own.extra, max(0, own.n_answered - own.target))
    own.state = "open"
    if who.annotator.screened_out_at is not None and not own.n_answered:
        own.state = "screened_out"
    elif own.n_answered >= sessions.grids_of(own):
        sessions.complete_unless_asked(session, who)


def _require_new(
    session: Session, recruitment: Recruitment, arrival: Arrival, annotator_id: UUID
) -> None:
    """Enforce one assignment per person, if the recruitment requires it."""
    if not paid_settings(recruitment).exclude_former:
        return
    now = datetime.now(UTC)
    silence = timedelta(seconds=get_settings().presence_seconds)
    # This covers what the platform has not reported yet. Someone who uses another person's id shuts
    # them out for minutes only.
    at_it = select(Assignment.id).where(
        Assignment.annotator_id == annotator_id,
        Assignment.external_id != arrival.assignment,
        Assignment.state != "returned",
        or_(
            Assignment.seen_at > now - silence,
            Assignment.handed_in_at > now - SUBMISSION_SHOWN_WITHIN,
        ),
    )
    submitted = select(Submission.id).where(
        Submission.recruitment_id == recruitment.id,
        Submission.person_hash == person_hash(recruitment, arrival.person),
        Submission.external_id != arrival.assignment,
        Submission.state.in_(SUBMITTED),
    )
    if session.scalar(at_it.union(submitted).limit(1)) is not None:
        raise refused(
            recruitment,
            arrival,
            "you are already taking part in this study or took part before, and each person can "
            "take part once",
            "took_part_before",
        )


def _take_over(
    session: Session, recruitment: Recruitment, arrival: Arrival, annotator_id: UUID
) -> None:
    """Take an assignment over from someone who returned it, because MTurk gives its id to the next
    person. Someone who still has it must not lose it.

    Raises EntryRefused if someone else has submitted it, and AssignmentTaken while their page still
    reports. In the end, the person whom the platform names is paid.
    """
    others = session.scalars(
        select(Assignment)
        .where(
            Assignment.channel == recruitment.channel,
            Assignment.external_id == arrival.assignment,
            Assignment.campaign_id == recruitment.campaign_id,
            Assignment.annotator_id != annotator_id,
            Assignment.state.not_in(("returned", "screened_out")),
        )
        .with_for_update()
    ).all()
    known = session.scalar(
        select(Submission.id).where(
            Submission.recruitment_id == recruitment.id,
            Submission.external_id == arrival.assignment,
            Submission.person_hash != person_hash(recruitment, arrival.person),
            Submission.state.in_(SUBMITTED),
        )
    )
    if known is not None:
        raise refused(
            recruitment, arrival, "someone else has submitted this assignment", "second_person"
        )
    now = datetime.now(UTC)
    # The page reports every 20 seconds while it is open.
    silence = timedelta(seconds=get_settings().presence_seconds)
    for other in others:
        is_submitting = (
            other.handed_in_at is not None and now - other.handed_in_at < SUBMISSION_SHOWN_WITHIN
        )
        present = other.seen_at is not None and now - other.seen_at < silence
        if is_submitting or present:
            refused(recruitment, arrival, "someone else is working on it", "assignment_taken")
            raise AssignmentTaken(
                "Someone else is working on this assignment. If you have just accepted it, the "
                "other person has returned it. Try again in a minute."
            )
        free_leases(session, Answer.assignment_id == other.id)
        other.state = "returned"


class PlatformSilent(LikewiseError):
    """The platform could not be asked who this is."""

    code = "platform_silent"
    status = 503


def confirm(spec: ChannelSpec, body: Entry) -> None:
    """Raise EntryRefused if the platform says that this person is not at work.

    If the platform cannot be asked, people are let in where its own record decides later whether
    they are paid; they are asked again only if they are new. Elsewhere PlatformSilent is raised,
    because otherwise nothing is known about the person.
    """
    arrival = spec.arrival(body)
    with transaction() as session:
        recruitment = recruitment_of_link(session, body.link, spec.name)
        posting = posting_of_arrival(session, recruitment, arrival)
        if not spec.must_confirm and is_known(session, recruitment, arrival):
            return
        ref, client = posting_ref(recruitment, posting), channel_client(session, recruitment)
    try:
        spec.confirm(client.open(), ref, body, page_address(recruitment))
    except NotAtWork as error:
        raise refused(recruitment, arrival, str(error), error.code or "not_at_work") from error
    except ChannelError as error:
        if not spec.must_confirm:
            logger.warning("could not ask about recruitment %s: %s", recruitment.id, error)
            return
        raise PlatformSilent(
            f"Likewise can't check with {spec.title} who you are at the moment. Your place is "
            "reserved. Wait a minute and reload this page."
        ) from error
