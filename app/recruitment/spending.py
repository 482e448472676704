"""What a campaign has cost according to its ledger, over all its recruitments."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.recruitment import ledger
from app.recruitment.models import Payment, Recruitment


@dataclass(frozen=True)
class Spending:
    """A campaign's spending in cents, with fees.

    payable_cents: paid, or to be paid by a platform, or by the requester to people who used links.
    committed_cents: the same, plus what open places on platforms may still cost.
    """

    currency: str
    payable_cents: int
    committed_cents: int


def spending_of(session: Session, campaign: Campaign) -> Spending | None:
    """Return the spending, or None before the campaign's start. Amounts in different currencies
    cannot be added: the campaign's own currency is used if anything is spent in it, otherwise the
    one with the largest amount."""
    recruitments = session.scalars(
        select(Recruitment)
        .where(Recruitment.campaign_id == campaign.id, Recruitment.state != "draft")
        .order_by(Recruitment.id)
    ).all()
    if not recruitments:
        return None
    payable = _payable(session, campaign)
    committed = dict.fromkeys([campaign.currency, *payable], 0)
    for recruitment in recruitments:
        cents = ledger.commitments(session, recruitment).committed_cents
        committed[recruitment.currency] = committed.get(recruitment.currency, 0) + cents
    each = [
        Spending(currency, payable.get(currency, 0), cents) for currency, cents in committed.items()
    ]
    own, most = (
        each[0],
        max(each, key=lambda spending: (spending.committed_cents, spending.payable_cents)),
    )
    return own if own.payable_cents or own.committed_cents else most


def _payable(session: Session, campaign: Campaign) -> dict[str, int]:
    """Return what is payable by currency."""
    rows = session.execute(
        select(Payment.currency, func.sum(Payment.amount_cents + Payment.fee_cents))
        .where(Payment.campaign_id == campaign.id, Payment.state.in_(ledger.COMMITTED))
        .group_by(Payment.currency)
    )
    return {currency: int(cents) for currency, cents in rows}
