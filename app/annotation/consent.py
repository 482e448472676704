"""Consent: every agreement is to one text, which is kept as it was; a changed text is asked again.

The versions of a campaign's text, translations included, are numbered in the order in which
somebody first agreed to them.
"""

import hashlib
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, ConsentAgreement, ConsentText
from app.campaigns.annotation_settings import AnnotationSettings
from app.core.database import advisory_lock
from app.core.errors import Conflict

# The queue of a campaign in which first agreements wait (app.core.database.advisory_lock).
FIRST_AGREEMENTS = 3


class ConsentChanged(Conflict):
    """The annotator agreed to a text that is no longer the campaign's."""

    code = "consent_changed"


def key_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal digits, by which it is recognised."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_asked(settings: AnnotationSettings, annotator: Annotator) -> bool:
    """Return whether the annotator has yet to agree to the campaign's text, in any language."""
    if not settings.consent.strip() or annotator.consented_to == key_of(settings.consent):
        return False
    return annotator.consented_to not in _texts_by_key(settings)


def _texts_by_key(settings: AnnotationSettings) -> dict[str, str]:
    """Return the campaign's text and its translations."""
    translated = (translation.consent for translation in settings.translations.values())
    texts = [settings.consent, *(text for text in translated if text.strip())]
    return {key_of(text): text for text in texts}


def agree(
    session: Session, settings: AnnotationSettings, annotator: Annotator, shown: str | None
) -> None:
    """Record that the annotator agreed to the campaign's text. `shown` is the key of the text or
    translation that their page shows, if it says so. Raises ConsentChanged if that is another
    one."""
    key = key_of(settings.consent) if shown is None else shown
    text = _texts_by_key(settings).get(key)
    if text is None:
        raise ConsentChanged("The consent text has changed. Please read it again.")
    now = datetime.now(UTC)
    text_id = _text(session, annotator.campaign_id, key, text)
    row = {"annotator_id": annotator.id, "consent_text_id": text_id, "agreed_at": now}
    session.execute(insert(ConsentAgreement).values(row).on_conflict_do_nothing())
    annotator.consented_at, annotator.consented_to = now, key


def _text(session: Session, campaign_id: UUID, key: str, text: str) -> UUID:
    """Return the row of a text, and create it for the first who agrees to it."""
    query = select(ConsentText.id).where(
        ConsentText.campaign_id == campaign_id, ConsentText.sha256 == key
    )
    known = session.scalar(query)
    if known is not None:
        return known
    session.execute(select(advisory_lock(campaign_id, FIRST_AGREEMENTS)))
    known = session.scalar(query)
    if known is not None:
        return known
    of_campaign = ConsentText.campaign_id == campaign_id
    last = session.scalar(select(func.max(ConsentText.version)).where(of_campaign)) or 0
    row = ConsentText(campaign_id=campaign_id, version=last + 1, sha256=key, text=text)
    session.add(row)
    session.flush()
    return row.id
