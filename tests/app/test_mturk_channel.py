"""The MTurk channel against the strict emulator, over HTTP: account, postings, who took part."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from app.recruitment.channel import ChannelRefused, ChannelUnavailable, can_compensate
from app.recruitment.channels.mturk import tasks
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.client import MTurkChannel
from app.recruitment.channels.mturk.settings import MTurkSettings
from app.recruitment.channels.mturk.sites import Site, site_of
from app.recruitment.channels.registry import open_channel
from app.recruitment.channels.spec import Credentials
from emulators.mturk import market
from emulators.mturk.faults import CallFault
from emulators.mturk.market import NotPossible
from tests.support.turk import SECRET, STRUCK, Turk, an_order, emptied, served_turk


@pytest.fixture(scope="module")
def served() -> Iterator[Turk]:
    with served_turk() as served:
        yield served


@pytest.fixture
def turk(served: Turk) -> Iterator[Turk]:
    with emptied(served) as turk:
        yield turk


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


def test_reading_is_tried_again_and_telling_is_not(turk: Turk) -> None:
    posting = turk.publish()
    for client, tries in ((turk.api._reader, 3), (turk.api._teller, 1)):
        before = turk.asked("GetHIT")
        with turk.fault("error_before", "GetHIT"), pytest.raises(ClientError):
            client.get_hit(HITId=posting.external_id)
        assert turk.asked("GetHIT") - before == tries


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
        assert tasks._hit_named(turk.api, message, an_order().token)["HITId"] == wanted
    with pytest.raises(ChannelUnavailable, match="does not list it yet"):
        tasks._hit_named(turk.api, f"HIT {other} already exists.", "0c" * 16)


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


# --- who took part -------------------------------------------------------------------------------


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
