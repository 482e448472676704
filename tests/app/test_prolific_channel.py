"""The Prolific channel against the emulator, over HTTP: account, studies, people, notifications."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from app.recruitment.channel import ChannelError, ChannelRefused, ChannelUnavailable, PostingRef
from app.recruitment.channels.prolific import client as module
from app.recruitment.channels.prolific.client import Prolific, completion_address
from app.recruitment.channels.prolific.hooks import BadHook, verified
from app.recruitment.channels.prolific.http import ProlificHttp, _own_path
from app.recruitment.channels.prolific.settings import ProlificSettings
from app.recruitment.channels.prolific.token import BadToken
from app.recruitment.channels.registry import open_channel
from app.recruitment.channels.spec import Credentials
from emulators.prolific.server import Emulator
from tests.support.prolific_market import (
    HANGS,
    PAGE,
    Market,
    a_market,
    an_order,
    channel_to,
    posted,
    served_market,
)
from tests.support.receiver import a_receiver


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


# The account


def test_a_look_at_the_account_tells_who_what_money_and_that_it_is_real(
    market: Market, channel: Prolific
) -> None:
    checked = channel.check()
    assert (checked.balance_cents, checked.currency) == (1_000_000, "GBP")
    assert (checked.who, checked.problems) == ("researcher@example.org", ())
    assert "no sandbox" in checked.warnings[0]


def test_a_wrong_token_and_an_empty_purse_are_problems(
    market: Market, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    token = "emulated-token-of-nobody"
    checked = Prolific(ProlificHttp(market.emulator.url, token)).check()
    assert "does not accept the API token" in checked.problems[0]
    assert "users/me" in caplog.text
    assert token not in repr(checked) + caplog.text
    market.tell("post", "/emulator/researchers", {"token": "token-of-poor", "balance": 0})
    checked = Prolific(ProlificHttp(market.emulator.url, "token-of-poor")).check()
    assert "no money" in checked.problems[0]


def test_an_account_is_opened_by_its_environment(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = type(
        "S", (), {"prolific_endpoint": market.emulator.url, "prolific_site": "http://m"}
    )
    monkeypatch.setattr(module, "get_settings", lambda: settings)
    secret = {"token": market.emulator.token}
    assert open_channel("prolific", Credentials("custom", secret)).check().problems == ()
    assert module.base_address("production") == "https://api.prolific.com"
    assert completion_address("custom", "A&B") == "http://m/submissions/complete?cc=A%26B"
    production = completion_address("production", "AB")
    assert production == "https://app.prolific.com/submissions/complete?cc=AB"
    with pytest.raises(ChannelRefused, match="no sandbox"):
        open_channel("prolific", Credentials("sandbox", secret))


# Studies


def test_a_study_is_what_was_ordered(market: Market, channel: Prolific) -> None:
    order = an_order(
        excluded=(market.people()[0].id,),
        settings=ProlificSettings(
            minutes_estimated=10,
            minutes_allowed=40,
            countries=["GB", "IE"],
            min_percent_approved=95,
            min_approved=20,
            devices=["desktop"],
            screen_out_cents=20,
        ),
    )
    posting = posted(channel, order)
    study, codes = market.study(posting), posting.details["codes"]
    settings = study.settings
    assert (study.status, settings.reward, settings.total_available_places) == ("ACTIVE", 150, 4)
    assert settings.external_study_url == (
        f"{PAGE}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    assert settings.prolific_id_option == "url_parameters"
    assert "pictures that look alike together.</p><p>It takes ten minutes &amp;" in (
        settings.description
    )
    assert (settings.maximum_allowed_time, settings.device_compatibility) == (40, ["desktop"])
    assert settings.submissions_config.max_submissions_per_participant == 1
    filters = [
        study_filter.model_dump(exclude_none=True) for study_filter in settings.filters or []
    ]
    assert filters == [
        {
            "filter_id": "participant_group_blocklist",
            "selected_values": [posting.details["group_id"]],
        },
        {"filter_id": "current-country-of-residence", "selected_values": ["0", "2"]},
        {"filter_id": "approval_rate", "selected_range": {"lower": 95, "upper": 100}},
        {"filter_id": "approval_numbers", "selected_range": {"lower": 20}},
    ]
    actions = {code.code: [action.action for action in code.actions] for code in study.codes}
    assert actions == {
        codes["complete"]: ["MANUALLY_REVIEW"],
        codes["screened_out"]: ["FIXED_SCREEN_OUT_PAYMENT"],
        codes["no_consent"]: ["REQUEST_RETURN"],
    }
    assert len({len(code) for code in codes.values()}) == 1
    assert min(len(code) for code in codes.values()) == 12
    assert posting.details["screen_out"] == {"cents": 20, "slots": 4}
    assert posting.details["cost_cents"] == 4 * (150 + 50)
    assert list(market.world.groups[posting.details["group_id"]].members) == list(order.excluded)
    status = channel.status(posting)
    assert (status.state, status.places, status.taken, status.at_work) == ("open", 4, 0, 0)


def test_two_studies_of_a_campaign_share_their_former_people_but_no_codes(
    market: Market, channel: Prolific
) -> None:
    first = posted(channel)
    second = posted(channel, an_order(token="1f" * 16))
    other = posted(channel, an_order(token="2f" * 16, campaign="c2"))
    assert first.details["group_id"] == second.details["group_id"] != other.details["group_id"]
    codes = [*first.details["codes"].values(), *second.details["codes"].values()]
    assert len(set(codes)) == len(codes)
    person = market.people()[3]
    channel.exclude(first, [person.id])
    body = {"participant": person.id}
    refused = market.http.post(f"/market/studies/{second.external_id}/take-part", json=body)
    assert "not eligible" in refused.text
    market.starts(other, person)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"currency": "USD"}, "pays in GBP"),
        ({"reward_cents": 0}, "needs a reward"),
        ({"reward_cents": 20}, "at least 600 per hour"),
        ({"settings": ProlificSettings(minutes_estimated=10, minutes_allowed=20)}, "at least 29"),
        ({"settings": ProlificSettings(screen_out_cents=150)}, "less than the reward"),
        ({"settings": ProlificSettings(countries=["FR"])}, "country FR"),
        ({"settings": ProlificSettings(countries=["US-CA"])}, "country US-CA"),
        ({"places": 100_000}, "Not enough funds"),
    ],
)
def test_what_prolific_would_not_take_is_refused_and_leaves_no_draft(
    market: Market, channel: Prolific, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ChannelRefused, match=message):
        channel.publish(an_order(**changed))
    assert market.world.studies == {}


PUBLISHING = (
    "get-workspaces",
    "get-participant-groups",
    "create-participant-group",
    "add-to-participant-group",
    "get-studies",
    "get-projects",
    "create-study",
    "calculate-study-cost",
    "publish-study",
)


@pytest.mark.parametrize("operation", PUBLISHING)
@pytest.mark.parametrize("kind", ["429", "5xx-after"])
def test_a_lost_answer_while_publishing_makes_no_second_study(
    market: Market, channel: Prolific, operation: str, kind: str
) -> None:
    order = an_order(excluded=(market.people()[0].id,))
    market.fails({"operation": operation, "kind": kind, "times": 1})
    with pytest.raises(ChannelUnavailable):
        channel.publish(order)
    first = channel.publish(order)
    assert channel.publish(order) == first
    assert [study.status for study in market.world.studies.values()] == ["ACTIVE"]
    assert len(market.world.groups) == 1


def test_a_study_that_hangs_while_it_is_published_is_found_again(
    market: Market, channel: Prolific
) -> None:
    market.fails(
        {"operation": "publish-study", "kind": "timeout-after", "times": 1, "seconds": HANGS}
    )
    with pytest.raises(ChannelUnavailable, match="did not answer"):
        channel.publish(an_order())
    channel.publish(an_order(title="Another title, days later"))
    assert market.asked("publish-study") == 1


def test_places_are_added_up_to_a_total(market: Market, channel: Prolific) -> None:
    posting = posted(channel)
    market.fails({"operation": "update-study", "kind": "5xx-after", "times": 1})
    with pytest.raises(ChannelUnavailable):
        channel.extend(posting, 3, "t", total=7)
    channel.extend(posting, 3, "t", total=7)
    assert market.study(posting).settings.total_available_places == 7
    assert market.asked("update-study") == 1
    with pytest.raises(ChannelRefused):
        channel.extend(posting, 3, "t")


def test_a_study_pauses_goes_on_and_stops_however_often_it_is_told(
    market: Market, channel: Prolific
) -> None:
    posting = posted(channel)
    steps: list[tuple[Callable[[PostingRef], None], str]] = [
        (channel.pause, "paused"),
        (channel.resume, "open"),
        (channel.pause, "paused"),
        (channel.stop, "closed"),
    ]
    for action, state in steps:
        market.fails({"operation": "publish-study", "kind": "5xx-after", "times": 1})
        with pytest.raises(ChannelUnavailable):
            action(posting)
        action(posting)
        action(posting)
        assert channel.status(posting).state == state
    channel.pause(posting)
    with pytest.raises(ChannelRefused, match="ended"):
        channel.resume(posting)
    assert market.asked("publish-study") == 1 + len(steps)


# Who comes


def test_who_comes_is_checked_with_prolific(market: Market, channel: Prolific) -> None:
    posting = posted(channel)
    ref, other = market.starts(posting), market.starts(posting)
    study = posting.external_id
    submission = channel.confirm_person(ref.external_id, ref.person, study)
    assert (submission.state, submission.person) == ("accepted", ref.person)
    forged = [
        ("another_person", ref.external_id, other.person, study),
        ("another_person", ref.external_id, "", study),
        ("another_study", ref.external_id, ref.person, "f" * 24),
        ("unknown_submission", "f" * 24, ref.person, study),
        ("unknown_submission", "../users/me", ref.person, study),
        ("unknown_submission", "", ref.person, study),
    ]
    for code, *three in forged:
        with pytest.raises(ChannelRefused) as caught:
            channel.confirm_person(*three)
        assert caught.value.code == code
    market.comes_back(ref)
    market.tell("post", f"/market/submissions/{other.external_id}/return")
    for gone, code in ((ref, "handed_in"), (other, "not_at_work")):
        with pytest.raises(ChannelRefused) as caught:
            channel.confirm_person(gone.external_id, gone.person, study)
        assert caught.value.code == code


def test_a_signed_address_is_checked_with_the_published_keys(
    market: Market, channel: Prolific
) -> None:
    module._keys.cache_clear()
    ref = market.starts(posted(channel))
    url = f"{PAGE}?PROLIFIC_PID={ref.person}&STUDY_ID={ref.posting.external_id}"
    url += f"&SESSION_ID={ref.external_id}"
    submission, signer = market.world.submissions[ref.external_id], market.world.signer
    claims = channel.token_claims(signer.token(submission, url), PAGE)
    assert (claims.session_id, claims.participant) == (ref.external_id, ref.person)
    assert claims.study == ref.posting.external_id
    for wrong in ("forged", "expired", "foreign"):
        with pytest.raises(BadToken):
            channel.token_claims(signer.token(submission, url, wrong), PAGE)


# Notifications


def test_notifications_are_asked_for_once_and_verify(market: Market, channel: Prolific) -> None:
    with a_receiver() as receiver:
        market.fails({"operation": "create-subscription", "kind": "5xx-after", "times": 1})
        with pytest.raises(ChannelUnavailable):
            channel.ensure_hooks(receiver.url)
        secret = channel.ensure_hooks(receiver.url)
        assert channel.ensure_hooks(receiver.url) == secret
        kinds = sorted(s.event_type for s in market.world.hooks.subscriptions.values())
        assert kinds == ["study.status.change", "submission.status.change"]
        event = {
            "event_type": "submission.status.change",
            "resource_id": "f" * 24,
            "status": "AWAITING REVIEW",
        }
        for mode in ("valid", "wrong-signature", "no-signature"):
            market.tell("post", "/emulator/hooks/send", event | {"mode": mode})
        market.tell("post", "/emulator/hooks/send", event | {"age_seconds": 400})
        good, *bad = receiver.came
        now = datetime.now(UTC)
        notification = verified(good[0], good[1], secret, now)
        assert (notification.submission, notification.status) == ("f" * 24, "AWAITING REVIEW")
        assert len(bad) == 3
        for headers, body in bad:
            with pytest.raises(BadHook):
                verified(headers, body, secret, now)


def test_a_link_in_a_list_leads_the_token_nowhere_else() -> None:
    """A list's `next` is followed on the host that was asked, or not at all."""
    inside = "/api/v1/submissions/?page=2"
    assert _own_path(f"https://evil.example{inside}") == inside
    for address in ("https://evil.example/steal", "//evil.example/x", "http://[", ""):
        with pytest.raises(ChannelError):
            _own_path(address)
