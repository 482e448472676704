"""Who is answering: annotators, their assignments, and the bearer token of their page.

Annotators' pages use no cookies (inside a platform's frame browsers block them): a short-lived
signed token in the `Authorization` header names annotator and assignment.
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, AnnotatorIdentity, Answer, Assignment
from app.annotation.settings import AnnotationSettings, annotation_of
from app.campaigns.models import Campaign
from app.core.errors import Conflict, LikewiseError
from app.core.events import campaign_changed
from app.core.security import pseudonym, sign_timed, unsign_timed

TOKEN = "annotator-token"
TOKEN_SECONDS = 12 * 3600
CODE_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


Stage = Literal["consent", "instructions", "practice", "warning", "work"]
PRACTICE_TRIES = 2


class NotPrepared(Conflict):
    """Something comes before the grids: consent, or practice."""

    code = "not_prepared"


class BadToken(LikewiseError):
    """The bearer token is missing, forged or too old."""

    code = "bad_token"
    status = 401


@dataclass(frozen=True)
class AnnotatorSession:
    """The caller of the annotation API."""

    campaign: Campaign
    annotator: Annotator
    assignment: Assignment

    @property
    def annotator_id(self) -> UUID:
        return self.annotator.id

    @property
    def settings(self) -> AnnotationSettings:
        return annotation_of(self.campaign.annotation)


def open_session(
    session: Session, campaign: Campaign, annotator_key: str, channel: str = "link"
) -> AnnotatorSession:
    """The session of an annotator: the same key is the same person, with the same open assignment.

    A person whose last assignment is completed takes on another.
    """
    annotator_id = _annotator(session, campaign, annotator_key, channel)
    annotator = session.get_one(Annotator, annotator_id)
    query = select(Assignment).where(Assignment.annotator_id == annotator_id)
    assignment = session.scalar(query.where(Assignment.state == "open"))
    if assignment is None and annotator.stopped_at is not None:
        # Nothing more to take on: the last one tells its code.
        assignment = session.scalar(query.order_by(Assignment.created_at.desc()).limit(1))
    if assignment is None:
        assignment = Assignment(
            campaign_id=campaign.id,
            annotator_id=annotator_id,
            channel=channel,
            target=campaign.grids_per_assignment,
            completion_code=_completion_code(),
        )
        session.add(assignment)
        session.flush()
    return AnnotatorSession(campaign, annotator, assignment)


def _annotator(session: Session, campaign: Campaign, key: str, channel: str) -> UUID:
    key_hash = pseudonym(f"annotator:{campaign.id}:{channel}", key)
    query = select(AnnotatorIdentity.annotator_id).where(
        AnnotatorIdentity.campaign_id == campaign.id,
        AnnotatorIdentity.channel == channel,
        AnnotatorIdentity.key_hash == key_hash,
    )
    # The row lock also keeps two tabs of a newcomer from opening two assignments.
    known = session.scalar(query.with_for_update())
    if known is not None:
        return known
    # The campaign's row lock hands out dense positions and settles who of two was first.
    position = session.execute(
        update(Campaign)
        .where(Campaign.id == campaign.id)
        .values(n_annotators=Campaign.n_annotators + 1)
        .returning(Campaign.n_annotators)
    ).scalar_one()
    known = session.scalar(query)
    if known is not None:
        session.execute(
            update(Campaign)
            .where(Campaign.id == campaign.id)
            .values(n_annotators=Campaign.n_annotators - 1)
        )
        return known
    annotator = Annotator(campaign_id=campaign.id, position=position - 1)
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


def token_of(opened: AnnotatorSession) -> str:
    return sign_timed(TOKEN, [str(opened.annotator_id), str(opened.assignment.id)])


def session_of_token(session: Session, token: str) -> AnnotatorSession:
    """The annotator session behind a bearer token; raises BadToken."""
    value = unsign_timed(TOKEN, token, TOKEN_SECONDS)
    assignment = session.get(Assignment, UUID(value[1])) if value else None
    if assignment is None:
        raise BadToken("Your session has run out. Open the link again to go on where you were.")
    campaign = session.get_one(Campaign, assignment.campaign_id)
    annotator = session.get_one(Annotator, assignment.annotator_id)
    return AnnotatorSession(campaign, annotator, assignment)


def complete_assignment(assignment: Assignment) -> None:
    if assignment.state == "open":
        assignment.state, assignment.completed_at = "completed", datetime.now(UTC)


def stage(who: AnnotatorSession) -> Stage:
    """What the annotator's page shows next, before or instead of grids."""
    settings, annotator = who.settings, who.annotator
    if settings.consent.strip() and annotator.consented_at is None:
        return "consent"
    if settings.show_instructions and annotator.instructed_at is None:
        return "instructions"
    if practice_number(who) < settings.practice and not is_at_work(who):
        return "practice"
    return "warning" if awaits_warning(who) else "work"


def awaits_warning(who: AnnotatorSession) -> bool:
    """Whether the annotator was warned and has not seen it."""
    warned, seen = who.annotator.warned_at, who.annotator.warning_seen_at
    return warned is not None and (seen is None or seen < warned)


def practice_number(who: AnnotatorSession) -> int:
    """The first practice grid that is neither passed nor tried often enough."""
    passing = who.settings.practice_pass
    done = [
        bool(tries) and (tries[-1] >= passing or len(tries) >= PRACTICE_TRIES)
        for tries in who.annotator.practice
    ]
    return next((number for number, is_done in enumerate(done) if not is_done), len(done))


def is_at_work(who: AnnotatorSession) -> bool:
    """Whether grids that count were answered before practice was asked for."""
    return not who.annotator.practice and who.assignment.n_answered > 0


def require_prepared(who: AnnotatorSession) -> None:
    """Raises NotPrepared while consent or practice is missing; the rest is the page's concern."""
    now = stage(who)
    if now == "consent":
        raise NotPrepared("Agree to the consent text first.")
    unpractised = practice_number(who) < who.settings.practice and not is_at_work(who)
    if now in ("practice", "instructions") and unpractised:
        raise NotPrepared("Do the practice grids first.")


def take_step(who: AnnotatorSession, step: Stage) -> None:
    """Record that the annotator agreed to the consent text, or read instructions or warning."""
    columns = {
        "consent": "consented_at",
        "instructions": "instructed_at",
        "warning": "warning_seen_at",
    }
    if step in columns:
        setattr(who.annotator, columns[step], datetime.now(UTC))


def seconds_spent(session: Session, assignment: Assignment) -> float:
    """Time that the answers of an assignment took, in seconds."""
    query = select(func.sum(Answer.elapsed_ms)).where(Answer.assignment_id == assignment.id)
    return float(session.scalar(query) or 0) / 1000
