"""Passwords, one-time links, API tokens, admins."""

import re

import pytest
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import select

from app.accounts.models import Account, ApiToken, AuditEvent
from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from app.core.settings import get_settings
from likewise.embedded import free_port
from testbed.builders import a_campaign, an_account, sign_in
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
from tests.support.mail import Kept, postbox

__all__ = ["postbox"]


@pytest.fixture(autouse=True)
def no_attempts_so_far(environment: dict[str, str]) -> None:
    """Attempts are counted in Valkey, which outlives a test."""
    Redis.from_url(get_settings().redis_url).flushdb()


# --- passwords -------------------------------------------------------------------------------


def test_a_password_signs_in_and_a_wrong_one_tells_nothing(client: TestClient) -> None:
    with_password(client)
    wrong, unknown = enter(client, "wrong"), enter(client, PASSWORD, "bob@example.org")
    assert wrong.status_code == unknown.status_code == 403
    alerts = [re.findall("<p class=.alert.*</p>", reply.text) for reply in (wrong, unknown)]
    assert alerts[0] == alerts[1] != []
    assert not is_in(client)
    assert enter(client, PASSWORD).status_code == 303
    assert is_in(client)


def test_passwords_are_stored_as_argon2_and_nowhere_else(client: TestClient) -> None:
    account = with_password(client)
    with transaction() as session:
        stored = session.get_one(Account, account.id).password_hash
        details = [event.details for event in session.scalars(select(AuditEvent))]
    assert stored is not None
    assert stored.startswith("$argon2id$")
    assert PASSWORD not in f"{stored}{details}"


@pytest.mark.parametrize("bad", ["short", "aaaaaaaaaaaa", "ada@example.org", "x" * 201])
def test_bad_passwords_are_refused(client: TestClient, bad: str) -> None:
    sign_in(client, an_account())
    refused = client.post("/account/password", data={"new": bad})
    assert refused.status_code == 422
    assert "password" in refused.text


def test_changing_a_password_asks_for_the_old_one_and_signs_others_out(
    client: TestClient,
) -> None:
    with_password(client)
    enter(client, PASSWORD)
    with another_browser() as elsewhere:
        enter(elsewhere, PASSWORD)
        assert is_in(elsewhere)
        new = "another good one 9"
        assert client.post("/account/password", data={"new": new}).status_code == 403
        wrong = client.post("/account/password", data={"new": new, "old": "wrong"})
        assert wrong.status_code == 403
        right = client.post("/account/password", data={"new": new, "old": PASSWORD})
        assert right.status_code == 200
        assert is_in(client)
        assert not is_in(elsewhere)
    client.post("/sign-out")
    assert enter(client, PASSWORD).status_code == 403
    assert enter(client, new).status_code == 303


def test_the_old_password_is_not_guessed_from_an_open_browser(client: TestClient) -> None:
    with_password(client)
    enter(client, PASSWORD)
    form = {"new": "another good one 9", "old": "wrong"}
    codes = [client.post("/account/password", data=form).status_code for _ in range(11)]
    assert codes == [403] * 10 + [429]
    right = client.post("/account/password", data={**form, "old": PASSWORD})
    assert right.status_code == 429
    with another_browser() as elsewhere:
        assert enter(elsewhere, PASSWORD).status_code == 303


def test_a_forgotten_password_is_replaced_by_way_of_a_link(client: TestClient) -> None:
    account = with_password(client)
    sign_in(client, account)
    assert client.post("/account/password", data={"new": "brand new words"}).status_code == 200
    # Once: the next change asks for it.
    assert client.post("/account/password", data={"new": "and once more"}).status_code == 403


def test_attempts_are_limited_and_come_back(client: TestClient) -> None:
    with_password(client)
    codes = [enter(client, "wrong").status_code for _ in range(25)]
    assert codes[:10] == [403] * 10
    assert codes[-1] == 429
    assert enter(client, PASSWORD).status_code == 429


def test_attempts_are_limited_without_valkey_too(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_password(client)
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{free_port()}")
    forget_settings()
    codes = [enter(client, "wrong").status_code for _ in range(22)]
    assert (codes[0], codes[-1]) == (403, 429)


# --- API tokens ------------------------------------------------------------------------------


def test_tokens_read_or_write_until_they_are_revoked(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(client, owner)
    read, write = a_token(client, "read"), a_token(client, "write", "30")
    client.cookies.clear()
    address = f"/api/v1/campaigns/{campaign.id}"
    assert client.get(address, headers=read).status_code == 200
    refused = client.post(f"{address}/actions/pause", headers=read)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_too_small")
    assert client.post(f"{address}/actions/pause", headers=write).status_code == 200
    with transaction() as session:
        tokens = session.scalars(select(ApiToken)).all()
        assert all(token.last_used_at for token in tokens)
        assert not any(read["Authorization"].endswith(token.token_hash) for token in tokens)
    sign_in(client, owner)
    for token in tokens:
        client.post(f"/account/tokens/{token.id}/revoke")
    client.cookies.clear()
    assert client.get(address, headers=read).json()["code"] == "bad_token"
    assert client.get(address, headers={"Authorization": "Bearer lw_x"}).status_code == 401


def test_tokens_open_no_pages(client: TestClient) -> None:
    sign_in(client, an_account())
    token = a_token(client, "write")
    client.cookies.clear()
    for page in ("/account", "/accounts", "/"):
        reply = client.get(page, headers={**token, "accept": "application/json"})
        assert reply.status_code == 401, page
    assert (
        client.post("/account/password", headers=token, data={"new": PASSWORD}).status_code == 401
    )


@pytest.mark.parametrize(
    "form",
    [
        {"name": " ", "scope": "read"},
        {"name": "x", "scope": "all"},
        {"name": "x", "scope": "read", "days": "x"},
        {"name": "x", "scope": "read", "days": "0"},
    ],
)
def test_bad_tokens_are_not_made(client: TestClient, form: dict[str, str]) -> None:
    sign_in(client, an_account())
    assert client.post("/account/tokens", data=form).status_code == 422
    with transaction() as session:
        assert session.scalars(select(ApiToken)).all() == []


# --- admins ----------------------------------------------------------------------------------


def test_admins_invite_lock_and_promote(client: TestClient) -> None:
    root = an_admin(client)
    page = client.post("/accounts", data={"email": "eve@example.org"})
    link = re.search(r'data-testid="one-time-link"|value="([^"]*/sign-in/[^"]+)"', page.text)
    assert link
    assert "eve@example.org" in page.text
    with transaction() as session:
        eve = session.scalars(select(Account).where(Account.email == "eve@example.org")).one()
    with another_browser() as other:
        sign_in(other, eve)
        assert is_in(other)
        assert other.get("/accounts").status_code == 404
        assert other.post(f"/accounts/{root.id}/disable").status_code == 404
        client.post(f"/accounts/{eve.id}/disable")
        assert not is_in(other)
        client.post(f"/accounts/{eve.id}/enable")
        client.post(f"/accounts/{eve.id}/admin")
        sign_in(other, eve)
        assert other.get("/accounts").status_code == 200
    assert client.post(f"/accounts/{root.id}/disable").status_code == 409
    assert client.post(f"/accounts/{eve.id}/emperor").status_code == 422
    assert client.post("/accounts", data={"email": "eve@example.org"}).status_code == 422
    log = client.get("/accounts").text
    assert "account.disabled" in log
    assert "account.role" in log


def test_invitations_go_by_mail_where_it_is_set_up(postbox: Kept, client: TestClient) -> None:
    an_admin(client)
    page = client.post("/accounts", data={"email": "eve@example.org"})
    assert "sent to eve@example.org" in page.text
    (message,) = postbox.messages
    assert message["To"] == "eve@example.org"
    assert "/sign-in/" in message.get_payload()


def test_mail_that_cannot_be_sent_is_said_so_and_nothing_is_made(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_admin(client)
    monkeypatch.setenv("LIKEWISE_SMTP_URL", f"smtp://127.0.0.1:{free_port()}")
    forget_settings()
    page = client.post("/accounts", data={"email": "eve@example.org"})
    assert page.status_code == 502
    assert "could not be sent" in page.text
    with transaction() as session:
        assert not session.scalars(select(Account).where(Account.email.like("eve%"))).all()


# --- one-time links --------------------------------------------------------------------------


def test_a_link_signs_in_once(client: TestClient) -> None:
    account = an_account()
    with transaction() as session:
        link = create_sign_in_link(session, account, "")
    assert client.post(link, follow_redirects=False).status_code == 303
    client.cookies.clear()
    assert client.post(link, follow_redirects=False).status_code == 403
