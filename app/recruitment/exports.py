"""Exports of the ledger, and of what links' addresses said of people.

The ledger's contain no platform ids of people, and no platform responses, which may contain such
ids. What addresses said is exported as pseudonyms by default.
"""

from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, AnnotatorIdentity, Assignment
from app.campaigns.models import Campaign
from app.core.cells import csv_line, plain
from app.core.security import pseudonym
from app.recruitment.models import LinkParameters, Payment, Recruitment
from app.recruitment.settings import link_settings

PAYMENT_COLUMNS = [
    "payment",
    "created_at",
    "channel",
    "recruitment",
    "annotator",
    "kind",
    "rule",
    "amount",
    "fee",
    "currency",
    "state",
    "paid_at",
    "reason",
]
PARAMETER_COLUMNS = ["annotator", "link", "started_at", "parameter", "value"]
TEXTS = ("recruitment", "reason")
ROWS = 500


def payments_csv(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield a CSV line for each payment, the oldest first."""
    yield csv_line(PAYMENT_COLUMNS).encode()
    for row in _payments(session, campaign):
        cells = [plain(row[name]) if name in TEXTS else row[name] for name in PAYMENT_COLUMNS]
        yield csv_line("" if cell is None else cell for cell in cells).encode()


def payments_jsonl(session: Session, campaign: Campaign) -> Iterator[bytes]:
    """Yield a JSON object for each payment, the oldest first."""
    for row in _payments(session, campaign):
        yield orjson.dumps(row) + b"\n"


def link_parameters_csv(
    session: Session, campaign: Campaign, *, identities: bool
) -> Iterator[bytes]:
    """Yield a CSV line for each kept parameter of an assignment, by annotator and time. Values are
    pseudonyms, the same for the same value of a link, unless `identities` are asked for."""
    query = (
        select(
            Annotator.position,
            Recruitment,
            Assignment.created_at,
            LinkParameters.values,
            AnnotatorIdentity.external_id,
        )
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .join(Recruitment, Assignment.recruitment_id == Recruitment.id)
        .outerjoin(LinkParameters, LinkParameters.assignment_id == Assignment.id)
        .outerjoin(AnnotatorIdentity, AnnotatorIdentity.annotator_id == Annotator.id)
        .where(Annotator.campaign_id == campaign.id, Recruitment.channel == "link")
        .order_by(Annotator.position, Assignment.created_at)
        .execution_options(yield_per=ROWS)
    )
    yield csv_line(PARAMETER_COLUMNS).encode()
    for position, link, started_at, others, person in session.execute(query):
        values = _values(link, others or {}, person or "")
        for name, value in values.items():
            known = plain(value) if identities else _pseudonym(link, name, value)
            cells = [position, plain(link.name), started_at.isoformat(), name, known]
            yield csv_line(cells).encode()


def _values(link: Recruitment, others: dict[str, str], person: str) -> dict[str, str]:
    """Return the parameters of an assignment by name, the person's id first."""
    name = link_settings(link.settings).person
    return {name: person, **others} if name and person else others


def _pseudonym(link: Recruitment, name: str, value: str) -> str:
    return pseudonym(f"link_parameter:{link.id}:{name}", value)[:16]


def _payments(session: Session, campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Yield payments by column name. Amounts are text with two decimals, so that none is
    rounded."""
    query = (
        select(Payment, Recruitment.channel, Recruitment.name, Annotator.position)
        .join(Recruitment, Payment.recruitment_id == Recruitment.id)
        .outerjoin(Annotator, Payment.annotator_id == Annotator.id)
        .where(Payment.campaign_id == campaign.id)
        .order_by(Payment.id)
        .execution_options(yield_per=ROWS)
    )
    for payment, channel, name, position in session.execute(query):
        yield {
            "payment": str(payment.id),
            "created_at": payment.created_at.isoformat(),
            "channel": channel,
            "recruitment": name,
            "annotator": position,
            "kind": payment.kind,
            "rule": payment.rule.partition(":")[0],
            "amount": _decimals(payment.amount_cents),
            "fee": _decimals(payment.fee_cents),
            "currency": payment.currency,
            "state": payment.state,
            "paid_at": payment.paid_at.isoformat() if payment.paid_at else None,
            "reason": payment.reason,
        }


def _decimals(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"
