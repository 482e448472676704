"""Who is answering: annotators, their assignments, and the bearer token of their page.

Annotators' pages use no cookies (inside a platform's frame browsers block them): a short-lived
signed token in the `Authorization` header names annotator and assignment.
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, AnnotatorIdentity, Assignment
from app.campaigns.models import Campaign
from app.core.errors import LikewiseError
from app.core.events import campaign_changed
from app.core.security import pseudonym, sign_timed, unsign_timed

TOKEN = "annotator-token"
TOKEN_SECONDS = 12 * 3600
CODE_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


class BadToken(LikewiseError):
    """The bearer token is missing, forged or too old."""

    code = "bad_token"
    status = 401


@dataclass(frozen=True)
class AnnotatorSession:
    """The caller of the annotation API."""

    campaign: Campaign
    annotator_id: UUID
    assignment: Assignment


def open_session(
    session: Session, campaign: Campaign, annotator_key: str, channel: str = "link"
) -> AnnotatorSession:
    """The session of an annotator: the same key is the same person, with the same open assignment.

    A person whose last assignment is completed takes on another.
    """
    annotator_id = _annotator(session, campaign, annotator_key, channel)
    assignment = session.scalar(
        select(Assignment).where(
            Assignment.annotator_id == annotator_id, Assignment.state == "open"
        )
    )
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
    return AnnotatorSession(campaign, annotator_id, assignment)


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
    campaign = session.get(Campaign, assignment.campaign_id) if assignment else None
    if assignment is None or campaign is None:
        raise BadToken("Your session has run out. Open the link again to go on where you were.")
    return AnnotatorSession(campaign, assignment.annotator_id, assignment)


def complete_assignment(assignment: Assignment) -> None:
    if assignment.state == "open":
        assignment.state, assignment.completed_at = "completed", datetime.now(UTC)
