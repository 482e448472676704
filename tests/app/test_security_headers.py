"""Headers of every route: policies with nonces, no sniffing, no caches, no strange hosts."""

import re

import psycopg
import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import select

from app.collections.media import image_url
from app.collections.models import Image
from app.core.database import transaction
from testbed.builders import a_campaign, an_account, sign_in
from tests.conftest import forget_settings
from tests.support.accounts import an_admin

ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
JSON = ("application/json", "application/problem+json", "application/jsonl")
MTURK = "https://worker.mturk.com https://www.mturk.com https://workersandbox.mturk.com"
NIL = "00000000-0000-0000-0000-000000000000"
NONCE = re.compile(r"'nonce-([\w-]{43})'")
SCRIPT = re.compile(r"<script\b[^>]*>")


def directives(reply: Response) -> dict[str, str]:
    parts = reply.headers["content-security-policy"].split(";")
    return {name: rest for name, _, rest in (part.strip().partition(" ") for part in parts)}


def is_page(reply: Response) -> bool:
    return bool(reply.headers.get("content-type", "").startswith("text/html"))


def check_cache(reply: Response) -> None:
    """Only files of the build and images under a signed, dated address are kept by others."""
    address, kept = str(reply.request.url), reply.headers.get("cache-control", "")
    if "/static/" in address:
        return
    if "/media/" in address and reply.status_code == 200:
        assert "s-maxage=86400" in kept, address
        assert "s=" in address, address
        return
    assert re.search("no-store|private", kept), address


def check(reply: Response) -> None:
    """What holds for every reply, whoever asks for what."""
    address = str(reply.request.url)
    for name, value in ALWAYS.items():
        assert reply.headers[name] == value, address
    assert "camera=()" in reply.headers["permissions-policy"], address
    assert reply.headers["cross-origin-resource-policy"] in ("same-origin", "cross-origin")
    policy = directives(reply)
    assert policy["object-src"] == policy["base-uri"] == "'none'", address
    assert policy["frame-ancestors"] == framers(reply), address
    assert "unsafe" not in reply.headers["content-security-policy"], address
    check_cache(reply)
    if is_page(reply):
        check_page(reply)
    else:
        assert policy["default-src"] in ("'none'", "'self'"), address
        # But scripts, which workers are made of, for what is opened by itself.
        assert ("sandbox" in policy) is (policy["default-src"] == "'none'"), address
        assert policy["default-src"] == "'none'" or "javascript" in reply.headers["content-type"]
    check_type(reply)


def framers(reply: Response) -> str:
    """Who may show the reply in a frame: MTurk its people's page, this site its previews."""
    path = reply.request.url.path
    if not is_page(reply):
        return "'none'"
    if path.startswith("/a/mturk/") and reply.status_code != 405:
        return MTURK
    own = path.startswith("/campaigns/") and path.endswith("/preview")
    return "'self'" if own else "'none'"


def check_type(reply: Response) -> None:
    """Whatever has content says of what type, and text of what encoding."""
    kind = reply.headers.get("content-type", "")
    assert kind or not reply.content, reply.request.url
    if kind.startswith(("text/", "image/svg")):
        assert kind.startswith("image/svg") or "charset=utf-8" in kind.lower(), reply.request.url
    elif reply.content[:1] in (b"{", b"["):
        assert kind in JSON, reply.request.url


def check_page(reply: Response) -> None:
    policy = directives(reply)
    match = NONCE.search(policy["script-src"])
    assert match, policy
    assert policy["report-uri"] == "/csp-reports"
    for tag in SCRIPT.findall(reply.text):
        assert "application/json" in tag or f'nonce="{match.group(1)}"' in tag, tag
    assert not re.search(r"<[^>]+\s(style|on\w+)=", reply.text), reply.request.url
    assert "<style" not in reply.text


@pytest.fixture
def addresses(client: TestClient) -> list[str]:
    """One of every route with GET, with ids of a campaign and nonsense for the rest."""
    root = an_admin(client)
    campaign = a_campaign(root)
    with transaction() as session:
        picture = session.scalars(select(Image).limit(1)).one()
    known = {"campaign_id": campaign.id, "collection_id": campaign.collection_id}
    paths = [*client.get("/api/v1/openapi.json").json()["paths"], *PAGES]
    filled_paths = [
        re.sub(r"{(\w+)}", lambda match: str(known.get(match.group(1), NIL)), path)
        for path in paths
        # Events go on for as long as somebody listens.
        if not path.endswith("/events")
    ]
    return [*filled_paths, image_url(picture), "/static/favicon.svg", "/nowhere", "/api/v1/nowhere"]


PAGES = (
    "/", "/sign-in", "/sign-in/code", "/sign-in/nothing", "/account", "/account/confirm",
    "/account/platforms", "/account/webhooks", "/accounts", "/collections/new", "/campaigns/new",
    "/collections/{collection_id}", "/collections/{collection_id}/delete",
    "/campaigns/{campaign_id}", "/campaigns/{campaign_id}/annotation",
    "/campaigns/{campaign_id}/preview", "/campaigns/{campaign_id}/recruit",
    "/campaigns/{campaign_id}/exports", "/docs/api", "/a/nothing", "/a/mturk/nothing",
    "/a/prolific/nothing", "/archives/import", "/healthz", "/readyz", "/metrics",
)  # fmt: skip


def test_every_route_has_the_headers_signed_in_or_not(
    client: TestClient, addresses: list[str]
) -> None:
    browser = {"accept": "text/html"}
    statuses = set()
    for address in addresses:
        replies = [client.get(address, headers=browser, follow_redirects=False)]
        replies.append(client.post(address, headers=browser, follow_redirects=False))
        for reply in replies:
            check(reply)
            statuses.add(reply.status_code)
    client.cookies.clear()
    for address in addresses:
        check(client.get(address, headers=browser, follow_redirects=False))
    assert {200, 303, 404, 405, 422} <= statuses


def test_nonces_are_new_each_time(client: TestClient) -> None:
    pages = [client.get("/sign-in") for _ in range(2)]
    nonces = [NONCE.findall(page.headers["content-security-policy"]) for page in pages]
    assert nonces[0] != nonces[1]


def test_an_error_of_ours_has_the_headers_too(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is answered outside of all middleware."""
    monkeypatch.setenv("DATABASE_URL", "postgresql+psycopg://127.0.0.1:1/none?bogus=1")
    forget_settings()
    with TestClient(client.app, raise_server_exceptions=False) as quiet:
        quiet.cookies.set("likewise", "x")
        reply = quiet.get("/account", headers={"accept": "text/html"})
    assert reply.status_code in (500, 503)
    check(reply)


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_an_error_of_ours_tells_nothing_of_itself(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, accept: str
) -> None:
    def fail(*_: object) -> None:
        raise psycopg.ProgrammingError("SELECT gold FROM cellar")

    sign_in(client, an_account())
    monkeypatch.setattr("app.accounts.sessions.list_sessions", fail)
    with TestClient(client.app, raise_server_exceptions=False) as quiet:
        quiet.cookies.update(client.cookies)
        reply = quiet.get("/account", headers={"accept": accept})
    assert reply.status_code == 500
    check(reply)
    sent = f"{reply.text}{reply.headers}"
    for word in ("gold", "cellar", "Traceback", "psycopg", "ProgrammingError", "list_sessions"):
        assert word not in sent
    assert "Something went wrong on the server" in reply.text
    assert re.fullmatch(r"[0-9a-f]{32}", reply.headers["x-request-id"])


def test_frames_without_an_origin_may_fetch_what_annotators_need_and_others_nothing(
    client: TestClient,
) -> None:
    def asked(method: str, origin: str, path: str) -> Response:
        headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        return client.request(method, path, headers=headers)

    leases = "/api/v1/annotate/leases"
    for method in ("OPTIONS", "GET"):
        for origin in ("https://evil.example", "http://testserver", "https://null"):
            assert "access-control-allow-origin" not in asked(method, origin, leases).headers
        reply = asked(method, "null", leases)
        assert reply.headers["access-control-allow-origin"] == "null"
        assert "access-control-allow-credentials" not in reply.headers
        for path in ("/api/v1/campaigns", "/account", "/"):
            assert "access-control-allow-origin" not in asked(method, "null", path).headers


def test_hsts_comes_with_https_alone(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "strict-transport-security" not in client.get("/sign-in").headers
    monkeypatch.setenv("LIKEWISE_BASE_URL", "https://testserver")
    forget_settings()
    for path in ("/sign-in", "/nowhere", "/static/favicon.svg", "/api/v1/campaigns"):
        header = client.get(path).headers["strict-transport-security"]
        assert header == "max-age=31536000; includeSubDomains", path


def test_reports_go_by_both_ways_over_https_and_by_the_old_one_without(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Browsers that find `report-to` do not look at `report-uri`, and http has no endpoints."""
    page = client.get("/sign-in")
    assert "report-to" not in directives(page)
    assert "reporting-endpoints" not in page.headers
    monkeypatch.setenv("LIKEWISE_BASE_URL", "https://testserver")
    forget_settings()
    page = client.get("/sign-in")
    assert directives(page)["report-to"] == "csp"
    assert directives(page)["report-uri"] == "/csp-reports"
    assert page.headers["reporting-endpoints"] == 'csp="/csp-reports"'


def test_hosts_that_are_none_of_ours_are_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = {"host": "evil.example"}
    refused = client.get("/sign-in", headers=strange)
    assert (refused.status_code, refused.json()["code"]) == (400, "unknown_host")
    check(refused)
    for host in ("testserver", "testserver:8000", "TESTSERVER", "localhost:1", "[::1]:8000"):
        assert client.get("/sign-in", headers={"host": host}).status_code == 200, host
    for host in ("testserver.evil.example", "evil.example:80@testserver", ""):
        assert client.get("/sign-in", headers={"host": host}).status_code == 400, host
    assert client.get("/healthz", headers=strange).status_code == 200
    monkeypatch.setenv("LIKEWISE_ALLOWED_HOSTS", "other.example, evil.example")
    forget_settings()
    assert client.get("/sign-in", headers=strange).status_code == 200


def test_nobody_is_sent_elsewhere_by_an_address(client: TestClient) -> None:
    account = an_account()
    a_campaign(account)
    for path in ("/", "/account", "/campaigns", "/sign-in", "//evil.example/", "/account/"):
        for name in ("next", "url", "redirect", "return_to"):
            reply = client.get(
                f"{path}?{name}=https://evil.example/",
                headers={"accept": "text/html"},
                follow_redirects=False,
            )
            assert "evil" not in reply.headers.get("location", "").partition("?")[0], path


def test_what_is_sent_is_not_echoed_and_nothing_is_listed(client: TestClient) -> None:
    for path in ("/", "/sign-in", "/api/v1/campaigns"):
        assert client.request("TRACE", path).status_code == 405
    for path in ("", "build/", "../core/settings.py", "%2e%2e/main.py", "..%2fmain.py"):
        assert client.get(f"/static/{path}").status_code == 404
