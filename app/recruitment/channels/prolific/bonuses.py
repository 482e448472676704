"""Bonuses on Prolific. Paying them is the only request there that pays again when it is repeated.

So it is sent once, and everything except a clear answer is an unknown outcome. What was paid can be
read from a submission (`bonus_payments`) some minutes later.
"""

from collections import Counter
from collections.abc import Sequence

from app.recruitment.channel import (
    BonusOrder,
    BonusOutcome,
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    OutcomeUnknown,
)
from app.recruitment.channels.prolific.http import ProlificHttp
from app.recruitment.channels.prolific.money import bonus_list
from app.recruitment.channels.prolific.replies import Bulk, SubmissionDetail


def pay_all(http: ProlificHttp, orders: Sequence[BonusOrder]) -> list[BonusOutcome]:
    """Pay bonuses of one study with one list. Return an outcome for each, in their order."""
    outcomes: dict[str, BonusOutcome] = {}
    batch: list[BonusOrder] = []
    for order in orders:
        problem = _problem(order, batch)
        if problem:
            outcomes[order.token] = BonusOutcome(order.token, error=problem)
        else:
            batch.append(order)
    for outcome in _paid(http, batch):
        outcomes[outcome.token] = outcome
    return [outcomes[order.token] for order in orders]


def was_paid(submission: SubmissionDetail, order: BonusOrder) -> bool:
    """Return whether a submission shows such a bonus in addition to those that are already
    known."""
    shown = Counter(int(amount) for amount in submission.bonus_payments or ())
    return (shown - Counter(order.earlier_cents))[order.amount_cents] > 0


def _problem(order: BonusOrder, batch: list[BonusOrder]) -> ChannelError | None:
    """Return why an order cannot be in the list, or None."""
    if order.amount_cents <= 0:
        return ChannelRefused("A bonus must be more than 0.", "amount")
    theirs = order.submission.posting.details.get("currency", order.currency)
    if theirs != order.currency:
        return ChannelRefused(f"The study pays in {theirs}, not in {order.currency}.", "currency")
    if batch and order.submission.posting.external_id != batch[0].submission.posting.external_id:
        return ChannelUnavailable("Bonuses of another study are being paid first.")
    if any(order.submission.person == other.submission.person for other in batch):
        return ChannelUnavailable("Another bonus for this person is being paid first.")
    return None


def _paid(http: ProlificHttp, batch: list[BonusOrder]) -> list[BonusOutcome]:
    if not batch:
        return []
    try:
        bulk = _set_up(http, batch)
    except ChannelRefused as refusal:
        return _without_the_named(http, batch, refusal)
    except ChannelUnavailable as error:
        # A list that is only set up pays nothing.
        return _failed(batch, error)
    try:
        http.pay(f"/api/v1/bulk-bonus-payments/{bulk}/pay/")
    except (ChannelRefused, ChannelUnavailable, OutcomeUnknown) as error:
        return _failed(batch, error)
    return [BonusOutcome(order.token, external_id=bulk) for order in batch]


def _set_up(http: ProlificHttp, batch: list[BonusOrder]) -> str:
    lines = [(order.submission.external_id, order.amount_cents) for order in batch]
    body = {
        "study_id": batch[0].submission.posting.external_id,
        "csv_bonuses": bonus_list(lines),
    }
    return http.post("/api/v1/submissions/bonus-payments/", body, Bulk).id


def _without_the_named(
    http: ProlificHttp, batch: list[BonusOrder], refusal: ChannelRefused
) -> list[BonusOutcome]:
    """Pay the rest of a list after Prolific refused all of it because of one wrong id, which it
    names."""
    named = [order for order in batch if order.submission.external_id in str(refusal)]
    if not named or len(named) == len(batch):
        return _failed(batch, refusal)
    rest = [order for order in batch if order not in named]
    return _failed(named, refusal) + _paid(http, rest)


def _failed(batch: list[BonusOrder], error: ChannelError) -> list[BonusOutcome]:
    return [BonusOutcome(order.token, error=error) for order in batch]
