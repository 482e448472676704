"""Exports of the ledger. They contain no platform ids of people, and no platform responses, which
may contain such ids."""

from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.models import Annotator
from app.campaigns.models import Campaign
from app.core.cells import csv_line, plain
from app.recruitment.models import Payment, Recruitment

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
