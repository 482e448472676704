"""The web server's second process, which answers what would keep annotators waiting."""

import io
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.bodies import StrictRoute
from app.core.heavy import AT_ONCE, is_heavy
from app.core.priority import LOWEST
from app.core.settings import Settings
from app.main import app
from testbed.builders import (
    a_campaign,
    a_collection,
    a_png,
    an_account,
    an_api_token,
    sign_in,
)
from testbed.system import System, wait_until

OF_ANNOTATORS = ("/a/", "/api/v1/annotate")
HEAVY_NICENESS = 10


@pytest.fixture(scope="module")
def web_settings() -> dict[str, str]:
    return {"LIKEWISE_HEAVY_NICENESS": str(HEAVY_NICENESS)}


def routes() -> Iterator[APIRoute]:
    for context in iter_route_contexts(app.routes):
        if isinstance(context.original_route, APIRoute):
            yield context.original_route


def heavy_process(web: System) -> psutil.Process | None:
    children = psutil.Process(web.processes["web"].pid).children()
    return next((child for child in children if "likewise.heavy_server" in child.cmdline()), None)


def an_annotator(http: httpx.Client, campaign: Campaign) -> dict[str, str]:
    link = annotator_link(campaign, "").removeprefix("/a/")
    sent = {"link": link, "annotator_key": "annotator-000001"}
    token = http.post("/api/v1/annotate/sessions", json=sent).json()["token"]
    return {"Authorization": f"Bearer {token}"}


def at_work(
    web: System, http: httpx.Client
) -> tuple[Campaign, dict[str, str], str, psutil.Process]:
    """A signed-in requester's campaign, an annotator's headers, the path of an export, and the
    process that answered it."""
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(http, owner)
    annotator = an_annotator(http, campaign)
    path = f"/api/v1/campaigns/{campaign.id}/export/answers.csv"
    assert http.get(path).status_code == 200
    process = heavy_process(web)
    assert process is not None
    return campaign, annotator, path, process


@pytest.fixture
def http(web: System) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=web.base_url, timeout=60) as client:
        yield client


def test_every_heavy_route_hands_its_requests_over_and_none_is_an_annotators() -> None:
    heavy = [route for route in routes() if is_heavy(route.endpoint)]
    assert len(heavy) > 30
    assert [route.path for route in heavy if not isinstance(route, StrictRoute)] == []
    assert [route.path for route in heavy if route.path.startswith(OF_ANNOTATORS)] == []


def test_it_gives_way_to_the_web_server_in_a_session_of_its_own(
    web: System, http: httpx.Client
) -> None:
    """Niceness counts within a session only, where Linux groups processes by sessions."""
    *_, process = at_work(web, http)
    server = web.processes["web"].pid
    assert os.getsid(process.pid) == process.pid != os.getsid(server)
    lower = min(LOWEST, psutil.Process(server).nice() + HEAVY_NICENESS)
    wait_until("it to give way", lambda: process.nice() == lower)
    group = Path(f"/proc/{process.pid}/autogroup")
    if group.exists():
        wait_until("its session, too", lambda: group.read_text().endswith(f"nice {lower}\n"))
    usual = Settings.model_fields
    assert 0 < usual["heavy_niceness"].default < usual["training_niceness"].default


def test_a_reply_comes_whole_with_the_headers_of_all_replies(
    web: System, http: httpx.Client
) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(http, owner)
    export = http.get(f"/api/v1/campaigns/{campaign.id}/export/answers.csv")
    assert export.status_code == 200
    assert "attachment" in export.headers["content-disposition"]
    assert export.text.startswith("answer")
    images = {"files": ("a.png", io.BytesIO(a_png(7)))}
    page = http.post(
        "/collections", data={"name": "Made elsewhere"}, files=images, follow_redirects=True
    )
    assert page.status_code == 200
    assert "Made elsewhere" in page.text
    refused = http.post(
        "/collections", data={"name": ""}, files=images, headers={"X-Request-ID": "request-0001"}
    )
    assert refused.headers.get_list("x-request-id") == ["request-0001"]
    assert len(refused.headers.get_list("content-security-policy")) == 1
    assert len(refused.headers.get_list("date")) == 1
    policy = refused.headers["content-security-policy"]
    nonces = set(re.findall(r'nonce="([^"]+)"', refused.text))
    assert all(f"'nonce-{nonce}'" in policy for nonce in nonces)
    assert heavy_process(web) is not None


def test_a_token_that_does_not_fit_and_a_stranger_are_refused_as_everywhere(
    web: System, http: httpx.Client
) -> None:
    owner = an_account()
    path = f"/api/v1/collections/{a_collection(owner, n=1).id}/files"
    files = {"files": ("a.png", io.BytesIO(a_png(7)))}
    assert http.post(path, files=files).status_code == 401
    reader = {"Authorization": f"Bearer {an_api_token(owner, 'read')}"}
    assert http.post(path, files=files, headers=reader).status_code == 403
    writer = {"Authorization": f"Bearer {an_api_token(owner)}"}
    assert http.post(path, files=files, headers=writer).status_code == 200


def test_a_killed_one_is_started_again_while_annotators_are_served(
    web: System, http: httpx.Client
) -> None:
    _, annotator, path, first = at_work(web, http)
    first.kill()
    # Who asks meanwhile waits for the next one, or is told to come again.
    during = http.get(path)
    assert during.status_code in (200, 503)
    assert during.status_code == 200 or during.headers["retry-after"] == "5"
    assert http.post("/api/v1/annotate/leases", headers=annotator).status_code == 200
    wait_until("its successor", lambda: http.get(path).status_code == 200, 30)
    second = heavy_process(web)
    assert second is not None
    assert second.pid != first.pid


def test_one_that_hangs_keeps_only_heavy_requests_waiting(web: System, http: httpx.Client) -> None:
    campaign, annotator, path, process = at_work(web, http)
    process.suspend()
    try:
        for _ in range(AT_ONCE + 1):
            with pytest.raises(httpx.ReadTimeout):
                http.get(path, timeout=0.3)
        assert http.get(f"/campaigns/{campaign.id}").status_code == 200
        assert http.post("/api/v1/annotate/leases", headers=annotator).status_code == 200
    finally:
        process.resume()
    # It begins with what it was asked for before, and finds that nobody waits for that.
    wait_until("its next reply", lambda: http.get(path).status_code == 200, 60)


def test_the_web_server_ends_while_progress_is_followed(web: System, http: httpx.Client) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(http, owner)
    with http.stream("GET", f"/api/v1/campaigns/{campaign.id}/events") as reply:
        assert next(reply.iter_lines())
        process = web.processes.pop("web")
        process.terminate()
        assert process.wait(60) is not None
    web.start("web")


def test_who_leaves_in_the_middle_of_an_upload_holds_nothing(
    web: System, http: httpx.Client
) -> None:
    owner = an_account()
    collection = a_collection(owner, n=1)
    token = an_api_token(owner)
    head = (
        f"POST /api/v1/collections/{collection.id}/files HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        "Content-Length: 3000000\r\n\r\n"
    )
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'
    for _ in range(12):
        with socket.create_connection(("127.0.0.1", web.port), timeout=20) as connection:
            connection.sendall(head.encode() + part + b"x" * 2_000_000)
            time.sleep(0.05)
    writer = {"Authorization": f"Bearer {token}"}
    files = {"files": ("a.png", io.BytesIO(a_png(7)))}

    def is_taken_in() -> bool:
        path = f"/api/v1/collections/{collection.id}/files"
        return http.post(path, files=files, headers=writer).status_code == 200

    wait_until("a place for an upload", is_taken_in, 30)


def test_it_ends_with_the_web_server_however_that_ends(web: System) -> None:
    process = wait_until("the process", lambda: heavy_process(web), 30)
    web.kill("web")
    wait_until("its end", lambda: not process.is_running(), 30)
    web.start("web")
