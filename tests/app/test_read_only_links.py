"""Read-only links: what they show, what they never show, and when they end."""

import json
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import func, select, text, update

from app.accounts.models import Account
from app.annotation.models import Remark
from app.campaigns.models import Campaign, ReadOnlyLink
from app.campaigns.read_only import cookie_of_visit, withdraw_link
from app.campaigns.read_only import visitor as visitor_of
from app.core.database import Base, transaction
from app.core.row_security import scope_to_account
from app.core.security import hash_token, sign
from app.core.settings import get_settings
from app.core.visits import ALLOWED, SECTIONS, Visit
from app.main import app
from app.recruitment.models import Payment
from app.results.live import progress_json
from testbed.builders import a_campaign, an_account, an_api_token, sign_in
from tests.app.test_foreign_ids import BOBS, Somebody, deeds, somebody
from tests.conftest import forget_settings
from tests.support.accounts import another_browser
from tests.support.hostile_world import fingerprint
from tests.support.requests_of_routes import body_of, query_of


@pytest.fixture(autouse=True)
def no_attempts_so_far(environment: dict[str, str]) -> None:
    """Attempts are counted in Valkey, which outlives a test."""
    Redis.from_url(get_settings().redis_url).flushdb()


@pytest.fixture
def ada(client: TestClient) -> Somebody:
    with transaction() as session:
        session.add(Account(email="root@example.org", role="admin"))
    return somebody("ada", "root@example.org")


@pytest.fixture
def visitor() -> Iterator[TestClient]:
    with another_browser() as browser:
        yield browser


def a_link(client: TestClient, who: Somebody, days: int | None = None) -> dict[str, Any]:
    """A read-only link of a campaign, made by its owner."""
    sign_in(client, who.account)
    body = {"note": "Reviewer 2", "days": days}
    reply = client.post(f"/api/v1/campaigns/{who.campaign.id}/read-only-links", json=body)
    assert reply.status_code == 201, reply.text
    link: dict[str, Any] = reply.json()
    return link


def entered(visitor: TestClient, link: dict[str, Any]) -> str:
    """Open the link; return the prefix of all addresses of its view."""
    reply = visitor.get("/r/" + link["address"].rsplit("/", 1)[1], follow_redirects=False)
    assert reply.status_code == 303, reply.text
    return str(reply.headers["location"]).partition("/campaigns/")[0]


def routes() -> list[tuple[str, str]]:
    """Method and path of every route."""
    return [
        (method, str(route.path))
        for route in iter_route_contexts(app.routes)
        for method in sorted(route.methods or ())
    ]


def filled(path: str, ids: dict[str, Any]) -> str:
    values = {**ids, **deeds(path)}
    names = re.findall(r"{(\w+)", path)
    plain = re.sub(r"{(\w+):\w+}", r"{\1}", path)
    return plain.format(**{name: values.get(name, "x") for name in names}) + query_of(path)


def test_a_link_shows_the_results_and_its_token_is_not_stored(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    link = a_link(client, ada, 30)
    token = link["address"].rsplit("/", 1)[1]
    assert link["address"].startswith(f"{get_settings().base_url}/r/")
    with transaction() as session:
        of_token = select(ReadOnlyLink).where(ReadOnlyLink.token_hash == hash_token(token))
        stored = session.scalars(of_token).one()
        assert stored.last_used_at is None
        assert stored.expires_at is not None
        assert timedelta(days=29) < stored.expires_at - datetime.now(UTC) < timedelta(days=31)
        rows = session.scalars(text("SELECT t::text FROM read_only_link t")).all()
        events = session.scalars(text("SELECT t::text FROM audit_event t")).all()
    assert not any(token in row for row in [*rows, *events])
    root = entered(visitor, link)
    page = visitor.get(f"{root}/campaigns/{ada.campaign.id}")
    assert page.status_code == 200
    assert "Read-only view" in page.text
    for missing in ("Reviewer 2", ada.account.email, "annotators</a>", "Settings", "Sign out"):
        assert missing not in page.text
    listed = client.get(f"/api/v1/campaigns/{ada.campaign.id}/read-only-links").json()["items"]
    assert [(each["id"] == link["id"], "address" in each) for each in listed] == [
        (True, False),
        (False, False),
    ]
    assert listed[0]["last_used_at"] is not None


def test_every_link_of_a_page_leads_into_the_view(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    root = entered(visitor, a_link(client, ada))
    for section in ("", *(f"/{name}" for name in SECTIONS)):
        page = visitor.get(f"{root}/campaigns/{ada.campaign.id}{section}")
        if section == "/labels":
            assert page.status_code == 404  # its answers are groups
            continue
        assert page.status_code == 200
        hrefs = re.findall(r'<a [^>]*href="([^"]+)"', page.text)
        assert len(hrefs) > 5
        assert all(each.startswith((f"{root}/campaigns/", "#")) for each in hrefs), hrefs
        assert "<form" not in page.text


def test_no_route_but_the_allowed_ones_is_reached(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    """Every route there is, so that a new one is refused until somebody adds it to the list."""
    root = entered(visitor, a_link(client, ada))
    before, walked, opened, wrong = fingerprint(ada.campaign), 0, set(), []
    for method, path in routes():
        address = root + filled(path, ada.ids)
        if path.endswith("/events"):
            opened.add(path)  # it goes on for ever
            continue
        options = body_of(path, ada.ids) if method != "GET" and path.startswith("/api/") else {}
        reply = visitor.request(method, address, follow_redirects=False, **options)
        walked += 1
        if method != "GET" and reply.status_code not in (403, 405):
            wrong.append((method, path, reply.status_code))
        if method == "GET" and path in ALLOWED:
            opened.add(path)
            if reply.status_code in (401, 403):
                wrong.append((method, path, reply.status_code))
        elif method == "GET" and reply.status_code != 404:
            wrong.append((method, path, reply.status_code))
    assert wrong == []
    assert opened == ALLOWED, "names a route that does not exist"
    assert walked > 250
    assert fingerprint(ada.campaign) == before


def test_sections_about_people_and_settings_are_refused(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    root = entered(visitor, a_link(client, ada))
    closed = ("annotators", "recruit", "exports", "settings", "quality", "annotation", "preview",
              "edit", "map/", "MAP", "map%2f..%2fsettings")  # fmt: skip
    for section in closed:
        reply = visitor.get(f"{root}/campaigns/{ada.campaign.id}/{section}")
        assert reply.status_code == 404, section
    for path in ("/", "/account", "/campaigns", "/sign-in", "/docs", "//campaigns/x", ""):
        assert visitor.get(root + path).status_code == 404, path


def test_another_campaign_is_not_reached(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    """Not even one of the same owner, about the same images."""
    with transaction() as session:
        owner = session.get_one(Account, ada.account.id)
        collection_id = ada.campaign.collection_id
    from app.collections.models import Collection

    with transaction() as session:
        collection = session.get_one(Collection, collection_id)
    other = a_campaign(owner, collection)
    with transaction() as session:
        session.execute(update(Campaign).where(Campaign.id == other.id).values(name=BOBS))
    root = entered(visitor, a_link(client, ada))
    walked = 0
    for path in sorted(ALLOWED):
        reply = visitor.get(root + filled(path, {**ada.ids, "campaign_id": other.id}))
        assert (reply.status_code, BOBS in reply.text) == (404, False), path
        walked += 1
    assert walked > 30
    version = ada.ids["version"]
    compared = visitor.get(
        f"{root}/api/v1/campaigns/{ada.campaign.id}/models/{version}/comparison"
        f"?other_campaign={other.id}&other_version=1"
    )
    assert compared.status_code == 404


def test_it_shows_no_figures_about_single_people_and_no_money(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    root = entered(visitor, a_link(client, ada))
    address = f"/api/v1/campaigns/{ada.campaign.id}/progress"
    mine, theirs = client.get(address).json(), visitor.get(root + address).json()
    assert theirs["answers"] == mine["answers"]
    assert theirs["models"] == mine["models"] != []
    assert theirs["monitor"]["alerts"] == []
    assert theirs["monitor"]["spent_cents"] == theirs["monitor"]["projected_cents"] == 0


def test_the_map_is_not_coloured_by_what_one_person_did(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    root = entered(visitor, a_link(client, ada))
    own = f"/api/v1/campaigns/{ada.campaign.id}/map"
    annotators = client.get(f"{own}/columns").json()["annotators"]
    assert annotators
    shown = visitor.get(f"{root}{own}/columns").json()
    assert shown["annotators"] == []
    assert shown["attributes"]
    number = annotators[0]["annotator"]
    assert client.get(f"{own}/column?annotator={number}").status_code == 200
    refused = visitor.get(f"{root}{own}/column?annotator={number}")
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")


def test_no_allowed_reply_has_rows_about_annotators(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    root = entered(visitor, a_link(client, ada))
    read = []
    # Events go on for ever; they are the progress (test_progress_is_followed_live…).
    ended = {path for path in ALLOWED if path.startswith("/api/") and not path.endswith("/events")}
    for path in sorted(ended):
        reply = visitor.get(root + filled(path, ada.ids))
        if reply.headers["content-type"].startswith("application/json") and reply.is_success:
            read.append(path)
            assert "annotator" not in fields_of(reply.json()), path
    assert len(read) > 10


def fields_of(value: Any) -> set[str]:
    """The names of all fields of a JSON value, at any depth."""
    if isinstance(value, list):
        return set[str]().union(*map(fields_of, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*map(fields_of, value.values()))


def test_a_cookie_with_anything_in_it_is_none(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    root = entered(visitor, a_link(client, ada))
    address = f"{root}/api/v1/campaigns/{ada.campaign.id}/models/1/map"
    assert visitor.get(address).status_code == 200
    visitor.cookies.clear()
    crafted = {"cookie": 'likewise-view="a\\015\\012X: y\\073 likewise=z"'}
    assert visitor.get(address, headers=crafted).status_code == 403


def test_a_slow_visit_holds_up_no_withdrawal(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    link = a_link(client, ada)
    with transaction() as session:
        visit = Visit(
            UUID(link["id"]), "", cookie_of_visit(session.get_one(ReadOnlyLink, link["id"]))
        )
        visitor_of(session, visit)
        # The visit goes on while its owner ends it.
        with transaction() as other:
            other.execute(text("SET LOCAL lock_timeout = '2s'"))
            withdraw_link(other, ada.account, ada.campaign, UUID(link["id"]))
    with transaction() as session:
        ended = session.get_one(ReadOnlyLink, link["id"])
        assert (ended.withdrawn_at is None, ended.note) == (False, "")
        assert ended.last_used_at is not None


def test_the_database_shows_visitors_no_people(ada: Somebody, client: TestClient) -> None:
    """The second barrier: whatever a route forgets, rows of people stay invisible."""
    link = a_link(client, ada)
    tables = {table.name for table in Base.metadata.sorted_tables}
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Remark))
        assert session.scalar(select(func.count()).select_from(Payment))
        scope_to_account(session, UUID(link["id"]))
        visible = {
            name
            for name in tables - {"outbox", "discard"}
            if session.scalar(select(func.count()).select_from(text(f'"{name}"')))
        }
    results = {
        "campaign", "collection", "image", "feature_set", "feature_shard", "asked_image", "round",
        "grid", "annotator", "assignment", "answer", "job", "model", "feature_alignment",
        "embedding", "clustering", "read_only_link",
    }  # fmt: skip
    assert visible <= results
    assert visible >= results - {"job", "embedding", "clustering"}


def test_withdrawing_ends_it_at_once(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    link = a_link(client, ada)
    root = entered(visitor, link)
    address = f"{root}/api/v1/campaigns/{ada.campaign.id}/progress"
    assert visitor.get(address).status_code == 200
    path = f"/api/v1/campaigns/{ada.campaign.id}/read-only-links/{link['id']}"
    assert client.delete(path).status_code == 204
    refused = visitor.get(address)
    assert (refused.status_code, refused.json()["code"]) == (403, "read_only_link_not_valid")
    page = visitor.get(f"{root}/campaigns/{ada.campaign.id}", headers={"Accept": "text/html"})
    assert page.status_code == 403
    assert "ask the person who sent it" in page.text
    assert "sign-in" not in page.text
    token = link["address"].rsplit("/", 1)[1]
    assert visitor.get(f"/r/{token}").status_code == 403
    with transaction() as session:
        scope_to_account(session, UUID(link["id"]))
        assert session.scalar(select(func.count()).select_from(Campaign)) == 0


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE read_only_link SET expires_at = now() - interval '1 second'",
        "UPDATE account SET disabled_at = now() WHERE role = 'requester'",
        "UPDATE read_only_link SET token_hash = md5(id::text)",
    ],
)
def test_it_ends_with_its_date_and_its_owner(
    client: TestClient, visitor: TestClient, ada: Somebody, change: str
) -> None:
    link = a_link(client, ada, 7)
    address = f"{entered(visitor, link)}/api/v1/campaigns/{ada.campaign.id}/progress"
    assert visitor.get(address).status_code == 200
    with transaction() as session:
        session.execute(text(change))
    assert visitor.get(address).status_code == 403


def test_only_the_browser_that_opened_the_link_sees_anything(
    client: TestClient, visitor: TestClient, ada: Somebody
) -> None:
    link, other = a_link(client, ada), a_link(client, ada)
    root = entered(visitor, link)
    address = f"{root}/api/v1/campaigns/{ada.campaign.id}/progress"
    cookie = next(each for each in visitor.cookies.jar if each.path == root)
    assert (cookie.name, cookie.has_nonstandard_attr("HttpOnly")) == ("likewise-view", True)
    assert cookie.get_nonstandard_attr("SameSite") == "lax"
    with another_browser() as stranger:
        assert stranger.get(address).status_code == 403
        too_old = sign("read-only view", [link["id"], hash_token("x"), 0])
        elsewhere = f"/view/{other['id']}/api/v1/campaigns/{ada.campaign.id}/progress"
        for forged, where in ((cookie.value, elsewhere), (too_old, address), ("x", address)):
            headers = {"Cookie": f"likewise-view={forged}"}
            assert stranger.get(where, headers=headers).status_code == 403
        token = an_api_token(ada.account)
        headers = {"Authorization": f"Bearer {token}"}
        assert stranger.get(address, headers=headers).status_code == 403
    # The owner's own session opens nothing there, and the visit's cookie nothing elsewhere.
    assert client.get(address).status_code == 403
    headers = {"Cookie": f"likewise-view={cookie.value}"}
    with another_browser() as stranger:
        plain = address.removeprefix(root)
        assert stranger.get(plain, headers=headers).status_code == 401


def test_a_signed_in_requester_keeps_the_session(client: TestClient, ada: Somebody) -> None:
    link = a_link(client, ada)
    root = entered(client, link)
    page = client.get(f"{root}/campaigns/{ada.campaign.id}")
    assert "Read-only view" in page.text
    assert "Sign out" not in page.text
    refused = client.post(f"{root}/api/v1/campaigns/{ada.campaign.id}/actions/pause")
    assert (refused.status_code, refused.json()["code"]) == (403, "read_only")
    own = client.get(f"/campaigns/{ada.campaign.id}")
    assert own.status_code == 200
    assert "Read-only view" not in own.text


def test_headers_keep_it_private(client: TestClient, visitor: TestClient, ada: Somebody) -> None:
    link = a_link(client, ada)
    token = link["address"].rsplit("/", 1)[1]
    root = entered(visitor, link)
    for reply in (
        visitor.get(f"/r/{token}", follow_redirects=False),
        visitor.get("/r/wrong", follow_redirects=False),
        visitor.get(f"{root}/campaigns/{ada.campaign.id}"),
        visitor.get(f"{root}/api/v1/campaigns/{ada.campaign.id}/progress"),
        visitor.get(f"{root}/api/v1/campaigns/{ada.campaign.id}/annotators"),
        visitor.post(f"{root}/api/v1/campaigns/{ada.campaign.id}/actions/pause"),
    ):
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        assert reply.headers["X-Robots-Tag"] == "noindex, nofollow"
        assert reply.headers["Cache-Control"] == "no-store"
    assert "X-Robots-Tag" not in client.get("/healthz").headers


def test_the_token_is_in_no_log(
    client: TestClient, visitor: TestClient, ada: Somebody, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="likewise")
    link = a_link(client, ada)
    visitor.get(f"{entered(visitor, link)}/campaigns/{ada.campaign.id}")
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("likewise")]
    assert any("/r/{token}" in line for line in lines)
    assert any("GET /campaigns/{campaign_id} 200" in line for line in lines)
    assert not any(link["address"].rsplit("/", 1)[1] in line for line in lines)


def test_guessing_is_limited(client: TestClient, visitor: TestClient, ada: Somebody) -> None:
    link = a_link(client, ada)
    statuses = [visitor.get(f"/r/{k}").status_code for k in range(31)]
    assert statuses == [403] * 30 + [429]
    token = link["address"].rsplit("/", 1)[1]
    assert visitor.get(f"/r/{token}", follow_redirects=False).status_code == 429


def test_only_the_owner_has_links(client: TestClient, ada: Somebody) -> None:
    link = a_link(client, ada)
    friend = an_account("friend@example.org")
    path = f"/api/v1/campaigns/{ada.campaign.id}"
    share = {"email": "friend@example.org", "access": "edit"}
    assert client.put(f"{path}/shares", json=share).status_code == 204
    with another_browser() as other:
        sign_in(other, friend)
        for reply in (
            other.get(f"{path}/read-only-links"),
            other.post(f"{path}/read-only-links", json={"note": "x"}),
            other.delete(f"{path}/read-only-links/{link['id']}"),
        ):
            assert (reply.status_code, reply.json()["code"]) == (403, "may_not_change")
        assert "Reviewer 2" not in other.get(f"/campaigns/{ada.campaign.id}/settings").text


def test_the_form_shows_the_address_once_and_escapes_the_note(
    client: TestClient, ada: Somebody
) -> None:
    sign_in(client, ada.account)
    page, form = f"/campaigns/{ada.campaign.id}/read-only-links", {"days": "90"}
    note = '"><script>alert(1)</script>'
    reply = client.post(page, data={**form, "note": note})
    assert reply.status_code == 201
    assert "/r/" in reply.text
    assert "<script>alert" not in reply.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in reply.text
    settings = client.get(f"/campaigns/{ada.campaign.id}/settings").text
    assert "/r/" not in settings
    assert "&lt;script&gt;alert(1)" in settings
    assert "<script>alert" not in settings
    for wrong in ({"note": " "}, {"note": "x" * 201}, {"note": "x", "days": "8"}):
        refused = client.post(page, data={**form, **wrong})
        assert (refused.status_code, "alert-error" in refused.text) == (422, True)
    with transaction() as session:
        ids = session.scalars(select(ReadOnlyLink.id)).all()
    for link_id in ids:
        ended = client.post(f"{page}/{link_id}/withdraw", follow_redirects=False)
        assert ended.status_code == 303
    assert "Withdraw the link" not in client.get(f"/campaigns/{ada.campaign.id}/settings").text


def test_the_cookie_over_https_is_secure(
    client: TestClient, visitor: TestClient, ada: Somebody, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = a_link(client, ada)
    monkeypatch.setenv("LIKEWISE_BASE_URL", "https://testserver")
    forget_settings()
    token = link["address"].rsplit("/", 1)[1]
    reply = visitor.get(f"/r/{token}", follow_redirects=False)
    name, _, rest = reply.headers["set-cookie"].partition("=")
    assert name == "__Secure-likewise-view"
    flags = {part.strip().lower() for part in rest.split(";")[1:]}
    assert {"secure", "httponly", "samesite=lax", f"path=/view/{link['id']}"} <= flags
    assert not any(flag.startswith("domain") for flag in flags)


def test_progress_is_followed_live_until_the_link_is_withdrawn(
    client: TestClient, ada: Somebody
) -> None:
    link = a_link(client, ada)
    shown = json.loads(progress_json(ada.campaign.id, UUID(link["id"])) or "null")
    assert (
        shown["answers"]
        == client.get(f"/api/v1/campaigns/{ada.campaign.id}/progress").json()["answers"]
    )
    assert shown["monitor"]["alerts"] == []
    path = f"/api/v1/campaigns/{ada.campaign.id}/read-only-links/{link['id']}"
    assert client.delete(path).status_code == 204
    assert progress_json(ada.campaign.id, UUID(link["id"])) is None
