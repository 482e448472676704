"""The second factor: set up, asked for by every way in, used once, lost and removed."""

import base64
import re
from datetime import UTC, datetime, timedelta

import pyotp
import pytest
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import select, update
from typer.testing import CliRunner

from app.accounts import factors
from app.accounts.models import Account, AuditEvent, BrowserSession, RecoveryCode
from app.core.database import transaction
from app.core.settings import get_settings
from likewise.cli import cli
from testbed.builders import a_campaign, a_recruitment, an_api_token, sign_in
from tests.app.test_sessions import age
from tests.conftest import forget_settings
from tests.support.accounts import PASSWORD, an_admin, another_browser, enter, is_in, with_password

ANOTHER_KEY = "another-key-of-this-server-0123456789"


@pytest.fixture(autouse=True)
def no_attempts_so_far(environment: dict[str, str]) -> None:
    Redis.from_url(get_settings().redis_url).flushdb()


def set_up(
    client: TestClient, account: Account | None = None
) -> tuple[Account, pyotp.TOTP, list[str]]:
    """An account with password and second factor, its codes and recovery codes; signed out."""
    account = account or with_password(client)
    enter(client, PASSWORD, account.email)
    totp = pyotp.TOTP(seed_in(client.post("/account/factor/begin").text))
    page = client.post("/account/factor/finish", data={"code": totp.now()}).text
    codes = re.findall(r"\b(?:[A-Z2-7]{8}-){3}[A-Z2-7]{8}\b", page)
    assert len(codes) == 10
    client.post("/sign-out")
    return account, totp, codes


def seed_in(page: str) -> str:
    match = re.search(r'value="([A-Z2-7]{32})"', page)
    assert match, page
    return match.group(1)


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


def test_recovery_codes_have_160_bits_of_chance(client: TestClient) -> None:
    account, _, first = set_up(client)
    codes = list(first)
    with transaction() as session:
        row = session.get_one(Account, account.id)
        for _ in range(20):
            codes += factors.renew_recovery_codes(session, row)
    assert len(set(codes)) == len(codes) == 210
    raw = [base64.b32decode(code.replace("-", "")) for code in codes]
    assert {len(raw_code) * 8 for raw_code in raw} == {160}
    assert all(len({raw_code[at] for raw_code in raw}) > 60 for at in range(20))


def test_setting_it_up_and_removing_it_signs_all_others_out(client: TestClient) -> None:
    account = with_password(client)
    with another_browser() as elsewhere:
        enter(client, PASSWORD)
        enter(elsewhere, PASSWORD)
        client.post("/account/factor/begin")
        assert is_in(elsewhere)
        with transaction() as session:
            seed = factors.pending_seed(session.get_one(Account, account.id))
        assert seed is not None
        totp = pyotp.TOTP(seed)
        client.post("/account/factor/finish", data={"code": totp.now()})
        assert is_in(client)
        assert not is_in(elsewhere)
        enter(elsewhere, PASSWORD)
        assert give(elsewhere, fresh(account, totp)) == 303
        assert is_in(elsewhere)
        client.post("/account/factor/remove")
        assert is_in(client)
        assert not is_in(elsewhere)


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


def test_the_key_is_shown_when_it_is_made_and_not_again(client: TestClient) -> None:
    with_password(client)
    enter(client, PASSWORD)
    seed = seed_in(client.post("/account/factor/begin").text)
    again = client.get("/account").text
    assert seed not in again
    assert 'action="/account/factor/finish"' in again
    typo = client.post("/account/factor/finish", data={"code": "000000"})
    assert typo.status_code == 403
    assert seed not in typo.text
    newer = seed_in(client.post("/account/factor/begin").text)
    assert newer != seed
    code = {"code": pyotp.TOTP(newer).now()}
    assert "On since" in client.post("/account/factor/finish", data=code).text


def test_a_factor_that_was_begun_under_another_key_is_begun_anew(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_password(client)
    enter(client, PASSWORD)
    client.post("/account/factor/begin")
    monkeypatch.setenv("LIKEWISE_SECRET_KEY", ANOTHER_KEY)
    forget_settings()
    page = client.get("/account")
    assert page.status_code == 200
    assert 'action="/account/factor/begin"' in page.text
    assert client.post("/account/factor/finish", data={"code": "000000"}).status_code == 409
    assert seed_in(client.post("/account/factor/begin").text)


def test_after_a_key_was_exchanged_a_code_seals_the_factor_anew(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, totp, _ = set_up(client)
    before = get_settings().secret_key.get_secret_value()
    monkeypatch.setenv("LIKEWISE_SECRET_KEY", ANOTHER_KEY)
    assert "no key decrypts 1 of 1" in of_doctor("factors")
    monkeypatch.setenv("LIKEWISE_OLD_SECRET_KEYS", before)
    assert "1 of them need a key of LIKEWISE_OLD_SECRET_KEYS" in of_doctor("factors")
    enter(client, PASSWORD)
    assert give(client, fresh(account, totp)) == 303
    assert "the newest key decrypts all" in of_doctor("factors")
    monkeypatch.delenv("LIKEWISE_OLD_SECRET_KEYS")
    forget_settings()
    client.post("/sign-out")
    enter(client, PASSWORD)
    assert give(client, fresh(account, totp)) == 303


def of_doctor(check: str) -> str:
    forget_settings()
    lines = CliRunner().invoke(cli, ["doctor"]).output.splitlines()
    return next(line for line in lines if line.split()[1:2] == [check])


def test_new_recovery_codes_are_for_who_has_a_factor_and_written_down(client: TestClient) -> None:
    with_password(client)
    enter(client, PASSWORD)
    assert client.post("/account/factor/codes").status_code == 409
    with transaction() as session:
        assert session.scalars(select(RecoveryCode)).all() == []
    client.post("/sign-out")
    account, totp, codes = set_up(client, with_password(client, "bob@example.org"))
    enter(client, PASSWORD, "bob@example.org")
    assert give(client, fresh(account, totp)) == 303
    page = client.post("/account/factor/codes")
    assert page.status_code == 200
    assert codes[0] not in page.text
    with transaction() as session:
        actions = session.scalars(select(AuditEvent.action)).all()
    assert actions.count("account.recovery_codes_renewed") == 1


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
        row = session.get_one(Account, account.id)
        assert (row.totp_secret, row.totp_since) == (None, None)
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
