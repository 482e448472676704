"""Bonuses on MTurk. Their token makes each one paid once within 24 hours; after that, their reason
identifies them."""

from decimal import Decimal

from app.recruitment.channel import BonusOrder, BonusOutcome, ChannelError, ChannelRefused
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.errors import token_known
from app.recruitment.channels.mturk.texts import MAX_REASON, clipped, dollars, require_dollars


def pay(api: MTurkApi, order: BonusOrder) -> BonusOutcome:
    """Pay a bonus with one request. MTurk itself refuses a person who does not have the
    assignment."""
    try:
        require_dollars(order.currency)
        api.pay(
            "send_bonus",
            WorkerId=order.submission.person,
            AssignmentId=order.submission.external_id,
            BonusAmount=dollars(order.amount_cents),
            Reason=_reason(order),
            UniqueRequestToken=order.token,
        )
    except ChannelRefused as error:
        # MTurk has already paid this token.
        paid = token_known(error, order.token)
        return BonusOutcome(order.token, error=None if paid else error)
    except ChannelError as error:
        return BonusOutcome(order.token, error=error)
    return BonusOutcome(order.token)


def find(api: MTurkApi, order: BonusOrder) -> str | None:
    """Look for a paid bonus. Bonuses have no ids on MTurk, so one that is found is ""."""
    paid = api.every(
        "list_bonus_payments", "BonusPayments", AssignmentId=order.submission.external_id
    )
    mark = _mark(order.token)
    is_paid = any(
        bonus["WorkerId"] == order.submission.person and bonus["Reason"].rstrip().endswith(mark)
        for bonus in paid
    )
    return "" if is_paid else None


def _mark(token: str) -> str:
    """Return the end of the token, which tells an assignment's bonuses apart. The start of a token
    may be a time."""
    return f"[{token[-12:]}]"


def _reason(order: BonusOrder) -> str:
    mark = _mark(order.token)
    return f"{clipped(order.reason, MAX_REASON - len(mark) - 1) or 'Bonus'} {mark}"


def paid_by_assignment(api: MTurkApi, hit_id: str) -> dict[str, int]:
    """Return the bonuses of a HIT's assignments in cents."""
    totals: dict[str, int] = {}
    for bonus in api.every("list_bonus_payments", "BonusPayments", HITId=hit_id):
        cents = int(Decimal(bonus["BonusAmount"]) * 100)
        totals[bonus["AssignmentId"]] = totals.get(bonus["AssignmentId"], 0) + cents
    return totals
