"""Annotators, their assignments, and the bearer token of their page.

Annotators' pages use no cookies, because browsers block them inside a platform's frame. Instead, an
encrypted short-lived token in the `Authorization` header identifies the assignment, and only this
server can read it.
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session

from app.annotation import consent, hooks, questionnaire
from app.annotation.models import Annotator, AnnotatorIdentity, Answer, Assignment
from app.campaigns.annotation_settings import AnnotationSettings, annotation_of
from app.campaigns.models import Campaign
from app.core.database import advisory_lock
from app.core.errors import Conflict, LikewiseError
from app.core.events import campaign_changed
from app.core.prepared import Prepared
from app.core.security import decrypt_timed, encrypt_timed, pseudonym

TOKEN = "annotator-token"
TOKEN_SECONDS = 12 * 3600
CODE_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


Stage = Literal[
    "consent", "questions", "instructions", "practice", "warning", "work", "screened_out"
]
PRACTICE_TRIES = 2
# The queue of a campaign in which newcomers wait (app.core.database.advisory_lock).
NEWCOMER_QUEUE = 1


# What has to be done before grids, by stage.
MISSING: dict[Stage, str] = {
    "screened_out": "There are no grids for this assignment.",
    "consent": "Agree to the consent text first.",
    "questions": "Answer the questions first.",
}


class NotPrepared(Conflict):
    """Something comes before the grids: consent, questions or practice."""

    code = "not_prepared"


class BadToken(LikewiseError):
    """The bearer token is missing, forged or expired."""

    code = "bad_token"
    status = 401


@dataclass(frozen=True)
class AnnotatorSession:
    """The annotator who calls the annotation API. `is_locked`: whether the assignment's row is."""

    campaign: Campaign
    annotator: Annotator
    assignment: Assignment
    is_locked: bool = False

    @property
    def annotator_id(self) -> UUID:
        return self.annotator.id

    @property
    def settings(self) -> AnnotationSettings:
        return annotation_of(self.campaign.annotation)

    @property
    def fills_no_place(self) -> bool:
        """Whether answers that still come are kept and paid, but others give theirs instead,
        because this work is left out and asked again."""
        is_left_out = self.annotator.asked_again_at is not None
        return is_left_out or self.assignment.left_out_at is not None

    @property
    def gets_no_more(self) -> bool:
        """Whether no more grids are assigned. Work that was begun may still be finished."""
        return self.annotator.stopped_at is not None or self.fills_no_place


def person_key(campaign_id: UUID, channel: str, key: str) -> str:
    """Return the keyed hash of an annotator's identity. It is the same for the same person in the
    same campaign."""
    return pseudonym(f"annotator:{campaign_id}:{channel}", key)


def current_assignment(session: Session, annotator: Annotator) -> Assignment | None:
    """Return the current assignment of an annotator who used a link, or None if they can take on
    another one."""
    query = select(Assignment).where(Assignment.annotator_id == annotator.id)
    assignment = session.scalar(query.where(Assignment.state == "open"))
    is_over = annotator.stopped_at is not None or annotator.screened_out_at is not None
    if assignment is None and is_over:
        # There is nothing more to take on, so the last assignment shows its code, or the thanks.
        assignment = session.scalar(query.order_by(Assignment.created_at.desc()).limit(1))
    return assignment


def last_completed(session: Session, annotator: Annotator) -> Assignment | None:
    """Return the last assignment that an annotator completed with at least one answer."""
    return session.scalar(
        select(Assignment)
        .where(
            Assignment.annotator_id == annotator.id,
            Assignment.state == "completed",
            Assignment.n_answered > 0,
        )
        .order_by(Assignment.created_at.desc())
        .limit(1)
    )


def new_assignment(campaign: Campaign, annotator: Annotator, channel: str) -> Assignment:
    """Create an assignment with the campaign's current number of grids. That of a person who was
    screened out has ended."""
    screened_out_at = annotator.screened_out_at
    return Assignment(
        state="open" if screened_out_at is None else "screened_out",
        screened_out_at=screened_out_at,
        campaign_id=campaign.id,
        annotator_id=annotator.id,
        channel=channel,
        target=campaign.grids_per_assignment,
        completion_code=_completion_code(),
    )


def annotator_of(session: Session, campaign: Campaign, key: str, channel: str) -> Annotator:
    """Return the annotator with this key on this channel, and create them if needed."""
    return session.get_one(Annotator, _annotator(session, campaign, key, channel))


def remember_person(session: Session, annotator_id: UUID, external_id: str) -> None:
    """Store the channel's id of an annotator for payments, separately from answers."""
    session.get_one(AnnotatorIdentity, annotator_id).external_id = external_id


def known_annotator(session: Session, campaign_id: UUID, key: str, channel: str) -> UUID | None:
    """Return the annotator who used this key before, or None."""
    return session.scalar(
        select(AnnotatorIdentity.annotator_id).where(
            AnnotatorIdentity.campaign_id == campaign_id,
            AnnotatorIdentity.channel == channel,
            AnnotatorIdentity.key_hash == person_key(campaign_id, channel, key),
        )
    )


def _annotator(session: Session, campaign: Campaign, key: str, channel: str) -> UUID:
    key_hash = person_key(campaign.id, channel, key)
    query = select(AnnotatorIdentity.annotator_id).where(
        AnnotatorIdentity.campaign_id == campaign.id,
        AnnotatorIdentity.channel == channel,
        AnnotatorIdentity.key_hash == key_hash,
    )
    # The row lock also keeps two tabs of a newcomer from opening two assignments.
    known = session.scalar(query.with_for_update())
    if known is not None:
        return known
    # Newcomers are handled one at a time, so that positions have no gaps and it is clear who of two
    # was first. The campaign's row lock is not used for this, because a newcomer also gets a grid
    # and submissions wait for the row.
    session.execute(select(advisory_lock(campaign.id, NEWCOMER_QUEUE)))
    known = session.scalar(query)
    if known is not None:
        return known
    of_campaign = Annotator.campaign_id == campaign.id
    highest = session.scalar(select(func.max(Annotator.position)).where(of_campaign))
    annotator = Annotator(campaign_id=campaign.id, position=0 if highest is None else highest + 1)
    session.add(annotator)
    session.flush()
    session.add(
        AnnotatorIdentity(
            annotator_id=annotator.id, campaign_id=campaign.id, channel=channel, key_hash=key_hash
        )
    )
    session.flush()
    campaign_changed(session, campaign.id)
    return annotator.id


def _completion_code() -> str:
    letters = "".join(secrets.choice(CODE_ALPHABET) for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"


def codes_of(session: Session, annotator: Annotator) -> list[tuple[str, int]]:
    """Return the completion codes of what an annotator has done, the newest first, with the number
    of answers."""
    rows = session.execute(
        select(Assignment.completion_code, Assignment.n_answered)
        .where(
            Assignment.annotator_id == annotator.id,
            Assignment.state == "completed",
            Assignment.n_answered > 0,
        )
        .order_by(Assignment.created_at.desc())
    )
    return [(code, answered) for code, answered in rows]


def token_of(opened: AnnotatorSession) -> str:
    """Return an encrypted bearer token."""
    return encrypt_timed(TOKEN, opened.assignment.id.bytes)


def assignment_of_token(token: str) -> UUID:
    """Return the assignment of a bearer token. Raises BadToken."""
    value = decrypt_timed(TOKEN, token, TOKEN_SECONDS)
    if value is None:
        raise _run_out()
    return UUID(bytes=value)


# Every request of an annotator begins here, so this is one statement and not three, made once.
_SESSION = (
    select(Campaign, Annotator, Assignment)
    .join(Annotator, Annotator.campaign_id == Campaign.id)
    .join(Assignment, Assignment.annotator_id == Annotator.id)
    .where(Assignment.id == bindparam("assignment_id"))
)


_READ = Prepared(_SESSION)
_READ_AND_LOCK = Prepared(_SESSION.with_for_update(of=Assignment, key_share=True))


def session_of(session: Session, assignment_id: UUID, *, lock: bool = False) -> AnnotatorSession:
    """Return the annotator session of a bearer token's assignment, whose row is locked with `lock`.
    Raises BadToken."""
    row = (_READ_AND_LOCK if lock else _READ).first(session, assignment_id=assignment_id)
    if row is None:
        raise _run_out()
    campaign, annotator, assignment = row
    return AnnotatorSession(campaign, annotator, assignment, is_locked=lock)


def _run_out() -> BadToken:
    return BadToken("Your session has expired. Open the link again to continue.")


class AssignmentReturned(Conflict):
    """The platform has given the assignment to someone else, or the person has returned it."""

    code = "assignment_returned"


def grids_of(assignment: Assignment) -> int:
    """Return how many grids the annotator has taken on."""
    return assignment.target + assignment.extra


def require_held(assignment: Assignment) -> None:
    """Raise AssignmentReturned if the annotator no longer has the assignment. Their work is
    kept."""
    if assignment.state == "returned":
        raise AssignmentReturned(
            "This task was returned on the platform, so there are no more grids for it. Your work "
            "is saved. To continue, accept the task again."
        )


def complete_assignment(session: Session, assignment: Assignment) -> None:
    """Complete an assignment, and record what is owed if it came through a link. The caller must
    hold its row lock."""
    if assignment.state == "open":
        assignment.state, assignment.completed_at = "completed", datetime.now(UTC)
    hooks.assignment_completed(session, assignment)


def complete_unless_asked(session: Session, who: AnnotatorSession) -> bool:
    """Complete an assignment whose grids are over, unless questions come first. Return whether it
    is complete. The caller must hold its row lock."""
    if who.assignment.state == "open" and questionnaire.is_asked(
        session, who.settings, who.annotator, "after"
    ):
        return False
    complete_assignment(session, who.assignment)
    return True


def stage(session: Session, who: AnnotatorSession) -> Stage:
    """Return what the annotator's page shows next, before or instead of grids."""
    settings, annotator = who.settings, who.annotator
    assignment = who.assignment
    if assignment.screened_out_at is not None:
        return "screened_out"
    # In another assignment. Those who have done grids have earned their pay.
    if annotator.screened_out_at is not None and not assignment.n_answered:
        return "screened_out"
    if consent.is_asked(settings, annotator):
        return "consent"
    if who.assignment.state != "completed" and questionnaire.is_asked(
        session, settings, annotator, "before"
    ):
        return "questions"
    if settings.show_instructions and annotator.instructed_at is None:
        return "instructions"
    if practice_number(who) < settings.practice and not is_at_work(who):
        return "practice"
    return "warning" if awaits_warning(who) else "work"


def awaits_warning(who: AnnotatorSession) -> bool:
    """Return whether the annotator has a warning that they have not seen yet."""
    warned, seen = who.annotator.warned_at, who.annotator.warning_seen_at
    return warned is not None and (seen is None or seen < warned)


def practice_number(who: AnnotatorSession) -> int:
    """Return the first practice grid that is not passed and not tried often enough."""
    passing = who.settings.practice_pass
    done = [
        bool(tries) and (tries[-1] >= passing or len(tries) >= PRACTICE_TRIES)
        for tries in who.annotator.practice
    ]
    return next((number for number, is_done in enumerate(done) if not is_done), len(done))


def is_at_work(who: AnnotatorSession) -> bool:
    """Return whether the annotator answered grids that count before practice was introduced."""
    return not who.annotator.practice and who.assignment.n_answered > 0


def require_prepared(session: Session, who: AnnotatorSession) -> None:
    """Raise NotPrepared while consent, answers or practice are missing. The page handles the other
    stages."""
    missing = missing_before_grids(session, who)
    if missing is not None:
        raise NotPrepared(missing)


def missing_before_grids(session: Session, who: AnnotatorSession) -> str | None:
    """Return what the annotator has to do before there are grids for them, or None."""
    now = stage(session, who)
    unpractised = practice_number(who) < who.settings.practice and not is_at_work(who)
    if now in ("practice", "instructions") and unpractised:
        return "Do the practice grids first."
    return MISSING.get(now)


def take_step(
    session: Session, who: AnnotatorSession, step: Stage, consent_key: str | None = None
) -> None:
    """Record that the annotator agreed to the consent text, or read the instructions or the
    warning. `consent_key` is the key of the text that their page shows, if it says so. Raises
    ConsentChanged."""
    if step == "consent":
        consent.agree(session, who.settings, who.annotator, consent_key)
    elif step == "instructions":
        who.annotator.instructed_at = datetime.now(UTC)
    elif step == "warning":
        who.annotator.warning_seen_at = datetime.now(UTC)


def seconds_spent(session: Session, assignment: Assignment) -> float:
    """Return the time in seconds that the answers of an assignment took."""
    query = select(func.sum(Answer.elapsed_ms)).where(Answer.assignment_id == assignment.id)
    return float(session.scalar(query) or 0) / 1000
