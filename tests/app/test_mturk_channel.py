"""The MTurk channel against the strict emulator, over HTTP: every effect once, every cent right."""

import logging
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from app.recruitment.channel import (
    BonusOrder,
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    Compensation,
    OutcomeUnknown,
    Rejection,
    SubmissionRef,
    can_compensate,
)
from app.recruitment.channels import mturk_tasks
from app.recruitment.channels.mturk import MTurkChannel
from app.recruitment.channels.mturk_api import MTurkApi
from app.recruitment.channels.mturk_errors import has_code
from app.recruitment.channels.mturk_queue import MTurkQueue, TurkEvent
from app.recruitment.channels.mturk_sites import Site, site_of
from app.recruitment.registry import Credentials, open_channel
from app.recruitment.settings import MTurkSettings
from emulators.mturk import market
from emulators.mturk.faults import CallFault, FaultRule, Faults, FaultSettings
from emulators.mturk.market import NotPossible
from emulators.mturk.queue import put
from emulators.mturk.server import running
from tests.conftest import forget_settings
from tests.support.turk import LOST, SECRET, STRUCK, Turk, a_bonus, an_order

NO = Rejection("", "All images were put into one group.")


@pytest.fixture(scope="module")
def served() -> Iterator[Turk]:
    with pytest.MonkeyPatch.context() as patch, running() as emulator:
        for name in ("DATABASE_URL", "REDIS_URL", "LIKEWISE_SECRET_KEY"):
            patch.setenv(name, "unused")
        patch.setenv("LIKEWISE_MTURK_ENDPOINT", emulator.endpoint_url)
        patch.setenv("LIKEWISE_MTURK_WORKER_SITE", emulator.endpoint_url)
        forget_settings()
        yield Turk(emulator)
    forget_settings()


@pytest.fixture
def turk(served: Turk) -> Iterator[Turk]:
    served.state.reset()
    yield served
    # Every request and every reply fitted botocore's shapes, patterns and limits.
    assert served.state.violations == []


# --- the account ---------------------------------------------------------------------------------


def test_a_sound_account_has_no_problems_and_looking_costs_nothing(turk: Turk) -> None:
    checked = turk.channel.check()
    assert (checked.balance_cents, checked.currency, checked.problems) == (10_000_00, "USD", ())
    assert turk.asked("SendBonus") == turk.asked("ApproveAssignment") == 1
    assert not turk.state.hits
    assert not turk.state.hit_types
    assert not turk.state.journal


def test_amazons_own_environments_warn_of_the_closing() -> None:
    api = MTurkApi(site_of("sandbox"), "", "", "there-is-no-such-profile")
    checked = MTurkChannel(api).check()
    assert checked.who == "the server's own profile there-is-no-such-profile"
    assert "profile" in checked.problems[0]
    closing, play_money = checked.warnings
    assert "30 September 2026" in closing
    assert "play money" in play_money


def test_wrong_keys_are_told_and_the_secret_is_never_written(
    turk: Turk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for key, secret in (("emulator", "quite-wrong-secret"), ("AKIANOBODY", "quite-wrong-secret")):
        checked = MTurkChannel(MTurkApi(turk.site, key, secret, "")).check()
        [problem] = checked.problems
        assert "does not accept the access keys" in problem
        assert checked.balance_cents is None
        assert "quite-wrong" not in f"{checked}{caplog.text}"
    assert "emulator" not in checked.who


def test_a_missing_permission_is_named(turk: Turk) -> None:
    api = MTurkApi(turk.site, "emulator", SECRET, "")
    with Stubber(api._reader) as stubbed:
        stubbed.add_response("get_account_balance", {"AvailableBalance": "12.30"})
        stubbed.add_response("list_hits", {"HITs": []})
        for operation in ("create_hit_with_hit_type", "approve_assignment"):
            stubbed.add_client_error(operation, "RequestError", "It does not exist.")
        denied = "User: arn:aws:iam::1:user/x is not authorized to perform: mturk:SendBonus"
        stubbed.add_client_error("send_bonus", "AccessDeniedException", denied, 403)
        checked = MTurkChannel(api).check()
    assert checked.balance_cents == 12_30
    [problem] = checked.problems
    assert problem.startswith("These keys can't pay bonuses.")
    assert "AmazonMechanicalTurkFullAccess" in problem


def test_an_mturk_that_is_not_there_is_told() -> None:
    nowhere = Site("custom", "http://127.0.0.1:9", "http://127.0.0.1:9", ())
    [problem] = MTurkChannel(MTurkApi(nowhere, "a", "b", "")).check().problems
    assert "can't be reached" in problem


def test_accounts_become_channels(turk: Turk) -> None:
    secret = {"access_key_id": "emulator", "secret_access_key": SECRET}
    channel = open_channel("mturk", Credentials("custom", secret))
    assert channel.check().problems == ()
    assert can_compensate(channel)
    assert site_of("production").endpoint == "https://mturk-requester.us-east-1.amazonaws.com"
    assert site_of("sandbox").endpoint.startswith("https://mturk-requester-sandbox.us-east-1.")


# --- postings ------------------------------------------------------------------------------------


def test_a_posting_is_what_was_ordered(turk: Turk) -> None:
    settings = MTurkSettings(
        countries=["US", "US-CA"], min_percent_approved=95, min_approved=100, minutes_allowed=20
    )
    posting = turk.publish(settings=settings)
    hit = turk.hit(posting)
    assert (hit.max_assignments, hit.annotation) == (3, "01a2" * 8)
    assert hit.url == "http://127.0.0.1:9/a/mturk/link?from=mturk&x=1"
    kind = hit.hit_type
    assert (kind.title, kind.reward) == ("Group pictures", Decimal("0.55"))
    assert (kind.duration, kind.auto_approval) == (timedelta(minutes=20), timedelta(hours=72))
    assert [requirement["Comparator"] for requirement in kind.requirements] == [
        "In",
        "GreaterThanOrEqualTo",
        "GreaterThanOrEqualTo",
        "DoesNotExist",
    ]
    assert {requirement["ActionsGuarded"] for requirement in kind.requirements} == {
        "PreviewAndAccept"
    }
    assert kind.requirements[0]["LocaleValues"][1] == {"Country": "US", "Subdivision": "CA"}
    assert posting.details == {
        "hit_type_id": kind.hit_type_id,
        "hit_group_id": kind.group_id,
        "preview_url": f"{turk.site.posts}/mturk/preview?groupId={kind.group_id}",
        "expires_at": posting.details["expires_at"],
        "qualification_type_id": kind.requirements[3]["QualificationTypeId"],
        "not_excluded": 0,
    }
    assert turk.channel.status(posting).state == "open"


@pytest.mark.parametrize("fault", STRUCK)
@pytest.mark.parametrize("hours_later", [0, 25])
def test_a_posting_stands_once_however_often_it_was_ordered(
    turk: Turk, fault: CallFault, hours_later: float
) -> None:
    attempts = 0
    for operation in ("CreateQualificationType", "CreateHITType", "CreateHITWithHITType"):
        attempts += 1
        with turk.fault(fault, operation), pytest.raises(ChannelUnavailable):
            turk.channel.publish(an_order(attempts=attempts))
        turk.hurry(hours=hours_later)
    first = turk.channel.publish(an_order(attempts=attempts + 1))
    turk.hurry(hours=hours_later)
    assert turk.channel.publish(an_order(attempts=attempts + 2)) == first
    assert [len(turk.state.hits), len(turk.state.hit_types)] == [1, 1]
    assert len(turk.state.qualification_types) == 1


def test_a_token_that_mturk_remembers_leads_to_its_hit(turk: Turk) -> None:
    # A crash can come so early that this attempt does not know of any before.
    first = turk.channel.publish(an_order())
    asked = turk.asked("ListHITs")
    assert turk.channel.publish(an_order()) == first
    assert turk.asked("ListHITs") == asked
    assert turk.channel.publish(an_order(token="0b" * 16)) != first


def test_a_hit_of_another_order_is_never_taken_for_this_one(turk: Turk) -> None:
    other, _ = turk.channel.publish(an_order(token="0b" * 16))
    wanted, _ = turk.channel.publish(an_order())
    for message in (f"HIT {other} or {wanted} already exists.", f"{other}", "No id at all."):
        assert mturk_tasks._hit_named(turk.api, message, an_order().token)["HITId"] == wanted
    with pytest.raises(ChannelUnavailable, match="does not list it yet"):
        mturk_tasks._hit_named(turk.api, f"HIT {other} already exists.", "0c" * 16)


def test_an_old_posting_is_found_behind_many_others(turk: Turk) -> None:
    wanted = turk.channel.publish(an_order())
    with turk.state.lock:
        [first] = turk.state.hits.values()
        for number in range(104):
            later = replace(first, hit_id=turk.state.new_id(), annotation=f"{number:032x}")
            turk.state.hits[later.hit_id] = later
    # The list begins with the oldest; here it is the last.
    first.created += timedelta(seconds=1)
    turk.hurry(hours=25)
    assert turk.channel.publish(an_order(attempts=2)) == wanted


def test_money_that_is_not_there_is_refused_plainly(turk: Turk) -> None:
    with pytest.raises(ChannelRefused, match="does not have enough money") as refused:
        turk.publish(places=9, reward_cents=200_000_00)
    assert refused.value.code == "AWS.MechanicalTurk.InsufficientFunds"
    with pytest.raises(ChannelRefused, match="US dollars, not in GBP"):
        turk.publish(currency="GBP")


@pytest.mark.parametrize("fault", STRUCK)
def test_places_are_added_once(turk: Turk, fault: CallFault) -> None:
    posting = turk.publish(places=3)
    with (
        turk.fault(fault, "CreateAdditionalAssignmentsForHIT"),
        pytest.raises(ChannelUnavailable),
    ):
        turk.channel.extend(posting, 2, "e" * 32, 5)
    turk.channel.extend(posting, 2, "e" * 32)
    turk.channel.extend(posting, 2, "e" * 32, 5)
    turk.hurry(hours=25)
    turk.channel.extend(posting, 2, "e" * 32, 5)
    assert turk.channel.status(posting).places == 5


def test_nine_places_stay_nine(turk: Turk) -> None:
    posting = turk.publish(places=9)
    with pytest.raises(ChannelRefused, match="does not let it grow to ten"):
        turk.channel.extend(posting, 1, "e" * 32, 10)
    assert turk.asked("CreateAdditionalAssignmentsForHIT") == 0
    with pytest.raises(ChannelRefused, match="fewer than ten places grow"):
        turk.channel.extend(posting, 1, "e" * 32)
    many = turk.publish(places=10, token="ab" * 16)
    turk.channel.extend(many, 1, "d" * 32, 11)
    assert turk.channel.status(many).places == 11


def test_what_is_extended_after_its_time_is_on_the_market_again(turk: Turk) -> None:
    posting = turk.publish(places=1)
    turk.hurry(hours=73)
    assert turk.channel.status(posting).state == "closed"
    turk.channel.extend(posting, 1, "e" * 32, 2)
    assert turk.channel.status(posting).state == "open"
    left = turk.hit(posting).expires - turk.state.clock.now()
    assert timedelta(hours=71) < left <= timedelta(hours=72)
    turk.work(posting)


def test_a_pause_keeps_newcomers_out_and_lets_those_at_work_go_on(turk: Turk) -> None:
    posting = turk.publish(places=3)
    at_work = market.accept(turk.state, turk.worker(), turk.hit(posting))
    first_end = turk.hit(posting).expires
    for _ in range(3):
        turk.channel.pause(posting)
        turk.channel.pause(posting)
        status = turk.channel.status(posting)
        assert (status.state, status.taken, status.at_work) == ("closed", 1, 1)
        with pytest.raises(NotPossible):
            turk.work(posting)
        # The same end told twice within a day is refused by MTurk; it must not stay closed.
        turk.channel.resume(posting)
        turk.channel.resume(posting)
        assert turk.channel.status(posting).state == "open"
    assert abs(turk.hit(posting).expires - first_end) < timedelta(minutes=3)
    market.submit(turk.state, at_work, [("code", "x")])
    turk.channel.stop(posting)
    turk.channel.stop(posting)
    assert turk.channel.status(posting).state == "closed"
    assert [submission.state for submission in turk.channel.submissions(posting)] == ["submitted"]


@pytest.mark.parametrize("fault", STRUCK)
def test_pausing_and_resuming_can_be_repeated(turk: Turk, fault: CallFault) -> None:
    posting = turk.publish()
    for action, state in ((turk.channel.pause, "closed"), (turk.channel.resume, "open")):
        with turk.fault(fault, "UpdateExpirationForHIT"), pytest.raises(ChannelUnavailable):
            action(posting)
        action(posting)
        assert turk.channel.status(posting).state == state


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


# --- people --------------------------------------------------------------------------------------


def test_who_took_part_does_not_find_the_campaign_again(turk: Turk) -> None:
    former, other = turk.worker(), turk.worker()
    posting = turk.publish()
    turk.work(posting, former)
    turk.channel.exclude(posting, [former.worker_id])
    turk.channel.exclude(posting, [former.worker_id])
    later = turk.publish(token="ab" * 16)
    with pytest.raises(NotPossible, match="requirements"):
        turk.work(later, former)
    turk.work(later, other)
    elsewhere = turk.publish(token="cd" * 16, campaign="decaf")
    turk.work(elsewhere, former)
    assert len(turk.state.qualification_types) == 2
    granted = [call for call in turk.state.calls if call["operation"].startswith("Associate")]
    # MTurk would write them otherwise.
    assert {call["params"]["SendNotification"] for call in granted} == {False}


def test_who_took_part_without_being_marked_is_marked_before_a_task_is_posted(turk: Turk) -> None:
    open_to_all = turk.publish(settings=MTurkSettings(exclude_former=False))
    former = turk.worker()
    turk.work(open_to_all, former)
    with pytest.raises(ChannelRefused, match="took part before"):
        turk.channel.exclude(open_to_all, [former.worker_id])
    people = (former.worker_id, "A0GONE")
    posting = turk.publish(token="ab" * 16, excluded=people)
    assert posting.details["not_excluded"] == 1
    with pytest.raises(NotPossible):
        turk.work(posting, former)
    granted = turk.asked("AssociateQualificationWithWorker")
    turk.publish(token="cd" * 16, excluded=people[:1])
    assert turk.asked("AssociateQualificationWithWorker") == granted


def test_people_mturk_does_not_know_are_told_but_keep_nobody_from_being_excluded(
    turk: Turk,
) -> None:
    posting, former = turk.publish(), turk.worker()
    with pytest.raises(ChannelRefused, match="1 of 2 people"):
        turk.channel.exclude(posting, ["A0GONE", former.worker_id])
    with pytest.raises(NotPossible):
        turk.work(posting, former)


def test_a_qualification_of_a_like_name_is_another(turk: Turk) -> None:
    turk.api.tell(
        "create_qualification_type",
        Name="Has taken part (c0ffee) in a pilot",
        Description="Made by hand.",
        QualificationTypeStatus="Active",
    )
    [by_hand] = turk.state.qualification_types
    assert turk.publish().details["qualification_type_id"] != by_hand


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


# --- notifications -------------------------------------------------------------------------------


@pytest.fixture
def queue(turk: Turk, monkeypatch: pytest.MonkeyPatch) -> Iterator[MTurkQueue]:
    turk.state.queues["turk"] = []
    url = f"{turk.emulator.endpoint_url}/000000000000/turk"
    monkeypatch.setenv("LIKEWISE_MTURK_QUEUE_URL", url)
    forget_settings()
    yield MTurkQueue(url, ("emulator", SECRET))
    monkeypatch.undo()
    forget_settings()


def test_events_come_by_the_queue_and_leave_it_once_they_are_handled(
    turk: Turk, queue: MTurkQueue
) -> None:
    posting = turk.publish()
    turk.state.faults = Faults(FaultSettings(duplicate_notifications=1))
    ref = turk.work(posting)
    put(turk.state, "turk", "rubbish")
    put(turk.state, "turk", '{"EventDocId": "../x", "Events": [{"EventType": "HITExpired"}]}')
    seen: list[TurkEvent] = []

    def fails(events: list[TurkEvent]) -> None:
        raise RuntimeError("the database is away")

    with pytest.raises(RuntimeError):
        queue.take(fails)
    turk.hurry(hours=1)
    assert queue.take(seen.extend) == 6
    assert queue.take(seen.extend) == 0
    assert turk.state.queues["turk"] == []
    assert len(seen) == 4
    assert len({event.event_id for event in seen}) == 2
    assert [event.event_type for event in seen[::2]] == [
        "AssignmentAccepted",
        "AssignmentSubmitted",
    ]
    for event in seen:
        assert (event.hit_id, event.assignment_id) == (posting.external_id, ref.external_id)
        assert event.at is not None
        assert event.at.tzinfo is not None


def test_a_queue_that_is_not_there_keeps_no_task_off_the_market(
    turk: Turk, queue: MTurkQueue
) -> None:
    del turk.state.queues["turk"]
    posting = turk.publish()
    assert "InvalidTransportEndpoint" in posting.details["notifications"]
    assert turk.channel.status(posting).state == "open"
    with pytest.raises(ChannelUnavailable, match="Notification queue"):
        queue.take(lambda events: None)


def test_reading_is_tried_again_and_telling_is_not(turk: Turk) -> None:
    posting = turk.publish()
    for client, tries in ((turk.api._reader, 3), (turk.api._teller, 1)):
        before = turk.asked("GetHIT")
        with turk.fault("error_before", "GetHIT"), pytest.raises(ClientError):
            client.get_hit(HITId=posting.external_id)
        assert turk.asked("GetHIT") - before == tries
