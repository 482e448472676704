"""Sessions: cookies, how they end of themselves and by hand, and who must prove who they are."""

import asyncio
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import func, select, update

from app.accounts.models import Account, AuditEvent, BrowserSession
from app.accounts.passwords import is_guessable
from app.accounts.service import set_disabled
from app.accounts.sessions import end_all, forget_old_sessions, renew, session_of
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.security import hash_token
from app.core.settings import get_settings
from app.recruitment import accounts
from app.recruitment.channel import Checked
from app.results import live
from app.results.live import progress_events
from testbed.builders import (
    a_campaign,
    a_recruitment,
    a_submission,
    an_account,
    an_api_token,
    sign_in,
)
from tests.conftest import forget_settings
from tests.support.accounts import (
    PASSWORD,
    a_token,
    an_admin,
    another_browser,
    enter,
    is_in,
    with_password,
)

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture(autouse=True)
def no_attempts_so_far(environment: dict[str, str]) -> None:
    Redis.from_url(get_settings().redis_url).flushdb()


def age(**ago: float) -> None:
    """All sessions were last seen and confirmed so long ago."""
    then = datetime.now(UTC) - timedelta(**ago)
    with transaction() as session:
        session.execute(update(BrowserSession).values(seen_at=then, confirmed_at=then))


def n_sessions() -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(BrowserSession)) or 0


def test_cookies_over_https_are_of_this_host_alone(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_password(client)
    monkeypatch.setenv("LIKEWISE_BASE_URL", "https://testserver")
    forget_settings()
    given = enter(client, PASSWORD).headers["set-cookie"]
    name, _, rest = given.partition("=")
    assert name == "__Host-likewise"
    flags = {part.strip().lower() for part in rest.split(";")[1:]}
    assert {"secure", "httponly", "samesite=lax", "path=/"} <= flags
    assert not any(flag.startswith("domain") for flag in flags)


def test_a_session_nobody_uses_ends_and_one_in_use_goes_on(client: TestClient) -> None:
    sign_in(client, an_account())
    age(hours=71)
    assert is_in(client)
    age(hours=0)
    assert is_in(client)
    age(hours=73)
    assert not is_in(client)


def test_a_session_ends_after_its_time_however_much_it_is_used(client: TestClient) -> None:
    sign_in(client, an_account())
    assert is_in(client)
    with transaction() as session:
        begun, ends = session.execute(
            select(BrowserSession.created_at, BrowserSession.expires_at)
        ).one()
        assert timedelta(hours=335) < ends - begun < timedelta(hours=337)
        session.execute(update(BrowserSession).values(expires_at=datetime.now(UTC)))
    assert not is_in(client)
    with transaction() as session:
        forget_old_sessions(session)
    assert n_sessions() == 0


def test_each_session_is_listed_and_ended(client: TestClient) -> None:
    account = an_account()
    sign_in(client, account)
    with another_browser() as elsewhere:
        elsewhere.headers["user-agent"] = FIREFOX
        sign_in(elsewhere, account)
        page = client.get("/account").text
        assert "Firefox, Linux" in page
        assert "this browser" in page
        with transaction() as session:
            other = session.scalars(
                select(BrowserSession.id).where(BrowserSession.browser == "Firefox, Linux")
            ).one()
        with another_browser() as stranger:
            sign_in(stranger, an_account("eve@example.org"))
            assert stranger.post(f"/account/sessions/{other}/end").status_code == 404
        assert is_in(elsewhere)
        client.post(f"/account/sessions/{other}/end")
        assert not is_in(elsewhere)
    assert is_in(client)


def test_signing_out_everywhere_signs_out_everywhere(client: TestClient) -> None:
    account = an_account()
    with another_browser() as elsewhere:
        sign_in(elsewhere, account)
        sign_in(client, account)
        out = client.post("/account/sessions/end", follow_redirects=False)
        assert out.headers["clear-site-data"] == '"cache"'
        assert not is_in(client)
        assert not is_in(elsewhere)


def test_a_cookie_is_worth_nothing_after_signing_out_or_in_again(client: TestClient) -> None:
    with_password(client)
    enter(client, PASSWORD)
    first = client.cookies["likewise"]
    with transaction() as session:
        assert session.scalars(select(BrowserSession.token_hash)).all() == [hash_token(first)]
    assert hash_token(first) != first
    for path in ("/", "/account"):
        assert first not in client.get(path).text
    enter(client, PASSWORD)
    second = client.cookies["likewise"]
    assert first != second
    client.post("/sign-out")
    for cookie in (first, second):
        client.cookies.set("likewise", cookie)
        assert not is_in(client)
    assert n_sessions() == 0


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/account/confirm", {"password": PASSWORD}),
        ("/account/password", {"old": PASSWORD, "new": "another good one 9"}),
    ],
)
def test_a_session_that_was_ended_meanwhile_is_not_replaced(
    client: TestClient, path: str, form: dict[str, str]
) -> None:
    with_password(client)
    enter(client, PASSWORD)
    with ThreadPoolExecutor(1) as pool, transaction() as session:
        account = session.scalars(select(Account)).one()
        end_all(session, account)
        replacing = pool.submit(client.post, path, data=form, follow_redirects=False)
        time.sleep(1)
        assert not replacing.done()
        session.commit()
        assert replacing.result(10).status_code == 401
    assert n_sessions() == 0


def test_signing_out_everywhere_finds_a_session_that_is_being_replaced(client: TestClient) -> None:
    with_password(client)
    enter(client, PASSWORD)
    with ThreadPoolExecutor(1) as pool, transaction() as session:
        here = session_of(session, client.cookies["likewise"])
        assert here is not None
        account = session.get_one(Account, here.account_id)
        renew(session, here, account, proved=True)
        ending = pool.submit(client.post, "/account/sessions/end", follow_redirects=False)
        time.sleep(1)
        session.commit()
        assert ending.result(10).status_code == 303
    assert n_sessions() == 0


def test_an_admin_signs_somebody_out(client: TestClient) -> None:
    eve = an_account("eve@example.org")
    with another_browser() as other:
        sign_in(other, eve)
        an_admin(client)
        client.post(f"/accounts/{eve.id}/sign-out")
        assert not is_in(other)
    with transaction() as session:
        assert "account.signed_out" in session.scalars(select(AuditEvent.action)).all()


def test_tokens_and_accounts_need_a_fresh_proof(client: TestClient) -> None:
    with_password(client)
    enter(client, PASSWORD)
    age(minutes=31)
    page = {"accept": "text/html"}
    form = {"name": "robot", "scope": "write"}
    sent_on = client.post("/account/tokens", data=form, headers=page, follow_redirects=False)
    assert sent_on.headers["location"] == "/account/confirm"
    refused = client.post("/account/tokens", data=form)
    assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_required")
    old = client.cookies["likewise"]
    assert client.post("/account/confirm", data={"password": "wrong"}).status_code == 403
    assert client.post("/account/tokens", data=form).status_code == 403
    assert client.post("/account/confirm", data={"password": PASSWORD}).status_code == 200
    assert client.cookies["likewise"] != old
    assert a_token(client, "read")


def test_nothing_that_lets_somebody_in_changes_without_a_fresh_proof(client: TestClient) -> None:
    eve = an_account("eve@example.org")
    an_admin(client)
    age(minutes=31)
    asked = [f"/account/factor/{action}" for action in ("begin", "finish", "remove", "codes")]
    asked += [f"/accounts/{eve.id}/{action}" for action in ("link", "disable", "factor", "admin")]
    for path in ("/accounts", *asked):
        refused = client.post(path, data={"email": "mallory@example.org", "code": "000000"})
        assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_required"), path
    with transaction() as session:
        accounts = {account.email: account for account in session.scalars(select(Account))}
        assert set(accounts) == {"eve@example.org", "root@example.org"}
        row = accounts["eve@example.org"]
        assert (row.role, row.disabled_at) == ("requester", None)
        assert accounts["root@example.org"].totp_secret is None


def test_paying_needs_a_fresh_proof_of_people_and_not_of_tokens(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    recruitment = a_recruitment(owner, campaign)
    submission = a_submission(recruitment)
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}"
    asked = [
        (f"{base}/submissions/{submission.id}/approve", {}),
        (f"{base}/submissions/{submission.id}/bonus", {"amount_cents": 1, "reason": "x"}),
        (f"{base}/recruitments/{recruitment.id}/open", None),
        (f"{base}/recruitments/{recruitment.id}/more", {"places": 1}),
        (f"{base}/recruitments/{recruitment.id}/resume", None),
        ("/api/v1/channel-accounts", {"kind": "mturk"}),
    ]
    age(minutes=31)
    for path, body in asked:
        refused = client.post(path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_required"), path
    limited = client.put(
        f"{base}/recruitments/{recruitment.id}/limit", json={"spend_limit_cents": 1}
    )
    assert limited.json()["code"] == "confirmation_required"
    # Looking needs none.
    assert client.get(f"{base}/payments").status_code == 200
    client.cookies.clear()
    client.headers["Authorization"] = f"Bearer {an_api_token(owner)}"
    for path, body in asked:
        assert client.post(path, json=body).json().get("code") != "confirmation_required", path


def test_pages_and_api_ask_for_the_same_proof_for_accounts_on_platforms(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "check_account", lambda *_: asdict(Checked(None, "", "")))
    owner = an_account()
    account = a_recruitment(owner, a_campaign(owner)).channel_account_id
    sign_in(client, owner)
    age(minutes=31)
    page, api = f"/account/platforms/{account}", f"/api/v1/channel-accounts/{account}"
    html = {"accept": "text/html"}
    for path in (f"{page}/remove", f"{page}/secret"):
        sent_on = client.post(path, headers=html, follow_redirects=False)
        assert sent_on.headers["location"] == "/account/confirm", path
    refused = [client.delete(api), client.put(f"{api}/secret", json={"secret": {}})]
    assert [reply.json()["code"] for reply in refused] == ["confirmation_required"] * 2
    # Asking whether it works commits nothing.
    checked = client.post(f"{page}/check", headers=html, follow_redirects=False)
    assert checked.headers["location"] == f"/account/platforms#account-{account}"
    assert client.post(f"{api}/check").status_code == 200
    assert client.get("/account/platforms").status_code == 200


def event_kinds(campaign: Campaign, account: Account, disable: bool = False) -> list[str]:
    """What the live events of a campaign are until they end; after the first one the account may be
    disabled."""

    async def listen() -> list[str]:
        kinds = []
        async for event in progress_events(campaign.id, account.id):
            kinds.append(event["event"])
            if disable:
                with transaction() as session:
                    root = Account(email="root@example.org", role="admin")
                    set_disabled(session, root, session.get_one(Account, account.id), True)
        return kinds

    async def within_time() -> list[str]:
        return await asyncio.wait_for(listen(), 20)

    return asyncio.run(within_time())


def test_live_events_end_when_the_account_is_disabled(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "POLL_SECONDS", 0.2)
    owner = an_account()
    assert event_kinds(a_campaign(owner), owner, disable=True) == ["progress"]


def test_live_events_end_after_a_while_so_that_who_signed_out_is_not_let_in_again(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(live, "LONGEST_SECONDS", 1.0)
    owner = an_account()
    assert event_kinds(a_campaign(owner), owner) == ["progress", "again"]


def test_a_first_password_needs_no_confirmation(client: TestClient) -> None:
    """There is nothing to confirm with: the only admin would be locked out."""
    sign_in(client, an_account())
    age(minutes=31)
    assert client.post("/account/password", data={"new": "brand new words"}).status_code == 200
    # From then on it confirms what needs it.
    assert client.post("/account/factor/begin").status_code == 403
    client.post("/account/confirm", data={"password": "brand new words"})
    assert client.post("/account/factor/begin").status_code == 200


def test_the_right_to_replace_a_forgotten_password_ends(client: TestClient) -> None:
    with_password(client, "bob@example.org")
    with transaction() as session:
        session.execute(update(BrowserSession).values(by_link=True))
    enter(client, PASSWORD, "bob@example.org")
    age(minutes=31)
    assert client.post("/account/password", data={"new": "brand new words"}).status_code == 403


def test_the_eleventh_wrong_password_within_a_minute_is_too_many(client: TestClient) -> None:
    with_password(client)
    assert [enter(client, "wrong").status_code for _ in range(11)] == [403] * 10 + [429]


@pytest.mark.parametrize(
    "plain",
    [
        "password123", "Passw0rd2024!", "qwertyuiop", "iloveyou12345", "1q2w3e4r5t6y",
        "letmein!!!!!!", "dragondragon", "12345678901", "Likewise2026", "ada.example1",
        "abcdefghijkl", "asdfghjkl1234", "starwars1977", "annotator-campaign", "йцукенгшщзхъ",
        "prolific.mturk.crowd",
    ],
)  # fmt: skip
def test_passwords_that_are_tried_first_are_refused(client: TestClient, plain: str) -> None:
    sign_in(client, an_account())
    refused = client.post("/account/password", data={"new": plain})
    assert refused.status_code == 422
    assert "too easy to guess" in refused.text


@pytest.mark.parametrize(
    "good",
    ["correct horse battery", "x7Kq-9vTz-pL2m", "tulip cadence orbit", "Ñandú über 4 Straßen",
     "another good one 9", "q" * 5 + "vzm1kpd88w", "w" * 3 + " 漢字かな交じり文です"],
)  # fmt: skip
def test_others_are_good(good: str) -> None:
    assert not is_guessable(good)


def test_pages_for_signing_in_and_out(client: TestClient) -> None:
    page = client.get("/sign-in").text
    assert re.search(r'<input name="password" type="password"[^>]*"current-password"', page)
    assert not re.search(r'onpaste|autocomplete="off"', page)
    sign_in(client, an_account())
    for path in ("/", "/account", "/campaigns/new", "/account/webhooks", "/account/platforms"):
        assert 'action="/sign-out"' in client.get(path).text, path
