"""What holds of every channel, and a toy channel that goes through all of recruiting and paying."""

import hashlib
import hmac
from collections.abc import Iterator
from datetime import UTC, datetime
from inspect import signature
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from sqlalchemy import select

from app.annotation.catalogues import catalogues
from app.campaigns import platforms
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.errors import LikewiseError
from app.main import create_app
from app.recruitment.channel import Channel, ChannelError
from app.recruitment.channels import registry
from app.recruitment.channels.registry import all_channels
from app.recruitment.channels.spec import ChannelSpec, Credentials
from app.recruitment.models import Recruitment
from testbed.builders import a_campaign, an_account, sign_in
from testbed.recruits import do_all_due, look, payments
from tests.support.toy_channel import SECRET, Board, BoardSpec

GRIDS = 2
CHANNELS = [*all_channels(), BoardSpec(Board())]
of_every_channel = pytest.mark.parametrize("spec", CHANNELS, ids=lambda spec: spec.name)
METHODS = [name for name in vars(Channel) if not name.startswith("_") and name != "bonus_batch"]
# An address as each platform writes it, once somebody has a place.
QUERIES = {
    "mturk": {
        "assignmentId": "A1",
        "hitId": "H1",
        "workerId": "W1",
        "turkSubmitTo": "https://www.mturk.com",
    },
    "prolific": {"PROLIFIC_PID": "p1", "STUDY_ID": "s1", "SESSION_ID": "x1"},
    "board": {"work": "w1", "notice": "n1", "person": "p1"},
}


@of_every_channel
def test_requesters_are_told_what_they_need(spec: ChannelSpec) -> None:
    texts = (spec.title, spec.short_title, spec.about, spec.credentials_help, spec.posting)
    assert all(text.strip() for text in texts)
    assert "{n}" in spec.many_postings
    assert spec.secrets
    assert spec.rejections.least >= 1
    assert spec.currency is None or len(spec.currency) == 3
    assert all(name not in spec.secrets for name in ("name", "profile", "channel", "environment"))
    assert all(spec.look in messages for messages in catalogues().values())


@of_every_channel
def test_a_form_can_be_made_of_the_settings(spec: ChannelSpec) -> None:
    fields = spec.settings.model_json_schema()["properties"]
    assert all(field.get("title") and field.get("description") for name, field in fields.items()
               if name != "colour")  # fmt: skip
    defaults = spec.settings()
    assert spec.settings.model_validate(defaults.model_dump()) == defaults


@of_every_channel
@given(cents=st.integers(0, 5_000), places=st.integers(1, 200))
def test_fees_are_never_negative_and_all_places_are_split(
    spec: ChannelSpec, cents: int, places: int
) -> None:
    assert spec.reward_fee(0, places) == spec.bonus_fee(0) == 0
    assert 0 <= spec.reward_fee(cents, places) <= spec.reward_fee(cents + 1, places)
    assert 0 <= spec.bonus_fee(cents) <= spec.bonus_fee(cents + 1)
    sizes = spec.split(places, spec.settings())
    assert sum(sizes) == places
    assert min(sizes) >= 1


@of_every_channel
def test_who_has_no_place_only_looks_and_who_has_one_is_known(spec: ChannelSpec) -> None:
    assert spec.claims({}, "production") is None
    claims = spec.claims(QUERIES[spec.name], "production")
    assert claims is not None
    assert set(spec.tells_person) <= set(claims)
    entry = spec.entry.model_validate({"link": "l", **claims})
    arrival = spec.arrival(entry)
    assert arrival.assignment
    assert arrival.posting
    assert arrival.person
    # What an address lacks is empty, so that a person is refused with a reason, not by an error.
    for left_out in QUERIES[spec.name]:
        fewer = {name: value for name, value in QUERIES[spec.name].items() if name != left_out}
        some = spec.claims(fewer, "production")
        assert some is None or spec.entry.model_validate({"link": "l", **some})


@of_every_channel
def test_a_channel_has_all_methods_and_asks_nothing_when_it_is_opened(
    environment: dict[str, str], spec: ChannelSpec
) -> None:
    secret = {"word": "open"} if spec.name == "board" else dict.fromkeys(spec.secrets, "x" * 40)
    where = "custom" if spec.name == "board" else "production"
    channel = spec.open(Credentials(where, secret))
    assert isinstance(channel.bonus_batch, int)
    for name in METHODS:
        if name != "bonuses_repeatable":
            expected = signature(getattr(Channel, name)).parameters
            assert list(signature(getattr(channel, name)).parameters) == list(expected)[1:], name
    with pytest.raises(ChannelError):
        spec.open(Credentials("nowhere", {}))


@of_every_channel
def test_a_forged_notification_is_refused(spec: ChannelSpec) -> None:
    expected = LikewiseError if spec.notifies else NotImplementedError
    with pytest.raises(expected):
        spec.verified({}, b"{}", SECRET, datetime.now(UTC))


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch, client: TestClient) -> Iterator[tuple[Board, Any]]:
    """The toy channel, registered, and an application that serves it."""
    monkeypatch.setattr(registry, "_channels", dict(registry._channels))
    monkeypatch.setattr(platforms, "_titles", dict(platforms._titles))
    place = Board()
    registry.register(BoardSpec(place))
    with TestClient(create_app()) as served:
        yield place, served


def an_order(campaign: Campaign, account: str) -> dict[str, JsonValue]:
    return {
        "channel": "board",
        "channel_account_id": account,
        "places": 3,
        "reward_cents": 200,
        "spend_limit_cents": 5_000,
        "settings": {"colour": "red", "quality_cents": 40},
    }


def test_a_toy_channel_goes_from_the_account_to_the_payment(board: tuple[Board, Any]) -> None:
    place, served = board
    owner = an_account()
    sign_in(served, owner)
    campaign = a_campaign(owner, budget=40, grids_per_assignment=GRIDS, reward_cents=200)
    base = f"/api/v1/campaigns/{campaign.id}"
    page = served.get("/account/platforms").text
    assert "Add a Notice Board account" in page
    form = {"channel": "board", "environment": "custom", "name": "Ours"}
    assert "Missing: word." in served.post("/account/platforms", data=form).text
    assert served.post("/account/platforms", data={**form, "word": "open"}).status_code == 200
    (account,) = served.get("/api/v1/channel-accounts").json()["items"]
    checked = served.post(f"/api/v1/channel-accounts/{account['id']}/check").json()
    assert (checked["balance_cents"], checked["problems"]) == (10_000, [])
    options = served.get(f"{base}/recruiting/options").json()["channels"]
    (offer,) = [option for option in options if option["channel"] == "board"]
    assert (offer["many_postings"], offer["currency"]) == ("{n} notices", "EUR")
    body = an_order(campaign, account["id"])
    estimate = served.post(
        f"{base}/recruiting/estimate",
        json={key: body[key] for key in ("channel", "places", "reward_cents", "settings")},
    ).json()
    assert (estimate["rewards_cents"], estimate["fees_cents"]) == (600, 60)
    planned = served.post(f"{base}/recruitments", json=body).json()
    address = f"{base}/recruitments/{planned['id']}"
    assert served.get(f"{address}/dry-run").json()["problems"] == []
    assert served.post(f"{address}/open").json()["state"] == "open"
    do_all_due()
    (token, notice), *_ = place.notices.items()
    assert notice.order.settings.colour == "red"

    work = place.take(token, "ada")
    path = notice.order.url[notice.order.url.index("/a/board/") :]
    assert 'data-platform="the board"' in served.get(path).text
    claims = {"work": work, "notice": token, "person": "ada"}
    shown = served.get(path, params=claims).text
    assert "data-entry=" in shown
    link = path.removeprefix("/a/board/")
    forged = served.post(
        "/api/v1/annotate/sessions/board", json={"link": link, **claims, "person": "eve"}
    )
    assert (forged.status_code, forged.json()["code"]) == (403, "another_person")
    opened = served.post("/api/v1/annotate/sessions/board", json={"link": link, **claims})
    assert opened.status_code == 201, opened.text
    assert opened.json()["hand_in"]["address"] == "https://board.example/done"
    session = {"Authorization": f"Bearer {opened.json()['token']}"}
    served.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=session)
    for number in range(GRIDS):
        lease = served.post("/api/v1/annotate/leases", headers=session).json()["lease"]
        images = [image["image"] for image in lease["images"]]
        groups = [k % 2 for k in range(len(images))]
        stored = served.post(
            f"/api/v1/annotate/leases/{lease['id']}/answer",
            json={"images": images, "groups": groups},
            headers={**session, "Idempotency-Key": f"answer-number-{number}"},
        )
        assert stored.status_code == 200, stored.text
    assert served.post("/api/v1/annotate/hand-in", headers=session).status_code == 204
    place.move(token, work, "submitted")

    signed = hmac.new(SECRET.encode(), token.encode(), hashlib.sha256).hexdigest()
    hook = f"/hooks/board/{account['id']}"
    refused = served.post(hook, content=token, headers={"X-Board": "0" * 64})
    assert refused.json()["code"] == "hook_signature"
    assert served.post(hook, content=token, headers={"X-Board": signed}).status_code == 202
    assert served.post(hook, content=token, headers={"X-Board": signed}).status_code == 200
    elsewhere = hook.replace("board", "prolific")
    assert served.post(elsewhere, content=token, headers={"X-Board": signed}).status_code == 404
    look()
    look()
    (payment,) = payments(campaign)
    assert (payment.kind, payment.amount_cents, payment.state) == ("reward", 200, "paid")
    assert place.notices[token].work[work].state == "approved"
    assert served.post(f"{address}/more", json={"places": 2}).status_code == 200
    do_all_due()
    assert place.notices[token].places == 5
    assert served.post(f"{address}/stop").json()["state"] == "stopped"
    do_all_due()
    assert place.notices[token].state == "closed"
    assert served.get(f"/campaigns/{campaign.id}/recruit").status_code == 200
    with transaction() as stored_session:
        (row,) = stored_session.scalars(select(Recruitment).where(Recruitment.channel == "board"))
        assert row.currency == "EUR"


def test_a_plan_reckons_with_a_toy_channel(board: tuple[Board, Any]) -> None:
    _, served = board
    owner = an_account()
    sign_in(served, owner)
    campaign = a_campaign(owner, start=False)
    base = f"/api/v1/campaigns/{campaign.id}"
    changed = served.patch(base, json={"plan": {"platform": "board"}})
    assert changed.status_code == 200, changed.text
    refused = served.patch(base, json={"plan": {"platform": "nowhere"}})
    assert refused.status_code == 422
    assert "choose one of link, prolific, mturk, board" in refused.text


def test_a_channel_that_does_not_exist_is_refused_everywhere(client: TestClient) -> None:
    owner = an_account()
    sign_in(client, owner)
    campaign = a_campaign(owner)
    account = client.post(
        "/api/v1/channel-accounts",
        json={"channel": "nowhere", "environment": "production", "secret": {"token": "x"}},
    )
    assert account.status_code == 422
    assert "Choose prolific or mturk." in account.json()["detail"]
    body = {"channel": "nowhere", "places": 3, "settings": {}}
    with_account = {**body, "channel_account_id": str(campaign.id)}
    for path, sent in (("recruitments", with_account), ("recruiting/estimate", body)):
        refused = client.post(f"/api/v1/campaigns/{campaign.id}/{path}", json=sent)
        assert (refused.status_code, refused.json()["code"]) == (422, "unknown_channel"), path
    assert client.get("/a/nowhere/some-link").status_code == 404
    assert client.get("/a/prolific/some-link/thanks").status_code == 404
    hook = client.post(f"/hooks/nowhere/{campaign.id}", content=b"{}")
    assert hook.status_code == 404
