"""Who people are on their platforms: known by a keyed hash; the platform's own id is kept apart
from answers, for payments alone, and can be erased."""

from collections.abc import Callable
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.models import AnnotatorIdentity
from app.annotation.sessions import person_key
from app.recruitment.channel import PostingRef, SubmissionRef
from app.recruitment.models import Posting, Recruitment, Submission
from app.recruitment.settings import SETTINGS


def person_hash(recruitment: Recruitment, person: str) -> str:
    """The keyed hash by which a person is known in the recruitment's campaign."""
    return person_key(recruitment.campaign_id, recruitment.channel, person)


def checker(recruitment: Recruitment, known: str) -> Callable[[str], bool]:
    """Tells whether a platform's id is of the person with this hash."""
    campaign_id, channel = recruitment.campaign_id, recruitment.channel
    return lambda person: person_key(campaign_id, channel, person) == known


def person_of(session: Session, recruitment: Recruitment, known: str) -> str:
    """The platform's id of a person, "" when it was erased or never known here."""
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
    """The annotator that a person is in the recruitment's campaign; None: never came."""
    return session.scalar(
        select(AnnotatorIdentity.annotator_id).where(
            AnnotatorIdentity.campaign_id == recruitment.campaign_id,
            AnnotatorIdentity.channel == recruitment.channel,
            AnnotatorIdentity.key_hash == known,
        )
    )


def posting_ref(recruitment: Recruitment, posting: Posting) -> PostingRef:
    """A posting that stands on the platform."""
    settings = SETTINGS[recruitment.channel].model_validate(recruitment.settings)
    return PostingRef(posting.external_id or "", posting.details, settings)


def submission_ref(session: Session, recruitment: Recruitment, row: Submission) -> SubmissionRef:
    """A submission by the platform's ids; `person` is "" when it was erased here."""
    posting = session.get_one(Posting, row.posting_id)
    person = person_of(session, recruitment, row.person_hash)
    return SubmissionRef(posting_ref(recruitment, posting), row.external_id, person)
