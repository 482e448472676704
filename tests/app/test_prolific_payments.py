"""Work on Prolific, listed and decided on, and its bonuses: each paid once, whatever fails."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, timedelta
from functools import partial
from typing import Any, TypeVar

import pytest

from app.recruitment.channel import (
    BonusOrder,
    ChannelRefused,
    ChannelUnavailable,
    OutcomeUnknown,
    PostingOrder,
    PostingRef,
    Rejection,
    SubmissionRef,
)
from app.recruitment.channels.prolific.client import Prolific
from app.recruitment.channels.prolific.http import ProlificHttp
from app.recruitment.channels.prolific.settings import ProlificSettings
from emulators.prolific.server import Emulator
from tests.support.prolific_market import (
    BONUS,
    HANGS,
    Market,
    a_market,
    an_order,
    channel_to,
    posted,
    served_market,
)

T = TypeVar("T")
WHY = (
    "The same image was put into every group, and all grids were done in under a second each. " * 2
)


@pytest.fixture(scope="module")
def server() -> Iterator[Emulator]:
    with served_market() as emulator:
        yield emulator


@pytest.fixture
def market(server: Emulator) -> Iterator[Market]:
    with a_market(server) as emulated:
        yield emulated


@pytest.fixture
def channel(market: Market) -> Prolific:
    return channel_to(market)


def with_settings(**values: Any) -> PostingOrder:
    return an_order(settings=ProlificSettings(minutes_estimated=10, **values))


def a_bonus(ref: SubmissionRef, cents: int, number: int = 1, **more: Any) -> BonusOrder:
    return BonusOrder(f"{number:032x}", ref, cents, "GBP", "Extra grids", **more)


# Submissions


def test_all_submissions_are_listed_in_every_state(market: Market, channel: Prolific) -> None:
    market.tell("post", "/emulator/participants", {"count": 150})
    posting = posted(channel, replace(with_settings(screen_out_cents=20), places=140))
    for _ in range(120):
        market.starts(posting)
    refs = [market.works(posting) for _ in range(3)]
    out = market.comes_back(market.starts(posting), "screened_out")
    no = market.comes_back(market.starts(posting), "no_consent")
    by_id = {submission.external_id: submission for submission in channel.submissions(posting)}
    assert len(by_id) == 125
    assert sum(submission.state == "accepted" for submission in by_id.values()) == 120
    submission = by_id[refs[0].external_id]
    assert submission == channel.submission(refs[0])
    assert (submission.state, submission.person) == ("submitted", refs[0].person)
    assert submission.code == posting.details["codes"]["complete"]
    assert submission.accepted_at
    assert submission.submitted_at
    assert submission.auto_approved_at
    assert submission.accepted_at.tzinfo is UTC
    assert submission.auto_approved_at - submission.submitted_at == timedelta(days=21)
    assert by_id[out.external_id].state == "screened_out"
    # Asked to return it, but for Prolific it waits for review: only the code tells.
    assert by_id[no.external_id].state == "submitted"
    assert by_id[no.external_id].code == posting.details["codes"]["no_consent"]
    status = channel.status(posting)
    assert (status.taken, status.at_work) == (124, 120)
    other = replace(refs[0], posting=replace(posting, external_id="f" * 24))
    assert channel.submission(other) is None
    assert channel.submission(replace(refs[0], external_id="f" * 24)) is None


Decision = Callable[[Prolific, SubmissionRef], None]
REJECT = Rejection("LOW_EFFORT", WHY)
DECISIONS: dict[str, tuple[Decision, str, dict[str, int]]] = {
    "approve": (lambda c, ref: c.approve(ref, ""), "APPROVED", {"reward": 150}),
    "reject": (lambda c, ref: c.reject(ref, REJECT), "REJECTED", {}),
    "screen_out": (lambda c, ref: c.screen_out(ref), "SCREENED OUT", {"screen-out": 20}),
    "reverse": (lambda c, ref: c.reverse(ref, ""), "APPROVED", {"reward": 150}),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_has_its_effect_once_though_its_answer_is_lost(
    market: Market, channel: Prolific, name: str
) -> None:
    decide, state, money = DECISIONS[name]
    ref = market.works(posted(channel, with_settings(screen_out_cents=20)))
    if name == "reverse":
        channel.reject(ref, REJECT)
    # Two requests are made for a reversal, and both answers are lost.
    times = 2 if name == "reverse" else 1
    market.fails({"operation": "transition-submission", "kind": "5xx-after", "times": times})
    for _ in range(times):
        with pytest.raises(ChannelUnavailable):
            decide(channel, ref)
    decide(channel, ref)
    decide(channel, ref)
    assert market.state(ref) == state
    for kind in ("reward", "screen-out"):
        expected = {ref.external_id: [money[kind]]} if kind in money else {}
        assert market.paid(kind) == expected
    messages = [message.body for message in market.world.messages]
    assert messages == ([WHY.strip()] if name in ("reject", "reverse") else [])


def test_what_has_not_arrived_yet_is_decided_on_later(market: Market, channel: Prolific) -> None:
    ref = market.starts(posted(channel))
    for name in ("approve", "reject"):
        with pytest.raises(ChannelUnavailable, match="as submitted yet"):
            DECISIONS[name][0](channel, ref)
    market.comes_back(ref)
    channel.approve(ref, "")
    with pytest.raises(ChannelRefused, match="REJECT is not possible"):
        channel.reject(ref, REJECT)
    with pytest.raises(ChannelRefused, match="has no pay"):
        channel.screen_out(ref)


@pytest.mark.parametrize(
    ("rejection", "message"),
    [
        (Rejection("LOW_EFFORT", "Too bad." + " " * 100), "at least 100"),
        (Rejection("UGLY", WHY), "UGLY"),
    ],
)
def test_a_rejection_without_a_reason_is_not_sent(
    market: Market, channel: Prolific, rejection: Rejection, message: str
) -> None:
    ref = market.works(posted(channel))
    with pytest.raises(ChannelRefused, match=message):
        channel.reject(ref, rejection)
    assert market.asked("transition-submission") == 0


# Bonuses


def test_bonuses_of_a_batch_are_paid_in_hundredths_as_asked(
    market: Market, channel: Prolific
) -> None:
    posting = posted(channel)
    refs = [market.works(posting) for _ in range(3)]
    amounts = [425, 30, 1]
    orders = [a_bonus(ref, amounts[n], n) for n, ref in enumerate(refs)]
    orders.append(a_bonus(refs[0], 7, 9))
    outcomes = channel.pay_bonuses(orders)
    assert [outcome.token for outcome in outcomes] == [order.token for order in orders]
    assert [outcome.error is None for outcome in outcomes] == [True, True, True, False]
    assert isinstance(outcomes[3].error, ChannelUnavailable)
    market.later(BONUS + 1)
    assert market.paid("bonus") == {
        ref.external_id: [cents] for ref, cents in zip(refs, amounts, strict=True)
    }
    assert channel.find_bonus(orders[0]) == ""
    assert channel.find_bonus(orders[3]) is None


def test_a_wrong_line_does_not_stop_the_others(market: Market, channel: Prolific) -> None:
    posting = posted(channel)
    ref = market.works(posting)
    stranger = SubmissionRef(posting, "e" * 24, "e" * 24)
    outcomes = channel.pay_bonuses([a_bonus(stranger, 50, 1), a_bonus(ref, 60, 2)])
    assert isinstance(outcomes[0].error, ChannelRefused)
    assert outcomes[1].error is None
    market.later(BONUS + 1)
    assert market.paid("bonus") == {ref.external_id: [60]}


def test_bonuses_that_nobody_has_the_money_for_are_refused(
    market: Market, channel: Prolific
) -> None:
    posting = posted(channel)
    refs = [market.works(posting) for _ in range(2)]
    outcomes = channel.pay_bonuses([a_bonus(ref, 600_000, n) for n, ref in enumerate(refs)])
    assert all(isinstance(outcome.error, ChannelRefused) for outcome in outcomes)
    assert "Not enough funds" in str(outcomes[0].error)
    foreign = channel.pay_bonuses([replace(a_bonus(refs[0], 5), currency="USD")])
    assert isinstance(foreign[0].error, ChannelRefused)
    market.later(BONUS + 1)
    assert market.paid("bonus") == {}


@pytest.mark.parametrize(
    ("kind", "paid"),
    [
        ("timeout-after", True),
        ("timeout-before", False),
        ("5xx-after", True),
        ("5xx-before", False),
    ],
)
def test_a_payment_without_an_answer_is_looked_for_and_never_made_again(
    market: Market, channel: Prolific, kind: str, paid: bool
) -> None:
    """Acceptance test 14, the channel's part."""
    posting = posted(channel)
    refs = [market.works(posting) for _ in range(2)]
    orders = [a_bonus(ref, 50, n) for n, ref in enumerate(refs)]
    market.fails({"operation": "pay-*", "kind": kind, "times": 1, "seconds": HANGS})
    outcomes = channel.pay_bonuses(orders)
    assert all(isinstance(outcome.error, OutcomeUnknown) for outcome in outcomes)
    assert [channel.find_bonus(order) for order in orders] == [None, None]
    market.later(BONUS + 1)
    assert [channel.find_bonus(order) for order in orders] == (["", ""] if paid else [None, None])
    assert market.paid("bonus") == ({ref.external_id: [50] for ref in refs} if paid else {})
    assert market.asked("pay-bonus-payments") == 1


@pytest.mark.parametrize("kind", ["429", "5xx-before", "5xx-after", "timeout-after"])
def test_bonuses_that_were_only_set_up_are_paid_later(
    market: Market, channel: Prolific, kind: str
) -> None:
    ref = market.works(posted(channel))
    market.fails({"operation": "create-bonus-payments", "kind": kind, "times": 1, "seconds": HANGS})
    order = a_bonus(ref, 50)
    assert isinstance(channel.pay_bonuses([order])[0].error, ChannelUnavailable)
    assert market.asked("pay-bonus-payments") == 0
    assert channel.pay_bonuses([order])[0].error is None
    market.later(BONUS + 1)
    assert market.paid("bonus") == {ref.external_id: [50]}


def test_a_payment_that_was_turned_away_or_never_left_is_tried_later(
    market: Market, channel: Prolific
) -> None:
    order = a_bonus(market.works(posted(channel)), 50)
    market.fails({"operation": "pay-*", "kind": "429", "times": 1})
    assert isinstance(channel.pay_bonuses([order])[0].error, ChannelUnavailable)
    nobody = ProlificHttp("http://127.0.0.1:1", "token-of-nobody")
    with pytest.raises(ChannelUnavailable, match="can't be reached"):
        nobody.pay("/api/v1/bulk-bonus-payments/1/pay/")


def test_a_bonus_is_told_from_earlier_ones_of_the_same_amount(
    market: Market, channel: Prolific
) -> None:
    ref = market.works(posted(channel))
    assert channel.pay_bonuses([a_bonus(ref, 50, 1)])[0].error is None
    market.later(BONUS + 1)
    second = a_bonus(ref, 50, 2, earlier_cents=(50,))
    assert channel.find_bonus(second) is None
    assert channel.find_bonus(replace(second, earlier_cents=(30,))) == ""
    assert channel.pay_bonuses([second])[0].error is None
    market.later(BONUS + 1)
    assert channel.find_bonus(second) == ""


def test_a_whole_run_with_a_third_of_all_calls_failing_pays_everybody_once(
    market: Market, channel: Prolific
) -> None:
    """As the core will drive it: repeat what may be repeated, look for what may not."""
    shares = [("429", 0.1), ("5xx-before", 0.1), ("5xx-after", 0.15)]
    market.fails(*({"kind": kind, "probability": share} for kind, share in shares))
    order = an_order(places=12)
    external_id, details = until_done(lambda: channel.publish(order))
    posting = PostingRef(external_id, details, order.settings)
    refs = [market.works(posting) for _ in range(12)]
    for ref in refs:
        until_done(partial(channel.approve, ref, ""))
    orders = [a_bonus(ref, 10 + n, n) for n, ref in enumerate(refs)]
    parked = {bonus.token for bonus in orders if not settled(market, channel, bonus)}
    market.later(BONUS + 1)
    assert [study.status for study in market.world.studies.values()] == ["COMPLETED"]
    assert market.paid("reward") == {ref.external_id: [150] for ref in refs}
    bonuses = market.paid("bonus")
    for bonus in orders:
        expected = [] if bonus.token in parked else [bonus.amount_cents]
        assert bonuses.get(bonus.submission.external_id, []) == expected
    assert len(parked) < len(orders)
    money = -sum(
        e.amount for e in market.world.wallet.journal if e.part == "money" and e.amount < 0
    )
    assert money == 12 * 150 + sum(o.amount_cents for o in orders if o.token not in parked)


def settled(market: Market, channel: Prolific, order: BonusOrder) -> bool:
    """Whether a bonus was paid; False: nobody knows for sure, and it is left alone."""
    for _ in range(60):
        error = channel.pay_bonuses([order])[0].error
        if error is None:
            return True
        if isinstance(error, OutcomeUnknown):
            market.later(BONUS + 1)
            return until_done(lambda: channel.find_bonus(order)) is not None
        assert isinstance(error, ChannelUnavailable), error
    raise AssertionError("never answered")


def until_done(action: Callable[[], T]) -> T:
    for _ in range(60):
        try:
            return action()
        except ChannelUnavailable:
            continue
    raise AssertionError("never answered")
