"""Attacks that worked on other annotation servers, tried on this one over HTTP.

Each test names the advisory it comes from; all are of Label Studio.
"""

import html
import re
import secrets
import socket
import subprocess
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from itsdangerous import URLSafeSerializer, URLSafeTimedSerializer
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.models import Annotator, Assignment
from app.annotation.sessions import TOKEN
from app.core.database import transaction
from app.core.web import cookie_name
from likewise import environment as instance
from testbed.builders import a_campaign, a_png, an_account, sign_in
from testbed.servers import ROOT
from testbed.settings import forget_settings
from testbed.system import System
from tests.app.test_annotation import a_session
from tests.app.test_collections import a_collection_id, upload
from tests.support.archives import a_played_campaign, archive_of, bring, packed, unpacked

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def owner(client: TestClient) -> Account:
    account = an_account()
    sign_in(client, account)
    return account


# --- files that are pages ------------------------------------------------------------------------


@pytest.mark.usefixtures("owner")
def test_an_uploaded_image_is_never_served_as_a_page(client: TestClient) -> None:
    """CVE-2023-47115: a picture with a page inside, uploaded as `avatar.html`."""
    page = a_png(1) + f"<html>{SCRIPT}</html>".encode()
    collection = a_collection_id(client)
    report = upload(client, collection, ("avatar.html", page), ("real.html", SCRIPT.encode()))
    assert [image["filename"] for image in report["added"]] == ["avatar.html"]
    assert [problem["code"] for problem in report["rejected"]] == ["not_an_image"]
    (image,) = client.get(f"/api/v1/collections/{collection}/images").json()["items"]
    for address in (image["url"], image["url"].replace("/thumb.webp", "/large.webp")):
        served = client.get(address, headers={"Accept": "text/html"})
        assert served.headers["content-type"] == "image/webp"
        assert served.headers["x-content-type-options"] == "nosniff"
        assert b"<script" not in served.content
    path, _, signed = image["url"].partition("?")
    for other in ("thumb.html", "thumb.webp/avatar.html", "avatar.html"):
        changed = f"{path.rpartition('/')[0]}/{other}?{signed}"
        assert client.get(changed).status_code in (404, 422)


# --- filters and paths ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "collection__owner__password_hash",
        "owner.password_hash",
        "password_hash",
        "sha256",
        "features DESC; SELECT password_hash FROM account",
        "account.password_hash",
        "attribute",
        "collection_id",
    ],
)
@pytest.mark.usefixtures("owner")
def test_no_sort_or_filter_reaches_a_secret_column(client: TestClient, key: str) -> None:
    """GHSA-6hjj-gq77-j4qw: a filter through relations guessed password hashes letter by letter."""
    collection = a_collection_id(client)
    upload(client, collection, ("a.png", a_png(1)), ("b.png", a_png(2)))
    address = f"/api/v1/collections/{collection}/images"
    assert client.get(address, params={"sort": key}).status_code == 422
    plain = client.get(address).json()
    # A filter that nothing knows changes nothing: it cannot be asked whether a hash begins with a.
    for name in (key, f"{key}__startswith", f"filter[{key}]", f"ordering={key}"):
        filtered = client.get(address, params={name: "a"})
        assert filtered.status_code == 422 or filtered.json()["items"] == plain["items"]
    nothing = client.get(address, params={"sort": f"attribute:{key}"})
    assert nothing.status_code == 200
    assert "password" not in nothing.text


TRAVERSALS = (
    "/static../core/settings.py",
    "/static/../core/settings.py",
    "/static/..%2fcore/settings.py",
    "/static/%2e%2e/core/settings.py",
    "/static/%2e%2e%2fcore%2fsettings.py",
    "/static//etc/passwd",
    "/static/..%5c..%5ccore%5csettings.py",
    "/static/%252e%252e/core/settings.py",
    "/media../storage/x",
    "/media/../../etc/passwd",
    "/media/%2e%2e/%2e%2e/%2e%2e/thumb.webp",
)


@pytest.mark.parametrize("path", TRAVERSALS)
def test_static_files_and_images_end_where_their_folders_end(web: System, path: str) -> None:
    """GHSA-cpmr-mw4j-99r7: `/static../` read the source and the secrets beside the folder."""
    host, port = web.base_url.removeprefix("http://").split(":")
    # By hand, since clients tidy up addresses before they send them.
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        reply = b"".join(iter(lambda: connection.recv(65_536), b""))
    status = int(reply.split(b" ", 2)[1])
    assert status in (303, 400, 404, 422), reply[:200]
    assert b"secret_key" not in reply
    assert b"root:" not in reply


# --- keys ----------------------------------------------------------------------------------------


def words_of_the_repository() -> set[str]:
    """Every text of the repository that could have been somebody's key."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.py", "*.yml", "*.md", "*.toml", ".env.example", "Dockerfile"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    texts = (Path(ROOT / name).read_text() for name in listed.stdout.split("\0") if name)
    words: set[str] = set()
    for text in texts:
        words |= set(re.findall(r"[\"'`=]([\w.:/+-]*(?:secret|key|test|change)[\w.:/+-]*)", text))
    return words | {"", "secret", "changeme", "django-insecure"}


def test_a_fresh_install_has_a_key_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GHSA-f475-x83m-rx5m: all installations had the key that stood in the source."""
    monkeypatch.delenv("LIKEWISE_SECRET_KEY", raising=False)
    keys = []
    for name in ("one", "two"):
        monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / name))
        keys.append(instance.secret_key())
        assert instance.secret_key() == keys[-1]
    assert keys[0] != keys[1]
    assert min(map(len, keys)) >= 32
    assert set(keys) & words_of_the_repository() == set()
    assert (tmp_path / "one" / "secret_key").stat().st_mode & 0o077 == 0


def test_no_text_of_the_repository_signs_a_token(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GHSA-f475-x83m-rx5m: tokens forged with the published key were let in."""
    monkeypatch.setenv("LIKEWISE_SECRET_KEY", secrets.token_urlsafe(48))
    forget_settings()
    campaign = a_campaign()
    who = a_session(client, campaign, "annotator-0001-key")
    assert client.post("/api/v1/annotate/leases", headers=who).status_code == 200
    with transaction() as session:
        ids = [str(session.scalars(select(table.id)).one()) for table in (Annotator, Assignment)]
    for word in words_of_the_repository():
        token = URLSafeTimedSerializer(word or "x", salt=TOKEN).dumps(ids)
        forged = {"Authorization": f"Bearer {token}"}
        assert client.post("/api/v1/annotate/leases", headers=forged).status_code == 401
        link = URLSafeSerializer(word or "x", salt="campaign").dumps(campaign.link_token)
        assert client.get(f"/a/{link}").status_code == 404


# --- scripts in data -----------------------------------------------------------------------------


@pytest.mark.usefixtures("owner")
def test_imported_data_is_never_a_page(client: TestClient) -> None:
    """CVE-2024-26152, CVE-2025-25296, CVE-2025-47783: imported or mirrored text came back as HTML.

    What a browser does with it on the pages is held by test_stored_xss.py.
    """
    collection = a_collection_id(client)
    table = f'filename,"{SCRIPT}"\n{SCRIPT},"{SCRIPT}"\n'.encode()
    report = upload(client, collection, (SCRIPT, a_png(1)), ("t.csv", table))
    assert [image["filename"] for image in report["added"]] != []
    base = f"/api/v1/collections/{collection}"
    asked = [
        base,
        f"{base}/images",
        f"{base}/images?q={SCRIPT}",
        f"{base}/images?sort={SCRIPT}",
        f"{base}/{SCRIPT}",
        f"/api/v1/{SCRIPT}",
        f"/api/v1/campaigns?name={SCRIPT}",
    ]
    for address in asked:
        reply = client.get(address, headers={"Accept": "text/html"})
        assert "html" not in reply.headers["content-type"], address
        assert reply.headers["x-content-type-options"] == "nosniff"
    for address in (f"/{SCRIPT}", f"/campaigns/{SCRIPT}", f"/a/{SCRIPT}", f"/?{SCRIPT}={SCRIPT}"):
        reply = client.get(address, headers={"Accept": "text/html"})
        assert SCRIPT not in reply.text
        policy = reply.headers["content-security-policy"]
        assert "script-src 'nonce-" in policy
        assert "unsafe-inline" not in policy


def test_no_name_and_no_id_opens_the_account_of_another(client: TestClient, owner: Account) -> None:
    """CVE-2026-22033: a stored script took the token of whoever looked, by another one's id."""
    created = client.post("/account/tokens", data={"name": SCRIPT, "scope": "write"})
    assert created.status_code == 200
    [token] = re.findall(r'value="(lw_[^"]+)"', created.text)
    page = client.get("/account", headers={"Accept": "text/html"})
    for shown in (created, page):
        assert SCRIPT not in shown.text
        assert html.escape(SCRIPT) in shown.text
    # No page tells a token again, so a script in one would find none; and cookies are hidden.
    assert token not in page.text
    again = client.post("/sign-in", data={"email": "x@example.org", "password": "wrong password"})
    assert again.status_code in (401, 403, 422)
    eve = an_account("eve@example.org")
    sign_in(client, eve)
    for action in ("link", "admin", "disable"):
        reply = client.post(f"/accounts/{owner.id}/{action}", follow_redirects=False)
        assert reply.status_code in (403, 404)
    [row] = re.findall(r"/account/tokens/([\w-]+)/revoke", page.text)
    assert client.post(f"/account/tokens/{row}/revoke").status_code == 404
    assert html.escape(SCRIPT) not in client.get("/account").text
    [cookie] = [cookie for cookie in client.cookies.jar if cookie.name == cookie_name()]
    assert cookie.has_nonstandard_attr("HttpOnly")


# --- models that run -----------------------------------------------------------------------------


def test_a_model_that_is_a_pickle_is_refused_and_never_run(
    client: TestClient, tmp_path: Path
) -> None:
    """CVE-2025-5173: `torch.load` of a model that somebody brought ran what it held."""
    campaign = a_played_campaign(client)
    marker = tmp_path / "it-ran"
    # Written by hand, as who reads it would run it: os.system("touch ...").
    pickle = f"cos\nsystem\n(S'touch {marker}'\ntR.".encode()
    whole = unpacked(archive_of(client, campaign))
    models = [name for name in whole if name.startswith("models/")]
    assert models
    for name in [*models, "models/0001/model.pkl", "models/0001/model.pt"]:
        reply = bring(client, packed({**whole, name: pickle}))
        if reply.status_code == 201:
            look_at(client, reply.json()["id"])
        assert not marker.exists(), name
    assert bring(client, packed({**whole, "models/0001/model.pkl": pickle})).status_code == 422


def look_at(client: TestClient, campaign: str) -> None:
    """All files and figures of the newest model, which is when a model is read."""
    for path in ("exports", "map", "models", "attributes", "clusters"):
        client.get(f"/api/v1/campaigns/{campaign}/{path}")
