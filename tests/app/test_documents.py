"""Guides are shown by the server, and every page leads to them."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.campaigns.pages import sections_of
from app.core import documents
from app.core.documents import GUIDES, render_guide
from testbed.builders import a_campaign

HELP = re.compile(r'<a href="(/docs[^"]*)">Help</a>')
ADDRESSES = [f"/docs/{address}" for address, _ in GUIDES.values()]


def ids_of(html: str) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', html))


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_guide_is_a_page_whose_links_lead_somewhere(client: TestClient, address: str) -> None:
    page = client.get(address)
    assert page.status_code == 200
    links = set(re.findall(r'href="(/docs[^"]*|#[^"]*)"', page.text)) - {"#content"}
    for link in links:
        path, _, anchor = link.partition("#")
        other = client.get(path or address)
        assert other.status_code == 200, link
        assert not anchor or anchor in ids_of(other.text), f"{address} leads to {link}"
    assert '.md"' not in page.text
    assert "<script>" not in page.text


def test_the_list_names_all_guides(client: TestClient) -> None:
    page = client.get("/docs").text
    assert all(f'href="{address}"' in page for address in [*ADDRESSES, "/docs/api"])


def test_every_page_leads_to_help_and_campaigns_to_the_right_part(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    for path in ("/", "/collections/new", "/campaigns/new", "/account", "/docs", "/nothing"):
        page = client.get(path, headers={"Accept": "text/html"})
        assert HELP.findall(page.text) == ["/docs"], path
    known = ids_of(client.get("/docs/user-guide").text)
    pages = ["", "/annotation", *(f"/{name}" for name in sections_of(campaign))]
    for path in pages:
        page = client.get(f"/campaigns/{campaign.id}{path}", headers={"Accept": "text/html"})
        assert page.status_code == 200, path
        [link] = HELP.findall(page.text)
        assert link.partition("#")[2] in known, path
    exports = client.get(f"/campaigns/{campaign.id}/exports").text
    assert HELP.findall(exports) == ["/docs/user-guide#8-export"]
    client.cookies.clear()
    assert HELP.findall(client.get("/sign-in").text) == ["/docs"]


def test_a_server_without_its_documents_says_so(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(documents, "FOLDER", tmp_path)
    render_guide.cache_clear()
    page = client.get("/docs/exports", headers={"Accept": "text/html"})
    assert (page.status_code, "without its documentation" in page.text) == (404, True)
