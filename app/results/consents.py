"""Exports of who agreed to which consent text, and of the texts."""

from collections.abc import Iterator

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, ConsentAgreement, ConsentText
from app.campaigns.models import Campaign
from app.core.cells import csv_line
from app.core.copying import json_lines

COLUMNS = ["annotator", "version", "agreed_at", "sha256"]


def consent_csv(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one line per agreement, by annotator and time."""
    query = (
        select(
            Annotator.position,
            ConsentText.version,
            ConsentAgreement.agreed_at,
            ConsentText.sha256,
        )
        .join(ConsentAgreement, ConsentAgreement.annotator_id == Annotator.id)
        .join(ConsentText, ConsentAgreement.consent_text_id == ConsentText.id)
        .where(Annotator.campaign_id == campaign.id)
        .order_by(Annotator.position, ConsentAgreement.agreed_at)
    )
    yield csv_line(COLUMNS).encode()
    for position, version, agreed_at, sha256 in session.execute(query):
        yield csv_line([position, version, agreed_at.isoformat(), sha256]).encode()


def consent_texts_jsonl(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield one JSON object per version of the text."""
    agreed = ConsentAgreement.consent_text_id == ConsentText.id
    query = (
        select(
            ConsentText.version,
            ConsentText.sha256,
            ConsentText.text,
            select(func.count()).where(agreed).scalar_subquery().label("n_agreed"),
            select(func.min(ConsentAgreement.agreed_at))
            .where(agreed)
            .scalar_subquery()
            .label("first_agreed_at"),
        )
        .where(ConsentText.campaign_id == campaign.id)
        .order_by(ConsentText.version)
    )
    yield from json_lines(session, query)
