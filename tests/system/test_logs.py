"""No log of the running system holds a secret, or tells who somebody is; lines are JSON."""

import json
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import text

from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from testbed.builders import (
    a_campaign,
    a_collection,
    a_recruitment,
    an_account,
    an_api_token,
)
from testbed.system import System, wait_until
from tests.system.test_loop import a_crowd

WORKER, PARTICIPANT = "A2SECRETWORKERID", "60aca280709ee40ec37d4885"
PASSWORD, BAD_TOKEN = "correct-horse-battery", "lw_doesnotexist0123456789abcdef"
COOKIE = "likewise_session=cookie-that-nobody-may-see"
BAD_LINK = "one-time-link-that-is-not-good"


@pytest.fixture(autouse=True)
def as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_LOG_FORMAT", "json")


def lines(system: System, name: str) -> list[dict[str, Any]]:
    entries = [json.loads(line) for line in system.log(name).splitlines()]
    for line in entries:
        assert {"time", "level", "logger", "process", "message"} <= set(line), line
        # The web server's own second process writes to the same terminal.
        assert line["process"].removesuffix("-heavy") == name
        assert line["time"].endswith("+00:00"), line
    return entries


def test_no_log_holds_a_secret(own_system: System) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner, a_collection(owner), kind="bins", strategy="crowdster", grid_size=6, budget=6
    )
    recruitment = a_recruitment(owner, campaign)
    token = an_api_token(owner)
    with transaction() as session:
        link = create_sign_in_link(session, owner, "")
    secrets = {WORKER, PARTICIPANT, PASSWORD, BAD_TOKEN, COOKIE, BAD_LINK, token}
    secrets |= {
        link.rpartition("/")[2],
        recruitment.link_token,
        "test-secret-of-many-letters-0123456789",
    }
    with httpx.Client(base_url=own_system.base_url, timeout=60) as http:
        replies = drive(http, link, recruitment.link_token, token)
    assert [reply.status_code for reply in replies if reply.status_code >= 500] == [500]
    secrets |= {value for reply in replies for value in reply.cookies.values()}
    run = a_crowd(own_system, campaign, annotators=2, by="features")
    run.play()
    wait_until("a training", lambda: "attempt 1" in own_system.log("worker"))
    logs = {name: lines(own_system, name) for name in ("web", "worker", "dispatcher")}
    for name in logs:
        assert logs[name], name
        for secret in secrets:
            assert secret not in own_system.log(name), (name, secret)
    requests = [entry for entry in logs["web"] if entry["logger"] == "likewise.requests"]
    by_id = {entry["request_id"]: entry for entry in requests}
    for reply in replies:
        line = by_id[reply.headers["x-request-id"]]
        assert line["status"] == reply.status_code
        assert line["milliseconds"] >= 0
    routes = {entry["route"] for entry in requests}
    assert {"/a/{channel}/{link}", "/sign-in/{token}", "/api/v1/campaigns"} <= routes
    assert not [entry for entry in requests if "?" in entry["message"]]
    # The error says which request it was, and where it happened.
    [error] = [entry for entry in logs["web"] if entry["logger"] == "app.core.problems"]
    assert error["request_id"] == replies[-1].headers["x-request-id"]
    assert "Traceback" in error["error"]


def drive(http: httpx.Client, link: str, entry: str, token: str) -> list[httpx.Response]:
    """Requests that carry secrets; the last of them meets an error of the server's."""
    ids = f"workerId={WORKER}&assignmentId=3SECRETASSIGNMENT&hitId=3SECRETHIT"
    mturk = {
        "link": entry,
        "assignment_id": "3SECRETASSIGNMENT",
        "hit_id": "HIT1",
        "worker_id": WORKER,
        "turk_submit_to": "https://workersandbox.mturk.com",
        "annotator_key": "annotator-000001",
    }
    bearer = {"Authorization": f"Bearer {token}"}
    replies = [
        http.post("/sign-in", data={"email": "ada@example.org", "password": PASSWORD}),
        http.post(f"/sign-in/{BAD_LINK}"),
        http.get("/sign-in", headers={"Cookie": COOKIE}),
        http.get("/api/v1/campaigns", headers={"Authorization": f"Bearer {BAD_TOKEN}"}),
        http.post("/api/v1/annotate/leases", headers={"Authorization": f"Bearer {BAD_TOKEN}"}),
        http.get(f"/a/mturk/{entry}?{ids}"),
        http.get(f"/a/prolific/{entry}?PROLIFIC_PID={PARTICIPANT}&STUDY_ID=s&SESSION_ID=t"),
        http.post("/api/v1/annotate/sessions/mturk", json=mturk),
        http.post(link),
        http.get("/api/v1/campaigns", headers=bearer),
    ]
    with transaction() as session:
        session.execute(text("ALTER TABLE api_token RENAME TO gone"))
    replies.append(http.get(f"/api/v1/campaigns?{ids}", headers={**bearer, "Cookie": COOKIE}))
    with transaction() as session:
        session.execute(text("ALTER TABLE gone RENAME TO api_token"))
    return replies


def test_a_request_may_bring_a_short_safe_id(web: System) -> None:
    def answered(given: str) -> str:
        reply = httpx.get(f"{web.base_url}/healthz", headers={"X-Request-ID": given}, timeout=60)
        return str(reply.headers["x-request-id"])

    assert answered("from-the-proxy_17") == "from-the-proxy_17"
    for unsafe in ("short", "with blanks in it", "x" * 65, '"quoted-id"'):
        assert answered(unsafe) != unsafe
        assert len(answered(unsafe)) == 32


def test_the_server_writes_no_addresses_of_people_or_pages(web: System) -> None:
    """uvicorn's own lines would have both."""
    assert httpx.get(f"{web.base_url}/healthz?who=somebody", timeout=60).is_success
    address = urlsplit(web.base_url)
    with socket.create_connection((str(address.hostname), int(address.port or 0))) as connection:
        connection.sendall(b"NO HTTP\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    wait_until("uvicorn's word", lambda: "Invalid HTTP request" in web.log("web"))
    log = web.log("web")
    assert "GET /" not in log.replace("GET /healthz 200", "")
    assert "uvicorn.access" not in log
