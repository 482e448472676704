"""Work on MTurk, listed and decided on, bonuses and compensation: every cent right, paid once."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from app.recruitment.channel import (
    BonusOrder,
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    Compensation,
    OutcomeUnknown,
    Rejection,
    SubmissionRef,
)
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.client import MTurkChannel
from app.recruitment.channels.mturk.errors import has_code
from emulators.mturk import market
from emulators.mturk.faults import CallFault, FaultRule, Faults, FaultSettings
from emulators.mturk.market import NotPossible
from tests.support.turk import LOST, SECRET, STRUCK, Turk, a_bonus, emptied, served_turk

NO = Rejection("", "All images were put into one group.")


@pytest.fixture(scope="module")
def served() -> Iterator[Turk]:
    with served_turk() as served:
        yield served


@pytest.fixture
def turk(served: Turk) -> Iterator[Turk]:
    with emptied(served) as turk:
        yield turk


# --- submissions ---------------------------------------------------------------------------------


def test_everything_that_was_handed_in_is_listed(turk: Turk) -> None:
    posting = turk.publish(places=102)
    refs = [turk.work(posting) for _ in range(102)]
    turk.channel.approve(refs[0], "")
    turk.channel.reject(refs[1], NO)
    listed = list(turk.channel.submissions(posting))
    assert {(submission.external_id, submission.person) for submission in listed} == {
        (ref.external_id, ref.person) for ref in refs
    }
    assert sorted({submission.state for submission in listed}) == [
        "approved",
        "rejected",
        "submitted",
    ]
    [submission] = [
        submission for submission in listed if submission.external_id == refs[2].external_id
    ]
    assert submission == turk.channel.submission(refs[2])
    assert submission.code == "done-1"
    assert submission.submitted_at
    assert submission.auto_approved_at
    assert submission.auto_approved_at - submission.submitted_at == timedelta(hours=72)


def test_what_is_not_handed_in_or_is_of_another_hit_is_unknown(turk: Turk) -> None:
    posting, other = turk.publish(), turk.publish(token="ab" * 16)
    ref = turk.work(posting)
    at_work = market.accept(turk.state, turk.worker(), turk.hit(posting))
    assert turk.channel.submission(SubmissionRef(posting, at_work.assignment_id, "A1")) is None
    assert turk.channel.submission(SubmissionRef(posting, "3FORGED", "A1")) is None
    assert turk.channel.submission(replace(ref, posting=other)) is None
    with pytest.raises(ChannelRefused, match="no record that this work was submitted"):
        turk.channel.approve(replace(ref, posting=other), "")
    assert turk.paid("reward") == 0


def test_strange_answers_have_no_code(turk: Turk) -> None:
    posting = turk.publish()
    for value in ("<b>", "a b", "x" * 101, "é"):
        assignment = market.accept(turk.state, turk.worker(), turk.hit(posting))
        market.submit(turk.state, assignment, [("likewise", value)])
        submission = turk.channel.submission(
            SubmissionRef(posting, assignment.assignment_id, assignment.worker_id)
        )
        assert submission is not None
        assert submission.code == ""
        turk.state.hits[posting.external_id].max_assignments += 1


@pytest.mark.parametrize("fault", STRUCK)
def test_a_reward_is_paid_once(turk: Turk, fault: CallFault) -> None:
    ref = turk.work(turk.publish())
    with turk.fault(fault, "ApproveAssignment"), pytest.raises(ChannelUnavailable):
        turk.channel.approve(ref, "Thank you.")
    for _ in range(2):
        turk.channel.approve(ref, "Thank you.")
    turk.hurry(hours=25)
    turk.channel.approve(ref, "")
    assert (turk.paid("reward"), turk.paid("fee")) == (Decimal("0.55"), Decimal("0.11"))
    with pytest.raises(ChannelRefused, match="already approved"):
        turk.channel.reject(ref, NO)


def test_what_mturk_approved_by_itself_is_paid(turk: Turk) -> None:
    ref = turk.work(turk.publish())
    turk.hurry(hours=73)
    turk.channel.approve(ref, "")
    assert turk.paid("reward") == Decimal("0.55")
    assert turk.asked("ApproveAssignment") == 0


def test_who_has_the_assignment_now_is_who_is_paid(turk: Turk) -> None:
    posting = turk.publish(places=1)
    first, second = turk.worker(), turk.worker()
    given_back = market.accept(turk.state, first, turk.hit(posting))
    market.give_back(turk.state, given_back)
    ref = turk.work(posting, second)
    assert ref.external_id == given_back.assignment_id
    forged = replace(ref, person=first.worker_id)
    with pytest.raises(ChannelRefused, match="someone else"):
        turk.channel.approve(forged, "")
    with pytest.raises(ChannelRefused, match="someone else"):
        turk.channel.reject(forged, NO)
    with pytest.raises(ChannelRefused, match="someone else"):
        turk.channel.reverse(forged, "")
    [outcome] = turk.channel.pay_bonuses([a_bonus(forged)])
    assert isinstance(outcome.error, ChannelRefused)
    assert first.worker_id not in str(outcome.error)
    assert turk.state.journal == []
    turk.channel.approve(ref, "")
    assert {entry.worker_id for entry in turk.state.journal} == {second.worker_id}


@pytest.mark.parametrize("fault", STRUCK)
def test_a_rejection_and_its_reversal_can_be_repeated(turk: Turk, fault: CallFault) -> None:
    ref = turk.work(turk.publish())
    with turk.fault(fault, "RejectAssignment"), pytest.raises(ChannelUnavailable):
        turk.channel.reject(ref, NO)
    turk.channel.reject(ref, NO)
    turk.channel.reject(ref, NO)
    assert turk.state.assignments[ref.external_id].feedback == NO.message
    with pytest.raises(ChannelRefused, match="already rejected"):
        turk.channel.approve(ref, "")
    assert turk.state.journal == []
    with turk.fault(fault, "ApproveAssignment"), pytest.raises(ChannelUnavailable):
        turk.channel.reverse(ref, "A mistake of ours.")
    turk.channel.reverse(ref, "A mistake of ours.")
    turk.channel.reverse(ref, "A mistake of ours.")
    assert turk.paid("reward") == Decimal("0.55")


def test_nobody_is_rejected_without_a_reason(turk: Turk) -> None:
    ref = turk.work(turk.publish())
    with pytest.raises(ChannelRefused, match="Enter a reason"):
        turk.channel.reject(ref, Rejection("", " \x00"))
    turk.channel.reject(ref, Rejection("", "x" * 5000))
    assert len(turk.state.assignments[ref.external_id].feedback or "") == 1024


def test_a_rejection_stands_after_thirty_days(turk: Turk) -> None:
    ref = turk.work(turk.publish())
    turk.channel.reject(ref, NO)
    turk.hurry(hours=24 * 31)
    with pytest.raises(ChannelRefused, match="within 30 days"):
        turk.channel.reverse(ref, "")
    assert turk.state.journal == []
    with pytest.raises(ChannelRefused, match="can't screen people out"):
        turk.channel.screen_out(ref)


# --- bonuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours_later", [0, 25])
@pytest.mark.parametrize("fault", LOST)
def test_a_bonus_whose_reply_was_lost_is_known_again(
    turk: Turk, fault: CallFault, hours_later: float
) -> None:
    ref = turk.work(turk.publish())
    order, other = a_bonus(ref), a_bonus(ref, "f00d" * 7 + "beef")
    with turk.fault(fault, "SendBonus"):
        [outcome] = turk.channel.pay_bonuses([order])
    assert isinstance(outcome.error, OutcomeUnknown)
    turk.hurry(hours=hours_later)
    assert turk.channel.find_bonus(order) == ""
    assert turk.channel.find_bonus(other) is None
    assert turk.channel.find_bonus(replace(order, submission=replace(ref, person="A1"))) is None
    if not hours_later:
        # Even one who does not look pays once.
        assert turk.channel.pay_bonuses([order])[0].error is None
    assert turk.channel.pay_bonuses([other])[0].error is None
    assert turk.paid("bonus") == Decimal("0.60")
    assert "Three grids more [" in turk.state.bonuses[0].reason


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("throttle", ChannelUnavailable),
        ("error_before", OutcomeUnknown),
        ("timeout_before", OutcomeUnknown),
    ],
)
def test_a_bonus_that_was_not_paid_is_not_found(
    turk: Turk, fault: CallFault, error: type[ChannelError]
) -> None:
    order = a_bonus(turk.work(turk.publish()))
    with turk.fault(fault, "SendBonus"):
        [outcome] = turk.channel.pay_bonuses([order])
    assert type(outcome.error) is error
    assert turk.channel.find_bonus(order) is None
    # Nothing was tried twice behind our back: botocore's own retries are off where money moves.
    assert turk.asked("SendBonus") == 1


def test_a_reply_that_takes_too_long_leaves_the_outcome_open(turk: Turk) -> None:
    ref = turk.work(turk.publish())
    hasty = MTurkChannel(MTurkApi(turk.site, "emulator", SECRET, "", read_seconds=0.1))
    rule = FaultRule(kind="timeout_after", share=1, operations=["SendBonus"])
    turk.state.faults = Faults(FaultSettings(calls=[rule], hold_seconds=0.5))
    [outcome] = hasty.pay_bonuses([a_bonus(ref)])
    assert isinstance(outcome.error, OutcomeUnknown)
    assert "ReadTimeout" in str(outcome.error)
    assert turk.asked("SendBonus") == 1
    assert hasty.find_bonus(a_bonus(ref)) == ""


def test_bonuses_under_faults_are_each_paid_once(turk: Turk) -> None:
    """Of a hundred calls twenty fail before their effect and twenty after, some are repeated a day
    later: what was paid is what was asked, to the cent."""
    posting = turk.publish(places=30)
    chance = random.Random(7)
    orders = [
        BonusOrder(
            f"{chance.getrandbits(128):032x}", ref, chance.randint(1, 500), "USD", "For good work"
        )
        for ref in [turk.work(posting) for _ in range(30)]
        for _ in range(10)
    ]
    rules = [
        FaultRule(kind=kind, share=0.1, operations=["SendBonus"])
        for kind in ("error_before", "timeout_before", "error_after", "timeout_after")
    ]
    turk.state.faults = Faults(FaultSettings(seed=3, calls=rules, hold_seconds=0))
    waiting, looked = list(orders), 0
    while waiting:
        order = waiting.pop(chance.randrange(len(waiting)))
        if chance.random() < 0.02:
            turk.hurry(hours=25)
        [outcome] = turk.channel.pay_bonuses([order])
        while outcome.error is not None:
            assert isinstance(outcome.error, OutcomeUnknown)
            looked += 1
            if turk.channel.find_bonus(order) is not None:
                break
            [outcome] = turk.channel.pay_bonuses([order])
    assert looked > 100
    assert turk.paid("bonus") == Decimal(sum(order.amount_cents for order in orders)) / 100
    assert len(turk.state.bonuses) == len(orders)


def test_a_bonus_that_cannot_be_afforded_is_refused(turk: Turk) -> None:
    ref = turk.work(turk.publish())
    [outcome] = turk.channel.pay_bonuses([a_bonus(ref, cents=9_999_99)])
    assert isinstance(outcome.error, ChannelRefused)
    assert has_code(outcome.error, "InsufficientFunds")
    [outcome] = turk.channel.pay_bonuses([replace(a_bonus(ref), currency="EUR")])
    assert isinstance(outcome.error, ChannelRefused)
    assert turk.state.journal == []


# --- compensation --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", STRUCK)
def test_compensation_is_for_one_person_and_once(turk: Turk, fault: CallFault) -> None:
    person, other = turk.worker(), turk.worker()
    reviewed = turk.work(turk.publish(), person)
    turk.channel.approve(reviewed, "")
    order = Compensation(
        token="c0" * 16,
        person=person.worker_id,
        amount_cents=70,
        currency="USD",
        title="Compensation",
        description="You worked for us and could not hand in.",
        url="http://127.0.0.1:9/a/compensation",
    )
    with turk.fault(fault, "CreateHITWithHITType"), pytest.raises(ChannelUnavailable):
        turk.channel.compensate(order)
    turk.hurry(hours=25)
    hit_id, details = turk.channel.compensate(replace(order, attempts=2))
    hit = turk.state.hits[hit_id]
    assert [
        posted.hit_id for posted in turk.state.hits.values() if posted.annotation == order.token
    ] == [hit_id]
    assert hit not in market.open_to(turk.state, other)
    with pytest.raises(NotPossible):
        market.check_may(turk.state, other, hit, "preview")
    assert hit in market.open_to(turk.state, person)
    assert details["told"] is True
    assert details["preview_url"] in turk.state.letters[-1]["text"]
    market.submit(turk.state, market.accept(turk.state, person, hit), [("code", "x")])
    turk.hurry(hours=0.01)
    assert turk.paid("reward") == Decimal("1.25")
