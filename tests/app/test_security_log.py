"""What matters for security is written down, and says nothing that is secret."""

import logging
import os
from typing import Any

import pytest
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import select
from typer.testing import CliRunner

from app.accounts.models import AuditEvent
from app.core.database import transaction
from app.core.settings import get_settings
from likewise import cli as command_line
from testbed.builders import sign_in
from tests.app.test_second_factor import fresh, give, set_up
from tests.support.accounts import PASSWORD, enter, with_password


@pytest.fixture(autouse=True)
def no_attempts_so_far(environment: dict[str, str]) -> None:
    Redis.from_url(get_settings().redis_url).flushdb()


def test_signing_in_is_written_down_whether_it_works_or_not(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with_password(client)
    with caplog.at_level(logging.WARNING):
        enter(client, "a wrong password")
        for _ in range(10):
            enter(client, "another wrong one")
    messages = [record.getMessage() for record in caplog.records]
    assert any("wrong password" in line for line in messages)
    assert any("too many attempts" in line for line in messages)
    assert "another wrong one" not in caplog.text
    assert "ada@example.org" not in caplog.text
    Redis.from_url(get_settings().redis_url).flushdb()
    enter(client, PASSWORD)
    with transaction() as session:
        query = select(AuditEvent.action, AuditEvent.details).order_by(AuditEvent.id)
        events = [(action, details.get("by")) for action, details in session.execute(query)]
    assert ("account.signed_in", "link") in events
    assert ("account.signed_in", "password") in events


def test_who_has_not_given_the_code_is_not_written_down_as_signed_in(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    account, totp, codes = set_up(client)
    seen = len(events())
    enter(client, PASSWORD)
    with caplog.at_level(logging.WARNING):
        give(client, "000000")
    give(client, fresh(account, totp))
    wrong = {"password": PASSWORD, "code": "111111"}
    assert client.post("/account/confirm", data=wrong).status_code == 403
    client.cookies.clear()
    sign_in(client, account)
    give(client, codes[0])
    assert events()[seen:] == [
        ("account.password_given", {"by": "password"}),
        ("account.code_refused", {"step": "sign_in"}),
        ("account.signed_in", {"by": "password", "factor": "totp"}),
        ("account.code_refused", {"step": "confirm"}),
        ("account.link_given", {"by": "link"}),
        ("account.signed_in", {"by": "link", "factor": "recovery"}),
    ]
    assert "code refused" in caplog.text
    assert "000000" not in caplog.text


def events() -> list[tuple[str, dict[str, Any]]]:
    """Of signing in and proving, in their order; the details of each."""
    with transaction() as session:
        query = select(AuditEvent.action, AuditEvent.details).order_by(AuditEvent.id)
        return [(action, details) for action, details in session.execute(query)]


def test_refusals_leave_a_line(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "likewise.requests"):
        client.get("/api/v1/campaigns", headers={"Authorization": "Bearer lw_nonsense-of-mine"})
        client.post("/sign-out", headers={"sec-fetch-site": "cross-site"})
        client.get("/sign-in", headers={"host": "evil.example"})
        client.post("/csp-reports", content="{", headers={"content-type": "text/plain"})
    statuses = [getattr(record, "status", None) for record in caplog.records]
    assert [status for status in statuses if status] == [401, 403, 400, 422]
    assert "nonsense" not in caplog.text


@pytest.mark.parametrize("command", ["serve", "worker", "dispatcher"])
@pytest.mark.parametrize(("given", "used"), [("", "json"), ("text", "text")])
def test_processes_of_a_server_write_json_unless_they_are_told(
    monkeypatch: pytest.MonkeyPatch, command: str, given: str, used: str
) -> None:
    """Lines for people have no times, and tell of no refused request."""
    formats: list[str] = []
    monkeypatch.setattr(
        command_line, "_become", lambda *_: formats.append(os.environ["LIKEWISE_LOG_FORMAT"])
    )
    monkeypatch.setenv("LIKEWISE_LOG_FORMAT", given)
    if not given:
        monkeypatch.delenv("LIKEWISE_LOG_FORMAT")
    done = CliRunner().invoke(command_line.cli, [command])
    assert done.exit_code == 0, done.output
    assert formats == [used]
