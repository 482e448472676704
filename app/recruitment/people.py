"""Identities of people on platforms. They are known by a keyed hash. The platform's own id is
stored separately from answers, only for payments, and can be deleted."""

from collections.abc import Callable
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.models import AnnotatorIdentity
from app.annotation.sessions import person_key
from app.recruitment.channel import PostingRef, SubmissionRef
from app.recruitment.models import Posting, Recruitment, Submission
from app.recruitment.settings import settings_model


def person_hash(recruitment: Recruitment, person: str) -> str:
    """Return the keyed hash by which a person is known in the recruitment's campaign."""
    return person_key(recruitment.campaign_id, recruitment.channel, person)


def checker(recruitment: Recruitment, known: str) -> Callable[[str], bool]:
    """Return a function that tells whether a platform's id belongs to the person with this hash."""
    campaign_id, channel = recruitment.campaign_id, recruitment.channel
    return lambda person: person_key(campaign_id, channel, person) == known


def person_of(session: Session, recruitment: Recruitment, known: str) -> str:
    """Return the platform's id of a person, or "" if it was deleted or never known here."""
    return (
        session.scalar(
            select(AnnotatorIdentity.external_id).where(
                AnnotatorIdentity.campaign_id == recruitment.campaign_id,
                AnnotatorIdentity.channel == recruitment.channel,
                AnnotatorIdentity.key_hash == known,
            )
        )
        or ""
    )


def annotator_of(session: Session, recruitment: Recruitment, known: str) -> UUID | None:
    """Return a person's annotator in the recruitment's campaign, or None if they never came."""
    return session.scalar(
        select(AnnotatorIdentity.annotator_id).where(
            AnnotatorIdentity.campaign_id == recruitment.campaign_id,
            AnnotatorIdentity.channel == recruitment.channel,
            AnnotatorIdentity.key_hash == known,
        )
    )


def posting_ref(recruitment: Recruitment, posting: Posting) -> PostingRef:
    """Return the reference of a published posting."""
    settings = settings_model(recruitment.channel).model_validate(recruitment.settings)
    return PostingRef(posting.external_id or "", posting.details, settings)


def submission_ref(session: Session, recruitment: Recruitment, row: Submission) -> SubmissionRef:
    """Return a submission by the platform's ids. `person` is "" if the id was deleted here."""
    posting = session.get_one(Posting, row.posting_id)
    person = person_of(session, recruitment, row.person_hash)
    return SubmissionRef(posting_ref(recruitment, posting), row.external_id, person)
