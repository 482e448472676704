"""Checking postings on platforms, and combining the platform's records with ours.

What follows from a submission is in app/recruitment/settling.py.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, update
from sqlalchemy.orm import Session

from app.annotation.models import Assignment
from app.core.clock import latest_now
from app.core.database import locked, transaction
from app.core.events import campaign_changed
from app.core.settings import get_settings
from app.core.work import DueWork
from app.recruitment import calls, ledger, people
from app.recruitment.accounts import channel_client
from app.recruitment.channel import (
    ChannelError,
    ChannelRefused,
    PlatformSubmission,
    PostingRef,
    PostingStatus,
    redacted_message,
)
from app.recruitment.channels.registry import get_channel
from app.recruitment.models import ChannelCall, Payment, Posting, Recruitment, Submission
from app.recruitment.settings import paid_settings
from app.recruitment.settling import settle
from app.recruitment.work import BACKOFF, PlatformAttempt, claimed_until, recruitments_of

# Final states. A listing that is older than what is known never changes them.
_FINAL = ("approved", "screened_out")
# States after which the platform reports nothing more.
SETTLED = ("approved", "rejected", "returned", "timed_out", "screened_out")
SUBMITTED = ("submitted", "approved", "rejected", "screened_out")
# How many submissions of a posting have their bonuses compared at once.
COMPARED = 50
LONGEST_WAIT = 600.0
# Counted no further: the column has an end, and a row that cannot be put off is due for ever.
MOST_FAILURES = 1_000_000


@dataclass(frozen=True)
class PollAttempt(PlatformAttempt):
    """One check of all postings of a recruitment."""

    postings: list[tuple[UUID, PostingRef]]
    began: datetime

    @property
    def number(self) -> None:
        """Checks are not counted: two at once see the same, and what they take in is compared with
        what is known."""


@dataclass(frozen=True)
class Seen:
    """What the platform reported about one posting. `asked` is when it was asked, or slightly
    earlier."""

    posting_id: UUID
    status: PostingStatus
    submissions: list[PlatformSubmission]
    asked: datetime


def _due_polls(busy: Collection[UUID]) -> Select[UUID]:
    due = select(Recruitment.id).where(
        Recruitment.poll_at <= func.now(), Recruitment.channel != "link"
    )
    due = due.where(Recruitment.id.not_in(recruitments_of(busy))) if busy else due
    return due.order_by(Recruitment.poll_at)


def _begin_poll(session: Session, recruitment_id: UUID) -> PollAttempt | None:
    recruitment = session.get_one(Recruitment, recruitment_id)
    recruitment.poll_at = claimed_until()
    postings = session.scalars(
        select(Posting)
        .where(
            Posting.recruitment_id == recruitment.id,
            Posting.external_id.is_not(None),
            or_(Posting.state != "closed", Posting.at_work > 0, _has_unsettled(), _lacks_some()),
        )
        .order_by(Posting.number)
    )
    refs = [(posting.id, people.posting_ref(recruitment, posting)) for posting in postings]
    try:
        client = channel_client(session, recruitment)
        return PollAttempt(recruitment.id, client, refs, datetime.now(UTC))
    except ChannelError as error:
        recruitment.poll_error = redacted_message(error)
        recruitment.poll_failures = _next_count(recruitment.poll_failures)
        return None


def _next_count(failures: int) -> int:
    return min(failures, MOST_FAILURES) + 1


def _put_off(session: Session, recruitment_id: UUID, reason: str) -> None:
    """After an error that nobody expected, check again after the longest wait, and show the
    reason."""
    session.execute(
        update(Recruitment)
        .where(Recruitment.id == recruitment_id)
        .values(
            poll_at=datetime.now(UTC) + timedelta(seconds=LONGEST_WAIT),
            poll_error=reason,
            poll_failures=func.least(Recruitment.poll_failures, MOST_FAILURES) + 1,
        )
    )


def _do_poll(attempt: PollAttempt) -> list[str]:
    """Check each posting on the platform and process the results. Returns the problems; a posting
    that cannot be read does not delay the others."""
    problems = []
    for posting_id, ref in attempt.postings:
        try:
            _check_posting(attempt, posting_id, ref)
        except ChannelError as error:
            problems.append(redacted_message(error))
    return problems


def _check_posting(attempt: PollAttempt, posting_id: UUID, ref: PostingRef) -> None:
    asked = datetime.now(UTC)
    try:
        channel = attempt.client.open()
        seen = Seen(posting_id, channel.status(ref), list(channel.submissions(ref)), asked)
    except ChannelRefused as error:
        if not error.code.endswith("HITDoesNotExist"):
            raise
        # Platforms delete what ended long ago.
        seen = Seen(posting_id, PostingStatus("closed", 0, 0, 0), [], asked)
    with transaction() as session:
        take_in(session, attempt.row_id, seen)
        # Checking hundreds of postings takes longer than one claim lasts.
        session.get_one(Recruitment, attempt.row_id).poll_at = claimed_until()
        unsure = bonuses_to_compare(session, posting_id)
    bonuses = attempt.client.open().bonuses(ref, list(unsure)) if unsure else {}
    with transaction() as session:
        for external_id, cents in bonuses.items():
            session.get_one(Submission, unsure[external_id]).bonus_cents = cents


def _record_poll(session: Session, attempt: PollAttempt, problems: list[str]) -> None:
    seconds = get_settings().poll_seconds
    silent = bool(attempt.postings) and len(problems) == len(attempt.postings)
    recruitment = locked(session, Recruitment, attempt.row_id)
    recruitment.polled_at = datetime.now(UTC)
    recruitment.poll_error = problems[0] if problems else ""
    recruitment.poll_failures = _next_count(recruitment.poll_failures) if silent else 0
    wait = seconds
    if silent:
        wait = min(LONGEST_WAIT, max(seconds, BACKOFF.seconds(recruitment.poll_failures)))
    done = not problems and is_settled(session, recruitment, attempt.began)
    recruitment.poll_at = None if done else datetime.now(UTC) + timedelta(seconds=wait)


POLLS = DueWork(Recruitment, _due_polls, _begin_poll, _do_poll, _record_poll, _put_off)


def bonuses_to_compare(session: Session, posting_id: UUID) -> dict[str, UUID]:
    """Return the submissions, by the platform's id, whose bonuses in the ledger differ from what
    the platform was last seen to have paid."""
    booked = (
        select(Payment.submission_id, func.sum(Payment.amount_cents).label("cents"))
        .join(Submission, Payment.submission_id == Submission.id)
        .where(
            Submission.posting_id == posting_id,
            Payment.kind == "bonus",
            Payment.state == "paid",
        )
        .group_by(Payment.submission_id)
        .subquery()
    )
    rows = session.execute(
        select(Submission.external_id, Submission.id)
        .join(booked, booked.c.submission_id == Submission.id)
        .where(Submission.bonus_cents.is_distinct_from(booked.c.cents))
        .limit(COMPARED)
    )
    return {external_id: row_id for external_id, row_id in rows}


def _has_unsettled() -> ColumnElement[bool]:
    """SQL: the posting has work that was started or submitted but not decided on."""
    return (
        select(Submission.id)
        .where(Submission.posting_id == Posting.id, Submission.state.not_in(SETTLED))
        .exists()
    )


def _lacks_some() -> ColumnElement[bool]:
    """SQL: more work was submitted than is listed, because platforms list it with a delay."""
    listed = (
        select(func.count())
        .where(Submission.posting_id == Posting.id, Submission.state.in_(SUBMITTED))
        .scalar_subquery()
    )
    return and_(Posting.taken > listed, Posting.closed_at > func.now() - ledger.LISTED_WITHIN)


def is_settled(session: Session, recruitment: Recruitment, looked: datetime) -> bool:
    """Return whether nothing more will come from the platform, which was checked from `looked`
    on."""
    query = select(func.count()).select_from(Posting)
    at_large = query.where(
        Posting.recruitment_id == recruitment.id,
        or_(
            Posting.state.in_(("planned", "open", "paused")),
            Posting.at_work > 0,
            _lacks_some(),
            # The posting ended during this check, so the next check must see who is still at work
            # there.
            Posting.closed_at > looked,
        ),
    )
    unsettled = (
        select(func.count())
        .select_from(Submission)
        .where(Submission.recruitment_id == recruitment.id, Submission.state.not_in(SETTLED))
    )
    return not session.scalar(at_large) and not session.scalar(unsettled)


def take_in(session: Session, recruitment_id: UUID, seen: Seen) -> None:
    """Process what the platform reports about a posting."""
    recruitment = locked(session, Recruitment, recruitment_id)
    posting = locked(session, Posting, seen.posting_id)
    if not _moved_since(session, posting, seen.asked):
        posting.taken, posting.at_work = seen.status.taken, seen.status.at_work or 0
        _follow(session, recruitment, posting, seen)
    known = {
        (row.external_id, row.person_hash): row
        for row in session.scalars(select(Submission).where(Submission.posting_id == posting.id))
    }
    changed, newly_submitted = False, []
    for submission in seen.submissions:
        hashed = people.person_hash(recruitment, submission.person)
        row = known.get((submission.external_id, hashed))
        is_new = row is None
        if row is None:
            row = Submission(
                recruitment_id=recruitment.id,
                posting_id=posting.id,
                external_id=submission.external_id,
                person_hash=hashed,
                state=submission.state,
            )
            session.add(row)
            newly_submitted += [row] if submission.state in SUBMITTED else []
        elif row.state not in SUBMITTED and submission.state in SUBMITTED:
            newly_submitted.append(row)
        is_new = _bring_up_to_date(session, recruitment, row, submission) or is_new
        changed |= is_new
        session.flush()
        # Decisions are final, but a submission that waits for something is looked at again.
        if is_new or row.state == "submitted":
            settle(session, recruitment, row)
    # A task that pays for lost work is for one person only, so nobody needs to be excluded from it.
    is_for_all = posting.compensates is None
    if newly_submitted and is_for_all and paid_settings(recruitment).exclude_former:
        ids = [str(row.id) for row in newly_submitted]
        calls.ask(session, recruitment, "exclude", posting=posting, submissions=ids)
    if changed:
        campaign_changed(session, recruitment.campaign_id)


def _moved_since(session: Session, posting: Posting, asked: datetime) -> bool:
    """Return whether a posting was opened or closed on the platform while it was being checked. The
    report may then be outdated, and money for open places must not seem free."""
    moved = select(ChannelCall.id).where(
        ChannelCall.posting_id == posting.id,
        ChannelCall.action.in_(("publish", "extend", "pause", "resume", "stop")),
        or_(ChannelCall.state == "running", ChannelCall.ended_at.between(asked, latest_now())),
    )
    return session.scalar(moved.limit(1)) is not None


def _follow(session: Session, recruitment: Recruitment, posting: Posting, seen: Seen) -> None:
    """Update the state of a posting from the platform's.

    A paused posting is not visible to people and can be resumed here. On some
    platforms, a full posting looks closed but opens again when someone returns a place. So it has
    ended once every place is decided on, and one that was full when we stopped it is stopped again.
    """
    if seen.status.state == "closed" and posting.state == "open":
        final = sum(submission.state == "approved" for submission in seen.submissions)
        full = get_channel(recruitment.channel).full_looks_closed and recruitment.state != "stopped"
        if not full or final >= posting.places:
            posting.state, posting.closed_at = "closed", datetime.now(UTC)
    elif seen.status.state == "open" and posting.state == "closed":
        waiting = select(ChannelCall.id).where(
            ChannelCall.posting_id == posting.id,
            ChannelCall.action == "stop",
            ChannelCall.state.in_(("due", "running")),
        )
        if recruitment.state == "stopped" and session.scalar(waiting) is None:
            calls.ask(session, recruitment, "stop", posting=posting)


def _bring_up_to_date(
    session: Session, recruitment: Recruitment, row: Submission, submission: PlatformSubmission
) -> bool:
    before = (row.state, row.assignment_id)
    if row.state not in _FINAL:
        row.state = submission.state
    row.code, row.seen_at = submission.code, datetime.now(UTC)
    row.accepted_at, row.submitted_at = submission.accepted_at, submission.submitted_at
    row.auto_approved_at = submission.auto_approved_at
    if row.assignment_id is None:
        posting = session.get_one(Posting, row.posting_id)
        assignment = (
            session.get(Assignment, posting.compensates)
            if posting.compensates
            else _assignment_of(session, recruitment, row)
        )
        row.assignment_id = assignment.id if assignment else None
        if assignment is not None:
            _name_annotator(session, row, assignment)
    return before != (row.state, row.assignment_id)


def _name_annotator(session: Session, row: Submission, assignment: Assignment) -> None:
    """Name the annotator in payments that were recorded before it was known whose work it is."""
    # A new row gets its id here.
    session.flush()
    unnamed = update(Payment).where(Payment.submission_id == row.id, Payment.annotator_id.is_(None))
    session.execute(unnamed.values(annotator_id=assignment.annotator_id))


def _assignment_of(
    session: Session, recruitment: Recruitment, row: Submission
) -> Assignment | None:
    annotator_id = people.annotator_of(session, recruitment, row.person_hash)
    return session.scalar(
        select(Assignment).where(
            Assignment.annotator_id == annotator_id,
            Assignment.channel == recruitment.channel,
            Assignment.external_id == row.external_id,
        )
    )
