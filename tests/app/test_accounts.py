"""Passwords, one-time links, API tokens, admins, and who sees whose things."""

import re
import uuid
from collections.abc import Iterator
from email.message import Message
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as Handler
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import select

from app.accounts.models import Account, ApiToken, AuditEvent
from app.accounts.service import create_sign_in_link
from app.campaigns.pages import SECTIONS
from app.collections.models import CollectionImport, Image
from app.core.database import transaction
from app.core.settings import get_settings
from likewise.embedded import free_port
from testbed.builders import (
    a_campaign,
    a_delivery,
    a_payment,
    a_personal_link,
    a_recruitment,
    a_submission,
    a_webhook,
    an_account,
    an_api_token,
    sign_in,
)
from tests.app.test_annotation import a_lease, a_session, submit
from tests.conftest import forget_settings
from tests.support.requests_of_routes import body_of, query_of

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def no_attempts_so_far(environment: dict[str, str]) -> None:
    """Attempts are counted in Valkey, which outlives a test."""
    Redis.from_url(get_settings().redis_url).flushdb()


def with_password(client: TestClient, email: str = "ada@example.org") -> Account:
    """An account that came by link, chose a password and signed out."""
    account = an_account(email)
    sign_in(client, account)
    assert client.post("/account/password", data={"new": PASSWORD}).status_code == 200
    client.post("/sign-out")
    return account


def enter(client: TestClient, password: str, email: str = "ada@example.org") -> Any:
    form = {"email": email, "password": password}
    return client.post("/sign-in", data=form, follow_redirects=False)


def another_browser() -> TestClient:
    from app.main import app

    return TestClient(app)


def is_in(client: TestClient) -> bool:
    return client.get("/api/v1/campaigns").status_code == 200


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


def a_token(client: TestClient, scope: str, days: str = "") -> dict[str, str]:
    page = client.post("/account/tokens", data={"name": "robot", "scope": scope, "days": days})
    match = re.search(r'value="(lw_[^"]+)"', page.text)
    assert match, page.text
    return {"Authorization": f"Bearer {match.group(1)}"}


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


def an_admin(client: TestClient) -> Account:
    with transaction() as session:
        account = Account(email="root@example.org", role="admin")
        session.add(account)
    sign_in(client, account)
    return account


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


class Kept(Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []

    def handle_message(self, message: Message) -> None:
        self.messages.append(message)


@pytest.fixture
def postbox(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    """A mail server that keeps what it gets."""
    kept = Kept()
    server = Controller(kept, hostname="127.0.0.1", port=free_port())
    server.start()
    monkeypatch.setenv("LIKEWISE_SMTP_URL", f"smtp://127.0.0.1:{server.port}")
    forget_settings()
    yield kept
    server.stop()


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


# --- whose things ----------------------------------------------------------------------------


def test_a_shared_campaign_is_looked_at_or_worked_on(client: TestClient) -> None:
    owner, friend = an_account(), an_account("friend@example.org")
    campaign = a_campaign(owner)
    address = f"/api/v1/campaigns/{campaign.id}"
    with another_browser() as other:
        sign_in(client, owner)
        sign_in(other, friend)
        assert other.get(address).status_code == 404
        body = {"email": "friend@example.org", "access": "view"}
        assert client.put(f"{address}/shares", json=body).status_code == 204
        assert other.get(address).status_code == 200
        assert other.get(f"/campaigns/{campaign.id}").status_code == 200
        assert other.get(f"{address}/annotators").status_code == 200
        assert [item["id"] for item in other.get("/api/v1/campaigns").json()["items"]] == [
            str(campaign.id)
        ]
        for refused in (
            other.post(f"{address}/actions/pause"),
            other.patch(f"{address}/annotation", json={"thanks": "x"}),
            other.post(f"{address}/focus", json={"attribute": None}),
            other.post(f"{address}/annotators/0/actions/stop"),
            other.put(f"{address}/shares", json=body),
        ):
            assert (refused.status_code, refused.json()["code"]) == (403, "may_not_change")
        client.put(f"{address}/shares", json={**body, "access": "edit"})
        assert other.post(f"{address}/actions/pause").status_code == 200
        assert other.patch(f"{address}/annotation", json={"thanks": "x"}).status_code == 200
        assert other.delete(f"{address}/shares/{friend.id}").status_code == 403
        assert client.delete(f"{address}/shares/{friend.id}").status_code == 204
        assert other.get(address).status_code == 404
    missing = client.put(f"{address}/shares", json={**body, "email": "who@example.org"})
    assert missing.status_code == 404
    own = client.put(f"{address}/shares", json={**body, "email": "ada@example.org"})
    assert own.json()["code"] == "already_yours"


@pytest.mark.parametrize("by", ["cookie", "write", "read"])
def test_nothing_of_anothers_is_reached_by_any_route(client: TestClient, by: str) -> None:
    """All routes of the OpenAPI document, with the ids of somebody else's things: signed in, or by
    a token that may read and write, or only read."""
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign)
    submit(client, who, a_lease(client, who))
    webhook = a_webhook(owner)
    recruitment = a_recruitment(owner, campaign)
    submission = a_submission(recruitment)
    link, invitation = a_personal_link(owner, campaign)
    stranger = an_account("stranger@example.org")
    if by == "cookie":
        sign_in(client, stranger)
    else:
        client.headers["Authorization"] = f"Bearer {an_api_token(stranger, by)}"
    with transaction() as session:
        begun = CollectionImport(collection_id=campaign.collection_id, kind="prefix", source="s3:")
        session.add(begun)
        sha256 = session.scalar(select(Image.sha256).limit(1))
    values = {
        "campaign_id": campaign.id,
        "collection_id": campaign.collection_id,
        "version": 1,
        "position": 0,
        "account_id": owner.id,
        "decision": "stop",
        "action": "pause",
        "file": "answers.csv",
        "clustering_id": uuid.uuid4(),
        "answer_id": uuid.uuid4(),
        "webhook_id": webhook.id,
        "delivery_id": a_delivery(webhook),
        "level": 0,
        "column": 0,
        "row": 0,
        "size": "small",
        "sha256": sha256,
        "import_id": begun.id,
        "channel_account_id": recruitment.channel_account_id,
        "recruitment_id": recruitment.id,
        "submission_id": submission.id,
        "payment_id": a_payment(recruitment, submission).id,
        "link_id": link.id,
        "invitation_id": invitation.id,
        "assignment_id": uuid.uuid4(),
    }
    walked = 0
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    for path, methods in paths.items():
        if "{" not in path or path.startswith("/api/v1/annotate"):
            continue
        decision = "release" if "/payments/" in path else values["decision"]
        address = path.format(**{**values, "decision": decision})
        address += query_of(path)
        for method in methods:
            options = body_of(path, values)
            reply = client.request(method.upper(), address, **options)
            expected = 403 if by == "read" and method != "get" else 404
            assert reply.status_code == expected, (
                method,
                path,
                reply.status_code,
                reply.text[:200],
            )
            assert "Campaign" not in reply.text.replace("campaign", "")
            walked += 1
    assert walked >= 33
    own = {
        "/api/v1/campaigns", "/api/v1/collections", "/api/v1/webhooks", "/api/v1/channel-accounts",
    }  # fmt: skip
    for path in own:
        assert client.get(path).json()["items"] == []
    if by != "cookie":
        return
    assert walked >= 38
    for page in (f"/campaigns/{campaign.id}", f"/campaigns/{campaign.id}/annotation",
                 f"/campaigns/{campaign.id}/edit", f"/campaigns/{campaign.id}/preview",
                 *(f"/campaigns/{campaign.id}/{name}" for name in SECTIONS),
                 f"/collections/{campaign.collection_id}",
                 f"/collections/{campaign.collection_id}/delete"):  # fmt: skip
        assert client.get(page).status_code == 404
    for action in ("ping", "disable", "secret", "delete", f"deliveries/{values['delivery_id']}"):
        assert client.post(f"/account/webhooks/{webhook.id}/{action}").status_code == 404
    assert "example.org/hook" not in client.get("/account/webhooks").text
    form = {"url": "https://example.org/x", "events": "job.failed", "campaign": str(campaign.id)}
    assert client.post("/account/webhooks", data=form).status_code == 404


def test_an_annotators_token_opens_nothing_of_others(client: TestClient) -> None:
    first, second = a_campaign(), a_campaign(an_account("two@example.org"))
    intruder, holder = a_session(client, first), a_session(client, second, "annotator-000002")
    lease = a_lease(client, holder)
    for reply in (
        submit(client, intruder, lease),
        client.get(f"/api/v1/annotate/leases/{lease['id']}/images/small", headers=intruder),
        client.post(f"/api/v1/annotate/leases/{lease['id']}/return", headers=intruder),
        client.get(f"/api/v1/annotate/leases/{uuid.uuid4()}/images/small", headers=intruder),
    ):
        assert reply.status_code == 404
    assert client.get("/api/v1/campaigns", headers=intruder).status_code == 401


def test_a_link_signs_in_once(client: TestClient) -> None:
    account = an_account()
    with transaction() as session:
        link = create_sign_in_link(session, account, "")
    assert client.post(link, follow_redirects=False).status_code == 303
    client.cookies.clear()
    assert client.post(link, follow_redirects=False).status_code == 403
