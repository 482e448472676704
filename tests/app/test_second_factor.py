"""The second factor: set up, asked for by every way in, used once, lost and removed."""

import re
from datetime import UTC, datetime, timedelta

import pyotp
import pytest
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import select, update

from app.accounts import factors
from app.accounts.models import Account, BrowserSession, RecoveryCode
from app.core.database import transaction
from app.core.settings import get_settings
from tests.app.test_accounts import PASSWORD, an_admin, another_browser, enter, is_in, with_password
from tests.app.test_sessions import age
from tests.conftest import forget_settings
from tests.support.builders import a_campaign, a_recruitment, an_api_token, sign_in


@pytest.fixture(autouse=True)
def no_attempts_so_far(environment: dict[str, str]) -> None:
    Redis.from_url(get_settings().redis_url).flushdb()


def set_up(client: TestClient) -> tuple[Account, pyotp.TOTP, list[str]]:
    """An account with password and second factor, its codes and recovery codes; signed out."""
    account = with_password(client)
    enter(client, PASSWORD)
    page = client.post("/account/factor/begin").text
    seed = re.search(r'value="([A-Z2-7]{32})"', page)
    assert seed, page
    totp = pyotp.TOTP(seed.group(1))
    page = client.post("/account/factor/finish", data={"code": totp.now()}).text
    codes = re.findall(r"\b(?:[A-Z2-7]{6}-){3}[A-Z2-7]{6}\b", page)
    assert len(codes) == 10
    client.post("/sign-out")
    return account, totp, codes


def fresh(account: Account, totp: pyotp.TOTP) -> str:
    """A code as of half a minute later: that of now was used."""
    with transaction() as session:
        session.execute(update(Account).where(Account.id == account.id).values(totp_step=None))
    return totp.now()


def give(client: TestClient, code: str) -> int:
    return client.post("/sign-in/code", data={"code": code}, follow_redirects=False).status_code


def test_a_password_alone_opens_nothing(client: TestClient) -> None:
    account, totp, _ = set_up(client)
    assert enter(client, PASSWORD).status_code == 303
    assert not is_in(client)
    sent_on = client.get("/", headers={"accept": "text/html"}, follow_redirects=False)
    assert sent_on.headers["location"] == "/sign-in/code"
    assert client.get("/account", headers={"accept": "application/json"}).status_code == 401
    assert give(client, "000000") == 403
    assert not is_in(client)
    before = client.cookies["likewise"]
    assert give(client, fresh(account, totp)) == 303
    assert is_in(client)
    assert client.cookies["likewise"] != before


def test_a_link_does_not_go_around_it(client: TestClient) -> None:
    account, totp, _ = set_up(client)
    sign_in(client, account)
    assert not is_in(client)
    assert client.post("/account/password", data={"new": "brand new words"}).status_code == 401
    assert give(client, fresh(account, totp)) == 303
    assert is_in(client)


def test_a_code_is_good_once(client: TestClient) -> None:
    account, totp, _ = set_up(client)
    code = fresh(account, totp)
    enter(client, PASSWORD)
    assert give(client, code) == 303
    with another_browser() as other:
        enter(other, PASSWORD)
        assert give(other, code) == 403
        assert not is_in(other)


def test_a_recovery_code_is_good_once_and_stored_hashed(client: TestClient) -> None:
    _, _, codes = set_up(client)
    with transaction() as session:
        stored = set(session.scalars(select(RecoveryCode.code_hash)))
    assert not {code.replace("-", "") for code in codes} & stored
    for given, status in ((codes[0].lower(), 303), (codes[0], 403), (codes[1], 303)):
        client.cookies.clear()
        enter(client, PASSWORD)
        assert give(client, given) == status
        assert is_in(client) is (status == 303)


def test_guessing_is_limited(client: TestClient) -> None:
    set_up(client)
    Redis.from_url(get_settings().redis_url).flushdb()
    enter(client, PASSWORD)
    codes = [give(client, f"{number:06}") for number in range(12)]
    assert codes[-1] == 429
    assert not is_in(client)


def test_who_knows_the_address_alone_shuts_nobody_out(client: TestClient) -> None:
    account, totp, _ = set_up(client)
    enter(client, PASSWORD)
    with another_browser() as stranger:
        codes = [enter(stranger, "wrong").status_code for _ in range(25)]
    assert codes[-1] == 429
    assert give(client, fresh(account, totp)) == 303
    both = {"password": PASSWORD, "code": fresh(account, totp)}
    assert client.post("/account/confirm", data=both).status_code == 200
    client.post("/sign-out")
    sign_in(client, account)
    assert give(client, fresh(account, totp)) == 303


def test_a_new_password_is_no_way_around_the_phone(client: TestClient) -> None:
    account, totp, _ = set_up(client)
    enter(client, PASSWORD)
    give(client, fresh(account, totp))
    age(minutes=31)
    form = {"old": PASSWORD, "new": "another good one 9"}
    refused = client.post("/account/password", data=form)
    assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_required")
    page = {"accept": "text/html"}
    sent_on = client.post("/account/password", data=form, headers=page, follow_redirects=False)
    assert sent_on.headers["location"] == "/account/confirm"
    both = {"password": PASSWORD, "code": fresh(account, totp)}
    client.post("/account/confirm", data=both)
    assert client.post("/account/password", data=form).status_code == 200


def test_changing_password_or_factor_makes_no_proof_younger(client: TestClient) -> None:
    account, totp, _ = set_up(client)
    enter(client, PASSWORD)
    give(client, fresh(account, totp))
    age(minutes=29)
    form = {"old": PASSWORD, "new": "another good one 9"}
    assert client.post("/account/password", data=form).status_code == 200
    assert since_the_proof() > timedelta(minutes=28)
    assert client.post("/account/factor/remove").status_code == 200
    assert since_the_proof() > timedelta(minutes=28)


def since_the_proof() -> timedelta:
    with transaction() as session:
        return datetime.now(UTC) - session.scalars(select(BrowserSession.confirmed_at)).one()


def test_a_code_without_a_password_is_nothing(client: TestClient) -> None:
    account, totp, _ = set_up(client)
    assert give(client, fresh(account, totp)) == 401


def test_confirming_asks_for_both(client: TestClient) -> None:
    account, totp, _ = set_up(client)
    enter(client, PASSWORD)
    give(client, fresh(account, totp))
    page = {"accept": "application/json"}
    for form in ({"password": PASSWORD}, {"code": fresh(account, totp)}):
        assert client.post("/account/confirm", data=form, headers=page).status_code == 403
    both = {"password": PASSWORD, "code": fresh(account, totp)}
    assert client.post("/account/confirm", data=both, headers=page).status_code == 200


def test_an_admin_removes_it_for_who_has_lost_it(client: TestClient) -> None:
    account, _, codes = set_up(client)
    with another_browser() as admin:
        an_admin(admin)
        assert "Remove second factor" in admin.get("/accounts").text
        admin.post(f"/accounts/{account.id}/factor")
    assert enter(client, PASSWORD).status_code == 303
    assert is_in(client)
    with transaction() as session:
        assert session.scalars(select(RecoveryCode)).all() == []
        found = session.get_one(Account, account.id)
        assert (found.totp_secret, found.totp_since) == (None, None)
    assert codes


def test_seeds_are_sealed(client: TestClient) -> None:
    account, totp, _ = set_up(client)
    with transaction() as session:
        sealed = session.get_one(Account, account.id).totp_secret
    assert sealed is not None
    assert totp.secret.encode() not in sealed


@pytest.mark.parametrize("rule", ["payers", "everybody"])
def test_payers_need_one_where_settings_say_so(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    owner = with_password(client)
    campaign = a_campaign(owner)
    path = f"/api/v1/campaigns/{campaign.id}/recruitments/{a_recruitment(owner, campaign).id}/open"
    monkeypatch.setenv("LIKEWISE_SECOND_FACTOR", rule)
    forget_settings()
    enter(client, PASSWORD)
    assert client.post(path).json()["code"] == "second_factor_required"
    assert client.get("/account").status_code == 200
    assert is_in(client) is (rule == "payers")
    token = {"Authorization": f"Bearer {an_api_token(owner)}"}
    client.cookies.clear()
    assert client.post(path, headers=token).json()["code"] == "second_factor_required"
    with transaction() as session:
        account = session.get_one(Account, owner.id)
        seed = factors.begin(session, account)
        factors.finish(session, account, pyotp.TOTP(seed).now())
    assert client.post(path, headers=token).json().get("code") != "second_factor_required"
